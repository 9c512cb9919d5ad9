"""The processes that run this program together, as whoever started them says.

`tracejit launch` sets TRACEJIT_DIST to "local:RANK:SIZE:FOLDER", "ray:RANK:SIZE:NAMESPACE" or
"mpi"; without it the program is one process among one.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import Any

from tracejit.base.locks import once
from tracejit.dist.board import Board
from tracejit.dist.pulse import give_signs
from tracejit.dist.transport.group import Group
from tracejit.dist.transport.link import DistError, Link

__all__ = ["LATE", "MODE", "SERVERS", "VARIABLE", "fixed", "is_late", "world"]

#: The environment variables: who this process is, how replicas work together, and how many servers
#: they have; and how many have been lost in whose place this one is.
VARIABLE = "TRACEJIT_DIST"
MODE, SERVERS, LATE = "TRACEJIT_DIST_MODE", "TRACEJIT_DIST_SERVERS", "TRACEJIT_DIST_LATE"


def _numbers(text: str) -> tuple[int | None, int | None]:
    """The rank and the size that VARIABLE says; None where only the link tells."""
    if not text:
        return 0, 1
    try:
        rank, size = text.split(":")[1:3]
        return int(rank), int(size)
    except ValueError:
        return None, None


#: The rank and the size of `world()`, under names that compiled code is guarded by.
RANK, SIZE = _numbers(os.environ.get(VARIABLE, ""))


class _Alone:
    """The link of a process that has no others."""

    rank, size = 0, 1

    def send(self, to: int, key: str, value: Any) -> None:
        raise ValueError(f"there is no process {to}: this is the only one")

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        raise ValueError(f"there is no process {source}: this is the only one")

    def close(self) -> None: ...


@once
def world() -> Group:
    """All processes of this program. The first call waits until all have come.

    Raises DistError where they do not come, or TRACEJIT_DIST cannot be read.
    """
    group = Group(_link(os.environ.get(VARIABLE, "")))
    globals().update(RANK=group.rank, SIZE=group.size)
    atexit.register(group.close)
    return group


def fixed(interpreter: Any, name: str) -> int:
    """`RANK` or `SIZE` in a trace, which then holds for processes alone that have the same."""
    world()
    found: int = globals()[name]
    interpreter.capture.library_name(globals(), name, found)
    return found


def _link(text: str) -> Link:
    kind, _, rest = text.partition(":")
    if not text:
        return _Alone()
    if kind == "mpi":
        from tracejit.dist.transport.mpi import MpiLink

        return MpiLink()
    try:
        rank, size, folder = rest.split(":", 2)
        numbers = int(rank), int(size)
        assert kind in ("local", "ray") and folder
    except (ValueError, AssertionError):
        raise DistError(f"{VARIABLE} cannot be read: {text!r}") from None
    if kind == "ray":
        from tracejit.dist.transport.ray import RayLink

        return RayLink(*numbers, folder, life=int(os.environ.get(LATE) or 0))
    from tracejit.dist.transport.handshake import read_secret
    from tracejit.dist.transport.local import LocalLink

    link = LocalLink(*numbers, folder, read_secret(folder), late=is_late())
    board = Path(folder) / "board"
    if board.exists():
        give_signs(Board(board, link.size), link.rank)
    return link


def is_late() -> bool:
    """Whether this process takes the place of one that is lost."""
    return bool(os.environ.get(LATE))

"""Settings: three environment variables, and the switch between compiled and eager execution."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["dump_dir", "eager", "is_eager", "verify"]

_EAGER: ContextVar[bool] = ContextVar("tracejit_eager", default=False)
_ALWAYS_EAGER = os.environ.get("TRACEJIT_EAGER", "") not in ("", "0")

#: How many `eager()` blocks are open in this process; native entries stand aside while there are any.
eager_blocks = [0]


@contextmanager
def eager() -> Iterator[None]:
    """Within the block, this thread runs decorated functions as plain Python under NumPy."""
    token = _EAGER.set(True)
    eager_blocks[0] += 1
    try:
        yield
    finally:
        eager_blocks[0] -= 1
        _EAGER.reset(token)


def is_eager() -> bool:
    """Whether decorated functions run as plain Python here: by `eager()` or TRACEJIT_EAGER=1."""
    return _ALWAYS_EAGER or _EAGER.get()


def verify() -> bool:
    """Whether graphs are checked after every pass: TRACEJIT_VERIFY=1."""
    return os.environ.get("TRACEJIT_VERIFY", "") not in ("", "0")


def dump_dir() -> str | None:
    """Where every compile leaves its stages: TRACEJIT_DUMP=<dir>."""
    return os.environ.get("TRACEJIT_DUMP") or None

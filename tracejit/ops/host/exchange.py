"""Values exchanged with other processes while the program runs, in the order of the program.

    token1, y = typed(host_exchange(token, x, function="tracejit.ops.host.exchange:exchanged",
        arguments=(("constant", "all_reduce"), ("operand", 0), ...), ...

What a kind of exchange does is registered by who can do it. What a run has exchanged cannot be
taken back. A run that bails out is repeated eagerly, and there gets what it got before, in order:
the other processes see each exchange once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Graph
from tracejit.ir.op import register
from tracejit.ops.host.effect import HostEffect

__all__ = [
    "EXCHANGED",
    "KINDS",
    "HostExchange",
    "exchange",
    "exchanged",
    "exchanges",
    "forget_run",
    "repeating",
]

EXCHANGED = f"{__name__}:exchanged"
#: What does an exchange of a kind, for its arguments.
KINDS: dict[str, Callable[..., Any]] = {}


@register
class HostExchange(HostEffect):
    """An exchange with other processes."""

    name: ClassVar[str] = "host_exchange"


class _Log(threading.local):
    """What the run of this thread has got so far; and what repetitions are to get first."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.again: deque[Any] = deque()
        self.depth = 0


_LOG = _Log()


def exchange(kind: str, *args: Any) -> Any:
    """An exchange, or what it gave in the run that this thread repeats."""
    return _LOG.again.popleft() if _LOG.again else KINDS[kind](*args)


def exchanged(kind: str, *args: Any) -> Any:
    """An exchange of a compiled run."""
    found = exchange(kind, *args)
    # The program may store into what it gets.
    _LOG.got.append(found.copy() if isinstance(found, np.ndarray) else found)
    return found


def exchanges(graph: Graph) -> bool:
    """Whether a graph, or a region in it, exchanges values with other processes."""
    return any(
        isinstance(node.op, HostExchange) or any(map(exchanges, node.regions))
        for node in graph.nodes
    )


def forget_run() -> None:
    """A run begins, or has ended well."""
    _LOG.got.clear()


@contextmanager
def repeating() -> Iterator[None]:
    """The eager repetition of the run that this thread has left."""
    _LOG.again.extendleft(reversed(_LOG.got))
    _LOG.got.clear()
    _LOG.depth += 1
    try:
        yield
    finally:
        _LOG.depth -= 1
        if not _LOG.depth:
            _LOG.again.clear()

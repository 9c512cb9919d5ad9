"""Values exchanged with other processes while the program runs, in the order of the program.

    token1, y = typed(host_exchange(token, x, function="tracejit.ops.host.exchange:exchanged",
        arguments=(("constant", "all_reduce"), ("operand", 0), ...), ...

What a kind of exchange does is registered by who can do it. What a run has exchanged cannot be
taken back. A run that bails out is repeated eagerly, and there gets what it got before, in order:
the other processes see each exchange once.

An exchange of the kind "start" gives a number, which one of the kind "wait" takes: what is started
goes on while the program does. It is held by its number until it is waited for; a run that is left
leaves it to its repetition, with the number.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Underivable
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.op import register
from tracejit.ops.host.effect import HostEffect
from tracejit.ops.host.registered import registered

if TYPE_CHECKING:
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor, NoTangent

__all__ = [
    "EXCHANGED",
    "EXCHANGED_FOR_GOOD",
    "KINDS",
    "HostExchange",
    "exchange",
    "exchanged",
    "exchanged_for_good",
    "exchanges",
    "forget_run",
    "held",
    "hold",
    "let_go",
    "repeating",
    "starts",
]

EXCHANGED = f"{__name__}:exchanged"
#: What does an exchange of a kind, for its arguments.
KINDS: dict[str, Callable[..., Any]] = {}
EXCHANGED_FOR_GOOD = f"{__name__}:exchanged_for_good"
#: What is known no more.
_GONE = object()
_START = ("constant", "start")


@register
class HostExchange(HostEffect):
    """An exchange with other processes."""

    name: ClassVar[str] = "host_exchange"
    exchanges: ClassVar[bool] = True

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | NoTangent | None]:
        """Raises Underivable."""
        kind = at.attrs["arguments"][0][1]
        raise Underivable(f"tracejit.dist.{kind} has no derivative in forward mode")

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """Exchanges of cotangents. Raises Underivable."""
        from tracejit.ops.host.derivatives.exchanges import exchange_vjp

        return exchange_vjp(c, at, cotangents)


class _Log(threading.local):
    """What the run of this thread has got so far; and what repetitions are to get first."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.again: deque[Any] = deque()
        self.depth = 0
        #: What ended the run, where an exchange did.
        self.failed: Exception | None = None
        #: What was started and not waited for, by number.
        self.held: dict[int, Any] = {}
        self.numbers = itertools.count(1)


_LOG = _Log()


def exchange(kind: str, *args: Any) -> Any:
    """An exchange, or what it gave in the run that this thread repeats.

    Raises what the exchange raises, again where that ended the run.
    """
    if not _LOG.again:
        return KINDS[kind](*args)
    found = _LOG.again.popleft()
    if found is _GONE:
        raise _LOG.failed or RuntimeError("a run was left behind the last that could end it")
    return found


@registered
def exchanged(kind: str, *args: Any) -> Any:
    """An exchange of a compiled run."""
    found = exchange(kind, *args)
    _LOG.got.append(found)
    # The program may store into what it gets.
    return _copied(found)


@registered
def exchanged_for_good(kind: str, *args: Any) -> Any:
    """The same behind which only others of its kind may end the run: nobody needs the result
    again, as what has failed fails in the repetition.
    """
    try:
        found = exchange(kind, *args)
    except Exception as e:
        _LOG.failed = e
        raise
    _LOG.got.append(_GONE)
    return found


def _copied(found: Any) -> Any:
    if isinstance(found, np.ndarray):
        return found.copy()
    return type(found)(map(_copied, found)) if isinstance(found, (list, tuple)) else found


def hold(started: Any) -> int:
    """The number of something that this thread has started."""
    number = next(_LOG.numbers)
    _LOG.held[number] = started
    return number


def held(number: int) -> Any:
    """What this thread has started and not let go. Raises KeyError."""
    return _LOG.held[number]


def let_go(number: int) -> None:
    """It has been waited for."""
    del _LOG.held[number]


def starts(node: Node) -> bool:
    """Whether a node starts what another one waits for."""
    return isinstance(node.op, HostExchange) and node.attrs["arguments"][0] == _START


def exchanges(graph: Graph) -> bool:
    """Whether a graph, or a region in it, exchanges values with other processes."""
    return any(
        isinstance(node.op, HostExchange) or any(map(exchanges, node.regions))
        for node in graph.nodes
    )


def forget_run() -> None:
    """A run begins, or has ended well."""
    _LOG.got.clear()
    _LOG.held.clear()
    _LOG.failed = None


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
            _LOG.held.clear()

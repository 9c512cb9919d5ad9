"""What the clocks of programs have counted becomes times of kernels and of lines.

A kernel's time is shared among the lines of its operations by their estimated cost; what a program
does outside of its kernels and calls, among the lines of that by cost and depth of loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracejit.codegen.program.timing import Site, Timers
from tracejit.errors import Where
from tracejit.frontend.host.functions import spelled_call
from tracejit.ir.graph import Node
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.shape import BroadcastTo
from tracejit.ops.host.call import HostCall

__all__ = ["KernelTime", "LineTime", "kernel_times", "shares_of_lines", "shares_of_rest"]

#: How many times the inside of a loop is taken to run, where nothing counts it.
_TURNS = 100.0


@dataclass
class LineTime:
    """What a line of the user's source took: seconds, and its part of the whole.

    `host` are those of its seconds that NumPy or SciPy took. `bytes` and `operations` are of
    kernels that begin there; `what` names what is no line's own: the call itself, compiles.
    """

    where: Where
    seconds: float = 0.0
    host: float = 0.0
    bytes: float = 0.0
    operations: float = 0.0
    share: float = 0.0
    what: str = ""


@dataclass(frozen=True)
class KernelTime:
    """What a kernel, or a call from inside the program, took in all its runs."""

    function: str
    what: str
    lines: tuple[Where, ...]
    seconds: float
    passes: int
    bytes: int
    operations: int
    is_host: bool


def kernel_times(function: str, timers: Timers, second: float) -> Iterator[KernelTime]:
    """Those that have run; a `second` has so many ticks."""
    for site in timers.sites:
        if site.passes:
            yield KernelTime(
                function,
                _name(site),
                tuple(dict.fromkeys(n.where for n in _inner(site.nodes) if n.where is not None)),
                site.ticks / second,
                site.passes,
                site.bytes,
                site.operations,
                _is_host(site),
            )


def shares_of_lines(site: Site) -> dict[Where, float]:
    """The part of a site's time that each line has; they add up to 1 where there is one."""
    return _shared([(n, 1.0) for n in _inner(site.nodes)])


def shares_of_rest(timers: Timers) -> dict[Where, float]:
    """The same for what a program does outside of its sites."""
    return _shared([(n, _TURNS**depth) for n, depth in timers.rest])


def _shared(nodes: Sequence[tuple[Node, float]]) -> dict[Where, float]:
    costs: dict[Where, float] = {}
    for n, times in nodes:
        if n.where is not None:
            costs[n.where] = costs.get(n.where, 0.0) + times * _cost(n)
    whole = sum(costs.values())
    return {where: cost / whole for where, cost in costs.items()} if whole else {}


def _cost(n: Node) -> float:
    if isinstance(n.op, Elementwise):
        return max(0.1, n.op.cost([v.type for v in n.inputs], n.attrs))
    return 0.1 if n.op.renames or isinstance(n.op, (Constant, BroadcastTo)) else 1.0


def _inner(nodes: Sequence[Node]) -> list[Node]:
    return [n for node in nodes for n in _parts(node)]


def _parts(node: Node) -> Sequence[Node]:
    return [n for r in node.regions for n in r.nodes] if node.op.kind == "fusion" else [node]


def _is_host(site: Site) -> bool:
    return any(isinstance(n.op, HostCall) or "function" in n.attrs for n in site.nodes)


def _name(site: Site) -> str:
    if _is_host(site):
        found = [n for n in site.nodes if "function" in n.attrs]
        return spelled_call(found[0].attrs) if found else site.what
    names = dict.fromkeys(n.op.name for n in _inner(site.nodes))
    plain = [n for n in names if n not in ("constant", "broadcast_to", "reshape", "slice")]
    return " ".join(plain[:6]) + (" ..." if len(plain) > 6 else "") or site.what

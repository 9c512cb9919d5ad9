"""Short loops that add up shifted parts of arrays, written out, so that one kernel adds them all.

    for i in range(3): y = y + x[i:i + n] * w[i]    ->  y + x[0:n] * w[0] + x[1:n + 1] * w[1] + ...

The terms are added one after another as before, in the same order; what is spared is to store the
sum after each, and in a derivative to keep anything of an iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim
from tracejit.ir.graph import GraphBuilder, Node, Value
from tracejit.ir.regions import copy_node
from tracejit.ir.types import ArrayType
from tracejit.loops.counted import Counted
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.shape import Reshape, Slice

__all__ = ["written_out"]

#: More than this is not written out.
_MOST_TRIPS, _MOST_NODES = 7, 512


def written_out(
    loop: Counted, fresh: Callable[[], str], read: Container[str] | None
) -> list[Node] | None:
    """The nodes of all iterations in place of the loop; None where that would be too many."""
    trips = loop.trips
    if not isinstance(trips, int) or not 0 < trips <= _MOST_TRIPS:
        return None
    live = loop.live()
    if trips * len(live) > _MOST_NODES or not _adds_parts(loop, live):
        return None
    builder = GraphBuilder(loop.body.name)
    c = DerivativeBuilder(builder, fresh)
    now = list(loop.node.inputs)
    for k in range(trips):
        table = dict(zip(loop.body.inputs, now, strict=True))
        sizes: dict[str, Dim] = {**loop.given, loop.counter: k}
        for node in live:
            outs = copy_node(c, node, [table[v] for v in node.inputs], sizes)
            table.update(zip(node.outputs, outs, strict=True))
        now[: loop.carried] = [table[v] for v in loop.body.outputs]
    return loop.replaced(c, now[: loop.carried], read)


def _adds_parts(loop: Counted, live: list[Node]) -> bool:
    """Whether every array that is carried is added to, and what is added moves with the counter."""
    inputs = loop.body.inputs
    shown = any(
        isinstance(n.op, Slice)
        and loop.counter in n.sizes()
        and n.inputs[0] in inputs[loop.carried :]
        for n in live
    )
    return shown and all(
        isinstance(v.type, ArrayType) and _is_sum(loop, v, inputs[k])
        for k, v in enumerate(loop.body.outputs)
    )


def _is_sum(loop: Counted, v: Value, before: Value) -> bool:
    """Whether `v` is `before` after elementwise ops, through which each element stays in place."""
    seen, stack = set(), [v]
    while stack:
        x = stack.pop()
        if x is before:
            return True
        node = loop.producer.get(x)
        if x in seen or node is None:
            continue
        seen.add(x)
        same = isinstance(node.op, Reshape) and node.inputs[0].type == x.type
        if same or isinstance(node.op, Elementwise):
            stack += node.inputs
    return False

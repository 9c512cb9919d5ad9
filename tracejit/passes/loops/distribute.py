"""Sums along columns that a loop takes one after another are computed in front of it, all at once.

    while_loop(i < n; a){ s = reduce_sum(b[:m, i] * c[:m]); ... s ... }
    ->  d = reduce_sum(transpose(b[:m, 0:n]) * c[:m], axes=(1,))
        while_loop(i < n; a, d){ s = read_item(d, i); ... s ... }

Each sum by itself strides through memory. Side by side, neighbours in memory belong to neighbouring
sums, which run in the lanes of one vector; each adds up the same terms in the same order. So it is
with updates of columns (`distribute_updates.py`).

The loop must count from 0 by 1 and end by its count alone, and nothing in it may leave the program.
Of an array that it stores into, a sum may read only what no iteration before has stored. Where
there is no iteration nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import symbol
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import NpScalar, shape_of
from tracejit.ops.array.items import ReadItem
from tracejit.ops.array.reduction import ReduceSum
from tracejit.ops.control.regions import WhileLoop
from tracejit.passes.analysis.counted_loops import LEAST, CountedLoop, Formula, counted
from tracejit.passes.analysis.regions import copied, with_captures, with_nodes, without
from tracejit.passes.loops.batch_iterations import Lines, in_front
from tracejit.passes.loops.distribute_updates import update_ahead
from tracejit.passes.simplify.fold import emit_constant

__all__ = ["distribute"]

#: More ops side by side are not worth a second look at the loop.
_MOST_NODES = 16


def distribute(graph: Graph) -> Graph:
    """`graph` with sums along columns, and updates of them, in front of loops."""
    if not any(n.op.kind == "control" for n in graph.nodes):
        return graph
    taken = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if isinstance(node.op, WhileLoop):
            outputs = node.outputs
            if (loop := counted(node)) is not None and (sums := _sums(loop)):
                node = _sums_ahead(builder, loop, sums, taken)
            while (loop := counted(node)) is not None:
                before, node = node, update_ahead(builder, loop, taken)
                if node is before:
                    break
            builder.nodes.append(node)
            return outputs
        return keep(builder, node)

    return replay(graph, emit, region=distribute)


@dataclass(frozen=True)
class _Sum:
    """A sum, who reads it, and what it is the sum of."""

    node: Node
    read: Node
    terms: Formula


def _sums(loop: CountedLoop) -> list[_Sum]:
    """The sums that can be computed in front, each where it pays."""
    found = [_sum(loop, n) for n in loop.body.nodes if isinstance(n.op, ReduceSum)]
    return [s for s in found if s is not None]


def _sum(loop: CountedLoop, node: Node) -> _Sum | None:
    (out,), (term,) = node.outputs, node.inputs
    shape = shape_of(term.type)
    readers = loop.readers.get(out, [])
    if len(shape) != 1 or len(readers) != 1 or not isinstance(readers[0].op, ReadItem):
        return None
    if out in loop.body.outputs or isinstance(shape[0], int) and shape[0] < LEAST:
        return None
    terms = Formula(shape[0])
    if not loop.learn(term, terms) or len(terms.nodes) > _MOST_NODES:
        return None
    # One by one, the terms of each sum lie apart; side by side, neighbours lie together.
    lines = [c for c in terms.columns.values() if c.along is not None and c.across is not None]
    if not lines or not all(loop.pays(c.array, c.across, c.step) for c in lines):
        return None
    return _Sum(node, readers[0], terms)


def _sums_ahead(
    builder: GraphBuilder, loop: CountedLoop, sums: Sequence[_Sum], taken: set[str]
) -> Node:
    """The loop that reads the sums; what computes them goes into `builder`."""

    def some(b: GraphBuilder, arrays: dict[Value, Value]) -> list[Value]:
        out: list[Value] = []
        for s in sums:
            matrix = Lines(b, loop, arrays).write(s.node.inputs[0], s.terms)
            attrs = {**s.node.attrs, "axes": (1,)}
            out += b.emit(s.node.op, (matrix,), attrs, where=s.node.where)
        return out

    def none(b: GraphBuilder, _: dict[Value, Value]) -> list[Value]:
        out = []
        for s in sums:
            t = s.read.outputs[0].type
            assert isinstance(t, NpScalar)
            zero = emit_constant(b, t.dtype.type(0), t)
            out.append(b.one(OPS["broadcast_to"], (zero,), shape=(loop.trips,)))
        return out

    found = in_front(builder, loop, [s.terms for s in sums], (), taken, some, none)
    node, body = loop.node, loop.body
    condition, first = with_captures(node.regions[0], node.attrs["sizes"][0], found, 1)
    wider, second = with_captures(body, node.attrs["sizes"][1], found, 1)
    nodes = list(wider.nodes)
    for s, v in zip(sums, wider.inputs[len(body.inputs) :], strict=True):
        at: Attrs = {"at": (symbol(loop.counter),)}
        k = nodes.index(s.read)
        nodes[k] = Node(s.read.op, (v,), at, s.read.outputs, where=s.read.where)
    dead = {n for s in sums for n in (s.node, *s.terms.reading(loop.producer))}
    return copied(
        node,
        inputs=(*node.inputs, *found),
        attrs={**node.attrs, "sizes": (first, second)},
        regions=(condition, without(with_nodes(wider, nodes), dead)),
    )

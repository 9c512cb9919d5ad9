"""Arithmetic on a join is done on its parts, which then need not be written to memory first.

    c = concatenate(a, b, axis=0); y = multiply(c, x)
    ->  y = concatenate(multiply(a, x[0:m]), multiply(b, x[m:m + n]), axis=0)

A join is always stored, since its elements come from several arrays. Where only one node reads it,
each element for one of its own, that node's result takes its place in memory. Cotangents of slices
are such joins: of what is added at both ends and between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.shape import Concatenate
from tracejit.passes.analysis.effects import may_raise
from tracejit.passes.analysis.fusable import fusable
from tracejit.passes.simplify.dce import dce

__all__ = ["through_joins"]

#: Of more parts than these each would be a loop of its own with all that is computed.
_MOST_PARTS = 4
#: Shorter rows are not for vectors.
_LEAST_ROW = 16


def through_joins(graph: Graph) -> Graph:
    """`graph`, without its regions, with elementwise nodes in front of the joins they read."""
    readers: dict[Value, int] = {}
    for v in (*(v for n in graph.nodes for v in n.inputs), *graph.outputs):
        readers[v] = readers.get(v, 0) + 1
    #: With the bytes of an element of the first join that it stands for.
    joins: dict[Value, tuple[Node, int]] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        found = None
        if isinstance(node.op, Elementwise) and fusable(node) and not may_raise(node):
            read_once = (joins.get(v) for v in node.inputs if readers[v] == 1)
            found = next((j for j in read_once if j is not None and _worth(*j, node)), None)
        outputs = _parted(builder, node, inputs, found[0]) if found else None
        if outputs is None:
            outputs = tuple(keep(builder, node))
        readers.update(
            (new, readers.get(v, 0)) for v, new in zip(node.outputs, outputs, strict=True)
        )
        made = builder.nodes[-1]
        if isinstance(made.op, Concatenate) and made.outputs == outputs:
            joins[outputs[0]] = made, found[1] if found else dtype_of(outputs[0].type).itemsize
        return outputs

    new = replay(graph, emit)
    return new if new is graph else dce(new)


def _worth(join: Node, width: int, node: Node) -> bool:
    """Whether a result needs no more memory than the join, whose parts are few and not short."""
    t, out = join.outputs[0].type, node.outputs[0].type
    assert isinstance(t, ArrayType) and isinstance(out, ArrayType)
    rows = [shape_of(v.type)[t.order[-1]] for v in join.inputs]
    long = any(not isinstance(n, int) or n >= _LEAST_ROW for n in rows)
    return long and len(rows) <= _MOST_PARTS and out.dtype.itemsize <= width


def _parted(
    builder: GraphBuilder, node: Node, inputs: tuple[Value, ...], join: Node
) -> tuple[Value, ...] | None:
    """The join of what a node computes of each part; None where it lies otherwise in memory."""
    joined, out = join.outputs[0], node.outputs[0].type
    assert isinstance(out, ArrayType) and isinstance(joined.type, ArrayType)
    axis = join.attrs["axis"]
    start: Dim = 0
    begin = len(builder.nodes)
    parts: list[Value] = []
    for part in join.inputs:
        size = shape_of(part.type)[axis]
        operands = []
        for v in inputs:
            x = part if v is joined else _slice(builder, v, axis, start, size, node)
            operands.append(x)
        parts += builder.emit(node.op, operands, node.attrs, where=node.where)
        start = start + size
    made = builder.emit(join.op, parts, {"axis": axis}, where=node.where)
    if made[0].type == out:
        return made
    del builder.nodes[begin:]
    return None


def _slice(builder: GraphBuilder, v: Value, axis: int, start: Dim, size: Dim, node: Node) -> Value:
    """The part of an operand along an axis; numbers are whole in every part."""
    if not isinstance(v.type, ArrayType):
        return v
    shape = v.type.shape
    attrs = {
        "start": tuple(start if k == axis else 0 for k in range(len(shape))),
        "size": tuple(size if k == axis else n for k, n in enumerate(shape)),
        "step": (1,) * len(shape),
    }
    (out,) = builder.emit(OPS["slice"], (v,), attrs, where=node.where)
    return out

"""Products with absorbing zeros that are only added up may give any zero: that costs less.

    v1 = multiply_no_nan(g, x); v2 = reshape(v1); s = reduce_sum(v2)
    ->  v1 = multiply_no_nan_term(g, x); v2 = reshape(v1); s = reduce_sum(v2)

No sum of floats is -0.0 (`ir/kernel.py`), and what is added to a number other than 0 leaves it, so
the sign of a term that is 0 shows nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS, Op
from tracejit.ir.types import dtype_of
from tracejit.ops.array.reduction import ReduceSum
from tracejit.ops.array.shape import Concatenate

__all__ = ["signed_zeros"]


def signed_zeros(graph: Graph) -> Graph:
    """`graph` with products for sums where nothing but sums reads them."""
    readers: dict[Value, list[Node]] = {}
    for n in graph.nodes:
        for v in n.inputs:
            readers.setdefault(v, []).append(n)
    outputs = set(graph.outputs)
    #: Values of which nothing but sums shows.
    summed: set[Value] = set()

    def only_added(v: Value) -> bool:
        return v not in outputs and all(
            isinstance(n.op, ReduceSum) or not summed.isdisjoint(n.outputs)
            for n in readers.get(v, ())
        )

    for n in reversed(graph.nodes):
        if _passes_on(n.op) or n.op.term and dtype_of(n.outputs[0].type).kind == "f":
            (v,) = n.outputs
            if only_added(v):
                summed.add(v)

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.term and node.outputs[0] in summed:
            return builder.emit(OPS[node.op.term], inputs, node.attrs, where=node.where)
        return keep(builder, node)

    return replay(graph, emit, region=signed_zeros)


def _passes_on(op: Op) -> bool:
    """Whether the result differs at most in the sign of a zero where an operand does."""
    linear = op.arithmetic in ("add", "subtract", "negative")
    return op.moves or linear or isinstance(op, Concatenate)

"""One factorisation for all that is computed from a matrix.

    v1 = solve(a, b, vector=False); v2 = lu_diagonal(a)
    ->  v3, v4 = lu_factor(a)
        v1 = factored_solve(a, v3, v4, b, trans=0); v2 = factored_diagonal(a, v3, v4)

A matrix that is factored once keeps its node: NumPy's routine does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from tracejit.ir.graph import Attr, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, shape_of
from tracejit.ops.array.factored import LuFactor
from tracejit.ops.array.linalg import LuDiagonal

__all__ = ["shared_factors"]

_Factors: TypeAlias = Sequence[Value]


def shared_factors(graph: Graph) -> Graph:
    """`graph` with each matrix factored once in a region."""
    counts = Counter(n.inputs[0] for n in graph.nodes if _factors(n))
    if max(counts.values(), default=0) < 2 and not any(n.regions for n in graph.nodes):
        return graph
    #: The first result of a node -> the matrix, as both were before.
    shared = {n.outputs[0]: n.inputs[0] for n in graph.nodes if _factors(n)}
    factors: dict[Value, _Factors] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        a = shared.get(node.outputs[0]) if node.outputs else None
        if a is None or counts[a] < 2:
            return keep(builder, node)
        if a not in factors:
            factors[a] = builder.emit(OPS["lu_factor"], inputs[:1], {}, where=node.where)
        return _by_factors(builder, node, inputs, factors[a])

    return replay(graph, emit, region=shared_factors)


def _factors(node: Node) -> bool:
    """Whether the node factors its first operand, in double precision."""
    t = node.inputs[0].type if node.op.factors else None
    return isinstance(t, ArrayType) and t.dtype.char in "dD"


def _by_factors(
    builder: GraphBuilder, node: Node, inputs: Sequence[Value], factors: _Factors
) -> Sequence[Value]:
    """The results of the node by the factors of its first operand."""

    def emit(name: str, *given: Value, **attrs: Attr) -> Value:
        return builder.emit(OPS[name], given, attrs, where=node.where)[0]

    if isinstance(node.op, LuFactor):
        return factors
    a, *rest = inputs
    if isinstance(node.op, LuDiagonal):
        return (emit("factored_diagonal", a, *factors),)
    (b,), out = rest, shape_of(node.outputs[0].type)
    whole = (*out, 1) if node.attrs["vector"] else out
    if node.attrs["vector"]:
        b = emit("reshape", b, shape=(*shape_of(b.type), 1))
    if shape_of(b.type) != whole:
        b = emit("broadcast_to", b, shape=whole)
    x = emit("factored_solve", a, *factors, b, trans=0)
    return (emit("reshape", x, shape=out) if node.attrs["vector"] else x,)

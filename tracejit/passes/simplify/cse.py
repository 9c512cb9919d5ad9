"""Common subexpressions: of two pure nodes with one key, the second takes the first one's results.

    v1 = op(x, a=1); v2 = op(x, a=1)   ->   v1 = op(x, a=1), v1 for v2

The key is the op, its inputs by identity, its attributes by their bits, its regions and its result
types. Operands of ops that commute to the last bit are taken in one order. Nodes with effects,
those that use stacks and those that define sizes are never merged.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.passes.analysis.effects import is_barrier, is_linear

__all__ = ["cse"]


def cse(graph: Graph) -> Graph:
    """`graph` with each pure expression computed once."""
    seen: dict[tuple[object, ...], tuple[Value, ...]] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.binds or is_barrier(node) or is_linear(node):
            return keep(builder, node)
        key = node.key()
        if node.op.commutes and id(inputs[0]) > id(inputs[1]):
            key = (key[0], inputs[::-1], *key[2:])
        known = seen.get(key)
        if known is None:
            known = seen[key] = keep(builder, node)
        return known

    return replay(graph, emit, region=cse)

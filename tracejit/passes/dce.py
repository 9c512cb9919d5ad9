"""Dead code: a pure node goes when nothing reads its results or the sizes that it defines.

    v1 = op(x); return x   ->   return x

A size is read by the attributes and result types of live nodes and by the sizes that a graph
returns. An op that may bail out stays: NumPy would have raised, whoever reads the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_sizes, keep, replay
from tracejit.ir.types import type_sizes

__all__ = ["dce"]


def dce(graph: Graph) -> Graph:
    """`graph` without the pure nodes that nothing depends on."""
    live = iter(_liveness(graph))

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        # The old outputs stand for a dropped node's results: nothing reads them.
        return keep(builder, node) if next(live) else node.outputs

    return replay(graph, emit, region=dce)


def _liveness(graph: Graph) -> list[bool]:
    """Whether each node has to stay."""
    values = set(graph.outputs)
    sizes = set().union(*map(attr_sizes, graph.size_outputs))
    live = []
    for node in reversed(graph.nodes):
        stays = (
            not node.op.pure
            or getattr(node.op, "may_bail", False)
            or not values.isdisjoint(node.outputs)
            or not sizes.isdisjoint(node.binds)
        )
        live.append(stays)
        if stays:
            values.update(node.inputs)
            sizes |= node.sizes()
            for value in node.outputs:
                sizes |= type_sizes(value.type)
    return live[::-1]

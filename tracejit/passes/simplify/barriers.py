"""What kept two equal computations apart goes, once nothing merges them any more.

y = optimization_barrier(x)   ->   x for y
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay

__all__ = ["remove_barriers"]


def remove_barriers(graph: Graph) -> Graph:
    """`graph` without the op `optimization_barrier`."""
    if not _has_opaque(graph):
        return graph
    return replay(graph, _emit, region=remove_barriers)


def _has_opaque(graph: Graph) -> bool:
    return any(n.op.opaque or any(map(_has_opaque, n.regions)) for n in graph.nodes)


def _emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
    return inputs if node.op.opaque else keep(builder, node)

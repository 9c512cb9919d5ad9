"""Calls that only a derivative sees are replaced by what they compute.

y = remat(x){ x -> f(x) }                   ->  y = f(x)
y = custom(x){ x -> f(x) }{ its derivative }     ->  y = f(x)
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, replay
from tracejit.ops.control.calls import CallOp
from tracejit.passes.analysis.regions import copied, inline

__all__ = ["inline_calls"]


def inline_calls(graph: Graph) -> Graph:
    """`graph` with the first region of each call in its place."""
    if not _has_calls(graph):
        return graph
    return replay(graph, _Expander(graph).emit)


def _has_calls(graph: Graph) -> bool:
    return any(isinstance(n.op, CallOp) or any(map(_has_calls, n.regions)) for n in graph.nodes)


class _Expander:
    def __init__(self, graph: Graph) -> None:
        #: The names of sizes that are not free.
        self.sizes = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}
        self.builder: GraphBuilder

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The `emit` of a replay."""
        self.builder = builder
        return self.node(node)

    def node(self, node: Node) -> Sequence[Value]:
        """Write what a node becomes; the values of its outputs."""
        if isinstance(node.op, CallOp):
            return inline(
                node.regions[0], node.inputs, node.attrs["sizes"][0], self.sizes, self.node
            )
        if node.regions:
            node = copied(node, regions=[inline_calls(r) for r in node.regions])
        self.builder.nodes.append(node)
        return node.outputs

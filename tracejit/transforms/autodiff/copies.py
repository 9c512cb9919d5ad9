"""Nodes that give an operand as it is are passed over: what reads their results reads the operand.

    a1 = reshape(a, shape=(n,))         a1 = reshape(a, shape=(n,))
    b = update_slice(a1, v, ...)   ->   b = update_slice(a, v, ...)

The trace reads views so. Without this an array that is stored into would not be seen to be the
same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.array.shape import BroadcastTo, Reshape

__all__ = ["without_copies"]


def without_copies(nodes: Sequence[Node]) -> tuple[list[Node], dict[Value, Value]]:
    """The nodes, all with their old outputs, and what the results of those passed over are."""
    table: dict[Value, Value] = {}
    out = []
    for node in nodes:
        node = _reading(node, table)
        out.append(node)
        if _gives_operand(node):
            table[node.outputs[0]] = node.inputs[0]
    return out, table


def _gives_operand(node: Node) -> bool:
    shapes = isinstance(node.op, (Reshape, BroadcastTo))
    return shapes and node.outputs[0].type == node.inputs[0].type


def _reading(node: Node, table: Mapping[Value, Value]) -> Node:
    inputs = tuple(table.get(v, v) for v in node.inputs)
    regions = tuple(map(_region, node.regions))
    if inputs == node.inputs and regions == node.regions:
        return node
    return Node(
        node.op, inputs, node.attrs, node.outputs, regions, node.binds, node.where, node.stale
    )


def _region(graph: Graph) -> Graph:
    nodes, table = without_copies(graph.nodes)
    if not table and nodes == list(graph.nodes):
        return graph
    return Graph(
        graph.name,
        graph.sizes,
        graph.inputs,
        tuple(n for n in nodes if not n.outputs or n.outputs[0] not in table),
        tuple(table.get(v, v) for v in graph.outputs),
        graph.results,
        graph.size_outputs,
    )

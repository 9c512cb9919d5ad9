"""Arrays of one number belong to one reader each: memory shared by several becomes memory of each.

    z = broadcast_to(0.0, (n,)); a = while_loop(z){...}; y = maximum(x, z)
    ->  z = broadcast_to(0.0, (n,)); y = maximum(x, z); w = broadcast_to(0.0, (n,)); while_loop(w)

A number is at hand in every kernel: one that reads it needs no array of it. What writes over such
an array fills its own, which costs less than a copy and leaves nothing alive in between.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.array.shape import BroadcastTo
from tracejit.passes.analysis.fusable import fusable, is_literal
from tracejit.passes.analysis.order import updated_by
from tracejit.passes.analysis.regions import copied, with_nodes

__all__ = ["duplicate_splats"]


def duplicate_splats(graph: Graph) -> Graph:
    """`graph` with an array of a literal for kernels, each writer, and those who only read."""
    producer = graph.producers()
    fills = {
        n.outputs[0]: n
        for n in graph.nodes
        if isinstance(n.op, BroadcastTo)
        and n.inputs[0] in producer
        and is_literal(producer[n.inputs[0]])
    }
    if not fills:
        return graph
    inlined = {v for n in graph.nodes if fusable(n) for v in n.inputs if v in fills}
    taken: set[Value] = set()
    readable: dict[Value, Value] = {}
    nodes: list[Node] = []

    def fresh(v: Value) -> Value:
        """The array itself where nobody else has it, else another one like it."""
        if v not in inlined and v not in taken:
            taken.add(v)
            return v
        node = fills[v]
        again = copied(node, outputs=[Value(v.type, v.name)])
        nodes.append(again)
        return again.outputs[0]

    def shared(v: Value) -> Value:
        if v not in readable:
            readable[v] = fresh(v)
        return readable[v]

    for n in graph.nodes:
        if fusable(n) or not any(v in fills for v in n.inputs):
            nodes.append(n)
            continue
        written = set(updated_by(n))
        inputs = [(fresh(v) if v in written else shared(v)) if v in fills else v for v in n.inputs]
        nodes.append(copied(n, inputs=inputs))
    outputs = [shared(v) if v in fills else v for v in graph.outputs]
    if len(nodes) == len(graph.nodes):
        return graph
    used = {v for n in nodes for v in n.inputs} | set(outputs)
    kept = [n for n in nodes if not (n.outputs and n.outputs[0] in fills) or n.outputs[0] in used]
    return with_nodes(graph, kept, outputs)

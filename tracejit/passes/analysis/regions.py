"""Regions taken apart and put together: what the passes on `cond` and `while_loop` share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import (
    Graph,
    Node,
    Value,
    attr_substitute,
)
from tracejit.ir.types import type_sizes, type_substitute

__all__ = [
    "constant_node",
    "copied",
    "inline",
    "inputs_read",
    "with_captures",
    "with_inputs",
    "with_nodes",
    "with_outputs",
    "with_values",
    "without",
]


def copied(
    node: Node,
    *,
    inputs: Sequence[Value] | None = None,
    attrs: Mapping[str, object] | None = None,
    outputs: Sequence[Value] | None = None,
    regions: Sequence[Graph] | None = None,
) -> Node:
    """A node like `node`, or itself where nothing would be new."""
    given = tuple(node.inputs if inputs is None else inputs)
    results = tuple(node.outputs if outputs is None else outputs)
    inner = tuple(node.regions if regions is None else regions)
    if (given, results, inner) == (node.inputs, node.outputs, node.regions) and attrs is None:
        return node
    kept = node.attrs if attrs is None else attrs
    return Node(node.op, given, kept, results, inner, node.binds, node.where)


def with_nodes(
    graph: Graph, nodes: Iterable[Node], outputs: Sequence[Value] | None = None
) -> Graph:
    """`graph` with other nodes, and other outputs in the same places."""
    given = graph.outputs if outputs is None else tuple(outputs)
    return replace(graph, nodes=tuple(nodes), outputs=given)


def with_inputs(graph: Graph, numbers: Sequence[int]) -> Graph:
    """`graph` with only these of its inputs, in this order."""
    inputs = tuple(graph.inputs[k] for k in numbers)
    return graph if inputs == graph.inputs else replace(graph, inputs=inputs)


def with_outputs(graph: Graph, numbers: Sequence[int]) -> Graph:
    """`graph` with only these of its outputs, in this order."""
    outputs = tuple(graph.outputs[k] for k in numbers)
    if len(numbers) == len(graph.outputs) and outputs == graph.outputs:
        return graph
    results = tuple(graph.results[k] for k in numbers) if graph.results else ()
    return replace(graph, outputs=outputs, results=results)


def with_values(graph: Graph, table: Mapping[Value, Value], first: Sequence[Node] = ()) -> Graph:
    """`graph` reading other values of the same types; the nodes `first` come before its own."""
    if not table:
        return graph
    nodes = [copied(n, inputs=[table.get(v, v) for v in n.inputs]) for n in graph.nodes]
    return with_nodes(graph, [*first, *nodes], [table.get(v, v) for v in graph.outputs])


def inputs_read(graph: Graph) -> set[int]:
    """The numbers of the inputs that the graph reads or returns."""
    uses = graph.uses()
    return {k for k, v in enumerate(graph.inputs) if v in uses}


def constant_node(like: Node) -> Node:
    """Another `constant` of the same value."""
    return Node(like.op, (), like.attrs, (Value(like.outputs[0].type, like.outputs[0].name),))


def inline(
    region: Graph,
    inputs: Sequence[Value],
    sizes: Sequence[Dim],
    taken: set[str],
    emit: Callable[[Node], Sequence[Value]],
) -> list[Value]:
    """Write the nodes of a region into the graph around it; the values of its outputs.

    `sizes` stand for the region's own. Each node goes through `emit`, with the operands, attributes
    and sizes of its new surroundings. Sizes that a node binds get names that are not `taken`, which
    then has them too.
    """
    table = dict(zip(region.inputs, inputs, strict=True))
    named: dict[str, Dim] = dict(zip(region.sizes, sizes, strict=True))
    for node in region.nodes:
        binds = []
        for name in node.binds:
            fresh = name
            while fresh in taken:
                fresh += "_"
            taken.add(fresh)
            named[name] = symbol(fresh)
            binds.append(fresh)
        attrs = {k: attr_substitute(a, named) for k, a in node.attrs.items()}
        operands = tuple(table[v] for v in node.inputs)
        types = node.op.infer(tuple(v.type for v in operands), attrs, node.regions, tuple(binds))
        outputs = tuple(Value(t, v.name) for t, v in zip(types, node.outputs, strict=True))
        made = Node(node.op, operands, attrs, outputs, node.regions, tuple(binds), node.where)
        table |= dict(zip(node.outputs, emit(made), strict=True))
    return [table[v] for v in region.outputs]


def with_captures(
    region: Graph, sizes: Sequence[Dim], values: Sequence[Value], carried: int
) -> tuple[Graph, tuple[Dim, ...]]:
    """A region with an input for each value outside, and the sizes it is given."""
    names = list(region.sizes)
    given = list(sizes)
    table: dict[str, Dim] = {}
    for outer in sorted(set().union(*(type_sizes(v.type) for v in values))):
        if symbol(outer) in given[carried:]:
            name = names[carried + given[carried:].index(symbol(outer))]
        else:
            name = outer
            while name in names or any(name in n.binds for n in region.nodes):
                name += "_"
            names.append(name)
            given.append(symbol(outer))
        table[outer] = symbol(name)
    inputs = [Value(type_substitute(v.type, table), v.name) for v in values]
    wider = replace(region, sizes=tuple(names), inputs=(*region.inputs, *inputs))
    return wider, tuple(given)


def without(region: Graph, nodes: set[Node]) -> Graph:
    """A region without those of `nodes` that nothing reads any more."""
    read = set(region.outputs)
    kept = []
    for node in reversed(region.nodes):
        if node not in nodes or not read.isdisjoint(node.outputs):
            kept.append(node)
            read.update(node.inputs)
    return with_nodes(region, reversed(kept))

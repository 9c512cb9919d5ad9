"""Regions under construction: closed graphs that take what they use of the graph around them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_substitute, sizes_read, symbols

__all__ = ["Region", "close", "copy_node", "fresh_sizes", "nested", "on_stacks"]


def fresh_sizes(graph: Graph, prefix: str = "d") -> Callable[[], str]:
    """Makes names of size symbols that neither the graph nor its regions use."""
    taken = _names(graph)
    count = 0

    def fresh() -> str:
        nonlocal count
        while True:
            count += 1
            name = f"{prefix}{count}"
            if name not in taken:
                taken.add(name)
                return name

    return fresh


def _names(graph: Graph) -> set[str]:
    taken = set(graph.sizes) | sizes_read(graph)
    for node in graph.nodes:
        taken |= set(node.binds)
        for region in node.regions:
            taken |= _names(region)
    return taken


class Region:
    """A region that is being built: its first inputs, then a capture for each value from outside.

    Its size symbols are those of the graph around it, under their own names, but for those that it
    is given as `own`.
    """

    def __init__(self, name: str, fresh: Callable[[], str], own: Sequence[str] = ()) -> None:
        self.builder = GraphBuilder(name)
        self.c = DerivativeBuilder(self.builder, fresh)
        self.own = tuple(own)
        self.captures: dict[Value, Value] = {}

    def capture(self, outer: Value) -> Value:
        """A value of the graph around it as one of the region."""
        if outer not in self.captures:
            self.captures[outer] = Value(outer.type, outer.name)
        return self.captures[outer]

    def close(
        self,
        first: Sequence[Value],
        captures: Iterable[Value],
        outputs: Sequence[Value],
        size_outputs: tuple[Dim, ...] = (),
    ) -> tuple[Graph, tuple[Dim, ...]]:
        """The graph for inputs `first` and then `captures`, and the sizes it is to be given.

        `captures` are values of the graph around it: those of all regions of one node.
        """
        self.builder.inputs = [*first]
        self.builder.inputs += [self.captures.get(c) or Value(c.type, c.name) for c in captures]
        return close(self.builder, self.own, outputs, size_outputs)


def close(
    builder: GraphBuilder,
    sizes: Sequence[str],
    outputs: Sequence[Value],
    size_outputs: tuple[Dim, ...] = (),
) -> tuple[Graph, tuple[Dim, ...]]:
    """The nodes of a builder as a closed region, and the sizes to give it beside `sizes`.

    These are the symbols that it reads and neither is given nor binds; they keep their names.
    """
    raw = builder.build(outputs, (), size_outputs)
    bound = {s for n in raw.nodes for s in n.binds}
    free = sorted(sizes_read(raw) - set(sizes) - bound)
    names = (*sizes, *free)
    closed = Graph(raw.name, names, raw.inputs, raw.nodes, raw.outputs, (), size_outputs)
    return closed, symbols(free)


def nested(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes and all those in their regions."""
    for node in nodes:
        yield node
        for region in node.regions:
            yield from nested(region.nodes)


def on_stacks(node: Node, names: Mapping[str, str]) -> Node:
    """A node, and those in its regions, on the stacks of other names."""
    attrs = dict(node.attrs)
    if node.op.kind == "stack":
        attrs["stack"] = names[attrs["stack"]]
    regions = tuple(
        dataclasses.replace(r, nodes=tuple(on_stacks(n, names) for n in r.nodes))
        for r in node.regions
    )
    return Node(node.op, node.inputs, attrs, node.outputs, regions, node.binds, node.where)


def copy_node(
    c: DerivativeBuilder, node: Node, inputs: Sequence[Value], sizes: dict[str, Dim]
) -> tuple[Value, ...]:
    """Record a node with other operands; its sizes by `sizes`, which gets those that it binds."""
    attrs = {k: attr_substitute(a, sizes) for k, a in node.attrs.items()}
    binds = tuple(c.fresh() for _ in node.binds)
    sizes.update(zip(node.binds, map(symbol, binds), strict=True))
    return c.builder.emit(
        node.op, inputs, attrs, regions=node.regions, binds=binds, where=node.where
    )

"""Closes regions that a transform builds: what a region reads from outside becomes its operand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.ir.dims import Dim, Poly
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, sizes_read, symbols

__all__ = ["close", "nested"]


def close(
    builder: GraphBuilder,
    sizes: Sequence[str],
    outputs: Sequence[Value],
    size_outputs: tuple[Dim, ...] = (),
) -> tuple[Graph, tuple[Poly, ...]]:
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

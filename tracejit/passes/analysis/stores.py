"""Stores into a graph's inputs, and what comes behind them."""

from __future__ import annotations

from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Graph, Node
from tracejit.passes.analysis.effects import has_effect

__all__ = ["Stretch", "stretches"]


@dataclass
class Stretch:
    """Nodes between two effects of which some may store into inputs: the first one, and those
    behind it."""

    stores: list[Node] = field(default_factory=list)
    #: All nodes from the first store on.
    nodes: list[Node] = field(default_factory=list)


def stretches(graph: Graph) -> list[Stretch]:
    """The stretches of a graph that have stores. What may fail behind an effect stays there."""
    kinds = zip(graph.results, graph.outputs, strict=False)
    written = {v for kind, v in kinds if kind.startswith("write")}
    roots = set(graph.inputs)
    found = [Stretch()]
    for node in graph.nodes:
        here = found[-1]
        if node.op.updates and node.inputs[0] in roots:
            roots.add(node.outputs[0])
            here.stores.append(node)
        elif not written.isdisjoint(node.outputs):
            here.stores.append(node)
        elif here.stores and has_effect(node):
            found.append(Stretch())
            continue
        if here.stores:
            here.nodes.append(node)
    return [stretch for stretch in found if stretch.stores]

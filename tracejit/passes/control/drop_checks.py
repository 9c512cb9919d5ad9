"""Bounds checks that are not made: of all indices, where the user says that they are in range."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.passes.analysis.regions import copied

__all__ = ["without_checks"]


def without_checks(graph: Graph) -> Graph:
    """`graph` relying on every index to lie inside its axis; negative ones count from the end."""
    return replay(graph, _unchecked, region=without_checks)


def _unchecked(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
    if node.op.checks_index and None in node.attrs.get("at", (None,)):
        node = copied(node, attrs={**node.attrs, "checked": False})
    return keep(builder, node)

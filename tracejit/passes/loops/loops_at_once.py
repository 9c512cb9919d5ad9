"""Loops that only move elements or add up products, as what all of their iterations do at once.

`loops/iterations.py` says which, and how; a derivative has it done before.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph, sizes_read
from tracejit.ir.regions import fresh_sizes
from tracejit.loops.iterations import at_once
from tracejit.passes.analysis.regions import with_nodes

__all__ = ["loops_at_once"]


def loops_at_once(graph: Graph) -> Graph:
    """`graph` without such loops."""
    if not any(n.regions for n in graph.nodes):
        return graph
    nodes = at_once(graph.nodes, fresh_sizes(graph), sizes_read(graph))
    return graph if tuple(nodes) == graph.nodes else with_nodes(graph, nodes)

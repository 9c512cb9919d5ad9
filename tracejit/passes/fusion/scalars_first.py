"""Scalars are computed as soon as what they are made of is known.

    b = add(m, g); c = divide(rate, k); d = np_scalar(c); p = multiply(b, d)
    ->  c = divide(rate, k); d = np_scalar(c); b = add(m, g); p = multiply(b, d)

So no scalar stands between arrays that one kernel could compute, and what a scalar checks is known
before anything is stored that would have to be undone. Checks stay behind effects.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.passes.analysis.effects import is_barrier, is_linear, may_raise
from tracejit.passes.analysis.fusable import is_literal
from tracejit.passes.analysis.regions import with_nodes

__all__ = ["scalars_first"]


def scalars_first(graph: Graph) -> Graph:
    """`graph` itself, without the regions in it, with its scalars in front."""
    #: The nodes that stay, each with the scalars behind it; the first of them follow no node.
    behind: list[list[Node]] = [[]]
    known: dict[Value, int] = {}
    bound: dict[str, int] = {}
    barrier, moved = 0, False
    for node in graph.nodes:
        if _is_scalar(node):
            sizes = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
            places = [known.get(v, 0) for v in node.inputs] + [bound.get(s, 0) for s in sizes]
            place = max([*places, barrier if may_raise(node) else 0])
            moved = moved or place < len(behind) - 1 and not is_literal(node)
        else:
            behind.append([])
            place = len(behind) - 1
            barrier = place if is_barrier(node) else barrier
            bound |= dict.fromkeys(node.binds, place)
        behind[place].append(node)
        known |= dict.fromkeys(node.outputs, place)
    return with_nodes(graph, (node for part in behind for node in part)) if moved else graph


def _is_scalar(node: Node) -> bool:
    """Whether a node makes scalars of scalars, also by a branch or loop, and does nothing else."""
    values = (*node.inputs, *node.outputs)
    if node.binds or not node.outputs or not node.op.pure or is_linear(node):
        return False
    if any(isinstance(v.type, ArrayType) for v in values):
        return False
    return all(_is_scalar(inner) for region in node.regions for inner in region.nodes)

"""Reads of an array are brought in front of the node that updates it.

    b = update(a, v); r = slice(a)      ->      r = slice(a); b = update(a, v)

An update can only work in place if nothing reads the old array afterwards. What `simplify` has read
past an update stands behind it, and so may what takes a slice apart that was read before; both
would cost a copy of the whole array. Slices and views of them, and single elements, move.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.items import ReadItem
from tracejit.ops.array.shape import Element, Reshape, Slice, Transpose
from tracejit.passes.analysis.effects import may_raise
from tracejit.passes.analysis.order import updated_by
from tracejit.passes.analysis.regions import copied, with_nodes

__all__ = ["hoist_reads"]

_READS = (Slice, Reshape, Transpose, Element, ReadItem, Gather)


def hoist_reads(graph: Graph) -> Graph:
    """`graph` with reads of arrays in front of their updates."""
    nodes = [
        copied(n, regions=[hoist_reads(r) for r in n.regions]) if n.regions else n
        for n in graph.nodes
    ]
    moved = _Mover(graph, nodes).moved()
    same = len(moved) == len(graph.nodes) and all(
        a is b for a, b in zip(moved, graph.nodes, strict=True)
    )
    return graph if same else with_nodes(graph, moved)


class _Mover:
    def __init__(self, graph: Graph, nodes: list[Node]) -> None:
        self.nodes = nodes
        #: From which place on a value, or a size, is known; 0 for those from outside.
        self.known: dict[object, int] = {}
        self.updates: dict[Value, list[int]] = {}
        #: The arrays whose elements a slice or a view of one shows.
        self.shows: dict[Value, frozenset[Value]] = {}

    def moved(self) -> list[Node]:
        """The nodes in their new order."""
        for k, node in enumerate(self.nodes):
            for v in updated_by(node):
                self.updates.setdefault(v, []).append(k)
        if not self.updates:
            return self.nodes
        before: list[list[Node]] = [[] for _ in self.nodes]
        for k, node in enumerate(self.nodes):
            place = self._place(node, k)
            if place == k:
                before[k].append(node)
                self._learn(node, k + 1)
            else:
                # Nodes that move to one place keep their order; that which was there comes last.
                before[place].insert(self._own(before[place], place), node)
                self._learn(node, place)
        return [node for group in before for node in group]

    def _own(self, group: list[Node], place: int) -> int:
        return len(group) - (self.nodes[place] in group)

    def _learn(self, node: Node, place: int) -> None:
        for known in (*node.outputs, *node.binds):
            self.known[known] = place

    def _place(self, node: Node, k: int) -> int:
        """The place of the node in front of which `node` is to stand: k for where it is."""
        if not isinstance(node.op, _READS) or may_raise(node):
            return k
        (out,) = node.outputs
        source = node.inputs[0]
        arrays = self.shows.get(source, frozenset()) | {source}
        if isinstance(out.type, ArrayType):
            self.shows[out] = arrays
        sizes = {s for v in node.outputs for s in type_sizes(v.type)} | node.sizes()
        first = max((self.known.get(x, 0) for x in [*node.inputs, *sizes]), default=0)
        spots = [p for a in arrays for p in self.updates.get(a, ()) if first <= p < k]
        return min(spots, default=k)

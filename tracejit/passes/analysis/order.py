"""What the order of a graph's nodes says beyond what reads what.

A value is used up by the node that updates it: a read that moved behind would need a copy of the
whole array. A node with effects is a barrier to what may raise: it may not move across.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.passes.analysis.effects import is_barrier, may_raise

__all__ = ["Order", "updated_by"]


def updated_by(node: Node) -> Iterator[Value]:
    """The arrays that a node updates, itself or in its regions, if it may work in place."""
    if node.op.updates:
        yield node.inputs[0]
    elif not node.regions:
        return
    elif isinstance(node.op, WhileLoop):
        yield from (v for v in node.inputs[: node.attrs["carried"]] if _is_array(v))
    elif isinstance(node.op, Cond):
        for region in node.regions:
            inside = set(_updated_in(region))
            pairs = zip(region.inputs, node.inputs[1:], strict=True)
            yield from (outer for inner, outer in pairs if inner in inside)


def _updated_in(region: Graph) -> Iterator[Value]:
    for node in region.nodes:
        yield from updated_by(node)


def _is_array(v: Value) -> bool:
    return isinstance(v.type, ArrayType)


class Order:
    """The places of a graph's nodes, and how far down each of them may move."""

    def __init__(self, graph: Graph) -> None:
        self.place = {node: k for k, node in enumerate(graph.nodes)}
        self.end = len(graph.nodes)
        self._updates: dict[Value, list[int]] = {}
        self._barriers: list[int] = []
        for k, node in enumerate(graph.nodes):
            for v in updated_by(node):
                self._updates.setdefault(v, []).append(k)
            if is_barrier(node):
                self._barriers.append(k)

    def limit(self, node: Node) -> int:
        """The place of the first node below that `node` may not move behind."""
        here = self.place[node]
        limits = [self._first(self._updates.get(v, ()), here) for v in node.inputs]
        if self._barriers and may_raise(node):
            limits.append(self._first(self._barriers, here))
        return min(limits, default=self.end)

    def overwritten(self, v: Value) -> int:
        """The place of the first node that updates an array."""
        return min(self._updates.get(v, ()), default=self.end)

    def only_update(self, v: Value) -> int | None:
        """The place of the node that updates an array, where there is one and no other."""
        places = self._updates.get(v, ())
        return places[0] if len(places) == 1 else None

    def updated_between(self, v: Value, first: Node, last: Node) -> bool:
        """Whether `v` may be updated in place behind `first` and in front of `last`."""
        place = self._first(self._updates.get(v, ()), self.place[first])
        return place < self.place[last]

    def _first(self, places: list[int] | tuple[int, ...], here: int) -> int:
        k = bisect_right(places, here)
        return places[k] if k < len(places) else self.end

"""Parts of a node list that is still growing, and is changed in other places."""

from __future__ import annotations

import weakref

from tracejit.ir.graph import GraphBuilder, Node

__all__ = ["Segment"]

_SEGMENTS: weakref.WeakKeyDictionary[GraphBuilder, weakref.WeakSet[Segment]] = (
    weakref.WeakKeyDictionary()
)


class Segment:
    """The nodes from number `start` to `end` (not included) that a builder has recorded."""

    def __init__(self, builder: GraphBuilder, start: int, end: int | None = None) -> None:
        self.builder, self.start = builder, start
        self.end = len(builder.nodes) if end is None else end
        _SEGMENTS.setdefault(builder, weakref.WeakSet()).add(self)

    @property
    def nodes(self) -> list[Node]:
        """The nodes."""
        return self.builder.nodes[self.start : self.end]

    def replace(self, nodes: list[Node]) -> None:
        """Put other nodes in the place of these; segments behind them move."""
        grown, end = len(nodes) - (self.end - self.start), self.end
        self.builder.nodes[self.start : end] = nodes
        for other in list(_SEGMENTS[self.builder]):
            if other.start >= end and other is not self:
                other.start += grown
            if other.end >= end:
                other.end += grown

"""Which loops compute scalars and elements alone, and how many iterations go between polls.

for i in range(n):          light: a poll after many iterations
    for k in range(3):      short: none at all, its iterations are part of those around it

A short loop counts up to a number of the program, a small one, so that it ends soon.
"""

from __future__ import annotations

from tracejit.codegen.analysis.liveness import is_array
from tracejit.ir.dataflow import DataflowGraph, Frame, Section
from tracejit.ir.dims import symbol
from tracejit.ir.graph import Node, Value
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Undefined
from tracejit.ops.python.comparisons import PyLess

__all__ = ["LightLoops"]

#: What never goes through whole arrays.
_LIGHT = (Merge, Constant, Undefined, Element, ReadItem, WriteItem)
#: Iterations of a short loop, those of the short loops in it among them.
_MOST = 256


class LightLoops:
    """The loops of a graph without work on whole arrays, but for that of longer loops in them."""

    def __init__(self, graph: DataflowGraph) -> None:
        self._graph = graph
        self._producer = graph.producers()
        inner: dict[Frame, list[Frame]] = {}
        heads: dict[Frame, Section] = {}
        heavy: set[Frame] = set()
        items: set[Frame] = set()
        for s in graph.sections:
            if s.kind == "head":
                heads[s.frame] = s
                inner.setdefault(s.frame, [])
                if s.frame.parent is not None:
                    inner.setdefault(s.frame.parent, []).append(s.frame)
            if any(_is_heavy(n) for n in s.nodes):
                heavy.add(s.frame)
            if any(isinstance(n.op, (ReadItem, WriteItem)) for n in s.nodes):
                items.add(s.frame)
        #: The iterations of each short loop, with those in it.
        self.short: dict[Frame, int] = {}
        #: The iterations of short loops in an iteration of each light loop, which is no short one.
        self.light: dict[Frame, int] = {}
        #: Whether any of them reads or writes elements of arrays.
        self.moves_items = False
        for frame in sorted(heads, key=lambda f: -f.depth):
            if frame in heavy or any(f not in self.short for f in inner[frame]):
                continue
            work = 1 + sum(self.short[f] for f in inner[frame])
            trips = self._trips(heads[frame])
            if trips is not None and trips * work <= _MOST:
                self.short[frame] = trips * work
            else:
                self.light[frame] = work
            self.moves_items |= frame in items

    def _trips(self, head: Section) -> int | None:
        """The most iterations of a loop that counts up to a constant, or None."""
        if head.branch is None:
            return None
        test = self._made(head.branch)
        if test is None or not isinstance(test.op, PyLess):
            return None
        count, most = (self._made(v) for v in test.inputs)
        if count is None or most is None or not isinstance(count.op, DimValue):
            return None
        if not isinstance(most.op, Constant):
            return None
        for node in head.nodes:
            if not isinstance(node.op, Merge) or len(node.binds) != 1:
                continue
            # A size is never negative, and the loop's counter grows by one at least.
            now = symbol(node.binds[0])
            following = self._made(node.inputs[1])
            if count.attrs["dim"] != now or following is None:
                continue
            if isinstance(following.op, DimValue) and following.attrs["dim"] == now + 1:
                return max(int(most.attrs["value"]), 0)
        return None

    def _made(self, v: Value) -> Node | None:
        """What makes a value, whatever it is called on its way."""
        node = self._producer.get(v)
        while node is not None and node.op.renames:
            node = self._producer.get(node.inputs[0])
        return node


def _is_heavy(node: Node) -> bool:
    light = node.op.renames or isinstance(node.op, _LIGHT)
    return not light and any(is_array(v) for v in (*node.inputs, *node.outputs))

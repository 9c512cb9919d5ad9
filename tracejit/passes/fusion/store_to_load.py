"""What an update has stored is read from there, and so is what it has left as it was.

    v = f(a); b1 = update(b, v, 1:); w = v + b[:1]
    ->  v = f(a); b1 = update(b, v, 1:); w = b1[1:] + b1[:1]

`simplify` takes b1[1:] for v and b1[:1] for b[:1], which is right where the update is dropped. But
an update that stays is a kernel of its own: another one that reads v would read again all that v is
computed from, and keep that from being overwritten; one that reads b would need a copy of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.op import OPS
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.items import WriteItem
from tracejit.ops.array.shape import Reshape, Slice, Transpose
from tracejit.passes.analysis.order import Order
from tracejit.passes.analysis.regions import copied, with_nodes
from tracejit.passes.simplify.index import apart

__all__ = ["read_updated"]

#: Work, in additions, that costs more than the load that replaces it.
_LOAD = 1.0
_PARTS = ("start", "size", "step")


def read_updated(
    graph: Graph, fusable: Set[Node], roots: Set[Node], cost: Mapping[Value, float], order: Order
) -> Graph:
    """`graph` with what kernels read from updated arrays read from the newest ones that have it.

    `roots` are the nodes whose results are stored anyway, `cost` the work for an element of what
    other kernels compute where they read it.
    """
    reader = _Reader(graph, fusable, roots, cost, order)
    for n in graph.nodes:
        inputs = n.inputs
        if n in fusable:
            inputs = tuple(reader.newest(v, n) for v in inputs)
        reader.nodes.append(copied(n, inputs=inputs))
        if isinstance(n.op, UpdateSlice) and n in roots:
            reader.learn(n)
    return with_nodes(graph, reader.nodes) if reader.slices else graph


class _Reader:
    """Finds where else a value is at hand; `nodes` are the graph's so far."""

    def __init__(
        self,
        graph: Graph,
        fusable: Set[Node],
        roots: Set[Node],
        cost: Mapping[Value, float],
        order: Order,
    ) -> None:
        self.roots, self.cost, self.order = roots, cost, order
        self.given = graph.nodes
        self.producer = graph.producers()
        self.last = _last_kernels(graph, fusable, roots, order)
        self.nodes: list[Node] = []
        self.slices: dict[tuple[Value, Value], Value] = {}
        self._stored: dict[Value, Node] = {}

    def learn(self, update: Node) -> None:
        """An update has stored its new values."""
        v = update.inputs[1]
        made = self.producer.get(v)
        if v not in self._stored and made not in self.roots and self.cost.get(v, 0.0) >= _LOAD:
            self._stored[v] = update

    def newest(self, v: Value, reader: Node) -> Value:
        """`v`, or a slice of an array that is not overwritten before `reader` is done."""
        if v in self._stored:
            update = self._stored[v]
            array = update.outputs[0]
            lasts = self.last[reader] < self.order.overwritten(array)
            return self._slice(v, array, update, reader) if lasts else v
        part, views = self._viewed(v)
        node = self.producer.get(part)
        if node is None or not isinstance(node.op, Slice) or node in self.roots:
            return v
        x = node.inputs[0]
        while (place := self.order.only_update(x)) is not None:
            update = self.given[place]
            known = isinstance(update.op, UpdateSlice) and update in self.roots
            known = known or isinstance(update.op, WriteItem)
            if not known or place >= self.order.place[reader] or not apart(node, update):
                break
            x = update.outputs[0]
        # What updates that array next may read it at the same time.
        lasts = self.last[reader] <= self.order.overwritten(x)
        if not lasts or x is node.inputs[0]:
            return v
        return self._slice(v, x, node, reader, views)

    def _viewed(self, v: Value) -> tuple[Value, list[Node]]:
        """What a value is a view of, and the views, from it to the value."""
        views: list[Node] = []
        while (node := self.producer.get(v)) and isinstance(node.op, (Reshape, Transpose)):
            if node in self.roots:
                break
            views.insert(0, node)
            v = node.inputs[0]
        return v, views

    def _slice(
        self, v: Value, array: Value, like: Node, reader: Node, views: Sequence[Node] = ()
    ) -> Value:
        """Views of the slice of `array` at the place of another one or of an update, for `v`."""
        if (v, array) not in self.slices:
            attrs = {p: like.attrs[p] for p in _PARTS}
            of_slice = views[0].inputs[0] if views else v
            if OPS["slice"].infer((array.type,), attrs, (), ()) != (of_slice.type,):
                return v
            made = Node(
                OPS["slice"], (array,), attrs, (Value(of_slice.type),), (), (), reader.where
            )
            self.nodes.append(made)
            for view in views:
                made = copied(view, inputs=made.outputs, outputs=[Value(view.outputs[0].type)])
                self.nodes.append(made)
            self.slices[v, array] = made.outputs[0]
        return self.slices[v, array]


def _last_kernels(
    graph: Graph, fusable: Set[Node], roots: Set[Node], order: Order
) -> dict[Node, int]:
    """The place of the last kernel that computes each fusable node."""
    users: dict[Value, list[Node]] = {}
    out: dict[Node, int] = {}
    for n in reversed(graph.nodes):
        if n in fusable:
            out[n] = order.place[n]
            if n not in roots:
                inner = [out.get(u, order.place[u]) for v in n.outputs for u in users.get(v, ())]
                out[n] = max([out[n], *inner])
        for v in n.inputs:
            users.setdefault(v, []).append(n)
    return out

"""What an update has stored is read from there, not computed a second time.

    v = f(a); b1 = update(b, v, 1:); w = v + b1[:-1]
    ->  v = f(a); b1 = update(b, v, 1:); w = b1[1:] + b1[:-1]

`simplify` takes b1[1:] for v, which is right where the update is dropped or both are computed in
one loop. An update is a kernel of its own though: another kernel that reads v would read again all
that v is computed from, and keep that from being overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.op import OPS
from tracejit.passes.order import Order
from tracejit.passes.regions import copied, with_nodes

__all__ = ["read_updated"]

#: Work, in additions, that costs more than the load that replaces it.
_LOAD = 1.0
_PARTS = ("start", "size", "step")


def read_updated(
    graph: Graph, fusable: Set[Node], roots: Set[Node], cost: Mapping[Value, float], order: Order
) -> Graph:
    """`graph` with values that updates store read from the updated arrays, while those last.

    `roots` are the nodes whose results are stored anyway, `cost` the work for an element of what
    other kernels compute where they read it.
    """
    last = _last_kernels(graph, fusable, roots, order)
    nodes: list[Node] = []
    places: dict[Value, tuple[Node, Value, int]] = {}
    slices: dict[Value, Value] = {}
    for n in graph.nodes:
        inputs = list(n.inputs)
        for k, v in enumerate(n.inputs):
            if v not in places or n not in fusable:
                continue
            update, stored, end = places[v]
            if last[n] >= end:
                continue
            if v not in slices:
                attrs = {p: update.attrs[p] for p in _PARTS}
                nodes.append(
                    Node(OPS["slice"], (stored,), attrs, (Value(v.type),), (), (), n.where)
                )
                slices[v] = nodes[-1].outputs[0]
            inputs[k] = slices[v]
        nodes.append(copied(n, inputs=inputs))
        if n.op.name != "update_slice" or n not in roots:
            continue
        (stored,), v = n.outputs, n.inputs[1]
        attrs = {p: n.attrs[p] for p in _PARTS}
        same = OPS["slice"].infer((stored.type,), attrs, (), ()) == (v.type,)
        if same and v not in places and cost.get(v, 0.0) >= _LOAD:
            if not any(v in r.outputs for r in roots):
                places[v] = n, stored, order.overwritten(stored)
    return with_nodes(graph, nodes) if slices else graph


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

"""Arrays that stores of slices fill, one after another along an axis, are joins of what is stored.

    a = broadcast_to(0.0, (n, 2))
    b = update_slice(a, v, [:, 0:1]); c = update_slice(b, w, [:, 1:2])
    ->  c = concatenate(v, w, axis=1)

Nothing of what the array held before is left, so it is not filled first, and one kernel stores all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, shape_of
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.shape import BroadcastTo
from tracejit.passes.analysis.regions import with_nodes

__all__ = ["joins"]


def joins(graph: Graph) -> Graph:
    """`graph`, without its regions, with such stores as joins."""
    producer = graph.producers()
    readers: dict[Value, int] = {}
    for v in (*(v for n in graph.nodes for v in n.inputs), *graph.outputs):
        readers[v] = readers.get(v, 0) + 1
    found: dict[Node, tuple[Sequence[Value], int]] = {}
    dead: set[Node] = set()
    for n in reversed(graph.nodes):
        if isinstance(n.op, UpdateSlice) and n not in dead:
            stores = [n]
            while (before := producer.get(stores[-1].inputs[0])) is not None:
                if not isinstance(before.op, UpdateSlice) or readers[before.outputs[0]] > 1:
                    break
                stores.append(before)
            parts = _parts(stores, before) if len(stores) > 1 else None
            if parts is not None:
                found[n] = parts
                dead.update(stores[1:])
    if not found:
        return graph
    nodes = []
    for n in graph.nodes:
        if n in found:
            joined, axis = found[n]
            n = Node(OPS["concatenate"], tuple(joined), {"axis": axis}, n.outputs, where=n.where)
        if n not in dead:
            nodes.append(n)
    return with_nodes(graph, nodes)


def _parts(stores: Sequence[Node], first: Node | None) -> tuple[Sequence[Value], int] | None:
    """What is joined, and the axis, where stores of whole slices fill an array of one number."""
    out = stores[0].outputs[0].type
    assert isinstance(out, ArrayType)
    if first is None or not isinstance(first.op, BroadcastTo):
        return None
    if any(step != 1 for n in stores for step in n.attrs["step"]):
        return None
    for axis in range(out.ndim):
        others = [k for k in range(out.ndim) if k != axis]
        if any(n.attrs["size"][k] != out.shape[k] for n in stores for k in others):
            continue
        left, parts = list(stores), []
        end: Dim = 0
        while left:
            n = next((n for n in left if n.attrs["start"][axis] == end), None)
            if n is None:
                break
            left.remove(n)
            parts.append(n.inputs[1])
            end = end + shape_of(n.inputs[1].type)[axis]
        if left:
            continue
        made = OPS["concatenate"].infer([v.type for v in parts], {"axis": axis}, (), ())
        if made == (out,):
            return parts, axis
    return None

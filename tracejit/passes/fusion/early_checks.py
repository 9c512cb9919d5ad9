"""What can fail without need of a store is done before the first store into an argument.

    v = gather(b, j); a1 = scatter_apply(a, v, i); b1 = scatter_apply(b, u, j)
    ->  k = gather(iota(len(b)), j); v = gather(b, k, checked=False)
        a1 = scatter_apply(a, v, i); b1 = scatter_apply(b, u, k, checked=False)

An update checks its own indices before it stores anything. But where another argument has been
stored into by then, element by element or whole, or an element is gathered behind a store, the
whole array is copied at first, to undo them: a table of a million rows for the sake of a few. What
is gathered in front is the indices themselves, counted from the first element; that others read
these keeps the check there.
"""

from __future__ import annotations

from tracejit.ir.dims import Dim, free_symbols, prod
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.ops.array.creation import Iota
from tracejit.ops.array.indexing import Gather, Scatter
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.passes.analysis.regions import copied, with_nodes
from tracejit.passes.analysis.stores import Stretch, stretches
from tracejit.passes.fusion.failures_first import failures_first

__all__ = ["early_checks"]

_Place = tuple[Value, Dim]


def early_checks(graph: Graph) -> Graph:
    """`graph` with what updates of its inputs check in front of them."""
    graph = failures_first(graph)
    if not any(map(_places, graph.nodes)):
        return graph
    for k in range(len(stretches(graph))):
        graph = _checked_early(graph, stretches(graph)[k])
    return graph


def _checked_early(graph: Graph, stretch: Stretch) -> Graph:
    """`graph` with what a stretch of it checks in front of its first store."""
    stores = stretch.stores
    readers = [node for node in stretch.nodes if node not in stores]
    wanted = _wanted(graph, stores, readers)
    if not wanted:
        return graph
    made = graph.producers()
    nodes: list[Node] = []
    checked: dict[_Place, Value] = {}

    def check(place: _Place, node: Node) -> Value:
        if _is_inside(place, made):
            return place[0]
        if place not in checked:
            builder = GraphBuilder("checks")
            attrs = {"size": place[1], "dtype": "i64"}
            (numbers,) = builder.emit(OPS["iota"], (), attrs, where=node.where)
            (checked[place],) = builder.emit(OPS["gather"], (numbers, place[0]), where=node.where)
            nodes.extend(builder.nodes)
        return checked[place]

    for node in graph.nodes:
        if node is stores[0]:
            for place, reader in wanted.items():
                check(place, reader)
        places = _places(node)
        if places and all(p in wanted or _is_inside(p, made) for p in places):
            first = 1 if isinstance(node.op, Gather) else 2
            inputs = (*node.inputs[:first], *(check(p, node) for p in places))
            node = copied(node, inputs=inputs, attrs={**node.attrs, "checked": False})
        nodes.append(node)
    return with_nodes(graph, nodes)


def _wanted(graph: Graph, stores: list[Node], readers: list[Node]) -> dict[_Place, Node]:
    """The indices that are to be checked early, with the sizes of their axes, and who reads them.

    These are all that may fail behind a store: not the indices of the first update itself.
    """
    made = graph.producers()
    position = {node: k for k, node in enumerate(graph.nodes)}
    first = position[stores[0]]
    known = {*graph.sizes, *(name for node in graph.nodes[:first] for name in node.binds)}
    found: dict[_Place, Node] = {}
    refused: set[_Place] = set()
    readers = [*readers, *(n for n in _behind(stores, made) if isinstance(n.op, Gather))]
    for node in (*readers, *stores[1:]):
        for place in _places(node):
            index, size = place
            source = made.get(index)
            ready = source is None or position[source] < first
            if _is_inside(place, made):
                continue
            if ready and free_symbols(size) <= known and _pays(index, stores):
                found.setdefault(place, node)
            else:
                refused.add(place)
    return {place: node for place, node in found.items() if place not in refused}


def _behind(stores: list[Node], made: dict[Value, Node]) -> list[Node]:
    """What the new elements of updates are computed of."""
    stack = [node.inputs[1] for node in stores if node.op.updates]
    seen = dict[Node, None]()
    while stack:
        node = made.get(stack.pop())
        if node is not None and node not in seen and not node.op.updates:
            seen[node] = None
            stack += node.inputs
    return list(seen)


def _places(node: Node) -> list[_Place]:
    """What a node checks: arrays of indices, each with the size of its axis."""
    if not isinstance(node.op, (Gather, Scatter, ScatterApply)):
        return []
    first = 1 if isinstance(node.op, Gather) else 2
    t, indices = node.inputs[0].type, node.inputs[first:]
    assert isinstance(t, ArrayType)
    if not node.attrs.get("checked", True):
        return []
    if not all(isinstance(v.type, ArrayType) for v in indices):
        return []
    return list(zip(indices, t.shape, strict=False))


def _is_inside(place: _Place, made: dict[Value, Node]) -> bool:
    """Whether the indices count an axis, so that none is outside."""
    index, size = place
    assert isinstance(index.type, ArrayType)
    return index in made and isinstance(made[index].op, Iota) and index.type.size == size


def _pays(index: Value, stores: list[Node]) -> bool:
    """Whether reading the indices once more is less than to copy the arrays, if that is known."""
    arrays = [(n.inputs[0] if n.op.updates else n.outputs[0]).type for n in stores]
    assert isinstance(index.type, ArrayType)
    count = prod(index.type.shape)
    rooms = [prod(t.shape) for t in arrays if isinstance(t, ArrayType)]
    most = [room for room in rooms if isinstance(room, int)]
    return not isinstance(count, int) or len(most) < len(rooms) or count <= sum(most)

"""What may fail without need of a store, and what that is made of, comes before the store.

    a1 = scatter(a, v, i); k = true_positions(m); b1 = scatter(b, u, k)
    ->  k = true_positions(m); a1 = scatter(a, v, i); b1 = scatter(b, u, k)

Of updates and reads by index these are the indices: whether they are inside can then be seen in
front of the store, which need not be undone. Numbers become sizes there, since that these are not
too large is seen where they are bound. Nothing moves across an effect that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tracejit.ir.dims import free_symbols
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.creation import BindSize
from tracejit.ops.array.indexing import Gather, Scatter
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.ops.control.effects import Check
from tracejit.ops.control.regions import Cond
from tracejit.ops.host.random import HostDraw
from tracejit.passes.analysis.effects import has_effect, is_linear, may_bail
from tracejit.passes.analysis.regions import with_nodes
from tracejit.passes.analysis.stores import Stretch, stretches

__all__ = ["failures_first"]


def failures_first(graph: Graph) -> Graph:
    """`graph` itself, without the regions in it, with what may fail in front of its stores."""
    moved: dict[Node, list[Node]] = {}
    for stretch in stretches(graph):
        needed = _needed(stretch, graph.uses())
        if needed:
            moved[stretch.stores[0]] = [node for node in stretch.nodes if node in needed]
    if not moved:
        return graph
    gone = {node for nodes in moved.values() for node in nodes}
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += moved.get(node, ())
        if node not in gone:
            nodes.append(node)
    return with_nodes(graph, nodes)


def _needed(stretch: Stretch, uses: dict[Value, int]) -> set[Node]:
    """What may fail, and what it is made of, if none of that needs a store of the stretch."""
    made = {v: node for node in stretch.nodes for v in node.outputs}
    bound = {name: node for node in stretch.nodes for name in node.binds}
    stores, ready = set(stretch.stores), set[Node]()

    def sources(node: Node) -> Iterator[Node]:
        yield from (made[v] for v in node.inputs if v in made)
        sizes = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        yield from (bound[s] for s in sizes if s in bound and bound[s] is not node)

    for node in stretch.nodes:
        if node not in stores and _may_move(node, uses) and all(s in ready for s in sources(node)):
            ready.add(node)
        elif isinstance(node.op, Check):
            break  # what is behind it may rely on it
    wanted = [node for failing in stretch.nodes for node in _failing(failing, made, bound)]
    return _with_sources([node for node in wanted if node in ready], sources)


def _may_move(node: Node, uses: dict[Value, int]) -> bool:
    if has_effect(node) or is_linear(node) or isinstance(node.op, HostDraw):
        return False
    if node.regions and not isinstance(node.op, Cond):
        return False
    # What reads an array before it is updated in place would come behind that.
    return not node.op.updates or uses[node.inputs[0]] == 1


def _failing(node: Node, made: dict[Value, Node], bound: dict[str, Node]) -> Iterator[Node]:
    """What is to be known before a store, if a node may fail."""
    if isinstance(node.op, (Gather, Scatter, ScatterApply)):
        if node.attrs.get("checked", True):
            yield from (made[v] for v in node.inputs[1:] if v in made and _is_index(v))
            t = node.inputs[0].type
            assert isinstance(t, ArrayType)
            yield from (bound[s] for d in t.shape for s in free_symbols(d) if s in bound)
    elif may_bail(node) or isinstance(node.op, BindSize):
        yield node


def _is_index(v: Value) -> bool:
    return isinstance(v.type, ArrayType) and v.type.dtype.kind in "iu"


def _with_sources(nodes: list[Node], sources: Callable[[Node], Iterator[Node]]) -> set[Node]:
    found: set[Node] = set()
    while nodes:
        node = nodes.pop()
        if node not in found:
            found.add(node)
            nodes += sources(node)
    return found

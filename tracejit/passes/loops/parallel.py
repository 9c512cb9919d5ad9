"""Loops of scalar code whose iterations are independent become `parallel_loop`s.

    while i < n { v = x[i]; while abs(v) > 1 { v = v / 2 }; a[i] = v }

Each iteration writes to arrays at places that the counter tells apart: along one axis every access
to such an array, in inner loops and branches too, is at the counter itself, or at the same distance
from it. Or all that is done to an array are updates that may come in any order, wherever they are:
counts of a histogram. Nothing else is carried. This is for devices that run each iteration in a
thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, free_symbols, maximum, substitute, symbol
from tracejit.ir.graph import Graph, Node, Value, attr_substitute
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, dtype_name, dtype_of
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element
from tracejit.ops.control.effects import Check
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.python.comparisons import PyLess
from tracejit.passes.loops.updates import Update, updates_of

__all__ = ["Independence", "as_parallel", "independence", "parallel_loops", "trips_of"]


def parallel_loops(graph: Graph) -> Graph:
    """The graph with its outermost independent loops as `parallel_loop`s."""
    return _replaced(graph)


def _replaced(graph: Graph) -> Graph:
    nodes: list[Node] = []
    changed = False
    for node in graph.nodes:
        found = _parallel(node)
        if found is not None:
            nodes += found
            changed = True
            continue
        if node.op.kind == "control" and node.regions:
            regions = tuple(map(_replaced, node.regions))
            if any(a is not b for a, b in zip(regions, node.regions, strict=True)):
                node = replace_regions(node, regions)
                changed = True
        nodes.append(node)
    return graph if not changed else replace(graph, nodes=tuple(nodes))


def replace_regions(node: Node, regions: tuple[Graph, ...]) -> Node:
    """The same node around other regions."""
    return Node(node.op, node.inputs, node.attrs, node.outputs, regions, node.binds, node.where)


def trips_of(node: Node) -> Dim | None:
    """How many iterations a `while_loop` has that counts up from 0; None for any other."""
    condition, body = node.regions
    if len(body.size_outputs) != 1 or node.attrs["sizes"][1][0] != 0:
        return None
    if body.size_outputs[0] != symbol(body.sizes[0]) + 1:
        return None
    made = condition.producers()
    test = made.get(condition.outputs[0])
    if test is None or not isinstance(test.op, PyLess):
        return None
    counter, end = (_number(made.get(v)) for v in test.inputs)
    if end is None or counter != symbol(condition.sizes[0]):
        return None
    given = dict(zip(condition.sizes[1:], node.attrs["sizes"][0][1:], strict=True))
    if not free_symbols(end) <= set(given):
        return None
    return maximum(substitute(end, given), 0)


@dataclass(frozen=True)
class Independence:
    """How many iterations a loop has, and the inputs, by number, that they update in any order."""

    trips: Dim
    updated: tuple[int, ...]


def independence(node: Node) -> Independence | None:
    """What makes the iterations of a `while_loop` independent; None where they are not."""
    trips = trips_of(node)
    updated = None if trips is None else _updated(node)
    return None if trips is None or updated is None else Independence(trips, updated)


def _number(node: Node | None) -> Dim | None:
    if node is None:
        return None
    if isinstance(node.op, DimValue):
        dim: Dim = node.attrs["dim"]
        return dim
    value = node.attrs.get("value") if isinstance(node.op, Constant) else None
    return value if type(value) is int else None


def _parallel(node: Node) -> list[Node] | None:
    found = independence(node) if isinstance(node.op, WhileLoop) else None
    return None if found is None else as_parallel(node, found.updated)


def as_parallel(node: Node, updated: tuple[int, ...] = ()) -> list[Node]:
    """A `while_loop` that counts as a `parallel_loop`, and what binds its count."""
    trips = trips_of(node)
    assert trips is not None
    body, carried = node.regions[1], node.attrs["carried"]
    attrs = {
        "sizes": (node.attrs["sizes"][1],),
        "carried": carried,
        "trips": trips,
        "written": tuple((k, k) for k in range(carried)),
        "updated": updated,
    }
    inner = replace(body, size_outputs=())
    loop = Node(OPS["parallel_loop"], node.inputs, attrs, node.outputs, (inner,), (), node.where)
    out = [loop]
    if node.binds:
        count = Value(PyScalar("int"), "")
        out.append(Node(OPS["dim_value"], (), {"dim": trips}, (count,), (), (), node.where))
        out.append(Node(OPS["bind_size"], (count,), {}, (), (), node.binds, node.where))
    return out


def _updated(node: Node) -> tuple[int, ...] | None:
    """The arrays that iterations update in any order, where they do nothing else to each other."""
    body, carried = node.regions[1], node.attrs["carried"]
    if not carried or not all(isinstance(v.type, ArrayType) for v in body.inputs[:carried]):
        return None
    walk = _Walk(body.sizes[0])
    sizes = {s: symbol(s) for s in body.sizes}
    names = {v: k for k, v in enumerate(body.inputs) if isinstance(v.type, ArrayType)}
    if not walk.region(body, names, sizes):
        return None
    ends = [walk.names.get(v) for v in body.outputs]
    # An array that is passed twice would be written under one of its names only.
    twice = any(node.inputs.count(v) != 1 for v in node.inputs[:carried])
    if twice or ends != list(range(carried)) or not walk.stored <= set(range(carried)):
        return None
    return walk.updated() if walk.stored else None


class _Walk:
    """Looks at all that an iteration does: what it reads and writes, and whether a thread can."""

    def __init__(self, counter: str) -> None:
        self.counter = counter
        #: Arrays by the number of the body's input that they are a state of.
        self.names: dict[Value, int] = {}
        #: The present state of each.
        self.latest: dict[int, Value] = {}
        self.accesses: dict[int, list[tuple[Dim | None, ...]]] = {}
        self.stored: set[int] = set()
        #: The kinds of updates of each, None for any other access.
        self.kinds: dict[int, set[str | None]] = {}
        self._updates: dict[Node, Update] = {}
        self._fresh = 0

    def region(self, region: Graph, arrays: Mapping[Value, int], sizes: Mapping[str, Dim]) -> bool:
        """Whether a thread can run a region; `sizes` are its own in terms of the body's."""
        for v, k in arrays.items():
            self.names[v] = k
            self.latest[k] = v
        for update in updates_of(region):
            self._updates |= {update.read: update, update.write: update}
        return all(self._node(node, sizes) for node in region.nodes)

    def _node(self, node: Node, sizes: Mapping[str, Dim]) -> bool:
        op = node.op
        if isinstance(op, (ReadItem, WriteItem, Element)):
            return self._access(node, sizes)
        if isinstance(op, Cond):
            return self._cond(node, sizes)
        if isinstance(op, WhileLoop):
            return self._loop(node, sizes)
        if node.binds or any(not _is_scalar(v) for v in (*node.inputs, *node.outputs)):
            return False
        if isinstance(op, (Constant, DimValue, Check)):
            return True
        return _has_expression(node)

    def _access(self, node: Node, sizes: Mapping[str, Dim]) -> bool:
        array = node.inputs[0]
        number = self.names.get(array)
        if number is None or self.latest[number] is not array:
            return False
        at = node.attrs.get("at", ())
        place = tuple(None if d is None else attr_substitute(d, sizes) for d in at)
        self.accesses.setdefault(number, []).append(place)
        update = self._updates.get(node)
        self.kinds.setdefault(number, set()).add(None if update is None else update.kind)
        if isinstance(node.op, WriteItem):
            self.stored.add(number)
            self.names[node.outputs[0]] = number
            self.latest[number] = node.outputs[0]
        return True

    def _cond(self, node: Node, sizes: Mapping[str, Dim]) -> bool:
        if node.binds:
            return False
        before = dict(self.latest)
        ends: list[dict[int, Value]] = []
        outs: list[list[int | None]] = []
        for region, given in zip(node.regions, node.attrs["sizes"], strict=True):
            self.latest = dict(before)
            arrays = self._given(region.inputs, node.inputs[1:])
            inner = dict(zip(region.sizes, (attr_substitute(d, sizes) for d in given), strict=True))
            if arrays is None or not self.region(region, arrays, inner):
                return False
            ends.append(dict(self.latest))
            outs.append([self.names.get(v) for v in region.outputs])
            for v, number in zip(region.outputs, outs[-1], strict=True):
                if number is not None and self.latest[number] is not v:
                    return False
        self.latest = before
        return self._results(node.outputs, *outs)

    def _loop(self, node: Node, sizes: Mapping[str, Dim]) -> bool:
        before = dict(self.latest)
        for region, given in zip(node.regions, node.attrs["sizes"], strict=True):
            self.latest = dict(before)
            arrays = self._given(region.inputs, node.inputs)
            if arrays is None:
                return False
            count = len(node.binds)
            inner: dict[str, Dim] = {s: symbol(self._name()) for s in region.sizes[:count]}
            fixed = (attr_substitute(d, sizes) for d in given[count:])
            inner |= dict(zip(region.sizes[count:], fixed, strict=True))
            if not self.region(region, arrays, inner):
                return False
        # What leaves the loop must not be used as a size: it is known there alone.
        body = node.regions[1]
        found = [self.names.get(v) for v in body.outputs]
        for v, number in zip(body.outputs, found, strict=True):
            if number is not None and self.latest[number] is not v:
                return False
        starts = [self.names.get(v) for v in node.inputs[: node.attrs["carried"]]]
        self.latest = before
        return self._results(node.outputs, starts, found)

    def _given(self, inner: tuple[Value, ...], outer: tuple[Value, ...]) -> dict[Value, int] | None:
        """The arrays that a region takes, each in its present state."""
        out: dict[Value, int] = {}
        for v, given in zip(inner, outer, strict=True):
            if not isinstance(v.type, ArrayType):
                continue
            number = self.names.get(given)
            if number is None or self.latest[number] is not given or number in out.values():
                return None
            out[v] = number
        return out

    def _results(self, outputs: tuple[Value, ...], *sides: list[int | None]) -> bool:
        for k, v in enumerate(outputs):
            if not isinstance(v.type, ArrayType):
                continue
            numbers = {side[k] for side in sides}
            if len(numbers) != 1 or None in numbers:
                return False
            (number,) = numbers
            assert number is not None
            self.names[v] = number
            self.latest[number] = v
        return True

    def _name(self) -> str:
        self._fresh += 1
        return f"inner {self._fresh}"

    def updated(self) -> tuple[int, ...] | None:
        """Where the counter does not tell places apart, arrays that are updated in any order.

        None where there is another array that iterations store to at places of each other.
        """
        shared = {k for k in self.stored if not any(True for _ in self._axes(self.accesses[k]))}
        exact = all(len(self.kinds[k]) == 1 and None not in self.kinds[k] for k in shared)
        return tuple(sorted(shared)) if exact else None

    def _axes(self, places: list[tuple[Dim | None, ...]]) -> Iterator[int]:
        for axis, first in enumerate(places[0]):
            if first is None or isinstance(first, int):
                continue
            moved = substitute(first, {self.counter: symbol(self.counter) + 1}) - first
            others = free_symbols(first) - {self.counter}
            inner = any(s.startswith("inner ") for s in others)
            if moved not in (1, -1) or inner:
                continue
            if all(len(p) > axis and p[axis] == first for p in places):
                yield axis


def _has_expression(node: Node) -> bool:
    """Whether a node of scalars is a few instructions."""
    if isinstance(node.op, Elementwise):
        return node.op.native([dtype_name(dtype_of(v.type)) for v in node.inputs], node.attrs)
    native = getattr(node.op, "native", None)
    kinds = tuple(str(v.type) for v in node.inputs)
    return hasattr(node.op, "scalar_expr") and (native is None or bool(native(kinds)))


def _is_scalar(v: Value) -> bool:
    return isinstance(v.type, (NpScalar, PyScalar))

"""Sums along columns that a loop takes one after another are computed in front of it, all at once.

    while_loop(i < n; a){ s = reduce_sum(b[:m, i] * c[:m]); ... s ... }
    ->  d = reduce_sum(transpose(b[:m, 0:n]) * c[:m], axes=(1,))
        while_loop(i < n; a, d){ s = read_item(d, i); ... s ... }

Each sum by itself strides through memory. Side by side, neighbours in memory belong to neighbouring
sums, which run in the lanes of one vector; each adds up the same terms in the same order.

The loop must count from 0 by 1 and end by its count alone, and nothing in it may leave the program.
Of an array that it stores into, a sum may read only what no iteration before has stored: where the
one reads and the other stores is compared as polynomials, along each axis. Where there is no
iteration nothing is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracejit.ir.dims import Dim, bounds, free_symbols, maximum, substitute, symbol
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, shape_of, type_sizes
from tracejit.ops.elementwise import Elementwise
from tracejit.passes.fold import emit_constant
from tracejit.passes.fusable import fusable
from tracejit.passes.licm import may_bail
from tracejit.passes.regions import (
    constant_node,
    copied,
    inline,
    with_captures,
    with_nodes,
    without,
)

__all__ = ["ahead"]

#: Fewer iterations, and sums of fewer terms, do not fill the lanes; nor are more ops side by side.
_LEAST, _MOST_NODES = 16, 8
_FLOATS = (DTYPES["f32"], DTYPES["f64"])


def ahead(graph: Graph) -> Graph:
    """`graph` with sums along columns in front of the loops that take them."""
    if not any(n.op.kind == "control" for n in graph.nodes):
        return graph
    taken = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.name == "while_loop":
            outputs = node.outputs
            loop = _counted(node)
            sums = [] if loop is None else loop.sums()
            if loop is not None and sums:
                node = _written(builder, loop, sums, taken)
            builder.nodes.append(node)
            return outputs
        return keep(builder, node)

    return replay(graph, emit, region=ahead)


@dataclass(frozen=True)
class _Column:
    """The part of an array that a sum reads: `array` is an input of the body.

    `along` is the axis that the sum runs along, `across` that on which the counter tells the place,
    `step` by which it moves there; None and 0 where every iteration reads the same.
    """

    array: Value
    attrs: Attrs
    along: int
    across: int | None
    step: int


@dataclass(frozen=True)
class _Sum:
    """A sum with what it is made of: columns, numbers from outside, and in order the ops."""

    node: Node
    read: Node
    columns: Mapping[Value, _Column]
    fills: Sequence[Node]
    ops: Sequence[Node]


def _counted(node: Node) -> _Loop | None:
    """The loop, if it counts from 0 by 1 as far as is known in front of it, and always so far."""
    condition, body = node.regions
    count = len(body.size_outputs)
    made = condition.producers()
    test = made.get(condition.outputs[0])
    if count != 1 or test is None or test.op.name != "py_less":
        return None
    if body.size_outputs[0] != symbol(body.sizes[0]) + 1 or node.attrs["sizes"][1][0] != 0:
        return None
    counter, end = (_number(made.get(v)) for v in test.inputs)
    if end is None or counter != symbol(condition.sizes[0]):
        return None
    given = dict(zip(condition.sizes[1:], node.attrs["sizes"][0][1:], strict=True))
    if not free_symbols(end) <= set(given) or any(map(may_bail, body.nodes)):
        return None
    trips = maximum(substitute(end, given), 0)
    if isinstance(trips, int) and trips < _LEAST:
        return None
    return _Loop(node, trips)


def _number(node: Node | None) -> Dim | None:
    """The size or the constant that a node gives."""
    if node is None:
        return None
    if node.op.name == "dim_value":
        dim: Dim = node.attrs["dim"]
        return dim
    value = node.attrs.get("value") if node.op.name == "constant" else None
    return value if type(value) is int else None


class _Loop:
    """A loop of `trips` iterations; sizes are told apart as the body names them."""

    def __init__(self, node: Node, trips: Dim) -> None:
        self.node, self.trips = node, trips
        self.body = node.regions[1]
        self.counter, *fixed = self.body.sizes
        self.fixed = set(fixed)
        #: The body's sizes in front of the loop.
        self.given = dict(zip(fixed, node.attrs["sizes"][1][1:], strict=True))
        self.carried: int = node.attrs["carried"]
        self.number = {v: k for k, v in enumerate(self.body.inputs)}
        self.producer = self.body.producers()
        self.readers: dict[Value, list[Node]] = {}
        for n in self.body.nodes:
            for v in n.inputs:
                self.readers.setdefault(v, []).append(n)
        self._stores: dict[Value, list[Node] | None] = {}

    def sums(self) -> list[_Sum]:
        """The sums that can be computed in front, each where it pays."""
        found = [self._sum(n) for n in self.body.nodes if n.op.name == "reduce_sum"]
        return [s for s in found if s is not None]

    def _sum(self, node: Node) -> _Sum | None:
        (out,), (term,) = node.outputs, node.inputs
        shape = shape_of(term.type)
        readers = self.readers.get(out, [])
        if len(shape) != 1 or len(readers) != 1 or readers[0].op.name != "read_item":
            return None
        (length,) = shape
        if isinstance(length, int) and length < _LEAST:
            return None
        if out in self.body.outputs or not free_symbols(length) <= self.fixed:
            return None
        columns: dict[Value, _Column] = {}
        ops: dict[Node, None] = {}
        if not self._made_of(term, length, columns, ops) or len(ops) > _MOST_NODES:
            return None
        fills = [n for n in ops if n.op.name == "broadcast_to"]
        # One by one, the terms of each sum lie apart; side by side, neighbours lie together.
        moving = [c for c in columns.values() if c.across is not None]
        if not moving or not all(self._pays(c) for c in moving):
            return None
        return _Sum(node, readers[0], columns, fills, [n for n in ops if n not in fills])

    def _made_of(
        self, v: Value, length: Dim, columns: dict[Value, _Column], ops: dict[Node, None]
    ) -> bool:
        """Learn what the terms `v` are made of; whether it is known, and the same in front."""
        if v in columns:
            return True
        if not isinstance(v.type, ArrayType) or v.type.dtype not in _FLOATS:
            return False
        if v.type.shape != (length,):
            return False
        node = self.producer.get(v)
        if node is None:
            attrs: Attrs = {"start": (0,), "size": (length,), "step": (1,)}
            columns[v] = _Column(v, attrs, 0, None, 0)
            return self._unstored(columns[v])
        if node.op.name == "broadcast_to" and self._fixed_number(node.inputs[0]):
            ops[node] = None
            return True
        if isinstance(node.op, Elementwise) and fusable(node):
            known = all(self._made_of(x, length, columns, ops) for x in node.inputs)
            ops[node] = None
            return known
        column = self._column(node, length)
        if column is None or not self._unstored(column):
            return False
        columns[v] = column
        return True

    def _fixed_number(self, v: Value) -> bool:
        """Whether it is a constant, or a number from in front of the loop."""
        if not isinstance(v.type, NpScalar):
            return False
        made = self.producer.get(v)
        return self.number[v] >= self.carried if made is None else made.op.name == "constant"

    def _column(self, node: Node, length: Dim) -> _Column | None:
        """The part of an array from outside that a node shows along one axis."""
        part: Node | None = node
        if node.op.name == "reshape" and node.attrs.get("assume") is None:
            part = self.producer.get(node.inputs[0])
        if part is None or part.op.name != "slice" or part.inputs[0] not in self.number:
            return None
        start, size = part.attrs["start"], part.attrs["size"]
        long = [a for a, d in enumerate(size) if d != 1]
        if len(long) != 1 or size[long[0]] != length:
            return None
        across, step = None, 0
        for axis, d in enumerate(start):
            moved = substitute(d, {self.counter: symbol(self.counter) + 1}) - d
            if not free_symbols(d) <= self.fixed | {self.counter} or not isinstance(moved, int):
                return None
            if moved:
                if across is not None or axis == long[0]:
                    return None
                across, step = axis, moved
        return _Column(part.inputs[0], part.attrs, long[0], across, step)

    def _pays(self, column: _Column) -> bool:
        t = column.array.type
        assert isinstance(t, ArrayType)
        inner = [a for a in t.order if t.shape[a] != 1]
        return abs(column.step) == 1 and bool(inner) and inner[-1] == column.across

    # What iterations before have stored -----------------------------------------------------------

    def _unstored(self, column: _Column) -> bool:
        """Whether no iteration stores what a later one reads there."""
        number = self.number[column.array]
        if number >= self.carried:
            return True
        if column.array not in self._stores:
            self._stores[column.array] = self._stores_to(number)
        stores = self._stores[column.array]
        return stores is not None and all(self._apart(column, s) for s in stores)

    def _stores_to(self, number: int) -> list[Node] | None:
        """The nodes that make the next state of a carried array; None if others do, too."""
        found = []
        v, first = self.body.outputs[number], self.body.inputs[number]
        while v is not first:
            node = self.producer.get(v)
            if node is None or node.op.name not in ("write_item", "update_slice"):
                return None
            found.append(node)
            v = node.inputs[0]
        return found

    def _apart(self, column: _Column, store: Node) -> bool:
        """Whether a store is beside what the iterations after it read, along some axis."""
        attrs = store.attrs
        if store.op.name == "write_item":
            begins = attrs["at"]
            sizes, steps = (1,) * len(begins), (1,) * len(begins)
        else:
            begins, sizes, steps = attrs["start"], attrs["size"], attrs["step"]
        read = column.attrs
        later: dict[str, Dim] = {self.counter: symbol(self.counter) + 1 + symbol("later ")}
        for begin, size, step, first, length, by in zip(
            begins, sizes, steps, read["start"], read["size"], read["step"], strict=True
        ):
            if begin is None or not free_symbols(begin) <= self.fixed | {self.counter}:
                continue
            if not free_symbols(size) <= self.fixed | {self.counter}:
                continue
            low, high = _ends(begin, size, step)
            least, most = (substitute(d, later) for d in _ends(first, length, by))
            if any((bounds(gap, {})[0] or 0) >= 1 for gap in (low - most, least - high)):
                return True
        return False


def _ends(start: Dim, size: Dim, step: int) -> tuple[Dim, Dim]:
    """The least and the greatest index of a slice along one axis."""
    last = start + (size - 1) * step
    return (start, last) if step > 0 else (last, start)


# Writing ------------------------------------------------------------------------------------------


def _written(builder: GraphBuilder, loop: _Loop, sums: Sequence[_Sum], taken: set[str]) -> Node:
    """The loop that reads the sums; what computes them goes into `builder`."""
    found = _computed(builder, loop, sums, taken)
    node, body = loop.node, loop.body
    condition, given = node.regions[0], node.attrs["sizes"]
    condition, first = with_captures(condition, given[0], found, 1)
    wider, second = with_captures(body, given[1], found, 1)
    nodes = list(wider.nodes)
    for s, v in zip(sums, wider.inputs[len(body.inputs) :], strict=True):
        k = nodes.index(s.read)
        attrs: Attrs = {"at": (symbol(loop.counter),)}
        nodes[k] = Node(s.read.op, (v,), attrs, s.read.outputs, where=s.read.where)
    wider = without(with_nodes(wider, nodes), _dead(loop, sums))
    return copied(
        node,
        inputs=(*node.inputs, *found),
        attrs={**node.attrs, "sizes": (first, second)},
        regions=(condition, wider),
    )


def _dead(loop: _Loop, sums: Sequence[_Sum]) -> set[Node]:
    """What only made the sums, unless something else reads it."""
    out: set[Node] = set()
    for s in sums:
        out |= {s.node, *s.ops, *s.fills}
        for v in (*s.columns, *(n.inputs[0] for n in s.fills)):
            if (node := loop.producer.get(v)) is not None:
                out.add(node)
                out |= {loop.producer[x] for x in node.inputs if x in loop.producer}
    return out


def _computed(
    builder: GraphBuilder, loop: _Loop, sums: Sequence[_Sum], taken: set[str]
) -> list[Value]:
    """The sums of all iterations, an array each, if there is an iteration; else nobody reads it."""
    inner = dict.fromkeys(c.array for s in sums for c in s.columns.values())
    inner |= dict.fromkeys(n.inputs[0] for s in sums for n in s.fills if n.inputs[0] in loop.number)
    arrays = [loop.node.inputs[loop.number[v]] for v in inner]
    names = set().union(*(type_sizes(v.type) for v in arrays), free_symbols(loop.trips))
    for s in sums:
        parts = [d for c in s.columns.values() for k in ("start", "size") for d in c.attrs[k]]
        for d in parts:
            names |= free_symbols(substitute(d, {loop.counter: 0, **loop.given}))
    some, none = GraphBuilder("some", sorted(names)), GraphBuilder("none", sorted(names))
    known = dict(zip(inner, [some.input(v.type, v.name) for v in arrays], strict=True))
    for v in arrays:
        none.input(v.type, v.name)
    results, zeros = [], []
    for s in sums:
        results.append(_side_by_side(some, loop, s, known))
        dtype = s.read.outputs[0].type
        assert isinstance(dtype, NpScalar)
        zero = emit_constant(none, dtype.dtype.type(0), dtype)
        zeros.append(none.one(OPS["broadcast_to"], (zero,), shape=(loop.trips,)))
    sizes = tuple(map(symbol, sorted(names)))
    attrs: Attrs = {"sizes": (sizes, sizes), "unlikely": 1}
    regions = (some.build(results), none.build(zeros))
    return list(
        builder.emit(
            OPS["cond"], (_begins(builder, loop.node, taken), *arrays), attrs, regions=regions
        )
    )


def _begins(builder: GraphBuilder, loop: Node, taken: set[str]) -> Value:
    """Whether there is a first iteration."""

    def write(made: Node) -> tuple[Value, ...]:
        builder.nodes.append(made)
        return made.outputs

    (goes,) = inline(loop.regions[0], loop.inputs, loop.attrs["sizes"][0], taken, write)
    return goes


def _side_by_side(b: GraphBuilder, loop: _Loop, s: _Sum, arrays: Mapping[Value, Value]) -> Value:
    """The sums of all iterations, each along a row."""
    made: dict[Value, Value] = {}
    for v, c in s.columns.items():
        start = [substitute(d, {loop.counter: 0, **loop.given}) for d in c.attrs["start"]]
        size = [substitute(d, loop.given) for d in c.attrs["size"]]
        step = list(c.attrs["step"])
        length = size[c.along]
        if c.across is not None:
            size[c.across], step[c.across] = loop.trips, c.step
        part = b.one(
            OPS["slice"], (arrays[c.array],), start=tuple(start), size=tuple(size), step=tuple(step)
        )
        if c.across is None:
            part = b.one(OPS["reshape"], (part,), shape=(length,))
            made[v] = b.one(OPS["broadcast_to"], (part,), shape=(loop.trips, length))
        elif c.across < c.along:
            made[v] = b.one(OPS["reshape"], (part,), shape=(loop.trips, length))
        else:
            part = b.one(OPS["reshape"], (part,), shape=(length, loop.trips))
            made[v] = b.one(OPS["transpose"], (part,), axes=(1, 0))
    for node in s.fills:
        (x,) = node.inputs
        if x not in arrays:
            b.nodes.append(constant := constant_node(loop.producer[x]))
        number = arrays[x] if x in arrays else constant.outputs[0]
        shape = (loop.trips, substitute(node.attrs["shape"][0], loop.given))
        made[node.outputs[0]] = b.one(OPS["broadcast_to"], (number,), shape=shape)
    for node in s.ops:
        operands = tuple(made[x] for x in node.inputs)
        (made[node.outputs[0]],) = b.emit(node.op, operands, node.attrs, where=node.where)
    attrs = {**s.node.attrs, "axes": (1,)}
    (total,) = b.emit(s.node.op, (made[s.node.inputs[0]],), attrs, where=s.node.where)
    return total

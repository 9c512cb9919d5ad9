"""Loops that count: what their iterations read and store, with places as polynomials.

An iteration's value may be computed in front of the loop, for all iterations at once, if what it
is made of is there and no iteration before stores it. Where one iteration reads and an earlier one
stores is compared along each axis; a counter is below the loop's end wherever its body runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, Poly, bounds, free_symbols, maximum, substitute, symbol
from tracejit.ir.graph import Attrs, Node, Value
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, shape_of
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice
from tracejit.ops.python.comparisons import PyLess
from tracejit.passes.analysis.effects import may_bail
from tracejit.passes.analysis.fusable import fusable

__all__ = ["LEAST", "Column", "CountedLoop", "Formula", "counted", "place"]

#: Fewer iterations, or terms of one, do not fill lanes.
LEAST = 16
_FLOATS = (DTYPES["f32"], DTYPES["f64"])


@dataclass(frozen=True)
class Column:
    """The part of an array that an iteration reads: `array` is an input of the body.

    `along` is the axis that it lies along, None for one element; `across` that on which the counter
    tells the place, `step` by which it moves there: None and 0 where every iteration reads the
    same.
    """

    array: Value
    attrs: Attrs
    along: int | None
    across: int | None
    step: int


@dataclass
class Formula:
    """What lines of `length` elements are made of: columns, and in order the nodes on them."""

    length: Dim
    columns: dict[Value, Column] = field(default_factory=dict)
    nodes: dict[Node, None] = field(default_factory=dict)

    def reading(self, producer: Mapping[Value, Node]) -> set[Node]:
        """The nodes of the body that it takes the place of."""
        return {*self.nodes, *(producer[v] for v in self.columns if v in producer)}


def counted(node: Node) -> CountedLoop | None:
    """The loop, if it counts from 0 by 1 as far as is known in front of it, and always so far."""
    condition, body = node.regions
    count = len(body.size_outputs)
    made = condition.producers()
    test = made.get(condition.outputs[0])
    if count != 1 or test is None or not isinstance(test.op, PyLess):
        return None
    if body.size_outputs[0] != symbol(body.sizes[0]) + 1 or node.attrs["sizes"][1][0] != 0:
        return None
    counter, end = (_number(made.get(v)) for v in test.inputs)
    if end is None or counter != symbol(condition.sizes[0]):
        return None
    given = dict(zip(condition.sizes[1:], node.attrs["sizes"][0][1:], strict=True))
    if not free_symbols(end) <= set(given) or any(map(may_bail, body.nodes)):
        return None
    end = substitute(end, given)
    if isinstance(end, int) and end < LEAST:
        return None
    return CountedLoop(node, end)


def _number(node: Node | None) -> Dim | None:
    """The size or the constant that a node gives."""
    if node is None:
        return None
    if isinstance(node.op, DimValue):
        dim: Dim = node.attrs["dim"]
        return dim
    value = node.attrs.get("value") if isinstance(node.op, Constant) else None
    return value if type(value) is int else None


class CountedLoop:
    """A loop that counts up to `end`; sizes are told apart as the body names them."""

    def __init__(self, node: Node, end: Dim) -> None:
        self.node = node
        #: How many iterations there are.
        self.trips = maximum(end, 0)
        self.body = node.regions[1]
        self.counter, *fixed = self.body.sizes
        self.known = {*fixed, self.counter}
        #: The body's sizes in front of the loop.
        self.given = dict(zip(fixed, node.attrs["sizes"][1][1:], strict=True))
        self.carried: int = node.attrs["carried"]
        self.number = {v: k for k, v in enumerate(self.body.inputs)}
        self.producer = self.body.producers()
        self.readers: dict[Value, list[Node]] = {}
        for n in self.body.nodes:
            for v in n.inputs:
                self.readers.setdefault(v, []).append(n)
        self._stores: dict[int, list[Node] | None] = {}
        self._limit = self._end_inside(end)

    def _end_inside(self, end: Dim) -> tuple[str, Dim] | None:
        """(name, d) where the loop ends at the size `name` + d; None where that is not known."""
        names = {d: symbol(name) for name, d in self.given.items() if isinstance(d, Poly)}
        table = {s: names[symbol(s)] for s in free_symbols(end) if symbol(s) in names}
        if set(table) != free_symbols(end):
            return None
        end = substitute(end, table)
        for name in sorted(free_symbols(end)):
            rest = end - symbol(name)
            if name not in free_symbols(rest):
                return name, rest
        return None

    def start(self, d: Dim) -> Dim:
        """What a dimension of the first iteration is in front of the loop."""
        return substitute(d, {self.counter: 0, **self.given})

    # What values are made of ----------------------------------------------------------------------

    def learn(self, v: Value, formula: Formula) -> bool:
        """Add to a formula what the line `v` is made of; whether all is the same in front."""
        if v in formula.columns:
            return True
        t, node = v.type, self.producer.get(v)
        if not isinstance(t, ArrayType) or t.dtype not in _FLOATS:
            return False
        if [d for d in t.shape if d != 1] != [formula.length]:
            return False
        if node is not None and isinstance(node.op, Elementwise) and fusable(node):
            known = all(self.learn(x, formula) for x in node.inputs)
        elif node is not None and isinstance(node.op, BroadcastTo):
            known = self.learn_number(node.inputs[0], formula)
        elif node is not None and isinstance(node.op, Reshape) and "assume" not in node.attrs:
            known = self.learn(node.inputs[0], formula)
        else:
            column = self._column(v, node)
            if column is None or column.along is None or not self._unstored(column):
                return False
            formula.columns[v] = column
            return True
        if node is not None:
            formula.nodes[node] = None
        return known

    def learn_number(self, v: Value, formula: Formula) -> bool:
        """The same of a number: it may be another one in each iteration."""
        if not isinstance(v.type, NpScalar) or v.type.dtype not in _FLOATS:
            return False
        node = self.producer.get(v)
        if node is None:
            return self.number[v] >= self.carried
        if node.op.arithmetic or node.op.term:
            # The same, to the last bit, for a number and for an element of an array.
            known = all(self.learn_number(x, formula) for x in node.inputs)
        elif isinstance(node.op, ReadItem):
            column = self._column(v, node)
            if column is None or not self._unstored(column):
                return False
            formula.columns[v] = column
            return True
        else:
            known = isinstance(node.op, Constant)
        formula.nodes[node] = None
        return known

    def _column(self, v: Value, node: Node | None) -> Column | None:
        """The part of an array from outside that a value shows, along one axis or none."""
        if node is None:
            shape = shape_of(v.type)
            zeros, ones = (0,) * len(shape), (1,) * len(shape)
            array = v
            attrs: Attrs = {"start": zeros, "size": shape, "step": ones}
        else:
            found = place(node) if isinstance(node.op, (Slice, ReadItem)) else None
            if found is None:
                return None
            attrs = found
            array = self._behind(node.inputs[0], attrs)
        if array not in self.number:
            return None
        long = [a for a, d in enumerate(attrs["size"]) if d != 1]
        if len(long) > 1 or not all(free_symbols(d) <= set(self.given) for d in attrs["size"]):
            return None
        moving = self.moves(attrs["start"])
        if moving is None or moving[0] in long:
            return None
        return Column(array, attrs, long[0] if long else None, *moving)

    def moves(self, start: Sequence[Dim]) -> tuple[int | None, int] | None:
        """The axis on which the counter tells the place, and the step there."""
        across, step = None, 0
        for axis, d in enumerate(start):
            moved = substitute(d, {self.counter: symbol(self.counter) + 1}) - d
            if not free_symbols(d) <= self.known or not isinstance(moved, int):
                return None
            if moved:
                if across is not None:
                    return None
                across, step = axis, moved
        return across, step

    def pays(self, array: Value, across: int | None, step: int) -> bool:
        """Whether neighbouring iterations are at neighbours in memory."""
        t = array.type
        assert isinstance(t, ArrayType)
        inner = [a for a in t.order if t.shape[a] != 1]
        return abs(step) == 1 and bool(inner) and inner[-1] == across

    # What iterations store ------------------------------------------------------------------------

    def _behind(self, array: Value, attrs: Attrs) -> Value:
        """The state of an array in front of the iteration's stores to other places."""
        while (node := self.producer.get(array)) is not None:
            if not isinstance(node.op, (WriteItem, UpdateSlice)):
                break
            if not self.apart(node, attrs, later=False):
                break
            array = node.inputs[0]
        return array

    def _unstored(self, column: Column) -> bool:
        """Whether no iteration stores what a later one reads there."""
        number = self.number[column.array]
        if number >= self.carried:
            return True
        stores = self.stores(number)
        return stores is not None and all(self.apart(s, column.attrs) for s in stores)

    def stores(self, number: int) -> list[Node] | None:
        """What makes the next state of a carried array, last ones first; None for other nodes."""
        if number not in self._stores:
            self._stores[number] = self._stores_to(number)
        return self._stores[number]

    def _stores_to(self, number: int) -> list[Node] | None:
        found = []
        v, first = self.body.outputs[number], self.body.inputs[number]
        while v is not first:
            node = self.producer.get(v)
            if node is None or not isinstance(node.op, (WriteItem, UpdateSlice)):
                return None
            found.append(node)
            v = node.inputs[0]
        return found

    def apart(self, node: Node, attrs: Attrs, later: bool = True) -> bool:
        """Whether what a node accesses is beside a slice of later iterations, on some axis.

        With `later` false it is beside the slice of its own iteration.
        """
        own = place(node, partly=True)
        assert own is not None
        u = symbol(self.counter)
        t: Dim = u + 1 + symbol("later ") if later else u
        earlier: dict[str, Dim] = {}
        if self._limit is not None:
            name, rest = self._limit
            earlier[name] = t + 1 + symbol("left ") - rest
        sizes = {**earlier, self.counter: t}
        for begin, size, step, first, length, by in zip(
            *(own[k] for k in ("start", "size", "step")),
            *(attrs[k] for k in ("start", "size", "step")),
            strict=True,
        ):
            if begin is None or not free_symbols(begin) | free_symbols(size) <= self.known:
                continue
            low, high = (substitute(d, earlier) for d in _ends(begin, size, step))
            least, most = (substitute(d, sizes) for d in _ends(first, length, by))
            if any((bounds(gap, {})[0] or 0) >= 1 for gap in (low - most, least - high)):
                return True
        return False


def place(node: Node, partly: bool = False) -> Attrs | None:
    """What a node reads or stores of its first operand, as a slice.

    Without `partly` it is None where an operand tells a place; with it, that entry of `start` is.
    """
    if isinstance(node.op, (Slice, UpdateSlice)):
        return node.attrs
    at: tuple[Dim | None, ...] = node.attrs["at"]
    if None in at and not partly:
        return None
    return {"start": at, "size": (1,) * len(at), "step": (1,) * len(at)}


def _ends(start: Dim, size: Dim, step: int) -> tuple[Dim, Dim]:
    """The least and the greatest index of a slice along one axis."""
    last = start + (size - 1) * step
    return (start, last) if step > 0 else (last, start)

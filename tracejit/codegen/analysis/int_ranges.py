"""Which values a program's Python ints can have: what cannot leave 64 bits needs no check.

    h = (h ^ byte) * 16777619 & 0xFFFFFFFF    h stays below 2**32, the product below 2**57
    steps += 1                                no program lives long enough to leave 64 bits

Intervals are propagated through the flat graph until they are stable. What a loop only counts up or
down, by constants and under any conditions, stays within the number of iterations that a program
could run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.dims import bounds
from tracejit.ir.graph import Node, Value
from tracejit.ir.op import Op
from tracejit.ir.types import DTYPES, NpScalar, PyScalar, dtype_of
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.python.arithmetic import (
    PyAbs,
    PyAdd,
    PyFloorDivide,
    PyMod,
    PyMultiply,
    PyNegative,
    PySubtract,
)
from tracejit.ops.python.conversion import ToNpScalar, ToPyScalar

__all__ = ["INT_MAX", "INT_MIN", "IntRanges", "Interval", "product_limit"]

Interval = tuple[int, int]

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_ALL: Interval = (INT_MIN, INT_MAX)
#: A product with a constant that comes as near to the end of 64 bits bails out, so that a small
#: number may be added to it unchecked.
GUARD = 2**16
#: A loop counts by no more than 2**12, and a program runs fewer than 2**50 iterations in all.
_MOST_STEP, _FAR = 2**12, 2**62
_EXTREMES: dict[str, Callable[[Iterable[int]], int]] = {"maximum": max, "minimum": min}
#: Ends that growing intervals stop at.
_ENDS = (0, 1, 2**8 - 1, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**53, 2**62, INT_MAX)


class IntRanges:
    """The intervals of one graph's ints and bools; `sizes` are those of its size symbols."""

    def __init__(
        self, graph: DataflowGraph, sizes: Mapping[str, tuple[int | None, int | None]]
    ) -> None:
        self._sizes = sizes
        self._known: dict[Value, Interval] = {}
        nodes = [n for _, n in graph.nodes() if any(map(_is_integer, n.outputs))]
        # Of the results of an op that gives several nothing is known.
        nodes = [n for n in nodes if len(n.outputs) == 1 or n.op.renames]
        self._producer = {v: n for n in nodes for v in n.outputs}
        flows = self._producer.items() if any(isinstance(n.op, Merge) for n in nodes) else ()
        self._links = {v: self._linked(n) for v, n in flows}
        #: For each merge that is counted, whether down and up.
        self._counted = self._counting()
        #: What values start from, before anything is counted.
        self._starts: dict[Value, Interval] = {}
        self._solve(nodes)

    def of(self, v: Value) -> Interval:
        """The least and the greatest value."""
        if _is_integer(v):
            return self._known.get(v, _whole(v))
        return _ALL

    def result(self, node: Node) -> Interval:
        """The interval of a sum, difference or product before it is cut to 64 bits."""
        return _arithmetic(node.op, *(self.of(v) for v in node.inputs))

    # Propagation ------------------------------------------------------------------------------

    def _solve(self, nodes: Sequence[Node]) -> None:
        changes: dict[Value, int] = {}
        changed = True
        while changed:
            changed = False
            for node in nodes:
                for v in filter(_is_integer, node.outputs):
                    if v in self._links:
                        changed |= self._start(v)
                    found = self._transfer(node, v)
                    if found is None:
                        continue
                    before = self._known.get(v)
                    after = found if before is None else _hull(before, found)
                    if after == before:
                        continue
                    # Every cycle goes through a merge.
                    changes[v] = changes.get(v, 0) + 1
                    if changes[v] > 3 and isinstance(node.op, Merge):
                        after = _widened(after)
                    self._known[v] = after
                    changed = True

    def _transfer(self, node: Node, v: Value) -> Interval | None:
        """The interval of a node's result `v`; None while nothing has reached it."""
        if node.op.renames:
            return self._at(node.inputs[0])
        if isinstance(node.op, Merge):
            if v in self._counted:
                return self._far(v, *self._counted[v])
            return self._merged(node.inputs)
        if isinstance(node.op, Constant):
            return (int(node.attrs["value"]),) * 2
        if isinstance(node.op, DimValue):
            low, high = bounds(node.attrs["dim"], self._sizes)
            return _cut((INT_MIN if low is None else low, INT_MAX if high is None else high))
        if len(node.outputs) > 1 or not all(_is_integer(x) for x in node.inputs):
            return _whole(v)
        operands = [self._at(x) for x in node.inputs]
        known = [x for x in operands if x is not None]
        if len(known) < len(operands):
            return None
        if node.op.name in _EXTREMES:
            choose = _EXTREMES[node.op.name]
            return choose(low for low, _ in known), choose(high for _, high in known)
        if isinstance(node.op, ToNpScalar) and v.type == _I64:
            return _cut(known[0])
        return _cut(_result(node, known)) if v.type == _INT else _whole(v)

    def _at(self, v: Value) -> Interval | None:
        return self._known.get(v) if v in self._producer else _whole(v)

    def _merged(self, values: Sequence[Value]) -> Interval | None:
        found = [x for v in values if (x := self._at(v)) is not None]
        return _hull(*found) if found else None

    # Counting ---------------------------------------------------------------------------------

    def _linked(self, node: Node) -> tuple[tuple[Value, ...], int]:
        """The values that a node adds a small constant to, none for other nodes; the constant."""
        if isinstance(node.op, Merge):
            return node.inputs, 0
        if node.op.renames:
            return node.inputs[:1], 0
        if isinstance(node.op, (PyAdd, PySubtract)):
            sign = -1 if isinstance(node.op, PySubtract) else 1
            first, second = node.inputs
            for x, other in ((first, second), (second, first))[: 2 if sign > 0 else 1]:
                constant = self._constant(other)
                if constant is not None and constant <= _MOST_STEP and constant >= -_MOST_STEP:
                    return (x,), sign * constant
        return (), 0

    def _counting(self) -> dict[Value, tuple[bool, bool]]:
        """For each merge on a cycle of merges, other names and constants added: down, up.

        A constant counts that is added anywhere on the way back to the starts.
        """
        steps: dict[Value, tuple[bool, bool]] = {}
        counted: dict[Value, tuple[bool, bool]] = {}
        for component in _components({v: sources for v, (sources, _) in self._links.items()}):
            members = set(component)
            down = up = again = False
            for v in component:
                sources, step = self._links.get(v, ((), 0))
                found = [steps[x] for x in sources if x not in members]
                down = down or step < 0 or any(x for x, _ in found)
                up = up or step > 0 or any(x for _, x in found)
                again = again or any(x in members for x in sources)
            for v in component:
                steps[v] = down, up
                node = self._producer.get(v)
                if again and node is not None and isinstance(node.op, Merge):
                    counted[v] = down, up
        return counted

    def _start(self, v: Value) -> bool:
        """Look where a value starts from; whether that is news."""
        sources = self._links[v][0]
        known = [found for x in sources if (found := self._started(x)) is not None]
        if not known:
            return False
        before, after = self._starts.get(v), _hull(*known)
        self._starts[v] = after
        return before != after

    def _started(self, v: Value) -> Interval | None:
        linked = v in self._links and self._links[v][0]
        return self._starts.get(v) if linked else self._at(v)

    def _constant(self, v: Value) -> int | None:
        node = self._producer.get(v)
        if node is None or not isinstance(node.op, Constant):
            return None
        return int(node.attrs["value"])

    def _far(self, v: Value, down: bool, up: bool) -> Interval | None:
        found = self._starts.get(v)
        if found is None:
            return None
        return _cut((found[0] - _FAR * down, found[1] + _FAR * up))


def _components(links: Mapping[Value, Sequence[Value]]) -> Iterator[list[Value]]:
    """The strongly connected components, each after those that its links lead to (Tarjan 1972)."""
    index: dict[Value, int] = {}
    low: dict[Value, int] = {}
    open_: dict[Value, None] = {}
    for root in links:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_[root] = None
        path = [(root, iter(links[root]))]
        while path:
            v, rest = path[-1]
            x = next((x for x in rest if x not in index or x in open_), None)
            if x is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[v])
                if low[v] == index[v]:
                    component = list[Value]()
                    while not component or component[-1] is not v:
                        component.append(open_.popitem()[0])
                    yield component
            elif x in index:
                low[v] = min(low[v], index[x])
            else:
                index[x] = low[x] = len(index)
                open_[x] = None
                path.append((x, iter(links.get(x, ()))))


_INT = PyScalar("int")
_I64 = NpScalar(DTYPES["i64"])


def _is_integer(v: Value) -> bool:
    return isinstance(v.type, (NpScalar, PyScalar)) and dtype_of(v.type).kind in "biu"


def _whole(v: Value) -> Interval:
    """All values of a type."""
    dtype = dtype_of(v.type)
    if dtype.kind == "b":
        return 0, 1
    bits = 8 * dtype.itemsize
    return (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _hull(*intervals: Interval) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _cut(x: Interval) -> Interval:
    """What is left of an interval where anything beyond 64 bits has bailed out."""
    low, high = max(x[0], INT_MIN), min(x[1], INT_MAX)
    return (low, high) if low <= high else _ALL


def _widened(x: Interval) -> Interval:
    low, high = x
    up = next((end for end in _ENDS if high <= end), INT_MAX)
    down = next((-end for end in _ENDS if low >= -end), INT_MIN)
    return min(low, down), max(high, up)


def product_limit(constant: int) -> int:
    """The largest magnitude of a factor beside `constant` whose product does not bail out."""
    return (INT_MAX - GUARD) // abs(constant)


def _arithmetic(op: Op, a: Interval, b: Interval) -> Interval:
    if isinstance(op, PyAdd):
        return a[0] + b[0], a[1] + b[1]
    if isinstance(op, PySubtract):
        return a[0] - b[1], a[1] - b[0]
    return _products(a, b)


def _products(a: Interval, b: Interval) -> Interval:
    found = [x * y for x in a for y in b]
    return min(found), max(found)


def _result(node: Node, x: Sequence[Interval]) -> Interval:
    """The interval of an op on ints and bools, where its result is an int."""

    from tracejit.ops.python.bits import PyBitAnd, PyBitOr, PyBitXor, PyRightShift

    op = node.op
    if isinstance(op, (PyAdd, PySubtract)):
        return _arithmetic(op, *x)
    if isinstance(op, PyMultiply):
        return _product(*x)
    if isinstance(op, (ToPyScalar, PyAbs, PyNegative)) and len(x) == 1:
        low, high = x[0]
        if isinstance(op, ToPyScalar):
            return low, high
        return (-high, -low) if isinstance(op, PyNegative) else _magnitude(low, high)
    if len(x) != 2:
        return _ALL
    (low, high), (least, most) = x
    if isinstance(op, PyFloorDivide) and least > 0:
        ends = [end // d for end in (low, high) for d in (least, most)]
        return min(ends), max(ends)
    if isinstance(op, PyMod) and least > 0:
        return (low, high) if low >= 0 and high < least else (0, most - 1)
    if isinstance(op, PyBitAnd) and (low >= 0 or least >= 0):
        return 0, min(end for start, end in x if start >= 0)
    if isinstance(op, (PyBitOr, PyBitXor)) and low >= 0 and least >= 0:
        return 0, (1 << max(high, most).bit_length()) - 1
    if isinstance(op, PyRightShift) and least >= 0:
        ends = [end >> d for end in (low, high) for d in (least, min(most, 64))]
        return min(ends), max(ends)
    return _ALL


def _magnitude(low: int, high: int) -> Interval:
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _product(a: Interval, b: Interval) -> Interval:
    found = _products(a, b)
    for x in (a, b):
        if x[0] == x[1] != 0 and _cut(found) != found:
            limit = product_limit(x[0]) * abs(x[0])
            return max(found[0], -limit), min(found[1], limit)
    return found

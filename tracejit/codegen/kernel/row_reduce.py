"""Reductions of neighbouring short rows: what their lanes hold is folded row by row at once.

    for i in range(n):
        r = reduce(terms, 16)        # a vector of 16 lanes, folded in halves: 8, 4, 2, 1
        out[i] = r

A fold of one vector leaves ever more lanes idle, and ends in one number. Of as many rows as a
vector has lanes, two share each instruction of the first fold, four of the second, and so on: the
numbers come out as a vector, with a lane for each row. What is added to what is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.affine import Offsets
from tracejit.codegen.kernel.accumulate import Form, Parts
from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.early_exits import may_fail
from tracejit.codegen.kernel.expressions import KernelValue, Values
from tracejit.codegen.kernel.vectorize import VectorPlan, is_short, plan_loop
from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.llvm.lanes import Lanes, bits, vector_type
from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.kernel import Call, Expr, For, IndexValue, Let, Load, Reduce, Stmt, Store, Var

__all__ = ["RowPlan", "Rows", "plan_rows"]

#: Rows of more vectors gain little, and all rows of a group are written out.
_MOST_VECTORS = 4
#: Fewer lanes gain little; a group of more rows is much code.
_LEAST_LANES, _MOST_LANES = 4, 16
#: Bits within which processors move single elements by an instruction that needs no table.
_PART = 128


@dataclass(frozen=True)
class RowPlan:
    """How a loop over rows runs: `plan` is that of one row, `after` what follows its reduction.

    `masked`: the last rows, fewer than a vector has lanes, may run as a group too.
    """

    reduce: Reduce
    after: tuple[Stmt, ...]
    plan: VectorPlan
    masked: bool


def plan_rows(loop: For, offsets: Offsets, target: HostTarget) -> RowPlan | None:
    """The plan of a loop over short rows, or None if each row must run by itself."""
    if not loop.body or not isinstance(reduce := loop.body[0], Reduce):
        return None
    after, size = loop.body[1:], reduce.size
    if not reduce.vector or not isinstance(size, int) or size <= 0 or is_short(reduce):
        return None
    if reduce.quotients or not all(isinstance(s, Let) for s in reduce.body):
        return None
    combines = [Combine(t) for t in reduce.targets]
    if any(c.with_position or c.chained or c.dtype == "b1" for c in combines):
        return None
    if len({_lane_bits(c) for c in combines}) != 1:
        return None
    # The rows before one of which an index is out of range would have to come first.
    if not all(isinstance(s, (Let, Store)) for s in after) or may_fail(loop.body):
        return None
    plan = plan_loop(reduce, offsets, target)
    if plan is None or not plan.register_slots or not _LEAST_LANES <= plan.width <= _MOST_LANES:
        return None
    if size > min(plan.width * _MOST_VECTORS, reduce.lanes, reduce.block):
        return None
    if size % plan.width and not plan.masked:
        return None
    if isinstance(loop.size, int) and loop.size < plan.width // 2:
        return None
    # Results of a group lie in one vector: each store needs a place for each of them.
    if any(isinstance(s, Store) and loop.var not in free_symbols(offsets(s)) for s in after):
        return None
    results = frozenset(t.name for t in reduce.targets)
    rows = plan_loop(For(loop.var, loop.size, after), offsets, target, results)
    return None if rows is None else RowPlan(reduce, after, plan, rows.masked)


class _Shifted:
    """Copies of a row's reduction for a later row: `var` stands at var + distance.

    What does not depend on the row stays the same object, and is written once for all rows.
    """

    def __init__(self, var: str, distance: int) -> None:
        self._sizes: dict[str, Dim] = {var: symbol(var) + distance}
        self._names: dict[str, str] = {}
        self._suffix = f".{distance}"
        self._known: dict[int, Expr] = {}

    def reduce(self, reduce: Reduce) -> Reduce:
        """The reduction of the later row."""
        body: list[Stmt] = []
        for stmt in reduce.body:
            assert isinstance(stmt, Let)
            expr, name = self._expr(stmt.expr), stmt.name + self._suffix
            self._names[stmt.name] = name
            self._sizes[stmt.name] = symbol(name)
            body.append(Let(name, stmt.dtype, expr))
        targets = tuple(replace(t, expr=self._expr(t.expr)) for t in reduce.targets)
        return replace(reduce, body=tuple(body), targets=targets)

    def _expr(self, e: Expr) -> Expr:
        known = self._known.get(id(e))
        if known is None:
            known = self._known[id(e)] = self._copied(e)
        return known

    def _copied(self, e: Expr) -> Expr:
        match e:
            case Var(name, dtype):
                return Var(self._names[name], dtype) if name in self._names else e
            case Load(buffer, index, dtype):
                moved = tuple(substitute(d, self._sizes) for d in index)
                return e if moved == index else Load(buffer, moved, dtype)
            case IndexValue(dim, dtype):
                place = substitute(dim, self._sizes)
                return e if place == dim else IndexValue(place, dtype)
            case Call(fn, args, dtype):
                copies = tuple(self._expr(a) for a in args)
                same = all(a is b for a, b in zip(copies, args, strict=True))
                return e if same else Call(fn, copies, dtype)
        return e


class Rows:
    """Writes loops over short rows; `statements` writes the statements of a body."""

    def __init__(self, values: Values, statements: Callable[[Sequence[Stmt]], None]) -> None:
        self._values = values
        self._statements = statements
        # Values are known by the identity of their expressions: those written must stay.
        self._written: list[Reduce] = []

    def emit(self, loop: For, rows: RowPlan, begin: str, size: str) -> None:
        """Write a loop over rows, in groups of as many as a vector has lanes."""
        values, fb, width = self._values, self._values.fb, rows.plan.width
        main_end = fb.integer("and", size, str(-width))
        group = [rows.reduce]
        group += [_Shifted(loop.var, k).reduce(rows.reduce) for k in range(1, width)]
        self._written += group

        def whole(position: str, _: list[str]) -> list[str]:
            self._group(loop, rows, group, position)
            return []

        def one_row(position: str, _: list[str]) -> list[str]:
            values.set_position(loop.var, position)
            self._statements(loop.body)
            return []

        def rest() -> list[str]:
            # In a scope of its own: the groups' values stand at other positions.
            with values.scope():
                left = int(size) - int(main_end) if size[0] != "%" else 0
                if rows.masked and left >= width // 2:
                    self._group(loop, rows, group[:left], main_end, size)
                else:
                    fb.do_while(main_end, size, "1", (), one_row)
            return []

        def groups() -> list[str]:
            with values.scope():
                return fb.do_while(begin, main_end, str(width), (), whole)

        fb.if_then(fb.less(begin, main_end), (), groups)
        fb.if_then(fb.less(main_end, size), (), rest)

    def _group(
        self,
        loop: For,
        rows: RowPlan,
        group: Sequence[Reduce],
        position: str,
        end: str | None = None,
    ) -> None:
        """The rows at `position` and after it, those of `group`, with what follows each."""
        values, width = self._values, rows.plan.width
        values.set_position(loop.var, position)
        results = self._results(rows, group)
        with values.in_lanes(loop.var, width, 1):
            values.set_position(loop.var, position)
            if end is not None:
                values.masks = (values.mask_below(position, end),)
            for t, (name,) in zip(rows.reduce.targets, results, strict=True):
                dtype = Combine(t).dtype
                value = KernelValue(dtype, values.depth, (name,), varying=True)
                if dtype != t.dtype:
                    value = values.call("cast", [value], t.dtype)
                values.env[t.name] = value
            self._statements(rows.after)

    def _results(self, rows: RowPlan, group: Sequence[Reduce]) -> Parts:
        """The accumulators of all rows of a group, a row in each lane."""
        values, plan, reduce = self._values, rows.plan, rows.reduce
        width, var, size = plan.width, reduce.var, reduce.size
        assert isinstance(size, int)
        vector = Lanes(values.fb, width)
        combines = [Combine(t) for t in reduce.targets]
        forms = [Form(values, self._statements, r, [Combine(t) for t in r.targets]) for r in group]
        count = reduce.lanes // width if forms[0].ordered else _MOST_VECTORS
        start: Parts = [[_neutral(vector, c)] for c in combines]
        fold = _Fold(vector, combines)
        whole, left = divmod(size, width)
        slots: list[list[Parts]] = [[] for _ in forms]

        def full(row: int) -> list[Parts]:
            return forms[row].advance([start] * whole)

        if not left:
            with values.in_lanes(var, width, whole):
                values.set_position(var, "0")
                return fold.rows(lambda r: forms[r].fold(vector, full(r), count), len(forms))
        if whole:
            with values.in_lanes(var, width, whole):
                values.set_position(var, "0")
                slots = [full(row) for row in range(len(forms))]
        with values.in_lanes(var, width, 1):
            first = str(whole * width)
            values.set_position(var, first)
            values.masks = (values.mask_below(first, str(size)),)

            def masked(row: int) -> Parts:
                last = forms[row].masked_step(start)
                return forms[row].fold(vector, [*slots[row], last], count)

            return fold.rows(masked, len(forms))


class _Fold:
    """Folds the vectors of rows in halves, two rows and more in one vector."""

    def __init__(self, vector: Lanes, combines: Sequence[Combine]) -> None:
        self._vector = vector
        self._combines = combines
        self._bits = _lane_bits(combines[0])

    def rows(self, row: Callable[[int], Parts], count: int) -> Parts:
        """One vector a target; lane k has the fold of row k.

        `row` writes the accumulators of one row of the `count`, when they are needed, so that few
        wait in registers. What the lanes beyond hold means nothing.
        """
        width = self._vector.width
        lane_of = {leaf: lane for lane, (leaf, _) in enumerate(_layout(width, self._bits, width))}

        def some(first: int, number: int) -> Parts | None:
            if number == 1:
                return row(lane_of[first]) if lane_of[first] < count else None
            half = number // 2
            return self._merged(some(first, half), some(first + half, half), number)

        found = some(0, width)
        assert found is not None, "no rows"
        return [
            [_finished(self._vector, c, x)] for c, (x,) in zip(self._combines, found, strict=True)
        ]

    def _merged(self, left: Parts | None, right: Parts | None, number: int) -> Parts | None:
        """The lanes of `number` leaves: the first halves of what each has, and the second ones."""
        if left is None and right is None:
            return None
        out: Parts = []
        for k, c in enumerate(self._combines):
            sources = ["zeroinitializer" if x is None else x[k][0] for x in (left, right)]
            orders = _halves(self._vector.width, self._bits, number)
            a, b = (self._shuffled(c.dtype, sources, order) for order in orders)
            out.append(c.merge(self._vector, [a], [b]))
        return out

    def _shuffled(self, dtype: str, sources: Sequence[str], order: Sequence[int]) -> str:
        a, b = (f"{self._vector.type(dtype)} {source}" for source in sources)
        mask = ", ".join(f"i32 {lane}" for lane in order)
        kind = vector_type("i32", len(order))
        return self._vector.fb.emit(f"shufflevector {a}, {b}, {kind} <{mask}>")


@lru_cache
def _layout(width: int, lane_bits: int, number: int) -> tuple[tuple[int, int], ...]:
    """For each lane of a vector that `number` leaves share: the leaf, and which of its lanes."""
    if number == 1:
        return tuple((0, lane) for lane in range(width))
    left = width // number
    # Whole parts of registers move at no cost; inside of them elements take turns.
    run = width if left * lane_bits >= _PART else min(width, _PART // lane_bits)
    first, second = _sides(width, lane_bits, number)
    return tuple(
        place
        for begin in range(0, width, run)
        for side in (first, second)
        for place in side[begin : begin + run]
        if place[1] < left
    )


def _sides(width: int, lane_bits: int, number: int) -> list[list[tuple[int, int]]]:
    """Where the lanes of the first half of `number` leaves lie in their vector, and the others'."""
    inner = _layout(width, lane_bits, number // 2)
    return [[(leaf + k, lane) for leaf, lane in inner] for k in (0, number // 2)]


@lru_cache
def _halves(width: int, lane_bits: int, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lanes of two vectors, in one row, that are combined for `number` leaves in one vector."""
    places = [place for side in _sides(width, lane_bits, number) for place in side]
    at = {place: lane for lane, place in enumerate(places)}
    kept, left = _layout(width, lane_bits, number), width // number
    return tuple(at[place] for place in kept), tuple(at[leaf, k + left] for leaf, k in kept)


def _neutral(vector: Lanes, combine: Combine) -> str:
    """What every lane begins with: adding it takes no instruction."""
    return vector.const(-0.0 if combine.ordered else combine.identity[0], combine.dtype)


def _finished(vector: Lanes, combine: Combine, total: str) -> str:
    """A sum of floats that began with -0.0 as if it had begun with 0.0: no other zero is left."""
    if not combine.ordered:
        return total
    (finished,) = combine.merge(vector, [total], [vector.const(0.0, combine.dtype)])
    return finished


def _lane_bits(combine: Combine) -> int:
    return 32 if combine.dtype == "f16" else bits(combine.dtype)

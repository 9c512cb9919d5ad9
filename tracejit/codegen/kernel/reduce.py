"""Reductions of a kernel: the order that `ir/kernel.py` defines becomes loops over accumulators.

Virtual lanes are slots. In a reduction that runs in lanes itself a slot is a vector of consecutive
virtual lanes; the slots of a block stay in registers where the body is small, one stream each, and
otherwise the block is swept once for each group of them. Any other reduction is `Columns` or
`Nested`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.codegen.kernel.accumulate import Form, Nested, Parts
from tracejit.codegen.kernel.combine import Combine, NumberOrNan
from tracejit.codegen.kernel.early_exits import only_reads
from tracejit.codegen.kernel.expressions import Values
from tracejit.codegen.kernel.slots import Slots
from tracejit.codegen.kernel.vectorize import VectorPlan, is_short
from tracejit.codegen.llvm.lanes import Lanes, is_float, vector_type
from tracejit.ir.kernel import Let, Reduce, Stmt, Store

__all__ = ["Reductions"]

#: The last vectors of a reduction of known size are written out, of heavy bodies no more than few.
_MOST_VECTORS, _MOST_HEAVY_VECTORS = 16, 4


class Reductions:
    """Writes the reductions of one kernel; `statements` writes the statements of a body."""

    def __init__(self, values: Values, statements: Callable[[Sequence[Stmt]], None]) -> None:
        self._values = values
        self._statements = statements

    def emit(self, reduce: Reduce, plan: VectorPlan | None) -> None:
        """Write a reduction and bind its targets; with a plan, its own loop runs in lanes.

        A product of floats runs in none. Raises ValueError if there is a sum of floats beside it.
        """

        from tracejit.codegen.kernel.outer_reduce import Columns, runs_in_columns

        combines = [Combine(t) for t in reduce.targets]
        chained = any(c.chained for c in combines)
        if chained and any(c.ordered for c in combines):
            names = ", ".join(t.name for t in reduce.targets)
            raise ValueError(f"a sum and a product of floats in one reduction: {names}")
        form: Form
        # Lane by lane truths are loaded no faster than one by one.
        apart = plan is not None and plan.apart and _may_stop(reduce, combines)
        if plan is not None and not chained and not apart:
            form = self._in_lanes(reduce, combines, plan)
        elif runs_in_columns(self._values, reduce, combines):
            form = Columns(self._values, self._statements, reduce, combines)
        else:
            form = Nested(self._values, self._statements, reduce, combines)
        form.emit()

    def _in_lanes(self, reduce: Reduce, combines: list[Combine], plan: VectorPlan) -> Form:
        from tracejit.codegen.kernel.arg_reduce import Extreme
        from tracejit.codegen.kernel.count_reduce import Counting

        values, statements = self._values, self._statements
        if plan.counting:
            return Counting(values, statements, reduce, combines[0], plan)
        if not reduce.finds_extreme:
            return _Vector(values, statements, reduce, combines, plan)
        found = reduce.without_position()
        kind = NumberOrNan if is_float(combines[0].dtype) else Combine
        extreme = _Vector(values, statements, found, [kind(t) for t in found.targets], plan)
        return Extreme(values, statements, reduce, combines[0], plan, extreme)


def _may_stop(reduce: Reduce, combines: Sequence[Combine]) -> bool:
    """Whether one element may decide: a reduction of truths by itself."""
    return (
        [c.dtypes for c in combines] == [("b1",)]
        and combines[0].kind in ("any", "all", "min", "max")
        and only_reads((reduce,))
    )


class _Vector(Form):
    """A reduction whose own loop runs in lanes: slots are vectors of consecutive virtual lanes."""

    def __init__(
        self,
        values: Values,
        statements: Callable[[Sequence[Stmt]], None],
        reduce: Reduce,
        combines: list[Combine],
        plan: VectorPlan,
    ) -> None:
        super().__init__(values, statements, reduce, combines)
        self.plan = plan
        most = max(plan.register_slots, plan.streams)
        self.lanes = reduce.lanes if self.ordered else plan.width * min(plan.free_slots, most)
        self.slot_count = self.lanes // plan.width
        #: How many slots the main loop holds in registers.
        self.held = min(most, self.slot_count)
        self.slots: list[Slots] = []

    def _all_blocks(self, size: str) -> list[Parts]:
        if _may_stop(self.reduce, self.combines) and not is_short(self.reduce):
            return self._until_saturated(size)
        return super()._all_blocks(size)

    def _until_saturated(self, size: str) -> list[Parts]:
        """Blocks until one decides."""
        fb, s = self.fb, self.result_lanes
        (combine,) = self.combines
        deciding = self.plan.width * 4
        if size[0] != "%" and int(size) <= deciding:
            return self.block("0", size)
        most = str(deciding)

        def one_block(begin: str, state: list[str]) -> list[str]:
            left = fb.integer("sub", size, begin)
            length = fb.emit(f"select i1 {fb.less(most, left)}, i64 {most}, i64 {left}")
            (parts,) = self.block(begin, fb.integer("add", begin, length))
            return combine.merge(s, state, parts[0])

        with self.values.scope():
            state = fb.do_while(
                "0",
                size,
                most,
                [("i1", s.const(combine.identity[0], "b1"))],
                one_block,
                until=lambda state: combine.saturated(s, state[0]),
            )
        return [[state]]

    def block(self, begin: str, end: str) -> list[Parts]:
        values, fb, plan = self.values, self.fb, self.plan
        step = plan.width * self.held
        vector = Lanes(fb, plan.width)
        length = fb.integer("sub", end, begin)
        main_end = fb.integer("add", begin, fb.integer("and", length, str(-step)))
        identity = [
            [[vector.const(x, d) for x, d in zip(c.identity, c.dtypes, strict=True)]]
            for c in self.combines
        ]
        start: list[Parts] = [[parts[0] for parts in identity] for _ in range(self.slot_count)]
        kinds = [vector.type(d) for c in self.combines for d in c.dtypes] * self.slot_count
        in_registers = self.held == self.slot_count
        if not in_registers and self._is_literal(begin, end) and int(length) <= self.lanes:
            main_end = begin
        written_out = (in_registers or main_end == begin) and self._writes_out(main_end, end)
        self.slots = []
        if not written_out:
            self.slots = [Slots(vector, c, self.slot_count) for c in self.combines]
        with values.scope():
            if written_out:
                carried = list(zip(kinds, self._flat(start), strict=True))
                flat = fb.if_then(
                    fb.less(begin, main_end),
                    carried,
                    lambda: self._sweep(begin, main_end, step, carried),
                )
                slots = self._last_written_out(int(main_end), int(end), self._regroup(flat))
                if main_end == begin:
                    slots = slots[: -(-int(length) // plan.width)]
            elif in_registers:
                flat = self._flat(start)
                carried = list(zip(kinds, flat, strict=True))
                flat = fb.if_then(
                    fb.less(begin, main_end),
                    carried,
                    lambda: self._sweep(begin, main_end, step, carried),
                )
                flat = fb.if_then(
                    fb.less(main_end, end),
                    list(zip(kinds, flat, strict=True)),
                    lambda: self._tail_in_registers(vector, begin, main_end, end, flat),
                )
                slots = self._regroup(flat)
            else:
                self._spill(vector, start)
                carried = list(zip(kinds, self._flat(start[: self.held]), strict=False))
                fb.if_then(
                    fb.less(begin, main_end),
                    (),
                    lambda: self._main_by_groups(vector, begin, main_end, step, carried),
                )
                fb.if_then(fb.less(main_end, end), (), lambda: self._tail(begin, main_end, end))
                slots = self._reload(vector)
        return [self._fold_lanes(vector, self.fold(vector, slots, self.slot_count))]

    @staticmethod
    def _is_literal(*positions: str) -> bool:
        return all(p[0] != "%" for p in positions)

    def _is_flat(self) -> bool:
        return all(isinstance(stmt, (Let, Store)) for stmt in self.reduce.body)

    def _writes_out(self, begin: str, end: str) -> bool:
        """Whether the positions, one vector a slot at most, take no loop: their number is known."""
        if not self._is_literal(begin, end):
            return False
        if not self._is_flat():
            return False
        count, left = divmod(int(end) - int(begin), self.plan.width)
        most = _MOST_VECTORS if self.plan.register_slots else _MOST_HEAVY_VECTORS
        return count + (left > 0) <= most and (not left or self.plan.masked)

    def _last_written_out(self, begin: int, end: int, slots: list[Parts]) -> list[Parts]:
        """The slots after positions that are fewer than the lanes, without a loop."""
        values, width = self.values, self.plan.width
        whole, left = divmod(end - begin, width)
        slots = list(slots)
        if whole:
            with values.in_lanes(self.reduce.var, width, whole):
                values.set_position(self.reduce.var, str(begin))
                slots[:whole] = self.advance(slots[:whole])
        if left:
            with values.in_lanes(self.reduce.var, width, 1):
                position = str(begin + whole * width)
                values.set_position(self.reduce.var, position)
                values.masks = (values.mask_below(position, str(end)),)
                slots[whole] = self.masked_step(slots[whole])
        return slots

    def _regroup(self, flat: Sequence[str]) -> list[Parts]:
        names = iter(flat)
        count = len(flat) // sum(len(c.dtypes) for c in self.combines)
        return [[[next(names) for _ in c.dtypes] for c in self.combines] for _ in range(count)]

    def _sweep(
        self, begin: str, end: str, step: int, carried: Sequence[tuple[str, str]]
    ) -> list[str]:
        """The slots of some lanes after the vectors at begin, begin + step, ... below end."""
        values = self.values

        def one(position: str, state: list[str]) -> list[str]:
            values.set_position(self.reduce.var, position)
            return self._flat(self.advance(self._regroup(state)))

        plan = self.plan
        with values.in_lanes(self.reduce.var, plan.width, self.held, plan.fetch_ahead):
            return self.fb.do_while(begin, end, str(step), carried, one)

    def _main_by_groups(
        self, vector: Lanes, begin: str, end: str, step: int, carried: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Sweep the block once for each group of lanes that registers can hold."""
        fb = self.fb

        def group(first: str, _: list[str]) -> list[str]:
            flat = self._sweep(first, end, self.lanes, carried)
            self._spill(vector, self._regroup(flat), fb.integer("sub", first, begin))
            return []

        lanes_end = fb.integer("add", begin, str(self.lanes))
        shorter = fb.less(end, lanes_end)
        last = fb.emit(f"select i1 {shorter}, i64 {end}, i64 {lanes_end}")
        return fb.do_while(begin, last, str(step), (), group)

    def _element(self, begin: str, position: str) -> str:
        distance = self.fb.integer("sub", position, begin)
        return self.fb.integer("and", distance, str(self.lanes - 1))

    def _tail_in_registers(
        self, vector: Lanes, begin: str, main_end: str, end: str, flat: Sequence[str]
    ) -> list[str]:
        if self.plan.masked and self._is_flat():
            with self.values.in_lanes(self.reduce.var, self.plan.width, 1):
                return self._flat(self._tail_by_slots(main_end, end, self._regroup(flat)))
        self._spill(vector, self._regroup(flat))
        self._tail(begin, main_end, end)
        return self._flat(self._reload(vector))

    def _tail_by_slots(self, position: str, end: str, slots: list[Parts]) -> list[Parts]:
        """The slots after the last positions, of which there is at least one."""
        values, fb, vector = self.values, self.fb, self.values.lanes
        # In a scope of its own nothing is taken for the value at another position.
        with values.scope():
            values.set_position(self.reduce.var, position)
            values.masks = (values.mask_below(position, end),)
            after = [self.masked_step(slots[0])]
        rest = self._flat(slots[1:])
        if rest:
            kinds = [vector.type(d) for c in self.combines for d in c.dtypes] * len(slots[1:])
            following = fb.integer("add", position, str(self.plan.width))

            after += self._regroup(
                fb.if_then(
                    fb.less(following, end),
                    list(zip(kinds, rest, strict=True)),
                    lambda: self._flat(self._tail_by_slots(following, end, slots[1:])),
                )
            )
        return after

    def _spill(self, vector: Lanes, slots: Sequence[Parts], first: str = "0") -> None:
        for k, parts in enumerate(slots):
            element = self.fb.integer("add", first, str(k * vector.width))
            for slot, part in zip(self.slots, parts, strict=True):
                slot.store(vector, element, part)

    def _reload(self, vector: Lanes) -> list[Parts]:
        return [
            [slot.load(vector, str(k * vector.width)) for slot in self.slots]
            for k in range(self.slot_count)
        ]

    def _tail(self, begin: str, main_end: str, end: str) -> list[str]:
        """The last positions, fewer than one iteration of the main loop has."""
        values, masked = self.values, self.plan.masked
        width = self.plan.width if masked else 1

        def one(position: str, _: list[str]) -> list[str]:
            values.set_position(self.reduce.var, position)
            element = self._element(begin, position)
            s = values.lanes
            if masked:
                values.masks = (values.mask_below(position, end),)
            before: Parts = [slot.load(s, element) for slot in self.slots]
            for slot, new in zip(self.slots, self.masked_step(before), strict=True):
                slot.store(s, element, new)
            return []

        with values.in_lanes(self.reduce.var, width, 1):
            return self.fb.do_while(main_end, end, str(width), (), one)

    def _fold_lanes(self, vector: Lanes, parts: Parts) -> Parts:
        """The lanes of one slot, in halves."""
        width = vector.width
        while width > 1:
            width //= 2
            s = Lanes(self.fb, width)
            parts = [
                c.merge(
                    s,
                    [self._half(p, d, width, 0) for p, d in zip(part, c.dtypes, strict=True)],
                    [self._half(p, d, width, 1) for p, d in zip(part, c.dtypes, strict=True)],
                )
                for c, part in zip(self.combines, parts, strict=True)
            ]
        return parts

    def _half(self, value: str, dtype: str, width: int, which: int) -> str:
        """Half of a vector of 2 * width lanes."""
        whole = Lanes(self.fb, 2 * width)
        if width == 1:
            return whole.lane(value, dtype, which)
        kind = whole.type(dtype)
        order = ", ".join(f"i32 {which * width + k}" for k in range(width))
        return self.fb.emit(
            f"shufflevector {kind} {value}, {kind} poison, {vector_type('i32', width)} <{order}>"
        )

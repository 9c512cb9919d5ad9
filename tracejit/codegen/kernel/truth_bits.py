"""Loops over truths in lanes, a vector of which becomes bits: what counting and searching share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tracejit.codegen.kernel.accumulate import Form
from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.expressions import Values
from tracejit.codegen.kernel.vectorize import VectorPlan
from tracejit.ir.kernel import Reduce, Stmt

__all__ = ["TruthBits"]

#: (position, state, an integer a stream with a bit a lane) -> the state after an iteration.
Step = Callable[[str, Sequence[str], Sequence[str]], list[str]]
Test = Callable[[Sequence[str]], str]


class TruthBits(Form):
    """A reduction whose own loop runs over truths in lanes."""

    def __init__(
        self,
        values: Values,
        statements: Callable[[Sequence[Stmt]], None],
        reduce: Reduce,
        combine: Combine,
        plan: VectorPlan,
    ) -> None:
        super().__init__(values, statements, reduce, [combine])
        self.combine, self.plan = combine, plan

    def over_bits(
        self,
        begin: str,
        end: str,
        streams: int,
        truths: Callable[[], Sequence[str]],
        state: Sequence[str],
        step: Step,
        until: Test | None = None,
    ) -> list[str]:
        """The state, of i64, after the positions from `begin` on below `end`.

        `truths` computes those of the current position, a register a stream; lanes beyond the end
        are false in the bits. `until` stops the loop.
        """
        fb, width, masked = self.fb, self.plan.width, self.plan.masked
        whole = fb.integer("and", fb.integer("sub", end, begin), str(-width * streams))
        main_end = fb.integer("add", begin, whole)
        sweep = partial(self._sweep, truths, step, until)
        carried = [("i64", name) for name in state]
        after = fb.if_then(
            fb.less(begin, main_end),
            carried,
            lambda: sweep(begin, main_end, carried, width, streams, False),
        )
        more = fb.less(main_end, end)
        if until is not None:
            goes_on = fb.emit(f"xor i1 {until(after)}, true")
            more = fb.emit(f"and i1 {more}, {goes_on}")
        last = [("i64", name) for name in after]
        width = width if masked else 1
        return fb.if_then(more, last, lambda: sweep(main_end, end, last, width, 1, masked))

    def _sweep(
        self,
        truths: Callable[[], Sequence[str]],
        step: Step,
        until: Test | None,
        begin: str,
        end: str,
        carried: Sequence[tuple[str, str]],
        width: int,
        streams: int,
        masked: bool,
    ) -> list[str]:
        values, fb = self.values, self.fb

        def one(position: str, state: list[str]) -> list[str]:
            values.set_position(self.reduce.var, position)
            mask = values.mask_below(position, end) if masked else ""
            values.masks = (mask,) if masked else None
            bits = []
            for holds in truths():
                if masked:
                    holds = values.lanes.op("and", "b1", holds, mask)
                if width > 1:
                    holds = fb.emit(f"bitcast {values.lanes.of('i1')} {holds} to i{width}")
                bits.append(holds)
            return step(position, state, bits)

        with values.scope(), values.in_lanes(self.reduce.var, width, streams):
            return fb.do_while(begin, end, str(width * streams), carried, one, until=until)

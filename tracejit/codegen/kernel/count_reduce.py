"""How many of a loop's truths hold, in lanes: a vector of them becomes bits, which are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.codegen.kernel.accumulate import Form, Parts
from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.expressions import Values
from tracejit.codegen.kernel.vectorize import VectorPlan, counted_truths
from tracejit.ir.kernel import Reduce, Stmt

__all__ = ["Counting"]

#: Vectors that one iteration counts.
_STREAMS = 4


class Counting(Form):
    """A sum of truths in i64, whose own loop runs in lanes."""

    def __init__(
        self,
        values: Values,
        statements: Callable[[Sequence[Stmt]], None],
        reduce: Reduce,
        combine: Combine,
        plan: VectorPlan,
    ) -> None:
        super().__init__(values, statements, reduce, [combine])
        self.plan = plan

    def block(self, begin: str, end: str) -> list[Parts]:
        fb, width = self.fb, self.plan.width
        step = width * _STREAMS
        main_end = fb.integer("and", fb.integer("sub", end, begin), str(-step))
        main_end = fb.integer("add", begin, main_end)
        (total,) = fb.if_then(
            fb.less(begin, main_end),
            [("i64", "0")],
            lambda: self._count("0", begin, main_end, width, _STREAMS, False),
        )
        masked = self.plan.masked
        total, *_ = fb.if_then(
            fb.less(main_end, end),
            [("i64", total)],
            lambda: self._count(total, main_end, end, width if masked else 1, 1, masked),
        )
        return [[[total]]]

    def _count(
        self, total: str, begin: str, end: str, width: int, streams: int, masked: bool
    ) -> list[str]:
        """`total` and the truths at begin, ... below end."""
        values, fb = self.values, self.fb
        counted = counted_truths(self.reduce)
        assert counted is not None
        body, truth = counted
        flags = f"i{width}"

        def one(position: str, state: list[str]) -> list[str]:
            values.set_position(self.reduce.var, position)
            mask = values.mask_below(position, end) if masked else ""
            values.masks = (mask,) if masked else None
            self.quotients()
            self.statements(body)
            term, total = values.evaluate(truth), state[0]
            for stream in range(streams):
                holds = values.operand(term, stream)
                if masked:
                    holds = values.lanes.op("and", "b1", holds, mask)
                if width > 1:
                    holds = fb.emit(f"bitcast {values.lanes.of('i1')} {holds} to {flags}")
                    ctpop = fb.module.declare(f"llvm.ctpop.{flags}", flags, [flags])
                    holds = fb.emit(f"call {flags} {ctpop}({flags} {holds})")
                count = holds if width == 64 else fb.emit(f"zext {flags} {holds} to i64")
                total = fb.integer("add", total, count)
            return [total]

        with values.scope(), values.in_lanes(self.reduce.var, width, streams):
            return fb.do_while(begin, end, str(width * streams), [("i64", total)], one)

"""argmin and argmax of a loop that runs in lanes: the extremes of blocks, then a search in one.

    for each block:                          until nothing can be more extreme (True, NaN)
        extreme of the block                 in full vectors: no position is carried along
        more extreme than all before: note the block
    the first position of that block whose element equals the extreme

The elements of one block are computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tracejit.codegen.kernel.accumulate import Form, Parts
from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.early_exits import only_reads
from tracejit.codegen.kernel.expressions import Values
from tracejit.codegen.kernel.vectorize import VectorPlan
from tracejit.codegen.llvm.lanes import Lanes, is_float
from tracejit.ir.kernel import Reduce, Stmt

__all__ = ["Extreme"]

#: Positions of a block: few enough to be searched in no time, many enough to be folded once.
_BLOCK = 2048


class Extreme(Form):
    """The position of the extreme; `extreme` is the form of the reduction without it."""

    def __init__(
        self,
        values: Values,
        statements: Callable[[Sequence[Stmt]], None],
        reduce: Reduce,
        combine: Combine,
        plan: VectorPlan,
        extreme: Form,
    ) -> None:
        super().__init__(values, statements, reduce, [combine])
        self.combine, self.plan, self.extreme = combine, plan, extreme

    def block(self, begin: str, end: str) -> list[Parts]:
        values, fb, s = self.values, self.fb, self.result_lanes
        combine, dtype = self.combine, self.combine.dtype
        if end[0] != "%" and int(end) <= _BLOCK:
            (((best,),),) = self.extreme.block(begin, end)
            return [[[best, self._first(best, begin, end)]]]
        start = s.const(combine.identity[0], dtype)
        stops = only_reads((self.reduce,))

        def one(position: str, state: list[str]) -> list[str]:
            best, place = state
            (((found,),),) = self.extreme.block(position, self._block_end(position, end))
            better = combine.better(s, found, best)
            return [
                s.select(better, dtype, found, best),
                s.select(better, "i64", position, place),
            ]

        with values.scope():
            best, place = fb.do_while(
                begin,
                end,
                str(_BLOCK),
                [(s.type(dtype), start), ("i64", begin)],
                one,
                until=(lambda state: combine.saturated(s, state[0])) if stops else None,
            )
        return [[[best, self._first(best, place, self._block_end(place, end))]]]

    def _block_end(self, begin: str, end: str) -> str:
        fb = self.fb
        whole = fb.integer("add", begin, str(_BLOCK))
        return fb.emit(f"select i1 {fb.less(whole, end)}, i64 {whole}, i64 {end}")

    def _first(self, best: str, begin: str, end: str) -> str:
        """The first position from `begin` on, below `end`, whose element is the extreme."""
        fb, width = self.fb, self.plan.width
        streams = max(1, min(4, 64 // width))
        step = width * streams
        whole = fb.integer("and", fb.integer("sub", end, begin), str(-step))
        main_end = fb.integer("add", begin, whole)

        main = partial(self._search, best, begin, main_end, width, streams, False)
        nothing = [("i64", begin), ("i64", "0")]
        place, found = fb.if_then(fb.less(begin, main_end), nothing, main)
        width = width if self.plan.masked else 1
        rest = partial(self._search, best, main_end, end, width, 1, width > 1)
        missing = fb.emit(f"icmp eq i64 {found}, 0")
        place, found = fb.if_then(missing, [("i64", place), ("i64", found)], rest)
        symbol = fb.module.declare("llvm.cttz.i64", "i64", ["i64", "i1"])
        return fb.integer("add", place, fb.emit(f"call i64 {symbol}(i64 {found}, i1 false)"))

    def _search(
        self, best: str, begin: str, end: str, width: int, streams: int, masked: bool
    ) -> list[str]:
        """Positions in lanes: that of the first lane where one is the extreme, and a bit a lane."""
        values, fb = self.values, self.fb
        flags = f"i{width}"

        def one(position: str, _: list[str]) -> list[str]:
            values.set_position(self.reduce.var, position)
            mask = values.mask_below(position, end) if masked else ""
            values.masks = (mask,) if masked else None
            (term,) = self.extreme.terms()
            found = "0"
            for stream in range(streams):
                same = self._same(values.lanes, values.operand(term, stream), best)
                if masked:
                    same = values.lanes.op("and", "b1", same, mask)
                if width > 1:
                    same = fb.emit(f"bitcast {values.lanes.of('i1')} {same} to {flags}")
                bits = fb.emit(f"zext {flags} {same} to i64") if width < 64 else same
                if stream:
                    bits = fb.emit(f"shl i64 {bits}, {stream * width}")
                    bits = fb.emit(f"or i64 {bits}, {found}")
                found = bits
            return [position, found]

        with values.scope(), values.in_lanes(self.reduce.var, width, streams):
            return fb.do_while(
                begin,
                end,
                str(width * streams),
                [("i64", begin), ("i64", "0")],
                one,
                until=lambda state: fb.emit(f"icmp ne i64 {state[1]}, 0"),
            )

    def _same(self, s: Lanes, x: str, best: str) -> str:
        """Where elements are the extreme; if there is a NaN in the block, that is a NaN."""
        dtype = self.combine.dtype
        extreme = s.splat(best, dtype)
        if not is_float(dtype):
            return s.compare("eq", dtype, x, extreme)
        return s.op("or", "b1", s.compare("oeq", dtype, x, extreme), s.compare("uno", dtype, x, x))

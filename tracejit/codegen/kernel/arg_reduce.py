"""argmin and argmax of a loop that runs in lanes: the extremes of blocks, then a search in one.

    for each block:                          until there is a NaN
        extreme of the block                 in full vectors: no position is carried along
        more extreme than all before: note the block
    the first position of that block whose element equals the extreme

The elements of one block are computed twice. Truths are only searched: one of them is the extreme.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tracejit.codegen.kernel.accumulate import Form, Parts
from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.early_exits import only_reads
from tracejit.codegen.kernel.expressions import Values
from tracejit.codegen.kernel.truth_bits import TruthBits
from tracejit.codegen.kernel.vectorize import VectorPlan
from tracejit.codegen.llvm.lanes import Lanes, is_float
from tracejit.ir.kernel import Reduce, Stmt

__all__ = ["Extreme"]

#: Positions of a block: few enough to be searched in no time, many enough to be folded once.
_BLOCK = 2048


class Extreme(TruthBits):
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
        super().__init__(values, statements, reduce, combine, plan)
        self.extreme = extreme

    def block(self, begin: str, end: str) -> list[Parts]:
        values, fb, s = self.values, self.fb, self.result_lanes
        (combine,) = self.extreme.combines
        stops = only_reads((self.reduce,))
        if combine.dtype == "b1" and stops:
            # Nothing is more extreme than the one truth, or less than the other.
            decisive = s.const(not combine.identity[0], "b1")
            return [[[decisive, self._first([decisive], begin, end)]]]
        if end[0] != "%" and int(end) <= _BLOCK:
            ((best,),) = self.extreme.block(begin, end)
            return [[[best[0], self._first(best, begin, end)]]]
        kinds = [s.type(d) for d in combine.dtypes]
        start = [s.const(x, d) for x, d in zip(combine.identity, combine.dtypes, strict=True)]

        def one(position: str, state: list[str]) -> list[str]:
            *before, place = state
            ((new,),) = self.extreme.block(position, self._block_end(position, end))
            better = self._better(new, before)
            chosen = zip(combine.dtypes, new, before, strict=True)
            return [
                *(s.select(better, d, x, old) for d, x, old in chosen),
                s.select(better, "i64", position, place),
            ]

        with values.scope():
            *found, place = fb.do_while(
                begin,
                end,
                str(_BLOCK),
                [*zip(kinds, start, strict=True), ("i64", begin)],
                one,
                until=(lambda state: state[1]) if stops and len(kinds) > 1 else None,
            )
        return [[[found[0], self._first(found, place, self._block_end(place, end))]]]

    def _better(self, found: Sequence[str], best: Sequence[str]) -> str:
        """Whether a block's extreme is more so than that of the blocks before, or the first NaN."""
        s = self.result_lanes
        better = self.combine.better(s, found[0], best[0])
        if len(best) == 1:
            return better
        no_nan = s.op("xor", "b1", best[1], s.const(True, "b1"))
        return s.op("and", "b1", s.op("or", "b1", better, found[1]), no_nan)

    def _block_end(self, begin: str, end: str) -> str:
        fb = self.fb
        whole = fb.integer("add", begin, str(_BLOCK))
        return fb.emit(f"select i1 {fb.less(whole, end)}, i64 {whole}, i64 {end}")

    def _first(self, best: Sequence[str], begin: str, end: str) -> str:
        """The first position from `begin` on, below `end`, of the extreme or of a NaN."""
        if len(best) == 1:
            return self._first_where(partial(self._equal, best[0]), begin, end)
        fb, place = self.fb, [("i64", begin)]
        (nan,) = fb.if_then(best[1], place, lambda: [self._first_where(self._is_nan, begin, end)])
        number = self.result_lanes.op("xor", "b1", best[1], "true")
        extreme = partial(self._equal, best[0])
        (found,) = fb.if_then(
            number, [("i64", nan)], lambda: [self._first_where(extreme, begin, end)]
        )
        return found

    def _first_where(self, test: Callable[[Lanes, str], str], begin: str, end: str) -> str:
        fb = self.fb
        streams = max(1, min(4, 64 // self.plan.width))
        truths, start = partial(self._truths, test), [begin, "0"]
        place, found = self.over_bits(
            begin, end, streams, truths, start, self._look, until=self._is_found
        )
        symbol = fb.module.declare("llvm.cttz.i64", "i64", ["i64", "i1"])
        lane = fb.emit(f"call i64 {symbol}(i64 {found}, i1 false)")
        first = fb.integer("add", place, lane)
        return fb.emit(f"select i1 {self._is_found([place, found])}, i64 {first}, i64 {begin}")

    def _truths(self, test: Callable[[Lanes, str], str]) -> Sequence[str]:
        values = self.values
        (term,) = self.extreme.terms()
        return [test(values.lanes, values.operand(term, k)) for k in range(values.streams)]

    def _look(self, position: str, state: Sequence[str], bits: Sequence[str]) -> list[str]:
        """The position, and a bit for each lane from there on."""
        fb, width, found = self.fb, self.values.width, "0"
        for stream, flags in enumerate(bits):
            wide = fb.emit(f"zext i{width} {flags} to i64") if width < 64 else flags
            if stream:
                wide = fb.emit(f"shl i64 {wide}, {stream * width}")
                wide = fb.emit(f"or i64 {wide}, {found}")
            found = wide
        return [position, found]

    def _is_found(self, state: Sequence[str]) -> str:
        return self.fb.emit(f"icmp ne i64 {state[1]}, 0")

    def _equal(self, best: str, s: Lanes, x: str) -> str:
        dtype = self.combine.dtype
        return s.compare("oeq" if is_float(dtype) else "eq", dtype, x, s.splat(best, dtype))

    def _is_nan(self, s: Lanes, x: str) -> str:
        return s.compare("uno", self.combine.dtype, x, x)

"""How one target of a reduction combines: its accumulator's parts, one step, one merge.

An accumulator has one part, or two for argmin and argmax: the extreme and its position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracejit.codegen.llvm.lanes import Lanes, bits, is_float, is_signed
from tracejit.codegen.scalar.functions import emit_call
from tracejit.ir.kernel import Target

__all__ = ["Combine", "NumberOrNan", "extreme_value"]

_FUNCTIONS = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "any": "logical_or",
    "all": "logical_and",
}


def extreme_value(dtype: str, largest: bool) -> bool | int | float:
    """The largest or smallest value of a dtype, infinities included."""
    if dtype == "b1":
        return largest
    if is_float(dtype):
        return math.inf if largest else -math.inf
    width = bits(dtype)
    if is_signed(dtype):
        return (1 << (width - 1)) - 1 if largest else -(1 << (width - 1))
    return (1 << width) - 1 if largest else 0


class Combine:
    """The accumulator of one target; `dtypes` and `identity` list its parts."""

    def __init__(self, target: Target) -> None:
        self.kind = target.combine
        self.target = target
        self.with_position = target.combine in ("argmin", "argmax")
        self.dtype = target.expr.dtype if self.with_position else target.dtype
        if target.combine in ("any", "all"):
            self.dtype = "b1"
        self.dtypes = (self.dtype, "i64") if self.with_position else (self.dtype,)
        #: A sum of floats runs in the kernel's lanes and blocks, a product from left to right.
        self.ordered = self.kind == "sum" and is_float(self.dtype)
        self.chained = self.kind == "prod" and is_float(self.dtype)
        self.identity = self._identity()

    def _identity(self) -> tuple[bool | int | float, ...]:
        if self.target.identity is not None:
            return (self.target.identity,)
        if self.kind == "sum":
            return (0,)
        if self.kind == "prod":
            return (1,)
        if self.kind in ("any", "all"):
            return (self.kind == "all",)
        start = extreme_value(self.dtype, largest=self.kind in ("min", "argmin"))
        # Nothing is less extreme: a lane whose terms all equal it, or that has none, may say 0. Its
        # answer counts only where all terms of all lanes are equal, and then the first is extreme.
        return (start, 0) if self.with_position else (start,)

    @property
    def empty(self) -> tuple[bool | int | float, ...]:
        """The parts of a reduction over nothing."""
        return self.identity

    def step(self, s: Lanes, acc: Sequence[str], x: str, position: str) -> list[str]:
        """The accumulator after one more term, which comes later than all before."""
        if not self.with_position:
            return [self._call(s, _FUNCTIONS.get(self.kind, self.kind), acc[0], x)]
        best, place = acc
        better = self.better(s, x, best)
        return [
            s.select(better, self.dtype, x, best),
            s.select(better, "i64", position, place),
        ]

    def merge(self, s: Lanes, left: Sequence[str], right: Sequence[str]) -> list[str]:
        """Two accumulators of different terms as one, the left operand first."""
        if not self.with_position:
            return [self._call(s, _FUNCTIONS.get(self.kind, self.kind), left[0], right[0])]
        earlier = s.compare("slt", "i64", right[1], left[1])
        better = self.better(s, right[0], left[0])
        worse = self.better(s, left[0], right[0])
        same = s.op("xor", "b1", s.op("or", "b1", better, worse), s.const(True, "b1"))
        take = s.op("or", "b1", better, s.op("and", "b1", same, earlier))
        return [
            s.select(take, self.dtype, right[0], left[0]),
            s.select(take, "i64", right[1], left[1]),
        ]

    def better(self, s: Lanes, x: str, than: str) -> str:
        """Whether x is strictly more extreme; a NaN is more extreme than any number."""
        largest = self.kind == "argmax"
        if not is_float(self.dtype):
            prefix = "s" if is_signed(self.dtype) else "u"
            return s.compare(prefix + ("gt" if largest else "lt"), self.dtype, x, than)
        # The unordered comparison holds for any NaN; one that is there already stays.
        beats = s.compare("ugt" if largest else "ult", self.dtype, x, than)
        replaceable = s.compare("ord", self.dtype, than, than)
        return s.op("and", "b1", beats, replaceable)

    def saturated(self, s: Lanes, best: str) -> str:
        """Whether no term can change the accumulator; the literal false where that is rare."""
        if self.with_position and is_float(self.dtype):
            return s.compare("uno", self.dtype, best, best)
        if self.dtype != "b1":
            return "false"
        if self.kind in ("any", "max", "argmax"):
            return best
        return s.op("xor", "b1", best, s.const(True, "b1"))

    # The results of blocks: a sum of floats carries its total and what rounding took from it.

    @property
    def block_dtypes(self) -> tuple[str, ...]:
        """The dtypes of the parts that go from block to block."""
        return (self.dtype, self.dtype) if self.ordered else self.dtypes

    @property
    def block_identity(self) -> tuple[bool | int | float, ...]:
        """The parts before the first block."""
        return (0.0, 0.0) if self.ordered else self.identity

    def add_block(self, s: Lanes, state: Sequence[str], result: Sequence[str]) -> list[str]:
        """The parts after one more block."""
        if not self.ordered:
            return self.merge(s, state, result)
        (total, error), (value,) = state, result
        following = self._call(s, "add", total, value)
        change = self._call(s, "subtract", following, total)
        unchanged = self._call(s, "subtract", following, change)
        lost_of_total = self._call(s, "subtract", total, unchanged)
        lost_of_value = self._call(s, "subtract", value, change)
        lost = self._call(s, "add", lost_of_total, lost_of_value)
        return [following, self._call(s, "add", error, lost)]

    def after_blocks(self, s: Lanes, state: Sequence[str]) -> list[str]:
        """The accumulator that all blocks make."""
        if not self.ordered:
            return list(state)
        total, error = state
        corrected = self._call(s, "add", total, error)
        finite = emit_call(s, "isfinite", (corrected,), (self.dtype,), "b1")
        return [s.select(finite, self.dtype, corrected, total)]

    def _call(self, s: Lanes, function: str, a: str, b: str) -> str:
        return emit_call(s, function, (a, b), (self.dtype, self.dtype), self.dtype)


class NumberOrNan(Combine):
    """The extreme of the numbers among floats, and whether there was a NaN.

    A NaN that had to stay in one accumulator would make each step wait for a test of it.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.dtypes = (self.dtype, "b1")
        self.identity = (self.identity[0], False)

    def step(self, s: Lanes, acc: Sequence[str], x: str, position: str) -> list[str]:
        return self.merge(s, acc, [x, s.compare("uno", self.dtype, x, x)])

    def merge(self, s: Lanes, left: Sequence[str], right: Sequence[str]) -> list[str]:
        beats = s.compare("ogt" if self.kind == "max" else "olt", self.dtype, right[0], left[0])
        return [
            s.select(beats, self.dtype, right[0], left[0]),
            s.op("or", "b1", left[1], right[1]),
        ]

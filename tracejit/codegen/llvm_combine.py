"""How one target of a reduction combines: its accumulator's parts, one step, one merge.

An accumulator has one part, or two for argmin and argmax: the extreme and its position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracejit.codegen.lanes import Lanes, bits, is_float, is_signed
from tracejit.codegen.llvm_text import FunctionBuilder
from tracejit.codegen.scalar_functions import emit_call
from tracejit.ir.kernel import Target

__all__ = ["Combine", "extreme_value"]

_FUNCTIONS = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "any": "logical_or",
    "all": "logical_and",
}
#: The position of an accumulator that has seen nothing: above every real one.
_NOWHERE = (1 << 63) - 1


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
        #: Whether the order of the terms changes the result.
        self.ordered = self.kind in ("sum", "prod") and is_float(self.dtype)
        self.identity = self._identity()

    def _identity(self) -> tuple[bool | int | float, ...]:
        if self.kind == "sum":
            return (-0.0 if is_float(self.dtype) else 0,)
        if self.kind == "prod":
            return (1,)
        if self.kind in ("any", "all"):
            return (self.kind == "all",)
        start = extreme_value(self.dtype, largest=self.kind in ("min", "argmin"))
        return (start, _NOWHERE) if self.with_position else (start,)

    @property
    def empty(self) -> tuple[bool | int | float, ...]:
        """The parts of a reduction over nothing."""
        if self.kind == "sum":
            return (0,)
        return (self.identity[0], 0) if self.with_position else self.identity

    def step(self, s: Lanes, acc: Sequence[str], x: str, position: str) -> list[str]:
        """The accumulator after one more term, which comes later than all before."""
        if not self.with_position:
            return [self._apply(s, acc[0], x)]
        best, place = acc
        nowhere = s.compare("eq", "i64", place, s.const(_NOWHERE, "i64"))
        better = s.op("or", "b1", nowhere, self._better(s, x, best))
        return [
            s.select(better, self.dtype, x, best),
            s.select(better, "i64", position, place),
        ]

    def merge(self, s: Lanes, left: Sequence[str], right: Sequence[str]) -> list[str]:
        """Two accumulators of different terms as one, the left operand first."""
        if not self.with_position:
            return [self._apply(s, left[0], right[0])]
        earlier = s.compare("slt", "i64", right[1], left[1])
        better = self._better(s, right[0], left[0])
        worse = self._better(s, left[0], right[0])
        same = s.op("xor", "b1", s.op("or", "b1", better, worse), s.const(True, "b1"))
        take = s.op("or", "b1", better, s.op("and", "b1", same, earlier))
        # An empty side holds the worst value, which a real term may equal: its position decides,
        # unless the real term is on the other side and the empty one looks better (a NaN never is).
        return [
            s.select(take, self.dtype, right[0], left[0]),
            s.select(take, "i64", right[1], left[1]),
        ]

    def _apply(self, s: Lanes, a: str, b: str) -> str:
        return emit_call(s, _FUNCTIONS[self.kind], (a, b), (self.dtype, self.dtype), self.dtype)

    def _better(self, s: Lanes, x: str, than: str) -> str:
        """Whether x is strictly more extreme; a NaN is more extreme than any number."""
        largest = self.kind == "argmax"
        if not is_float(self.dtype):
            prefix = "s" if is_signed(self.dtype) else "u"
            return s.compare(prefix + ("gt" if largest else "lt"), self.dtype, x, than)
        beats = s.compare("ogt" if largest else "olt", self.dtype, x, than)
        x_is_nan = s.compare("uno", self.dtype, x, x)
        other_is_number = s.compare("ord", self.dtype, than, than)
        return s.op("or", "b1", beats, s.op("and", "b1", x_is_nan, other_is_number))

    # Block results: a binary counter of partial results, as calls of the module's helpers.

    def push(self, s: Lanes, stack: str, count: str, value: str) -> None:
        """Add the result of block number `count` (from 1) to the counter."""
        kind = s.type(self.dtype)
        symbol = self._helper(s, "push")
        s.fb.line(f"call void {symbol}(ptr {stack}, i64 {count}, {kind} {value})")

    def total(self, s: Lanes, stack: str, count: str) -> str:
        """The result of all `count` blocks."""
        kind = s.type(self.dtype)
        return s.fb.emit(f"call {kind} {self._helper(s, 'total')}(ptr {stack}, i64 {count})")

    def _helper(self, s: Lanes, which: str) -> str:
        module, width = s.fb.module, s.width
        name = f"blocks.{which}.{self.kind}.{self.dtype}.w{width}"

        def build() -> None:
            kind = s.type(self.dtype)
            params = [("ptr", "%stack"), ("i64", "%count")]
            if which == "push":
                fb = FunctionBuilder(module, name, [*params, (kind, "%value")])
                self._write_push(Lanes(fb, width))
            else:
                fb = FunctionBuilder(module, name, params, kind)
                self._write_total(Lanes(fb, width))
            fb.finish()

        return module.helper(name, build)

    def _slot(self, s: Lanes, level: str) -> str:
        return s.fb.emit(f"getelementptr {s.type(self.dtype)}, ptr %stack, i64 {level}")

    def _trailing_zeros(self, s: Lanes, value: str) -> str:
        symbol = s.fb.module.declare("llvm.cttz.i64", "i64", ["i64", "i1"])
        return s.fb.emit(f"call i64 {symbol}(i64 {value}, i1 false)")

    def _write_push(self, s: Lanes) -> None:
        fb, kind = s.fb, s.type(self.dtype)
        levels = self._trailing_zeros(s, "%count")

        def merge(level: str, carried: list[str]) -> list[str]:
            older = fb.emit(f"load {kind}, ptr {self._slot(s, level)}")
            return [self._apply(s, older, carried[0])]

        start = [(kind, "%value")]
        (value,) = fb.if_then(
            fb.less("0", levels), start, lambda: fb.do_while("0", levels, "1", start, merge)
        )
        fb.line(f"store {kind} {value}, ptr {self._slot(s, levels)}")
        fb.ret()

    def _write_total(self, s: Lanes) -> None:
        fb, kind = s.fb, s.type(self.dtype)
        newest = self._trailing_zeros(s, "%count")
        value = fb.emit(f"load {kind}, ptr {self._slot(s, newest)}")
        rest = self._without_lowest_bit(fb, "%count")
        head, step, done = (fb.fresh_label(h) for h in ("loop", "step", "after"))
        before = fb.label
        fb.br(head)
        fb.block(head)
        left, total = fb.fresh("left"), fb.fresh("total")
        phis = fb.insertion_point()
        fb.cond_br(fb.emit(f"icmp ne i64 {left}, 0"), step, done)
        fb.block(step)
        older = fb.emit(f"load {kind}, ptr {self._slot(s, self._trailing_zeros(s, left))}")
        following = self._apply(s, older, total)
        remaining = self._without_lowest_bit(fb, left)
        for name, element, first, after in (
            (left, "i64", rest, remaining),
            (total, kind, value, following),
        ):
            phis.lines.append(
                f"  {name} = phi {element} [ {first}, %{before} ], [ {after}, %{step} ]"
            )
        fb.br(head)
        fb.block(done)
        fb.ret(kind, total)

    @staticmethod
    def _without_lowest_bit(fb: FunctionBuilder, value: str) -> str:
        less_one = fb.emit(f"add i64 {value}, -1")
        return fb.emit(f"and i64 {value}, {less_one}")

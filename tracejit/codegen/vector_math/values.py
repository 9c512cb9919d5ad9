"""Vectors as Python objects: each operator on a `Float`, `Int` or `Mask` is one operation.

What an operation does is the `Emitter`'s: it writes an instruction, or computes arrays. Nothing is
contracted, reordered or folded: every operation is rounded by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.vector_math.formats import Format

__all__ = ["Emitter", "Float", "Int", "Mask"]


class Emitter(ABC):
    """The operations on floats of one format, on integers of its size, and on truth values.

    Operations take and give what stands for a value: a register's name, or an array. Operations
    and predicates have LLVM's names; shifts take counts below the size.

    With `fma` there is a fused multiply-add. `permutes` says that tables are read by AVX-512's
    permutations where the lanes fill its registers.
    """

    format: Format
    fma: bool
    permutes: bool

    @abstractmethod
    def doubles(self) -> Self:
        """An emitter of the same function whose values are float64."""

    @abstractmethod
    def constant(self, value: float) -> Any:
        """`value` in every lane."""

    @abstractmethod
    def int_constant(self, value: int) -> Any:
        """`value` in every lane."""

    @abstractmethod
    def float_operation(self, operation: str, *operands: Any) -> Any:
        """fadd, fsub, fmul, fdiv, fneg, sqrt, trunc, fma."""

    @abstractmethod
    def int_operation(self, operation: str, left: Any, right: Any) -> Any:
        """add, sub, mul, and, or, xor, shl, lshr, smin, smax; arithmetic wraps."""

    @abstractmethod
    def mask_operation(self, operation: str, left: Any, right: Any) -> Any:
        """and, or, xor."""

    @abstractmethod
    def negated(self, mask: Any) -> Any:
        """True where `mask` is not."""

    @abstractmethod
    def compare_floats(self, predicate: str, left: Any, right: Any) -> Any:
        """Ordered (o) or true where either is NaN (u): eq, ne, lt, le, gt, ge; uno."""

    @abstractmethod
    def compare_ints(self, predicate: str, left: Any, right: Any) -> Any:
        """eq, ne; signed (s) or unsigned (u): lt, le, gt, ge."""

    @abstractmethod
    def select_floats(self, mask: Any, true: Any, false: Any) -> Any:
        """`true` where the mask is set, else `false`."""

    @abstractmethod
    def select_ints(self, mask: Any, true: Any, false: Any) -> Any:
        """`true` where the mask is set, else `false`."""

    @abstractmethod
    def bits(self, value: Any) -> Any:
        """The encodings of floats."""

    @abstractmethod
    def from_bits(self, value: Any) -> Any:
        """The floats of encodings."""

    @abstractmethod
    def from_int(self, value: Any) -> Any:
        """The floats next to signed integers."""

    @abstractmethod
    def widen(self, value: Any) -> Any:
        """Floats of this format, float32, as those of `doubles()`."""

    @abstractmethod
    def narrow(self, value: Any) -> Any:
        """Floats of `doubles()` rounded to this format, float32."""

    @abstractmethod
    def narrow_int(self, value: Any) -> Any:
        """The low halves of integers of `doubles()`."""


@dataclass(slots=True, eq=False)
class Mask:
    """One truth value a lane."""

    emitter: Emitter
    value: Any

    def _with(self, operation: str, other: Mask) -> Mask:
        e = self.emitter
        return Mask(e, e.mask_operation(operation, self.value, other.value))

    def __and__(self, other: Mask) -> Mask:
        return self._with("and", other)

    def __or__(self, other: Mask) -> Mask:
        return self._with("or", other)

    def __xor__(self, other: Mask) -> Mask:
        return self._with("xor", other)

    def negated(self) -> Mask:
        return Mask(self.emitter, self.emitter.negated(self.value))

    def select_int(self, true: Int, false: Int) -> Int:
        """`true` where the mask is set, else `false`."""
        e = self.emitter
        return Int(e, e.select_ints(self.value, true.value, false.value))

    def select(self, true: Float | float, false: Float) -> Float:
        """`true` where the mask is set, else `false`."""
        e = self.emitter
        return Float(e, e.select_floats(self.value, false.like(true).value, false.value))


@dataclass(slots=True, eq=False)
class Int:
    """An integer of the format's size a lane; arithmetic wraps."""

    emitter: Emitter
    value: Any

    def _value(self, other: Int | int) -> Any:
        return other.value if isinstance(other, Int) else self.emitter.int_constant(other)

    def _operation(self, operation: str, other: Int | int) -> Int:
        e = self.emitter
        return Int(e, e.int_operation(operation, self.value, self._value(other)))

    def __add__(self, other: Int | int) -> Int:
        return self._operation("add", other)

    def __sub__(self, other: Int | int) -> Int:
        return self._operation("sub", other)

    def __rsub__(self, other: int) -> Int:
        e = self.emitter
        return Int(e, e.int_operation("sub", e.int_constant(other), self.value))

    def __and__(self, other: Int | int) -> Int:
        return self._operation("and", other)

    def __or__(self, other: Int | int) -> Int:
        return self._operation("or", other)

    def __xor__(self, other: Int | int) -> Int:
        return self._operation("xor", other)

    def __mul__(self, other: Int | int) -> Int:
        return self._operation("mul", other)

    def __lshift__(self, count: Int | int) -> Int:
        return self._operation("shl", count)

    def __rshift__(self, count: Int | int) -> Int:
        """Zeros come in from the left."""
        return self._operation("lshr", count)

    def at_least(self, low: int) -> Int:
        """The greater of the two, of signed numbers."""
        return self._operation("smax", low)

    def at_most(self, high: int) -> Int:
        """The smaller of the two, of signed numbers."""
        return self._operation("smin", high)

    def compare(self, predicate: str, other: Int | int) -> Mask:
        e = self.emitter
        return Mask(e, e.compare_ints(predicate, self.value, self._value(other)))

    def narrowed(self, emitter: Emitter) -> Int:
        """The low bits, as many as `emitter`'s integers have."""
        return Int(emitter, emitter.narrow_int(self.value))

    def converted(self) -> Float:
        """The nearest floating-point number."""
        return Float(self.emitter, self.emitter.from_int(self.value))

    def as_float(self) -> Float:
        """The number with these bits."""
        return Float(self.emitter, self.emitter.from_bits(self.value))


@dataclass(slots=True, eq=False)
class Float:
    """A floating-point number a lane."""

    emitter: Emitter
    value: Any

    def widened(self) -> Float:
        """The float64 that equals this float32."""
        return Float(self.emitter.doubles(), self.emitter.widen(self.value))

    def narrowed(self, emitter: Emitter) -> Float:
        """Rounded to `emitter`'s format, float32."""
        return Float(emitter, emitter.narrow(self.value))

    def like(self, value: Float | float) -> Float:
        """`value` itself, or the constant in every lane."""
        return (
            value if isinstance(value, Float) else Float(self.emitter, self.emitter.constant(value))
        )

    def _value(self, other: Float | float) -> Any:
        return other.value if isinstance(other, Float) else self.emitter.constant(other)

    def _operation(self, operation: str, *operands: Any) -> Float:
        e = self.emitter
        return Float(e, e.float_operation(operation, *operands))

    def sqrt(self) -> Float:
        return self._operation("sqrt", self.value)

    def trunc(self) -> Float:
        """The next integer towards zero."""
        return self._operation("trunc", self.value)

    def fused(self, factor: Float | float, summand: Float | float) -> Float:
        """self * factor + summand, rounded once; where the emitter has `fma`."""
        return self._operation("fma", self.value, self._value(factor), self._value(summand))

    def __add__(self, other: Float | float) -> Float:
        return self._operation("fadd", self.value, self._value(other))

    def __sub__(self, other: Float | float) -> Float:
        return self._operation("fsub", self.value, self._value(other))

    def __rsub__(self, other: float) -> Float:
        return self._operation("fsub", self._value(other), self.value)

    def __mul__(self, other: Float | float) -> Float:
        return self._operation("fmul", self.value, self._value(other))

    def __rtruediv__(self, other: float) -> Float:
        return self._operation("fdiv", self._value(other), self.value)

    def __truediv__(self, other: Float) -> Float:
        return self._operation("fdiv", self.value, other.value)

    def __neg__(self) -> Float:
        return self._operation("fneg", self.value)

    def __abs__(self) -> Float:
        return (self.bits() & (self.emitter.format.sign_mask - 1)).as_float()

    def compare(self, predicate: str, other: Float | float) -> Mask:
        e = self.emitter
        return Mask(e, e.compare_floats(predicate, self.value, self._value(other)))

    def at_least(self, low: float) -> Float:
        """The greater of the two; NaN stays. One instruction on x86, whose `max` is this select."""
        return self.compare("olt", low).select(low, self)

    def at_most(self, high: float) -> Float:
        """The smaller of the two; NaN stays."""
        return self.compare("ogt", high).select(high, self)

    def bits(self) -> Int:
        """The encoding."""
        return Int(self.emitter, self.emitter.bits(self.value))

    def sign(self) -> Int:
        """The sign bit alone."""
        return self.bits() & self.emitter.format.sign_mask

    def with_sign(self, sign: Int) -> Float:
        """Change the sign where `sign` has its sign bit set and no other bit."""
        return (self.bits() ^ sign).as_float()

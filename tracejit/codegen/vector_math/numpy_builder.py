"""Operations on vectors computed by NumPy: a value is an array, or a number that is in every lane.

Integers are unsigned, as encodings; signed ones are views of these.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from tracejit.codegen.vector_math.builder import Value, Values, VectorBuilder
from tracejit.codegen.vector_math.formats import F64, Format
from tracejit.codegen.vector_math.values import Float, Int, Mask
from tracejit.ir.fma import fma

__all__ = ["NumpyBuilder"]

_TYPES: dict[str, tuple[Any, Any, Any]] = {
    "f64": (np.float64, np.uint64, np.int64),
    "f32": (np.float32, np.uint32, np.int32),
}
#: Python's operators are quicker on single numbers than the ufuncs that they are on arrays.
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": operator.truediv,
    "fneg": operator.neg,
    "sqrt": np.sqrt,
    "trunc": np.trunc,
    "fma": fma,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "lshr": operator.rshift,
    "smin": np.minimum,
    "smax": np.maximum,
}
#: No number is in order with NaN, and none equals it.
_FLOAT_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "oeq": operator.eq,
    "olt": operator.lt,
    "ole": operator.le,
    "ogt": operator.gt,
    "oge": operator.ge,
    "one": lambda a, b: (a < b) | (a > b),
    "ult": lambda a, b: np.logical_not(a >= b),
    "ule": lambda a, b: np.logical_not(a > b),
    "ugt": lambda a, b: np.logical_not(a <= b),
    "uge": lambda a, b: np.logical_not(a < b),
    "uno": lambda a, b: (a != a) | (b != b),
}
_INT_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class NumpyBuilder(VectorBuilder):
    """A function carried out as it is built, on arrays that broadcast.

    With `fma` the fused multiply-add is exact; with `permutes` functions take the methods that they
    have where there is AVX-512. NumPy's warnings are the caller's to silence.
    """

    def __init__(self, fmt: Format, fma: bool = False, permutes: bool = False) -> None:
        self.format = fmt
        self.fma = fma
        self.permutes = permutes
        self._float, self._unsigned, self._signed = _TYPES[fmt.name]

    def doubles(self) -> Self:
        return type(self)(F64, self.fma, self.permutes)

    def constant(self, value: float) -> Any:
        return self._float(value)

    def int_constant(self, value: int) -> Any:
        return self._unsigned(value & (2 * self.format.sign_mask - 1))

    def float_operation(self, operation: str, *operands: Any) -> Any:
        return _OPERATIONS[operation](*operands)

    def int_operation(self, operation: str, left: Any, right: Any) -> Any:
        if operation not in ("smin", "smax"):
            return _OPERATIONS[operation](left, right)
        signed = left.view(self._signed), right.view(self._signed)
        return _OPERATIONS[operation](*signed).view(self._unsigned)

    def mask_operation(self, operation: str, left: Any, right: Any) -> Any:
        return _OPERATIONS[operation](left, right)

    def negated(self, mask: Any) -> Any:
        return np.logical_not(mask)

    def compare_floats(self, predicate: str, left: Any, right: Any) -> Any:
        return _FLOAT_COMPARISONS[predicate](left, right)

    def compare_ints(self, predicate: str, left: Any, right: Any) -> Any:
        if predicate[0] == "s":
            left, right = left.view(self._signed), right.view(self._signed)
        return _INT_COMPARISONS[predicate[-2:]](left, right)

    def select_floats(self, mask: Any, true: Any, false: Any) -> Any:
        if isinstance(mask, np.bool_):
            return true if mask else false
        return np.where(mask, true, false)

    def select_ints(self, mask: Any, true: Any, false: Any) -> Any:
        return self.select_floats(mask, true, false)

    def bits(self, value: Any) -> Any:
        return value.view(self._unsigned)

    def from_bits(self, value: Any) -> Any:
        return value.view(self._float)

    def from_int(self, value: Any) -> Any:
        return value.view(self._signed).astype(self._float)

    def widen(self, value: Any) -> Any:
        return value.astype(np.float64)

    def narrow(self, value: Any) -> Any:
        return value.astype(self._float)

    def narrow_int(self, value: Any) -> Any:
        return value.astype(self._unsigned)

    def where_any(self, mask: Mask, usual: Values, unusual: Callable[[], Values]) -> Values:
        return unusual() if np.any(mask.value) else usual

    def shared(
        self, name: str, argument: Float, body: Callable[[VectorBuilder, Float], Sequence[Value]]
    ) -> list[Value]:
        return list(body(self, argument))

    def lookup(self, table: tuple[int, ...], index: Int) -> Int:
        return Int(self, np.array(table, self._unsigned)[index.value])

    def permuted(self, table: tuple[float, ...], index: Int) -> Float:
        place = (index & (len(table) - 1)).value
        return Float(self, np.array(table, self._float)[place])

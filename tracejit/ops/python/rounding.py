"""From Python floats to whole numbers: floor, ceil, trunc, round and is_integer.

An int that leaves 64 bits, and the rounding of an infinity or a NaN, bail out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import register, require
from tracejit.ir.types import PYFLOAT, Type
from tracejit.ops.checks import only_attrs, take
from tracejit.ops.python.arithmetic import SAMPLES, PyOp
from tracejit.ops.python.scalar_exprs import (
    ScalarRule,
    all_of,
    as_int,
    b1,
    f64,
    least_int,
    real,
    truncated,
)

__all__ = ["MAX_DIGITS"]

#: The powers of ten up to this one are floats exactly.
MAX_DIGITS = 22


class _Rounding(PyOp):
    """A whole number near a float, as an int; an int stays."""

    constant = True
    arity: ClassVar[int] = 1
    highest: ClassVar[str] = "float"
    raises: ClassVar[bool] = True
    fn: ClassVar[str]

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "int"

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (out,) = super().evaluate(inputs, attrs)
        if out < least_int(inputs[0]):
            raise Bailout(f"{self.name}: the int may leave 64 bits")
        return (out,)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] != "float":
            return as_int(args[0], kinds[0]), None
        return truncated(f64(self.fn, real(args[0])))

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [*super().samples(), *(([v], {}) for v in _HALVES)]


_HALVES = (0.5, -0.5, 1.5, -1.5, 2.5, 0.49999999999999994, 4503599627370497.5, 2.0**62, -(2.0**63))


@register
class PyFloor(_Rounding):
    """Python's `math.floor(a)`."""

    name: ClassVar[str] = "py_floor"
    fn: ClassVar[str] = "floor"
    python: ClassVar[Callable[..., Any]] = math.floor


@register
class PyCeil(_Rounding):
    """Python's `math.ceil(a)`."""

    name: ClassVar[str] = "py_ceil"
    fn: ClassVar[str] = "ceil"
    python: ClassVar[Callable[..., Any]] = math.ceil


@register
class PyTrunc(_Rounding):
    """Python's `math.trunc(a)`."""

    name: ClassVar[str] = "py_trunc"
    fn: ClassVar[str] = "trunc"
    python: ClassVar[Callable[..., Any]] = math.trunc


@register
class PyRound(_Rounding):
    """Python's `round(a)`: halves go to the even number."""

    name: ClassVar[str] = "py_round"
    fn: ClassVar[str] = "rint"
    python: ClassVar[Callable[..., Any]] = round


@register
class PyIsInteger(PyOp):
    """Python's `a.is_integer()`."""

    name: ClassVar[str] = "py_is_integer"
    constant = True
    arity: ClassVar[int] = 1
    highest: ClassVar[str] = "float"
    python: ClassVar[Callable[..., Any]] = lambda a: type(a) is not float or a.is_integer()

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "bool"

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] != "float":
            return Const(True, "b1"), None
        x = real(args[0])
        return all_of(b1("isfinite", x), b1("equal", f64("trunc", x), x)), None


# Decimal places ----------------------------------------------------------------------------------

#: Below, a float has a place for halves; from `_WHOLE` on, rounding gives the float itself.
_HALF_PLACES, _WHOLE = 2.0**52, 2.0**54
#: Splits a float into halves of its digits (Veltkamp).
_SPLITTER = Const(2.0**27 + 1.0, "f64")


def _halves(x: Expr) -> tuple[Expr, Expr]:
    """x as a sum of two floats of half the digits."""
    scaled = f64("multiply", x, _SPLITTER)
    high = f64("subtract", scaled, f64("subtract", scaled, x))
    return high, f64("subtract", x, high)


def _product_error(x: Expr, y: Expr, product: Expr) -> Expr:
    """x * y - product exactly (Dekker, "A floating-point technique", 1971)."""
    (a, b), (c, d) = _halves(x), _halves(y)
    error = f64("subtract", f64("multiply", a, c), product)
    error = f64("add", error, f64("multiply", a, d))
    error = f64("add", error, f64("multiply", b, c))
    return f64("add", error, f64("multiply", b, d))


@register
class PyRoundTo(PyOp):
    """Python's `round(a, digits)` of a float, for `digits` from 0 to MAX_DIGITS.

    With p = 10 ** digits, a * p is a float and its error. Below 2**52 its nearest integer k, halves
    to even, follows from both, and k / p is the float nearest to it: both are floats exactly. From
    2**54 on, the decimal next to `a` is closer to it than half a unit in its last place. What lies
    between bails out.
    """

    name: ClassVar[str] = "py_round_to"
    constant = True
    arity: ClassVar[int] = 1
    highest: ClassVar[str] = "float"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "digits")
        digits = attrs["digits"]
        valid = type(digits) is int and 0 <= digits <= MAX_DIGITS
        require(valid, f"{self.name}: {digits!r} is not a number of digits")
        require(inputs[0] == PYFLOAT, f"{self.name} takes a float, not {inputs[0]}")
        return (PYFLOAT,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,), digits = inputs, attrs["digits"]
        if _HALF_PLACES <= abs(x * 10.0**digits) < _WHOLE:
            raise Bailout(f"{self.name}: more digits than a float has")
        return (round(x, digits),)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        assert attrs is not None
        x, factor = real(args[0]), Const(10.0 ** int(attrs["digits"]), "f64")
        product = f64("multiply", x, factor)
        error = _product_error(x, factor, product)
        nearest = f64("rint", product)
        size = f64("absolute", product)
        tie = b1("equal", f64("absolute", f64("subtract", product, nearest)), Const(0.5, "f64"))
        off = all_of(tie, b1("not_equal", error, Const(0.0, "f64")))
        towards = f64("add", product, f64("copysign", Const(0.5, "f64"), error))
        rounded = f64("divide", Call("select", (off, towards, nearest), "f64"), factor)
        small = b1("less", size, Const(_HALF_PLACES, "f64"))
        between = all_of(b1("logical_not", small), b1("less", size, Const(_WHOLE, "f64")))
        return Call("select", (small, rounded, x), "f64"), between

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = [*SAMPLES["float"], *_HALVES, 2.675, 1.005, 0.125, -0.375, 1e22, 123456.785, 1e-9]
        return [([v], {"digits": n}) for v in values for n in (0, 1, 2, 3, 6, 10, 15, 22)]

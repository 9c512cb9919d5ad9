"""Python's complex numbers and their parts. No part is rounded."""

from __future__ import annotations

import cmath
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Const
from tracejit.ir.op import register, require
from tracejit.ir.terms import Term
from tracejit.ir.types import PYCOMPLEX, Type
from tracejit.ops.checks import only_attrs, take
from tracejit.ops.python.arithmetic import PyOp
from tracejit.ops.python.scalar_exprs import (
    ZERO_F,
    ZERO_I,
    Pair,
    ScalarRule,
    as_float,
    as_int,
    b1,
    f64,
    pair_of,
    real,
)
from tracejit.ops.rules.partials import Operand, partials_of

__all__: list[str] = []


@register
class PyComplex(PyOp):
    """Python's `complex(a, b)` of real numbers."""

    name: ClassVar[str] = "py_complex"
    partials = partials_of("make_complex")
    highest: ClassVar[str] = "float"
    python: ClassVar[Callable[..., Any]] = complex

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "complex"

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        a, b = (as_float(x, k) for x, k in zip(args, kinds, strict=True))
        return (a, b), None


class _Part(PyOp):
    arity: ClassVar[int] = 1
    native_complex: ClassVar[bool] = True

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "float" if kinds[0] == "complex" else super().result_kind(kinds)


@register
class PyReal(_Part):
    """Python's `a.real`."""

    name: ClassVar[str] = "py_real"
    partials = partials_of("real")
    python: ClassVar[Callable[..., Any]] = operator.attrgetter("real")

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] == "complex":
            return pair_of(args[0])[0], None
        return (real(args[0]) if kinds[0] == "float" else as_int(args[0], kinds[0])), None


@register
class PyImag(_Part):
    """Python's `a.imag`."""

    name: ClassVar[str] = "py_imag"
    partials = partials_of("imag")
    python: ClassVar[Callable[..., Any]] = operator.attrgetter("imag")

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] == "complex":
            return pair_of(args[0])[1], None
        return (ZERO_F if kinds[0] == "float" else ZERO_I), None


@register
class PyConjugate(PyOp):
    """Python's `a.conjugate()`."""

    name: ClassVar[str] = "py_conjugate"
    partials = partials_of("conjugate")
    arity: ClassVar[int] = 1
    native_complex: ClassVar[bool] = True
    python: ClassVar[Callable[..., Any]] = operator.methodcaller("conjugate")

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] == "complex":
            re, im = pair_of(args[0])
            return (re, f64("negative", im)), None
        return (real(args[0]) if kinds[0] == "float" else as_int(args[0], kinds[0])), None


@register
class PyComplexPower(PyOp):
    """Python's `a ** exponent` of a complex number, for an int from 1 to 100: products of squares.

    A result with an infinity, for which Python raises OverflowError, bails out, and so does a NaN.
    """

    name: ClassVar[str] = "py_complex_power"
    arity: ClassVar[int] = 1
    raises: ClassVar[bool] = True
    native_complex: ClassVar[bool] = True

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "complex"

    @staticmethod
    def _derivative(z: Operand, y: Term) -> Term:
        """n z**(n - 1), the power by squares, too."""
        exponent = z.node.attrs["exponent"] - 1
        square: Term = z
        out = z.full(exponent + 1)
        while exponent:
            if exponent & 1:
                out = out * square
            exponent >>= 1
            if exponent:
                square = square.op("square")
        return out

    partials = (_derivative,)

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "exponent")
        exponent = attrs["exponent"]
        valid = type(exponent) is int and 1 <= exponent <= 100
        require(valid, f"{self.name}: {exponent!r} is not an exponent from 1 to 100")
        require(inputs[0] == PYCOMPLEX, f"{self.name} takes a complex number, not {inputs[0]}")
        return (PYCOMPLEX,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            out = inputs[0] ** attrs["exponent"]
        except OverflowError as e:
            raise Bailout(str(e)) from e
        if not cmath.isfinite(out):
            raise Bailout(f"{self.name}: the power is not finite")
        return (out,)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        assert attrs is not None
        exponent: int = attrs["exponent"]
        square, out = pair_of(args[0]), _ONE
        while True:
            if exponent & 1:
                out = _product(out, square)
            exponent >>= 1
            if not exponent:
                break
            square = _product(square, square)
        finite = b1("logical_and", b1("isfinite", out[0]), b1("isfinite", out[1]))
        return out, b1("logical_not", finite)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = (
            0j,
            1 + 2j,
            complex(-0.0, -3.5),
            complex(2.0, -0.0),
            0.6 - 0.8j,
            1e200 + 1j,
            -1e5j,
        )
        return [([v], {"exponent": n}) for v in values for n in (1, 2, 3, 4, 7, 31, 64, 100)]


_ONE: Pair = (Const(1.0, "f64"), Const(0.0, "f64"))


def _product(a: Pair, b: Pair) -> Pair:
    re = f64("subtract", f64("multiply", a[0], b[0]), f64("multiply", a[1], b[1]))
    im = f64("add", f64("multiply", a[0], b[1]), f64("multiply", a[1], b[0]))
    return re, im

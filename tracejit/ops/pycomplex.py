"""Python's complex numbers and their parts. No part is rounded."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

from tracejit.ir.graph import Attrs
from tracejit.ir.op import register
from tracejit.ops.pyscalar import PyOp
from tracejit.ops.scalar_exprs import (
    ZERO_F,
    ZERO_I,
    ScalarRule,
    as_float,
    as_int,
    f64,
    pair_of,
    real,
)

__all__: list[str] = []


@register
class PyComplex(PyOp):
    """Python's `complex(a, b)` of real numbers."""

    name: ClassVar[str] = "py_complex"
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

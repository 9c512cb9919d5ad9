"""Comparisons and logic of Python numbers, as `arithmetic.py` has their arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tracejit.ir.graph import Attrs
from tracejit.ir.op import register
from tracejit.ir.types import PYBOOL, Type
from tracejit.ops.python.arithmetic import PyOp
from tracejit.ops.python.scalar_exprs import (
    EXACT_INT,
    ScalarRule,
    all_of,
    any_of,
    as_float,
    as_int,
    b1,
    inexact,
    pair_of,
)

__all__: list[str] = []


class _Comparison(PyOp):
    """A comparison. Python compares int and float exactly; ints beyond 2**53 bail out there."""

    constant = True
    highest: ClassVar[str] = "float"
    fn: ClassVar[str]

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "bool"

    def inexact(self, inputs: Sequence[Any], kinds: tuple[str, ...]) -> bool:
        mixed = "float" in kinds or "complex" in kinds
        return mixed and any(type(x) is int and abs(x) > EXACT_INT for x in inputs)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if "float" in kinds:
            a, b = (as_float(x, k) for x, k in zip(args, kinds, strict=True))
            return b1(self.fn, a, b), any_of(*map(inexact, args, kinds))
        a, b = (as_int(x, k) for x, k in zip(args, kinds, strict=True))
        return b1(self.fn, a, b), None


class _Equality(_Comparison):
    """== and !=, for complex numbers too."""

    highest: ClassVar[str] = "complex"
    native_complex: ClassVar[bool] = True
    join: ClassVar[Callable[..., Any]]

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if "complex" not in kinds:
            return super().scalar_expr(args, kinds, attrs)
        a, b = pair_of(args[0]), pair_of(args[1])
        return type(self).join(b1(self.fn, a[0], b[0]), b1(self.fn, a[1], b[1])), None


@register
class PyEqual(_Equality):
    """Python's `a == b`."""

    name: ClassVar[str] = "py_equal"
    fn: ClassVar[str] = "equal"
    join: ClassVar[Callable[..., Any]] = all_of
    python: ClassVar[Callable[..., Any]] = operator.eq


@register
class PyNotEqual(_Equality):
    """Python's `a != b`."""

    name: ClassVar[str] = "py_not_equal"
    fn: ClassVar[str] = "not_equal"
    join: ClassVar[Callable[..., Any]] = any_of
    python: ClassVar[Callable[..., Any]] = operator.ne


@register
class PyLess(_Comparison):
    """Python's `a < b`."""

    name: ClassVar[str] = "py_less"
    fn: ClassVar[str] = "less"
    python: ClassVar[Callable[..., Any]] = operator.lt


@register
class PyLessEqual(_Comparison):
    """Python's `a <= b`."""

    name: ClassVar[str] = "py_less_equal"
    fn: ClassVar[str] = "less_equal"
    python: ClassVar[Callable[..., Any]] = operator.le


@register
class PyGreater(_Comparison):
    """Python's `a > b`."""

    name: ClassVar[str] = "py_greater"
    fn: ClassVar[str] = "greater"
    python: ClassVar[Callable[..., Any]] = operator.gt


@register
class PyGreaterEqual(_Comparison):
    """Python's `a >= b`."""

    name: ClassVar[str] = "py_greater_equal"
    fn: ClassVar[str] = "greater_equal"
    python: ClassVar[Callable[..., Any]] = operator.ge


class _Logical(PyOp):
    """A logical operation on bools, of which all operands are evaluated."""

    constant = True
    highest: ClassVar[str] = "bool"
    fn: ClassVar[str]

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        super().types(inputs, attrs)
        return (PYBOOL,)

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "bool"

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        return b1(self.fn, *args), None


@register
class PyNot(_Logical):
    """Python's `not a`."""

    name: ClassVar[str] = "py_not"
    logic: ClassVar[str] = "not"
    arity: ClassVar[int] = 1
    fn: ClassVar[str] = "logical_not"
    python: ClassVar[Callable[..., Any]] = operator.not_


@register
class PyAnd(_Logical):
    """Python's `a and b`."""

    name: ClassVar[str] = "py_and"
    logic: ClassVar[str] = "and"
    fn: ClassVar[str] = "logical_and"
    python: ClassVar[Callable[..., Any]] = operator.and_


@register
class PyOr(_Logical):
    """Python's `a or b`."""

    name: ClassVar[str] = "py_or"
    logic: ClassVar[str] = "or"
    fn: ClassVar[str] = "logical_or"
    python: ClassVar[Callable[..., Any]] = operator.or_

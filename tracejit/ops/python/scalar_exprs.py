"""Kernel expressions of Python numbers: i64, f64 and b1, and pairs of f64 for complex numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.kernel import Call, Const, Expr

__all__ = [
    "EXACT_INT",
    "INT_MAX",
    "INT_MIN",
    "ZERO_F",
    "ZERO_I",
    "Pair",
    "ScalarRule",
    "all_of",
    "any_of",
    "as_complex",
    "as_float",
    "as_int",
    "b1",
    "f64",
    "i64",
    "inexact",
    "int_const",
    "least_int",
    "pair_of",
    "real",
    "truncated",
]

Pair: TypeAlias = tuple[Expr, Expr]
#: A result and, where the run may have to bail out, the b1 expression that says so.
ScalarRule: TypeAlias = "tuple[Expr | Pair, Expr | None]"

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
#: Every int up to this magnitude is an f64 exactly.
EXACT_INT = 2**53
ZERO_F = Const(0.0, "f64")
ZERO_I = Const(0, "i64")


def int_const(value: int) -> Const:
    """An i64 literal."""
    return Const(value, "i64")


def i64(fn: str, *args: Expr) -> Call:
    """A call that gives an i64."""
    return Call(fn, args, "i64")


def f64(fn: str, *args: Expr) -> Call:
    """A call that gives an f64."""
    return Call(fn, args, "f64")


def b1(fn: str, *args: Expr) -> Call:
    """A call that gives a b1."""
    return Call(fn, args, "b1")


def any_of(*conditions: Expr | None) -> Any:
    """The disjunction of the conditions that are not None; None for none."""
    out: Expr | None = None
    for c in conditions:
        if c is not None:
            out = c if out is None else b1("logical_or", out, c)
    return out


def all_of(*conditions: Expr) -> Expr:
    """The conjunction of conditions."""
    out = conditions[0]
    for c in conditions[1:]:
        out = b1("logical_and", out, c)
    return out


def real(x: Any) -> Expr:
    """`x` as a single expression. Raises NotImplementedError for a complex pair."""
    if isinstance(x, tuple):
        raise NotImplementedError("no rule for a complex operand among others")
    expr: Expr = x
    return expr


def pair_of(x: Any) -> Pair:
    """`x` as a complex pair. Raises NotImplementedError for a single expression."""
    if not isinstance(x, tuple):
        raise NotImplementedError("no rule for a complex operand among others")
    return x[0], x[1]


def as_complex(x: Any, kind: str) -> Pair:
    """A number of any kind as a complex pair."""
    return pair_of(x) if kind == "complex" else (as_float(x, kind), ZERO_F)


def as_int(x: Any, kind: str) -> Expr:
    """An int or a bool as an i64."""
    return i64("cast", real(x)) if kind == "bool" else real(x)


def as_float(x: Any, kind: str) -> Expr:
    """An int, bool or float as an f64; an int rounds to the nearest, as Python's float() does."""
    return real(x) if kind == "float" else f64("cast", real(x))


def inexact(x: Any, kind: str) -> Expr | None:
    """Where an int is beyond the integers that f64 holds exactly; None for the other kinds."""
    if kind != "int":
        return None
    low, high = int_const(-EXACT_INT), int_const(EXACT_INT)
    return b1("logical_or", b1("less", real(x), low), b1("greater", real(x), high))


def truncated(x: Expr) -> tuple[Expr, Expr]:
    """An f64 as an i64, rounded towards zero, and where it may not fit: from 2**63 on, and NaNs.

    -2**63 would fit, but one comparison does not tell it apart. The first must not be used where
    the second holds.
    """
    inside = b1("less", f64("absolute", x), Const(-float(INT_MIN), "f64"))
    return i64("truncated", x), b1("logical_not", inside)


def least_int(x: Any) -> int:
    """The least int that may come of a concrete number, by the rule of `truncated`."""
    return INT_MIN + isinstance(x, (float, np.floating))

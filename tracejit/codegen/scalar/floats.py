"""Scalar functions of floats other than the transcendental ones: all are exact or rounded once.

No instruction carries a fast-math flag, so nothing is contracted, reassociated or assumed finite.
An f16 comes here as a float; `scalar_functions` rounds what leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracejit.codegen.llvm.lanes import Lanes, register_type
from tracejit.codegen.scalar.exponents import (
    frexp_exponent,
    frexp_mantissa,
    ldexp,
    nextafter,
    spacing,
    to_bits,
)
from tracejit.codegen.scalar.integers import ScalarEmitter, simple
from tracejit.codegen.scalar.math import MATH, libm

__all__ = ["FLOAT", "HALF"]


def comparison(predicate: str) -> ScalarEmitter:
    """A comparison, whose predicate decides what NaN gives."""
    return lambda s, a, t, r: s.compare(predicate, t[0], a[0], a[1])


def intrinsic(name: str) -> ScalarEmitter:
    """An LLVM intrinsic that the targets have an instruction for."""
    return lambda s, a, t, r: s.intrinsic(name, r, *a)


def is_nan(s: Lanes, dtype: str, x: str) -> str:
    """Where x is NaN."""
    return s.compare("uno", dtype, x, s.const(0.0, dtype))


def _sign(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, zero = a[0], s.const(0.0, r)
    rest = s.select(s.compare("oeq", r, x, zero), r, zero, x)
    rest = s.select(s.compare("olt", r, x, zero), r, s.const(-1.0, r), rest)
    return s.select(s.compare("ogt", r, x, zero), r, s.const(1.0, r), rest)


def _extreme(predicate: str, other_if_nan: bool) -> ScalarEmitter:
    """The larger or smaller: NaN propagates, or yields to the other operand.

    `select(a > b, a, b)` is one instruction on x86 and b where either is NaN.
    """

    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        x, y = a
        best = s.select(s.compare(predicate, r, x, y), r, x, y)
        return s.select(is_nan(s, r, y if other_if_nan else x), r, x, best)

    return emit


def _classify(predicate: str) -> ScalarEmitter:
    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        magnitude = s.intrinsic("fabs", t[0], a[0])
        return s.compare(predicate, t[0], magnitude, s.const(math.inf, t[0]))

    return emit


def _signbit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    kind = "i64" if t[0] == "f64" else "i32"
    return s.compare("slt", kind, to_bits(s, t[0], a[0]), s.const(0, kind))


def _truncated(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """An integer, of floats that are known to fit: any others are poison."""
    return s.convert("fptosi", a[0], register_type(t[0]), register_type(r))


def _heaviside(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, at_zero = a
    zero = s.const(0.0, r)
    rest = s.select(s.compare("olt", r, x, zero), r, zero, s.const(1.0, r))
    rest = s.select(s.compare("oeq", r, x, zero), r, at_zero, rest)
    return s.select(is_nan(s, r, x), r, x, rest)


def _modulus(s: Lanes, dtype: str, x: str, y: str) -> str:
    """C's fmod, which is exact: by one fused operation where all quotients are small, else libm."""
    exact = libm("fmod")
    if not s.fb.module.target.has_fma:
        return exact(s, (x, y), (dtype, dtype), dtype)

    def build(s: Lanes, a: list[str]) -> str:
        fb, kind = s.fb, s.type("f64")
        x, y = a if dtype == "f64" else [s.convert("fpext", v, "float", "double") for v in a]
        quotient = s.op("fdiv", "f64", x, y)
        size = s.intrinsic("fabs", "f64", quotient)
        # Not below: also where the quotient is infinite or NaN.
        large = s.compare("uge", "f64", size, s.const(2.0**53, "f64"))
        some, none, done = (fb.fresh_label(h) for h in ("large", "small", "after"))
        fb.cond_br(s.any(large), some, none)
        fb.block(some)
        slow = exact(s, (x, y), ("f64", "f64"), "f64")
        fb.br(done)
        fb.block(none)
        fast = _small_modulus(s, x, y, quotient)
        fb.br(done)
        fb.block(done)
        result = fb.phi(kind, [(slow, some), (fast, none)])
        return result if dtype == "f64" else s.convert("fptrunc", result, "double", "float")

    return s.helper(f"small_fmod.{dtype}", dtype, (dtype, dtype), (x, y), build)


def _small_modulus(s: Lanes, x: str, y: str, quotient: str) -> str:
    """fmod(x, y) where the rounded quotient is below 2**53.

    The integer part n of the rounded quotient is the true one, or one more where the quotient was
    rounded up to n. x - n * y is a multiple of the last place of y and no larger than y, so that
    it, and its sum with one more divisor, are exact.
    """
    zero = s.const(0.0, "f64")
    whole = s.intrinsic("trunc", "f64", quotient)
    rest = s.intrinsic("fma", "f64", s.op("fneg", "f64", whole), y, x)
    above = s.compare("ogt", "f64", rest, zero)
    below = s.compare("olt", "f64", rest, zero)
    negative = s.compare("olt", "f64", x, zero)
    over = s.select(negative, "b1", above, below)
    divisor = s.intrinsic("copysign", "f64", y, x)
    rest = s.select(over, "f64", s.op("fadd", "f64", rest, divisor), rest)
    # An infinite divisor times 0 is no number.
    smaller = s.compare("olt", "f64", s.intrinsic("fabs", "f64", x), s.intrinsic("fabs", "f64", y))
    return s.select(smaller, "f64", x, s.intrinsic("copysign", "f64", rest, x))


def _python_remainder(s: Lanes, r: str, x: str, y: str) -> tuple[str, str, str]:
    """The remainder with the divisor's sign; C's fmod; where the two differ by one divisor."""
    zero = s.const(0.0, r)
    rest = _modulus(s, r, x, y)
    nonzero = s.compare("une", r, rest, zero)
    differs = s.op("xor", "b1", s.compare("olt", r, y, zero), s.compare("olt", r, rest, zero))
    shifted = s.op("and", "b1", nonzero, differs)
    signed = s.select(shifted, r, s.op("fadd", r, rest, y), rest)
    signed = s.select(nonzero, r, signed, s.intrinsic("copysign", r, zero, y))
    return signed, rest, shifted


def _remainder(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, y = a
    signed, rest, _ = _python_remainder(s, r, x, y)
    by_zero = s.compare("oeq", r, y, s.const(0.0, r))
    return s.select(by_zero, r, rest, signed)


def _floor_divide(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """(x - x % y) / y, which differs from an integer by rounding only."""
    x, y = a
    zero = s.const(0.0, r)
    _, rest, shifted = _python_remainder(s, r, x, y)
    whole = s.op("fdiv", r, s.op("fsub", r, x, rest), y)
    whole = s.select(shifted, r, s.op("fsub", r, whole, s.const(1.0, r)), whole)
    floor = s.intrinsic("floor", r, whole)
    above = s.compare("ogt", r, s.op("fsub", r, whole, floor), s.const(0.5, r))
    floor = s.select(above, r, s.op("fadd", r, floor, s.const(1.0, r)), floor)
    quotient = s.op("fdiv", r, x, y)
    signed_zero = s.intrinsic("copysign", r, zero, quotient)
    result = s.select(s.compare("une", r, whole, zero), r, floor, signed_zero)
    return s.select(s.compare("oeq", r, y, zero), r, quotient, result)


def _scaled(to_radians: bool) -> ScalarEmitter:
    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        # The factor is a quotient rounded in the operand's own precision.
        number = np.float64 if r == "f64" else np.float32
        pi, half_turn = number(math.pi), number(180.0)
        factor = pi / half_turn if to_radians else half_turn / pi
        return s.op("fmul", r, a[0], s.const(float(factor), r))

    return emit


FLOAT: dict[str, ScalarEmitter] = {
    "add": simple("fadd"),
    "subtract": simple("fsub"),
    "multiply": simple("fmul"),
    "divide": simple("fdiv"),
    "negative": simple("fneg"),
    "positive": lambda s, a, t, r: a[0],
    "conjugate": lambda s, a, t, r: a[0],
    "absolute": intrinsic("fabs"),
    "fabs": intrinsic("fabs"),
    "sign": _sign,
    "square": lambda s, a, t, r: s.op("fmul", r, a[0], a[0]),
    "reciprocal": lambda s, a, t, r: s.op("fdiv", r, s.const(1.0, r), a[0]),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": lambda s, a, t, r: _modulus(s, r, a[0], a[1]),
    "equal": comparison("oeq"),
    "not_equal": comparison("une"),
    "less": comparison("olt"),
    "less_equal": comparison("ole"),
    "greater": comparison("ogt"),
    "greater_equal": comparison("oge"),
    "maximum": _extreme("ogt", other_if_nan=False),
    "minimum": _extreme("olt", other_if_nan=False),
    "fmax": _extreme("ogt", other_if_nan=True),
    "fmin": _extreme("olt", other_if_nan=True),
    "isnan": lambda s, a, t, r: is_nan(s, t[0], a[0]),
    "isinf": _classify("oeq"),
    "isfinite": _classify("one"),
    "signbit": _signbit,
    "copysign": intrinsic("copysign"),
    "nextafter": nextafter,
    "ldexp": ldexp,
    "frexp_mantissa": frexp_mantissa,
    "frexp_exponent": frexp_exponent,
    "spacing": spacing,
    "heaviside": _heaviside,
    "floor": intrinsic("floor"),
    "ceil": intrinsic("ceil"),
    "trunc": intrinsic("trunc"),
    "rint": intrinsic("rint"),
    "sqrt": intrinsic("sqrt"),
    "fma": intrinsic("fma"),
    "truncated": _truncated,
    "deg2rad": _scaled(to_radians=True),
    "radians": _scaled(to_radians=True),
    "rad2deg": _scaled(to_radians=False),
    "degrees": _scaled(to_radians=False),
    **MATH,
}

#: Those of halves: NumPy takes the first one of equal numbers (`npy_half_ge`), of wider ones the
#: second.
HALF: dict[str, ScalarEmitter] = {
    "maximum": _extreme("oge", other_if_nan=False),
    "minimum": _extreme("ole", other_if_nan=False),
    "fmax": _extreme("oge", other_if_nan=True),
    "fmin": _extreme("ole", other_if_nan=True),
}

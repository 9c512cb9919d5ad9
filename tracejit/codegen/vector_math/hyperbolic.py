"""sinh, cosh, and expm1 of float32: exponentials in steps of 2^(1 / 16).

For sinh and cosh x = n * log(2) / 16 + s + r, where exp of the first two terms is a number p whose
reciprocal is nearly one, too, so that p and 1 / p need no second parts (the idea is Gal's,
"Computing elementary functions: a new approach for achieving high accuracy and good performance",
1986). Near zero sinh and expm1 have n = 0, so that r is added to 0 or to what is far larger.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import (
    expm1_by_halves,
    power_of_sixteenths,
    root_of_two,
)
from tracejit.codegen.vector_math.formats import F32, FORMATS
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Int

__all__ = ["cosh", "expm1", "sinh"]

#: How many units in the last place p is from 2^(j / 16): the first whose reciprocal is a number to
#: 2^-31, in float64 to 2^-60, as `python -m benchmarks.vector_math.coefficients` finds them.
_PLACES = {
    "f32": (0, -5, 4, -21, 3, 39, -118, 28, -2642, -31, 140, -50, -4, 33, -7, 10),
    "f64": (0, 83, -50, -6, 16, 35, 103, -86, (1 << 36) - 15016, 94, -122, -45, -22, 10, 84, -152),
}
#: Up to this n is 0 in sinh and expm1: nearly 3 steps.
_NEAR_ZERO = 0.125
#: From here on a float32 has to be taken off expm1's tail instead of its head.
_EXPM1_LARGE = 16.0


def expm1(e: VectorBuilder, x: Float) -> Float:
    """p * 2^n - 1 + p * 2^n * (exp(r) - 1), the difference as a sum of two."""
    if e.format is not F32:
        return expm1_by_halves(e, x)
    t, size = TABLES["f32"], abs(x)
    bits, tail = _scale_and_tail(e, x, size)
    scale = bits.as_float()
    head = scale - 1.0
    low = scale - (head + 1.0)
    y = head + e.muladd(scale, tail, low)
    beyond = size.compare("ogt", _EXPM1_LARGE)

    def large() -> tuple[Float]:
        less = (bits - (8 << F32.mantissa)).as_float()
        result = (less + e.muladd(less, tail, -(2.0**-8))) * 2.0**8
        result = x.compare("ogt", t.exp_high).select(math.inf, result)
        below = x.compare("olt", t.expm1_low).select(-1.0, y)
        return (x.compare("ogt", _EXPM1_LARGE).select(result, below),)

    (y,) = e.where_any(beyond, (y,), large)
    return abs(y).with_sign(x.sign())  # The sign of zero.


def _scale_and_tail(e: VectorBuilder, x: Float, size: Float) -> tuple[Int, Float]:
    """The encoding of p * 2^n, and exp(r) - 1 with the relative error of p."""
    t = TABLES[e.format.name]
    n, count = _steps(e, x, size)
    bits, low = power_of_sixteenths(e, count)
    r = e.muladd(n, -t.sixteenth[2], e.muladd(n, -t.sixteenth[1], x))
    return bits, e.muladd(r * r, e.horner(r, POLYNOMIALS[e.format.name]["expm1"]), r + low)


def _steps(e: VectorBuilder, x: Float, size: Float | None) -> tuple[Float, Int]:
    """x * 16 / log(2) rounded to an integer, but 0 for a size near zero; also in the low bits."""
    magic = e.format.magic
    total = e.muladd(x, TABLES[e.format.name].sixteenth[0], magic)
    if size is not None:
        total = size.compare("oge", _NEAR_ZERO).select(total, x.like(magic))
    return total - magic, total.bits()


def sinh(e: VectorBuilder, x: Float) -> Float:
    """d * cosh(r) + s * sinh(r), d = up - down, s = up + down."""
    a = abs(x)
    up, down, odd, even = _exponentials(e, a, near_zero=True)
    difference = up - down
    low = e.muladd(difference, even, (up - difference) - down)
    y = difference + e.muladd(up + down, odd, low)
    return _large(e, a, y, up, (odd, even)).with_sign(x.sign())


def cosh(e: VectorBuilder, x: Float) -> Float:
    """s * cosh(r) + d * sinh(r)."""
    a = abs(x)
    up, down, odd, even = _exponentials(e, a)
    total = up + down
    low = e.muladd(total, even, (up - total) + down)
    return _large(e, a, total + e.muladd(up - down, odd, low), up, (odd, even))


def _large(e: VectorBuilder, a: Float, y: Float, up: Float, curves: tuple[Float, Float]) -> Float:
    """`y`, but up * exp(r) where a is so large that no more is left and `up` may be infinite.

    The encoding of `up` is still its number's as the exponent field overflows.
    """
    t = TABLES[e.format.name]
    beyond = a.compare("ogt", t.cosh_large)

    def exponential() -> tuple[Float]:
        less = (up.bits() - (8 << e.format.mantissa)).as_float()
        result = e.muladd(less, curves[0] + curves[1], less) * 2.0**8
        result = a.compare("ogt", t.cosh_high).select(math.inf, result)
        return (beyond.select(result, y),)

    (y,) = e.where_any(beyond, (y,), exponential)
    return y


def _exponentials(
    e: VectorBuilder, a: Float, near_zero: bool = False
) -> tuple[Float, Float, Float, Float]:
    """p * 2^n / 2, 1 / p * 2^-n / 2 or 0, sinh(r), cosh(r) - 1."""
    t, fmt = TABLES[e.format.name], e.format
    n, count = _steps(e, a, a if near_zero else None)
    ups, downs, steps = _powers(fmt.name)
    rest = e.muladd(n, -t.sixteenth[1], a)  # Exact, fused or not.
    r = rest + e.muladd(n, -t.sixteenth[2], e.permuted(steps, count))
    field = count << (fmt.mantissa - 4)
    up = (e.permuted(ups, count).bits() + field).as_float()
    down = (e.permuted(downs, count).bits() - field).at_least(0).as_float()
    z = r * r
    return up, down, e.muladd(z * r, e.fitted("sinh", z), r), z * e.fitted("cosh", z)


@functools.cache
def _powers(dtype: str) -> tuple[tuple[float, ...], ...]:
    """p / 2 and 1 / (2 * p), whose encodings lack j sixteenths or have these added; and -s."""
    fmt = FORMATS[dtype]
    ups, downs, steps = [], [], []
    for j, places in enumerate(_PLACES[dtype]):
        exact = root_of_two(j)
        p = fmt.decode(fmt.encode(float(exact)) + places)
        field = j << (fmt.mantissa - 4)
        ups.append(fmt.decode(fmt.encode(p / 2) - field))
        downs.append(fmt.decode(fmt.encode(1 / (2 * p)) + field))
        ratio = exact / Fraction(p) - 1
        steps.append(fmt.rounded(float(ratio - ratio**2 / 2 + ratio**3 / 3)))
    return tuple(ups), tuple(downs), tuple(steps)

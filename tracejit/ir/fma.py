"""a * b + c with one rounding: NumPy floats in, the float next to the exact result out.

What has more places than needed is rounded to odd: to a number whose last place is odd, unless it
is exact. Then a second rounding to nearest gives what one alone does (Boldo and Melquiond,
"Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["fma"]

Array = np.ndarray[Any, Any]


def fma(a: Any, b: Any, c: Any) -> Any:
    """C's fma of float32 or float64 numbers or arrays."""
    operands = np.broadcast_arrays(a, b, c)
    dtype, shape = operands[0].dtype, operands[0].shape
    if not shape and dtype == np.float64:
        return np.float64(_exact(*map(float, operands)))
    of_format = _of_singles if dtype == np.float32 else _of_doubles
    with np.errstate(all="ignore"):
        return of_format(*map(np.ravel, operands)).reshape(shape)[()]


def _of_singles(a: Array, b: Array, c: Array) -> Array:
    """Products of singles are doubles."""
    product = a.astype(np.float64) * b.astype(np.float64)
    return _odd_sum(product, c.astype(np.float64)).astype(np.float32)


def _of_doubles(a: Array, b: Array, c: Array) -> Array:
    product = a * b
    size = np.abs(product)
    small, large = size < 2.0**-900, ~(size < 2.0**900)
    exact = ~np.isfinite(a) | ~np.isfinite(b) | (a == 0) | (b == 0)
    twice = exact | (small & (np.abs(c) > 2.0**-800)) | (~large & ~np.isfinite(c))
    out = np.where(twice, product + c, _usual(a, b, c))
    # There the errors of sums and products need not be numbers.
    for x in (a, b, c):
        large |= ~(np.abs(x) < 2.0**900)
    for i in np.flatnonzero((small | large) & ~twice):
        out[i] = _exact(*(float(x[i]) for x in (a, b, c)))
    return out


def _usual(a: Array, b: Array, c: Array) -> Array:
    """Where no step leaves the range of normal numbers."""
    product, product_low = _product(a, b)
    first, first_low = _sum(c, product_low)
    total, total_low = _sum(product, first)
    return np.asarray(total + _odd_sum(first_low, total_low))


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b rounded, and its error (Dekker's product, 1971)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = map(_halves, (a, b))
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and its error (Knuth's 2Sum)."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


def _odd_sum(a: Array, b: Array) -> Array:
    """a + b rounded to odd."""
    total, low = map(np.asarray, _sum(a, b))
    inexact = np.isfinite(low) & (low != 0)
    bits = total.view(np.int64)
    step = np.where(np.signbit(low) == np.signbit(total), 1, -1)
    odd = np.where(inexact & (bits & 1 == 0), bits + step, bits)
    return odd.view(np.float64)


def _exact(a: float, b: float, c: float) -> float:
    """By fractions, for all numbers."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    from fractions import Fraction

    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        # 0.0, but of two zeros of one sign that zero.
        product = math.copysign(1.0, a) * math.copysign(1.0, b)
        return -0.0 if product < 0 and math.copysign(1.0, c) < 0 and not (c or a * b) else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf

"""Bessel functions of the orders 0 and 1: i0, i1 and those times exp(-|x|), j0, j1. Over doubles.

Near zero polynomials, times the distance from the first zero where there is one; from 8 on minimax
polynomials in place of the asymptotic series of Hankel.
"""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.normal import scaled_exp
from tracejit.codegen.vector_math.trigonometric import cos, sin
from tracejit.codegen.vector_math.values import Float

__all__ = ["i0", "i0e", "i1", "i1e", "j0", "j1"]

#: The first positive zeros of j0 and j1, each in two parts.
_ZEROS = {
    "j0": (
        (float.fromhex("0x1.33d152e971b40p+1"), float.fromhex("-0x1.0f539d7da258ep-53")),
        (float.fromhex("0x1.6148f5b2c2e45p+2"), float.fromhex("0x1.75054cd60a517p-54")),
        (float.fromhex("0x1.14eb56cccdecap+3"), float.fromhex("-0x1.51970714c7c25p-52")),
    ),
    "j1": (
        (float.fromhex("0x1.ea75575af6f09p+1"), float.fromhex("-0x1.60155a9d1b256p-53")),
        (float.fromhex("0x1.c0ff5f3b47250p+2"), float.fromhex("-0x1.b226d9d243827p-54")),
    ),
}
#: Of the polynomials: in x^2 below 4, and in x from there to 8.
_CENTRE, _MIDDLE = 8.0, 6.0


def _i(e: VectorBuilder, name: str, x: Float, scaled: bool) -> Float:
    a = abs(x)
    b = a.at_most(8.0)
    z = (b * b) * 0.25
    near = e.muladd(z, e.fitted(name, z), 1.0)
    if name == "i1":
        near = near * (b * 0.5)
    far = e.fitted(f"{name}_far", 8.0 / a.at_least(8.0) - 0.5)
    is_near = a.compare("ole", 8.0)
    if scaled:
        return is_near.select(scaled_exp(e, -b, b.like(0.0), near), far / a.sqrt())
    bounded = a.at_most(720.0)
    grown = scaled_exp(e, bounded, a.like(0.0), far / bounded.sqrt())
    # SciPy's value for infinity is NaN.
    return is_near.select(near, a.compare("oeq", math.inf).select(math.nan, grown))


def _odd(e: VectorBuilder, x: Float, size: Float) -> Float:
    """The size with the sign of x; a zero's result is +0, as SciPy's."""
    return x.compare("olt", 0.0).select(-size, size)


def i0(e: VectorBuilder, x: Float) -> Float:
    return _i(e, "i0", x, scaled=False)


def i0e(e: VectorBuilder, x: Float) -> Float:
    return _i(e, "i0", x, scaled=True)


def i1(e: VectorBuilder, x: Float) -> Float:
    return _odd(e, x, _i(e, "i1", x, scaled=False))


def i1e(e: VectorBuilder, x: Float) -> Float:
    return _odd(e, x, _i(e, "i1", x, scaled=True))


def _j(e: VectorBuilder, name: str, a: Float) -> Float:
    """For a >= 0."""
    first, first_low = _ZEROS[name][0]
    b = a.at_most(4.0)
    near = ((b - first) - first_low) * (b + first)
    near = near * e.fitted(name, e.muladd(b, b, -_CENTRE))
    if name == "j1":
        near = near * b
    c = a.at_most(8.0)
    middle = e.fitted(f"{name}_middle", c - _MIDDLE)
    for zero, low in _ZEROS[name][-2:]:
        middle = middle * ((c - zero) - low)
    r = 1.0 / a.at_least(8.0)
    z = r * r
    p, q = e.fitted(f"{name}_p", z), r * e.fitted(f"{name}_q", z)
    # sqrt(2) times the cosine and the sine of the phase.
    s, t = sin(e, a), cos(e, a)
    even, odd = (t + s, s - t) if name == "j0" else (s - t, -(s + t))
    far = (p * even - q * odd) * math.sqrt(1 / math.pi) / a.sqrt()
    return a.compare("olt", 4.0).select(near, a.compare("olt", 8.0).select(middle, far))


def j0(e: VectorBuilder, x: Float) -> Float:
    return _j(e, "j0", abs(x))


def j1(e: VectorBuilder, x: Float) -> Float:
    return _j(e, "j1", abs(x)).with_sign(x.sign())

"""Bessel functions of the orders 0 and 1: i0, i1 and those times exp(-|x|), j0, j1, y0, y1.

Over doubles. Near zero polynomials, times the distance from the first zero where there is one, and
in y a logarithm of the distance from it; from 8 on minimax polynomials in place of the asymptotic
series of Hankel.
"""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.logarithms import parts, reduce_any
from tracejit.codegen.vector_math.special.normal import scaled_exp
from tracejit.codegen.vector_math.trigonometric import sincos
from tracejit.codegen.vector_math.values import Float

__all__ = ["i0", "i0e", "i1", "i1e", "j0", "j1", "y0", "y1"]

#: The first positive zeros, each in two parts.
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
    "y0": (
        (float.fromhex("0x1.c982eb8d417eap-1"), float.fromhex("0x1.ea9d270347f83p-56")),
        (float.fromhex("0x1.fa9534d98569cp+1"), float.fromhex("-0x1.f06ae7804384ep-54")),
        (float.fromhex("0x1.c581dc4e72103p+2"), float.fromhex("-0x1.9774a495f56cfp-54")),
    ),
    "y1": (
        (float.fromhex("0x1.193bed4dff243p+1"), float.fromhex("-0x1.bd1e50d219bfdp-55")),
        (float.fromhex("0x1.5b7fe4e87b02ep+2"), float.fromhex("0x1.dfe7bac228e8cp-52")),
        (float.fromhex("0x1.13127ae6169b4p+3"), float.fromhex("0x1.479cc068d9046p-52")),
    ),
}
#: The logarithms of the first zeros of y0 and y1.
_LOGS = {
    "y0": (float.fromhex("-0x1.cce4b73e6f025p-4"), float.fromhex("-0x1.4297c34fad727p-58")),
    "y1": (float.fromhex("0x1.930641fe98869p-1"), float.fromhex("-0x1.86dff1066eceap-58")),
}
#: Of the polynomials: in x^2 below a border, and in x from there to 8.
_CENTRE, _MIDDLE = {"j": 8.0, "y": 4.5}, {"j": 6.0, "y": 5.5}


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


def _from_zero(name: str, x: Float, zero: int) -> Float:
    """x less a zero of the function."""
    head, low = _ZEROS[name][zero]
    return (x - head) - low


def _near(e: VectorBuilder, name: str, b: Float) -> Float:
    """j0, j1 / x, y0 without its logarithm, or y1 without it and times x."""
    z = e.muladd(b, b, -_CENTRE[name[0]])
    return _from_zero(name, b, 0) * (b + _ZEROS[name][0][0]) * e.fitted(name, z)


def _middle(e: VectorBuilder, name: str, c: Float) -> Float:
    middle = e.fitted(f"{name}_middle", c - _MIDDLE[name[0]])
    return middle * _from_zero(name, c, -2) * _from_zero(name, c, -1)


def _far(e: VectorBuilder, name: str, a: Float) -> Float:
    order = name[1]
    r = 1.0 / a.at_least(8.0)
    z = r * r
    p, q = e.fitted(f"j{order}_p", z), r * e.fitted(f"j{order}_q", z)
    # sqrt(2) times the cosine and the sine of the phase.
    s, t = sincos(e, a)
    even, odd = (t + s, s - t) if order == "0" else (s - t, -(s + t))
    wave = p * even - q * odd if name[0] == "j" else p * odd + q * even
    return wave * math.sqrt(1 / math.pi) / a.sqrt()


def _j(e: VectorBuilder, name: str, a: Float) -> Float:
    """For a >= 0."""
    b = a.at_most(4.0)
    near = _near(e, name, b)
    if name == "j1":
        near = near * b
    middle = _middle(e, name, a.at_most(8.0))
    far = a.compare("olt", 8.0).select(middle, _far(e, name, a))
    return a.compare("olt", 4.0).select(near, far)


def j0(e: VectorBuilder, x: Float) -> Float:
    return _j(e, "j0", abs(x))


def j1(e: VectorBuilder, x: Float) -> Float:
    return _j(e, "j1", abs(x)).with_sign(x.sign())


def _y(e: VectorBuilder, name: str, x: Float) -> Float:
    """2 / pi * log(x / zero) * j(x) and a rest that vanishes at the zero; from 3 on as j is."""
    b = x.at_most(3.0)
    log, log_low = parts(e, reduce_any(e, b), None)
    ratio = (log - _LOGS[name][0]) + (log_low - _LOGS[name][1])
    wave, rest = _near(e, name.replace("y", "j"), b), _near(e, name, b)
    if name == "y1":
        wave, rest = wave * b, rest / b
    near = e.muladd(ratio * (2 / math.pi), wave, rest)
    far = x.compare("olt", 8.0).select(_middle(e, name, x.at_most(8.0)), _far(e, name, x))
    y = x.compare("olt", 3.0).select(near, far)
    outside = x.compare("oeq", 0.0).select(-math.inf, x.like(math.nan))
    return x.compare("ole", 0.0).select(outside, y)


def y0(e: VectorBuilder, x: Float) -> Float:
    return _y(e, "y0", x)


def y1(e: VectorBuilder, x: Float) -> Float:
    return _y(e, "y1", x)

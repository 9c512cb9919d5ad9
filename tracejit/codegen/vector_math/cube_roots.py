"""Cube roots."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.logarithms import not_ordinary
from tracejit.codegen.vector_math.values import Float

__all__ = ["cbrt"]


def cbrt(e: VectorBuilder, x: Float) -> Float:
    """t + (a - t^3) / (3 * t^2), t = a * y^2, y about 1 / cbrt(a)."""
    fmt, size = e.format, abs(x)
    rare = not_ordinary(e, size.bits())
    lift = 54 if e.format.bits == 64 else 24

    def lifted() -> tuple[Float]:
        return (size.compare("olt", e.format.tiny).select(size * 2.0**lift, size),)

    (a,) = e.where_any(rare, (size,), lifted)
    y = _inverse_cube_root(e, a)
    square = y * y
    t = (a * y) * y
    t_square = t * t
    excess = e.product_error(t_square, t, a) + e.product_error(t, t, t_square) * t
    root = e.muladd(-excess, square * fmt.rounded(1 / 3), t)

    def special() -> tuple[Float]:
        subnormal = size.compare("olt", e.format.tiny)
        back = subnormal.select(root * 2.0 ** -(lift // 3), root)
        # 0, infinity and NaN are their own roots; the sum quiets a NaN.
        number = size.compare("ogt", 0.0) & size.compare("olt", math.inf)
        return (number.select(back, size + size),)

    (root,) = e.where_any(rare, (root,), special)
    return root.with_sign(x.sign())


def _inverse_cube_root(e: VectorBuilder, a: Float) -> Float:
    """Good to 2^-18 in float32, to 2^-36 in float64."""
    fmt = e.format
    # The encoding is nearly linear in the logarithm: its upper bits over -3, and a constant that
    # keeps |1 - a * y^3| below 0.103. Between 2^mantissa and twice that the low bits of a float are
    # an integer's.
    dropped = 32 if fmt.bits == 64 else 8
    base = 2.0**fmt.mantissa
    step = 2.0 ** (fmt.mantissa - dropped)
    upper = ((a.bits() >> dropped) | fmt.encode(base)).as_float()
    start = fmt.rounded(base + base / 3 + (fmt.bias * 4 / 3 - 0.068) * step)
    y = (e.muladd(upper, fmt.rounded(-1 / 3), start).bits() << dropped).as_float()
    # y * (1 - rest)^(-1/3)
    rest = 1.0 - (a * y) * (y * y)
    y = e.muladd(y * rest, e.fitted("cbrt", rest), y)
    if fmt.bits == 64:
        rest = 1.0 - (a * y) * (y * y)
        y = e.muladd(y * rest, 1 / 3, y)
    return y

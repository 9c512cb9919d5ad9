"""Cube roots."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.logarithms import not_ordinary
from tracejit.codegen.vector_math.values import Float

__all__ = ["cbrt"]


def cbrt(e: VectorBuilder, x: Float) -> Float:
    size = abs(x)
    root = _root(e, size)

    def special() -> tuple[Float]:
        lift = 54 if e.format.bits == 64 else 24
        subnormal = size.compare("olt", e.format.tiny)
        small = _root(e, size * 2.0**lift) * 2.0 ** -(lift // 3)
        # 0, infinity and NaN are their own roots; the sum quiets a NaN.
        number = size.compare("ogt", 0.0) & size.compare("olt", math.inf)
        return (number.select(subnormal.select(small, root), size + size),)

    (root,) = e.where_any(not_ordinary(e, size.bits()), (root,), special)
    return root.with_sign(x.sign())


def _root(e: VectorBuilder, a: Float) -> Float:
    """t + (a - t^3) / (3 * t^2), t = a * y^2, y about 1 / cbrt(a)."""
    y = _inverse_cube_root(e, a)
    square = y * y
    t = a * square
    t_square = t * t
    excess = e.muladd(e.product_error(t, t, t_square), t, e.product_error(t_square, t, a))
    return e.muladd(-excess, square * e.format.rounded(1 / 3), t)


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
    rest = e.muladd(-(a * y), y * y, 1.0)
    y = e.muladd(y * rest, e.fitted("cbrt", rest), y)
    if fmt.bits == 64:
        rest = 1.0 - (a * y) * (y * y)
        y = e.muladd(y * rest, 1 / 3, y)
    return y

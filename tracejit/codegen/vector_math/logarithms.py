"""log."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import Float, VectorBuilder
from tracejit.codegen.vector_math.tables import TABLES

__all__ = ["log"]


def log(e: VectorBuilder, x: Float) -> Float:
    """log(x) = k * log(2) + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2).

    f - f^2 / 2 is kept as an exact sum of two numbers, so that only the tail f^3 / 3 - ... rounds.
    """
    fmt, t = e.format, TABLES[e.format.name]
    lift = fmt.mantissa + 2
    subnormal = x.compare("olt", fmt.tiny)
    normal = subnormal.select(x * 2.0**lift, x)
    # Counting from sqrt(1/2) instead of 1 moves the step of the exponent field there.
    start = fmt.encode(math.sqrt(0.5))
    shifted = normal.bits() + (fmt.encode(1.0) - start)
    f = ((shifted & ((1 << fmt.mantissa) - 1)) + start).as_float() - 1.0
    # The integer k + bias becomes a float as the low bits of 2^mantissa.
    base = 2.0**fmt.mantissa
    offset = base + fmt.bias
    k = ((shifted >> fmt.mantissa) | fmt.encode(base)).as_float()
    k = k - subnormal.select(offset + lift, f.like(offset))

    half_f = f * 0.5
    h = half_f * f
    h_low = e.product_error(half_f, f, h)
    head = f - h
    head_low = ((f - head) - h) - h_low
    k_high = k * t.ln2[0]
    total = k_high + head
    low = e.muladd(k, t.ln2[1], (head - (total - k_high)) + head_low)
    if fmt.bits == 64:
        s = f / (f + 2.0)
        z = s * s
        low = e.muladd(s, e.muladd(z, e.fitted("log", z), h), low)
    else:
        low = e.muladd(f * f * f, e.fitted("log", f), low)
    y = total + low

    y = x.compare("olt", math.inf).select(y, x)  # +inf and NaN are their own logarithms.
    pole = x.compare("oeq", 0.0).select(-math.inf, x.like(math.nan))
    return x.compare("ole", 0.0).select(pole, y)

"""kl_div, the Kullback-Leibler divergence of two elements. Over doubles."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.logarithms import log1p_parts, parts, reduce_any
from tracejit.codegen.vector_math.values import Float

__all__ = ["kl_div"]

#: What keeps quotients normal.
_SCALE = 600


def kl_div(e: VectorBuilder, x: Float, y: Float) -> Float:
    """x (u - log(1 + u)), u = (y - x) / x; where u is not small y - x - x log(y / x).

    0 <= x and y, else infinity; y where x is 0.
    """
    difference = y - x
    u = difference / x
    head, low = log1p_parts(e, u.at_least(-0.5).at_most(1.0))
    near = x * ((u - head) - low)
    far = difference - x * _log_of_quotient(e, y, x)
    # Where y is so much larger no logarithm counts.
    far = u.compare("ogt", 2.0**100).select(difference, far)
    is_near = u.compare("oge", -0.5) & u.compare("ole", 1.0)
    value = is_near.select(near, far)
    finite = x.compare("olt", math.inf) & y.compare("olt", math.inf)
    value = finite.select(value, x.like(math.nan))
    inside = x.compare("ogt", 0.0) & y.compare("ogt", 0.0)
    zero = x.compare("oeq", 0.0) & y.compare("oge", 0.0)
    value = inside.select(value, zero.select(y, x.like(math.inf)))
    number = x.compare("oeq", x) & y.compare("oeq", y)
    return number.select(value, x + y)


def _log_of_quotient(e: VectorBuilder, a: Float, b: Float) -> Float:
    """log(a / b) for positive numbers, a not much larger than b."""
    quotient = a / b
    vanishes = quotient.compare("olt", 2.0**-1000)
    scaled = (a * 2.0**_SCALE) / (b * 2.0**-_SCALE)
    log, low = parts(e, reduce_any(e, vanishes.select(scaled, quotient)), None)
    return log + (low + vanishes.select(-2 * _SCALE * math.log(2), low.like(0.0)))

"""expit, log_expit and logit."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import exp
from tracejit.codegen.vector_math.logarithms import log
from tracejit.codegen.vector_math.values import Float

__all__ = ["expit", "log_expit", "log_of_sum", "logit"]


def expit(e: VectorBuilder, x: Float) -> Float:
    """1 / (1 + g) or g / (1 + g), g = exp(-|x|): the sum with its error, the quotient corrected."""
    g = exp(e, -abs(x))
    below, below_low = e.ordered_sum(g.like(1.0), g)
    top = x.compare("olt", 0.0).select(g, g.like(1.0))
    reciprocal = 1.0 / below
    y = top * reciprocal
    rest = e.muladd(y, below_low, e.product_error(y, below, top))
    return e.muladd(-rest, reciprocal, y)


def log_expit(e: VectorBuilder, x: Float) -> Float:
    """min(x, 0) - log(1 + exp(-|x|))."""
    g = exp(e, -abs(x))
    total, low = e.ordered_sum(g.like(1.0), g)
    y = log_of_sum(e, total, low)
    return x.compare("olt", 0.0).select(x - y, -y)


def log_of_sum(e: VectorBuilder, x: Float, low: Float) -> Float:
    """log(x + low), low below a unit in the last place of x: as exact for x near 1 as `log`."""
    y = log(e, x)
    correction = low / x
    return (abs(correction).compare("olt", 1.0)).select(y + correction, y)


def logit(e: VectorBuilder, x: Float) -> Float:
    """log(q), q = x / (1 - x) with its error: log(q) is exact enough where q is near 1."""
    other = 1.0 - x
    # 1 - x is rounded below 1/2 alone, where x is small against its last place.
    other_low = (1.0 - other) - x
    q = x / other
    rest = e.muladd(q, other_low, e.product_error(q, other, x))
    low = -(rest / other)
    y = log_of_sum(e, q, low)
    return x.compare("oeq", 1.0).select(math.inf, y)

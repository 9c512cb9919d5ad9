"""The normal distribution: erfc, ndtr, log_ndtr, and the inverses erfinv, erfcinv, ndtri.

Over doubles. With a = |x|, erfc(a) = exp(-a^2) * erfcx(a), and (1 + 2 a) erfcx(a) is nearly
constant: one polynomial in (a - 4) / (a + 4) serves from the border to infinity (Shepherd and
Laframboise, "Chebyshev approximation of (1 + 2 x) exp(x^2) erfc x", 1981). The inverses are
functions of w = -log(1 - x^2) (Giles, "Approximating the erfinv function", 2012).
"""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import exp_in_parts
from tracejit.codegen.vector_math.logarithms import log
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.special.logistic import log_of_sum
from tracejit.codegen.vector_math.values import Float

__all__ = ["erfc", "erfcinv", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

#: Below, 1 - erf(a) is exact enough.
_BORDER = 0.75
_ROOT_HALF = math.sqrt(0.5)
#: The centres of the inverses' polynomials: in w, twice in its root, and in the root's inverse.
ERFINV_CENTRE = 3.125
ERFINV_NEAR_TAIL, ERFINV_TAIL, ERFINV_FAR = 3.25, 5.125, 0.09765625


def scaled_exp(e: VectorBuilder, x: Float, low: Float, factor: Float | float = 1.0) -> Float:
    """factor * exp(x + low), x up to 1400; also where exp(x) alone is beyond the format."""
    head, tail, first, second = exp_in_parts(e, x, low)
    factor = x.like(factor)
    return (e.muladd(tail, factor, head * factor) * first) * second


def _erf_near(e: VectorBuilder, a: Float) -> Float:
    """erf(a), a up to the border."""
    z = a * a
    near = POLYNOMIALS["f64"]["erf"]
    line = e.muladd(z, near[1], z.like(near[0]))
    return e.muladd(a, e.muladd(z * z, e.polynomial(z, near[2:]), line), a)


def _erfcx(e: VectorBuilder, a: Float) -> Float:
    """erfcx(a) from the border on."""
    b = a.at_most(2.0**60)
    return (e.fitted("erfcx", (b - 4.0) / (b + 4.0)) * 0.5) / (a + 0.5)


def _square(e: VectorBuilder, a: Float, scale: float) -> tuple[Float, Float]:
    """scale * a^2, scale a power of 2, and its rounding error."""
    scaled = a * scale
    square = scaled * a
    return square, e.product_error(scaled, a, square)


def erfc(e: VectorBuilder, x: Float) -> Float:
    a = abs(x).at_most(28.0)
    square, low = _square(e, a, 1.0)
    tail = scaled_exp(e, -square, -low, _erfcx(e, a))
    upper = x.compare("olt", 0.0).select(2.0 - tail, tail)
    near = 1.0 - _erf_near(e, a).with_sign(x.sign())
    return a.compare("olt", _BORDER).select(near, upper)


def erfcx(e: VectorBuilder, x: Float) -> Float:
    """exp(x^2) erfc(x); for negative x 2 exp(x^2) - erfcx(-x)."""
    a = abs(x)
    b = a.at_most(30.0)  # From 26.7 on the exponential is infinite.
    square, low = _square(e, b, 1.0)
    near = scaled_exp(e, square, low, 1.0 - _erf_near(e, a.at_most(_BORDER)))
    y = a.compare("olt", _BORDER).select(near, _erfcx(e, a))
    return x.compare("olt", 0.0).select(scaled_exp(e, square, low, 2.0) - y, y)


def _ndtr_tail(e: VectorBuilder, a: Float) -> Float:
    """ndtr(-a), from a / sqrt(2) = the border on: with the square of a itself."""
    square, low = _square(e, a, 0.5)
    return scaled_exp(e, -square, -low, _erfcx(e, a * _ROOT_HALF) * 0.5)


def ndtr(e: VectorBuilder, x: Float) -> Float:
    """erfc(-x / sqrt(2)) / 2."""
    a = abs(x).at_most(39.0)
    tail = _ndtr_tail(e, a)
    far = x.compare("ogt", 0.0).select(1.0 - tail, tail)
    b = a * _ROOT_HALF
    near = e.muladd(_erf_near(e, b).with_sign(x.sign()), 0.5, 0.5)
    return b.compare("olt", _BORDER).select(near, far)


def log_ndtr(e: VectorBuilder, x: Float) -> Float:
    """log(erfcx(a / sqrt(2)) / 2) - a^2 / 2 below 0, log(1 - ndtr(-a)) above."""
    a = abs(x)
    b = a * _ROOT_HALF
    square, low = _square(e, a, 0.5)
    bounded, bounded_low = _square(e, a.at_most(39.0), 0.5)
    erfcx = _erfcx(e, b) * 0.5
    # Below the border 1 - erf, there the product with exp(a^2) is as exact.
    near = b.compare("olt", _BORDER)
    middle = 0.5 - _erf_near(e, near.select(b, b.like(0.0))) * 0.5
    tail = near.select(middle, scaled_exp(e, -bounded, -bounded_low, erfcx))
    above, above_low = e.ordered_sum(tail.like(1.0), -tail)
    below = x.compare("olt", 0.0)
    # Without the polynomial's range at hand, the logarithm of the value itself.
    direct = below & near
    u = direct.select(tail, below.select(erfcx, above))
    u_low = below.select(0.0, above_low)
    y = log_of_sum(e, u, u_low)
    far = (y - square) - low
    far = square.compare("olt", math.inf).select(far, -square)
    y = direct.select(y, below.select(far, -abs(y)))
    return x.compare("uno", 0.0).select(x, y)


def _inverse(e: VectorBuilder, x: Float, u: Float, far: bool) -> Float:
    """erfinv(x) for u = 1 - x^2 without its rounding error; `far`: also where x is rounded to 1."""
    w = -log(e, u)
    y = x * e.fitted("erfinv", w - ERFINV_CENTRE)

    def tails() -> tuple[Float]:
        s = w.sqrt()
        z = e.fitted("erfinv_near_tail", s - ERFINV_NEAR_TAIL)
        z = s.compare("ogt", 4.0).select(e.fitted("erfinv_tail", s - ERFINV_TAIL), z)
        if far:
            last = e.fitted("erfinv_far", (1.0 / s) - ERFINV_FAR)
            z = s.compare("ogt", 6.25).select(last, z)
        size = (s * z).with_sign(x.sign())
        return (w.compare("ogt", 6.25).select(size, y),)

    (out,) = e.where_any(w.compare("ogt", 6.25), (y,), tails)
    return out


def erfinv(e: VectorBuilder, x: Float) -> Float:
    a = abs(x)
    u = (1.0 - a) * (a + 1.0)
    y = _inverse(e, x, u, far=False) + 0.0  # SciPy has one zero.
    y = a.compare("oeq", 1.0).select(x.like(math.inf).with_sign(x.sign()), y)
    return a.compare("ogt", 1.0).select(math.nan, y)


def erfcinv(e: VectorBuilder, x: Float) -> Float:
    y = _inverse(e, -(x - 1.0), x * (2.0 - x), far=True)
    y = x.compare("oeq", 0.0).select(math.inf, y)
    return x.compare("oeq", 2.0).select(-math.inf, y)


def ndtri(e: VectorBuilder, x: Float) -> Float:
    """-sqrt(2) erfcinv(2 x)."""
    # 1 - 2 x and 4 x (1 - x); x * 4 is exact, above 0 and not infinite where x is in [0, 1].
    y = _inverse(e, e.muladd(x, 2.0, -1.0), (x * 4.0) * (1.0 - x), far=True) * math.sqrt(2.0)
    y = x.compare("oeq", 0.0).select(-math.inf, y)
    return x.compare("oeq", 1.0).select(math.inf, y)

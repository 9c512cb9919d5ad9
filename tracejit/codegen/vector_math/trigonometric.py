"""sin, cos and tan: x = n * pi / 2 + r, and polynomials for sin(r) and cos(r)."""

from __future__ import annotations

import math
from typing import TypeAlias

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import nearest_integer
from tracejit.codegen.vector_math.formats import F64
from tracejit.codegen.vector_math.huge_angles import reduce_huge
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Int, Mask

__all__ = ["cos", "reduce_angle", "sin", "sincos", "sincos_of_rest", "tan"]

_Sum: TypeAlias = tuple[Float, Float]

#: Up to here the rounding errors of a float32's remainder are below 2^-13 of it.
_TAN_LIMIT = 2.0**15


def sin(e: VectorBuilder, x: Float) -> Float:
    return _sin(x, *_sin_and_cos(e, abs(x)))


def cos(e: VectorBuilder, x: Float) -> Float:
    return _cos(*_sin_and_cos(e, abs(x)))


def sincos(e: VectorBuilder, x: Float) -> tuple[Float, Float]:
    """Both, for little more than one of them."""
    reduced = _sin_and_cos(e, abs(x))
    return _sin(x, *reduced), _cos(*reduced)


def _sin(x: Float, sin: _Sum, cos: _Sum, quadrant: Int) -> Float:
    y = _is_odd(quadrant).select(cos[0] + cos[1], sin[0] + sin[1])
    return y.with_sign(_sign_of_quadrant(quadrant) ^ x.sign())


def _cos(sin: _Sum, cos: _Sum, quadrant: Int) -> Float:
    y = _is_odd(quadrant).select(sin[0] + sin[1], cos[0] + cos[1])
    return y.with_sign(_sign_of_quadrant(quadrant + 1))


def tan(e: VectorBuilder, x: Float) -> Float:
    """r / d, d = r / tan(r) = 1 - r^2 * polynomial(r^2), or -d / r in the odd quadrants.

    What the rounded quotient leaves of the numerator is divided, too, roughly. Either way the
    derivative in r is one and the square of the result.
    """
    # Beside a pole r_low must be small against r, too.
    if e.format is F64:
        r, r_low, quadrant = reduce_angle(e, abs(x))
        r, r_low = e.ordered_sum(r, r_low)
    else:
        r, r_low, quadrant = reduce_angle(e, abs(x), _TAN_LIMIT)
    z = r * r
    c = r * e.horner(z, POLYNOMIALS[e.format.name]["cot"])
    d, d_low = e.multiply_add(-c, r, 1.0)
    odd = _is_odd(quadrant)
    above, below = odd.select(d, r), odd.select(-r, d)
    quotient = above / below
    # The encoding is nearly linear in the logarithm: within 0.08 of the reciprocal, and nearer
    # where `below` is pi / 4, where the other errors are greatest.
    rough = round((2 * e.format.bias - 0.156) * 2**e.format.mantissa)
    reciprocal = (rough - below.bits()).as_float()
    excess = e.product_error(quotient, below, above)
    excess = e.muladd(odd.select(-1.0, quotient), d_low, excess)
    correction = r_low * e.muladd(quotient, quotient, 1.0)
    y = quotient + e.muladd(-excess, reciprocal, correction)
    return y.with_sign(x.sign())


def _is_odd(quadrant: Int) -> Mask:
    return (quadrant & 1).compare("ne", 0)


def _sign_of_quadrant(quadrant: Int) -> Int:
    """The sign bit where the quadrant is 2 or 3, modulo 4."""
    return (quadrant & 2) << (quadrant.emitter.format.bits - 2)


def _sin_and_cos(e: VectorBuilder, x: Float) -> tuple[_Sum, _Sum, Int]:
    """sin(r) and cos(r), each a head and a tail, and n modulo 4 in the low bits, for x >= 0."""
    r, r_low, quadrant = reduce_angle(e, x)
    return *_parts_of_rest(e, r, r_low), quadrant


def sincos_of_rest(e: VectorBuilder, r: Float, r_low: Float, quadrant: Int) -> _Sum:
    """Both, of quadrant * pi / 2 + r + r_low."""
    parts = _parts_of_rest(e, r, r_low)
    return _cos(*parts, quadrant - 1), _cos(*parts, quadrant)


def _parts_of_rest(e: VectorBuilder, r: Float, r_low: Float) -> tuple[_Sum, _Sum]:
    """sin(r + r_low) and cos(r + r_low), each a head and a tail, |r| <= pi / 4."""
    z = r * r
    half_z = z * 0.5
    correction = e.muladd(-half_z, r_low, r_low)  # r_low * cos(r), to first order
    sin = r, e.muladd(z * r, e.fitted("sin", z), correction)
    head = 1.0 - half_z
    head_low = (1.0 - head) - half_z
    correction = e.muladd(e.product_error(r, r, z), 0.5, r * r_low)
    cos = head, e.muladd(z * z, e.fitted("cos", z), head_low - correction)
    return sin, cos


def reduce_angle(e: VectorBuilder, x: Float, most: float = math.inf) -> tuple[Float, Float, Int]:
    """r, its rounding error, and n modulo 4 in the low bits, x = n * pi / 2 + r, |r| <= pi / 4.

    Beyond `most` the error is half a place of r at most.
    """
    t = TABLES[e.format.name]
    limit = min(t.trig_limit_fused if e.fma else t.trig_limit_plain, most)
    near = _reduce_near(e, x)
    beyond = x.compare("ogt", limit)

    def far() -> tuple[Float, Float, Int]:
        r, r_low, quadrant = reduce_huge(e, beyond.select(x, x.like(2.0 * limit)))
        return (
            beyond.select(r, near[0]),
            beyond.select(r_low, near[1]),
            beyond.select_int(quadrant, near[2]),
        )

    return e.where_any(beyond, near, far)


def _reduce_near(e: VectorBuilder, x: Float) -> tuple[Float, Float, Int]:
    """r, its rounding error, and n in the low bits, x = n * pi / 2 + r, 0 <= x <= the limit.

    The difference of two numbers a - p and its error are found by Fast2Sum although |a| may be the
    smaller: it asks only that a be a multiple of the last place of p (Boldo, Graillat and Muller,
    "On the robustness of the 2Sum and Fast2Sum algorithms", 2017). Where n is not 0, x is at least
    pi / 4, so a is a multiple of the last place of 0.5; and up to the limit p is below 0.5.
    """
    t = TABLES[e.format.name]
    n, quadrant = nearest_integer(e, x, t.two_over_pi[0])
    if e.fma:
        first, second, third = t.half_pi_fused
        rest = e.muladd(n, -first, x)  # Exact: no more bits than x has below pi / 4.
        r = rest - n * second
        r_low = e.muladd(n, -third, e.muladd(n, -second, rest - r))
        return r, r_low, quadrant
    first, second, third, fourth = t.half_pi_plain
    rest = x - n * first
    middle = rest - n * second
    r = middle - n * third
    r_low = ((rest - middle) - n * second) + ((middle - r) - n * third)
    return r, r_low - n * fourth, quadrant

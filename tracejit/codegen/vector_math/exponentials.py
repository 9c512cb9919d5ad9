"""exp and what is made of it: exp2, expm1 of float64, tanh."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.formats import F32, FORMATS
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Int

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "exp",
    "exp2",
    "exp_in_parts",
    "exp_of_rest",
    "expm1_by_halves",
    "nearest_integer",
    "power_of_sixteenths",
    "power_of_two",
    "reduce_exp",
    "root_of_two",
    "scaled_at_the_ends",
    "sixteenths",
    "tanh",
]


def exp(e: VectorBuilder, x: Float) -> Float:
    t = TABLES[e.format.name]
    n, count = nearest_integer(e, x, t.sixteenth[0])
    rest = e.muladd(n, -t.sixteenth[1], x)  # Exact, fused or not.
    return exp_of_rest(e, x, count, e.muladd(n, -t.sixteenth[2], rest))


def exp_of_rest(e: VectorBuilder, x: Float, count: Int, r: Float) -> Float:
    """exp(x), x = n * log(2) / 16 + r, with n in the low half of `count`."""
    bits, low = power_of_sixteenths(e, count)
    tail = e.muladd(r * r, e.fitted("exp16", r), r + low)
    return _scaled(e, x, bits, tail, TABLES[e.format.name].exp_normal, math.log(2))


def exp2(e: VectorBuilder, x: Float) -> Float:
    """2^(n / 16) * 2^r: the remainder r is exact."""
    n, count = nearest_integer(e, x, 16.0)
    r = e.muladd(n, -0.0625, x)
    bits, low = power_of_sixteenths(e, count)
    tail = e.muladd(r, e.fitted("exp2", r), low)
    return _scaled(e, x, bits, tail, float(e.format.bias - 12), 1.0)


def _scaled(e: VectorBuilder, x: Float, bits: Int, tail: Float, most: float, log_2: float) -> Float:
    """2^(n / 16) * (1 + tail), of which `bits` encode the first.

    For |x| <= most the result is normal and its last place, too; a doubled result is one of
    x + log_2.
    """
    scale = bits.as_float()
    usual = e.muladd(scale, tail, scale)
    beyond = abs(x).compare("ogt", most)

    def at_the_ends() -> tuple[Float]:
        return (beyond.select(scaled_at_the_ends(e, x, bits, tail, most, log_2), usual),)

    (y,) = e.where_any(beyond, (usual,), at_the_ends)
    return y


def scaled_at_the_ends(
    e: VectorBuilder, x: Float, bits: Int, tail: Float, most: float, log_2: float
) -> Float:
    """The same where |x| > most: infinite, subnormal and zero, too."""
    # The exponent is moved into the range of normal numbers and back in floating point.
    fmt = e.format
    shift = fmt.mantissa + 8
    least = -fmt.rounded((fmt.bias + shift - 1.5) * log_2)
    move, large = shift << fmt.mantissa, x.compare("ogt", 0.0)
    moved = large.select_int(bits - move, bits + move).as_float()
    y = e.muladd(moved, tail, moved) * large.select(2.0**shift, x.like(2.0**-shift))
    y = x.compare("ogt", most + 16.0).select(math.inf, y)
    return x.compare("olt", least).select(0.0, y)


def power_of_sixteenths(e: VectorBuilder, count: Int) -> tuple[Int, Float]:
    """The encoding of 2^(n / 16), n in the low half of `count`, and its relative error."""
    powers, low = sixteenths(e.format.name)
    bits = e.permuted(powers, count).bits() + (count << (e.format.mantissa - 4))
    return bits, e.permuted(low, count)


@functools.cache
def sixteenths(dtype: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """2^(j / 16) as numbers whose encodings lack j sixteenths, and the relative errors of these."""
    from fractions import Fraction

    fmt = FORMATS[dtype]
    powers, low = [], []
    for j in range(16):
        exact = root_of_two(j)
        nearest = fmt.rounded(float(exact))
        powers.append(fmt.decode(fmt.encode(nearest) - (j << (fmt.mantissa - 4))))
        low.append(fmt.rounded(float(exact / Fraction(nearest) - 1)))
    return tuple(powers), tuple(low)


def root_of_two(j: int) -> Fraction:
    """2^(j / 16), good to 2^-128: four square roots in fixed point."""
    from fractions import Fraction

    root = 1 << (j + 16 * 128)
    for _ in range(4):
        root = math.isqrt(root)
    return Fraction(root, 1 << 128)


def reduce_exp(e: VectorBuilder, x: Float, bias: int) -> tuple[Float, Float, Int]:
    """r and its rounding error with x = n * log(2) + r, and n + bias in the low bits."""
    t = TABLES[e.format.name]
    n, biased = nearest_integer(e, x, t.log2_e[0], bias)
    high, low = t.ln2
    rest = e.muladd(n, -high, x)  # Exact, fused or not.
    r = e.muladd(n, -low, rest)
    return r, e.muladd(n, -low, rest - r), biased


def exp_in_parts(e: VectorBuilder, x: Float, low: Float) -> tuple[Float, Float, Float, Float]:
    """h, t, p and q, exp(x + low) = (h + t) * p * q, x up to 1400 and low small.

    h is near 1 and t small beside it; p and q are powers of 2.
    """
    t = TABLES[e.format.name]
    r, r_low, biased = reduce_exp(e, x.at_least(t.exp_low), 2 * e.format.bias)
    r, r_low = e.ordered_sum(r, r_low + low)
    head = r + 1.0
    tail = e.muladd(r * r, e.fitted("exp", r), ((1.0 - head) + r) + r_low)
    half = biased >> 1
    return head, tail, power_of_two(half), power_of_two(biased - half)


def nearest_integer(e: VectorBuilder, x: Float, scale: float, bias: int = 0) -> tuple[Float, Int]:
    """x * scale rounded to an integer n, and bits whose low half is n + bias in two's complement.

    The sum with `magic` has a unit in the last place of 1. NaN stays NaN in n.
    """
    magic = e.format.magic + bias
    total = e.muladd(x, scale, magic)
    return total - magic, total.bits()


def power_of_two(biased: Int) -> Float:
    """2^k, k in the normal range, from k + bias in the low bits."""
    return (biased << biased.emitter.format.mantissa).as_float()


def tanh(e: VectorBuilder, x: Float) -> Float:
    """tanh(x) = -m / (2 + m), m = exp(-2 |x|) - 1, numerator and denominator as sums of two."""
    if e.permutes and e.format is F32:
        return _tanh_in_pieces(e, x)
    t = TABLES[e.format.name]
    scale, r, r_low = _scale_and_rest(e, abs(x).at_most(t.tanh_one) * -2.0)
    head = scale - 1.0
    m, m_low = _less_one(e, scale, r, r_low, head, scale - (head + 1.0))
    m, m_low = e.ordered_sum(m, m_low)
    below, below_low = e.ordered_sum(m.like(2.0), m)
    reciprocal = 1.0 / below
    quotient = -m * reciprocal
    excess = e.product_error(quotient, below, -m)
    excess = excess + e.muladd(quotient, below_low + m_low, m_low)
    return abs(e.muladd(-excess, reciprocal, quotient)).with_sign(x.sign())


def _tanh_in_pieces(e: VectorBuilder, x: Float) -> Float:
    """tanh(c) + d * q(d), d = |x| - c, with the nearest of 32 centres; about 0 d + d * q(d)."""

    from tracejit.codegen.vector_math.piecewise_tables import FIRST, LAST, TANH

    a = abs(x).at_most(LAST)
    number = (a.bits() >> 21) - FIRST
    piece = number.at_least(0)  # Only of NaN is the number above 31, and read modulo 32.
    centre, constant, *coefficients = (e.permuted(column, piece) for column in TANH)
    d = a - centre
    near_zero = number.compare("sle", 0)
    base = near_zero.select(a, constant)
    *rest, q = coefficients
    for coefficient in reversed(rest):
        q = e.muladd(q, d, coefficient)
    return e.muladd(q, d, base).with_sign(x.sign())


def _scale_and_rest(e: VectorBuilder, x: Float, exponent: int = 0) -> tuple[Float, Float, Float]:
    """2^(n + exponent), r and its rounding error, x = n * log(2) + r."""
    r, r_low, biased = reduce_exp(e, x, e.format.bias + exponent)
    return power_of_two(biased), r, r_low


def _less_one(
    e: VectorBuilder, scale: Float, r: Float, r_low: Float, head: Float, head_low: Float
) -> tuple[Float, Float]:
    """head + head_low + scale * (exp(r + r_low) - 1), as a sum of two."""
    z = r * r
    curve = e.muladd(z * r, e.fitted("exp", r, skip=1), e.muladd(z, 0.5, r_low))
    total, low = e.multiply_add(scale, r, head)
    return total, e.muladd(scale, curve, low + head_low)


def expm1_by_halves(e: VectorBuilder, x: Float) -> Float:
    """exp(x) - 1, halved until the end, so that the last finite results are found."""
    t = TABLES[e.format.name]
    v = x.at_least(t.expm1_low).at_most(t.exp_high)
    scale, r, r_low = _scale_and_rest(e, v, -1)
    head = scale - 0.5
    m, m_low = _less_one(e, scale, r, r_low, head, (scale - head) - 0.5)
    # So small that x^2 / 2 is below half a place of x: also keeps the sign of zero.
    tiny = abs(x).compare("olt", 2.0 ** -(e.format.mantissa + 2))
    return tiny.select(x, (m + m_low) * 2.0)

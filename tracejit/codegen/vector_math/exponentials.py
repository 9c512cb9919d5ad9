"""exp and what is made of it: exp2, expm1, sinh, cosh, tanh."""

from __future__ import annotations

from tracejit.codegen.vector_math.builder import Float, Int, VectorBuilder
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.tables import TABLES

__all__ = ["cosh", "exp", "expm1", "nearest_integer", "power_of_two", "reduce_exp", "sinh", "tanh"]


def exp(e: VectorBuilder, x: Float) -> Float:
    """exp(x) = 2^n * exp(r); the bounds on x make overflow and underflow come out by themselves."""
    t = TABLES[e.format.name]
    x = x.at_least(t.exp_low).at_most(t.exp_high)
    r, r_low, biased = reduce_exp(e, x, 2 * e.format.bias)
    head = r + 1.0
    tail = e.muladd(r * r, e.fitted("exp", r), ((1.0 - head) + r) + r_low)
    # Two factors, since 2^n alone may be beyond the format; products with the first are exact.
    half = biased >> 1
    first, second = power_of_two(half), power_of_two(biased - half)
    return e.muladd(tail, first, head * first) * second


def reduce_exp(e: VectorBuilder, x: Float, bias: int) -> tuple[Float, Float, Int]:
    """r and its rounding error with x = n * log(2) + r, and n + bias in the low bits."""
    t = TABLES[e.format.name]
    n, biased = nearest_integer(e, x, t.log2_e[0], bias)
    high, low = t.ln2
    rest = e.muladd(n, -high, x)  # Exact, fused or not.
    r = e.muladd(n, -low, rest)
    return r, e.muladd(n, -low, rest - r), biased


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
    t = TABLES[e.format.name]
    v = abs(x).at_most(t.tanh_one) * -2.0
    r, r_low, biased = reduce_exp(e, v, e.format.bias)
    # m = (scale - 1) + scale * (exp(r) - 1)
    scale = power_of_two(biased)
    head = scale - 1.0
    m, m_low = _grown(e, r, r_low, scale, head, scale - (head + 1.0))
    below = m + 2.0
    below_low = ((2.0 - below) + m) + m_low
    reciprocal = 1.0 / below
    quotient = -m * reciprocal
    excess = e.product_error(quotient, below, -m)
    excess = excess + e.muladd(quotient, below_low, m_low)
    return abs(quotient - excess * reciprocal).with_sign(x.sign())  # The quotient may be -0.


def _grown(
    e: VectorBuilder, r: Float, r_low: Float, scale: Float, head: Float, head_low: Float
) -> tuple[Float, Float]:
    """head + head_low + scale * (exp(r + r_low) - 1), as a sum of two."""
    t = TABLES[e.format.name]
    half_r = r * 0.5
    h = half_r * r
    tail = e.muladd(
        h * (r + r),
        e.polynomial(r, POLYNOMIALS[e.format.name]["exp"][1:]),
        r_low + e.product_error(half_r, r, h),
    )
    curve = h + tail
    first = r + curve
    first_low = ((r - first) + curve) + ((h - curve) + tail)
    m = head + scale * first
    m_low = ((head - m) + scale * first) + (scale * first_low + head_low)
    return m, m_low


def expm1(e: VectorBuilder, x: Float) -> Float:
    """exp(x) - 1, halved until the end, so that the last finite results are found."""
    t = TABLES[e.format.name]
    v = x.at_least(t.expm1_low).at_most(t.exp_high)
    r, r_low, biased = reduce_exp(e, v, e.format.bias - 1)
    scale = power_of_two(biased)
    head = scale - 0.5
    # Either of the two may be the larger: Knuth's sum of two.
    taken = head - scale
    head_low = (scale - (head - taken)) - (taken + 0.5)
    m, m_low = _grown(e, r, r_low, scale, head, head_low)
    # So small that x^2 / 2 is below half a place of x: also keeps the sign of zero.
    tiny = abs(x).compare("olt", 2.0 ** -(e.format.mantissa + 2))
    return tiny.select(x, (m + m_low) * 2.0)


def sinh(e: VectorBuilder, x: Float) -> Float:
    up, down, r, r_low, odd, even = _exponentials(e, abs(x))
    # d * cosh(r) + s * sinh(r), d = up - down, s = up + down
    d, s = up - down, up + down
    d_low = (up - d) - down
    line = s * r
    head = d + line
    low = ((d - head) + line) + e.product_error(s, r, line)
    low = low + e.muladd(s, e.muladd(odd, r, r_low), e.muladd(d, even, d_low))
    tiny = abs(x).compare("olt", TABLES[e.format.name].sinh_tiny)
    return tiny.select(abs(x), (head + low) * 4.0).with_sign(x.sign())


def cosh(e: VectorBuilder, x: Float) -> Float:
    up, down, r, r_low, odd, even = _exponentials(e, abs(x))
    # s * cosh(r) + d * sinh(r)
    d, s = up - down, up + down
    s_low = (up - s) + down
    line = d * r
    head = s + line
    low = ((s - head) + line) + e.product_error(d, r, line)
    low = low + e.muladd(d, e.muladd(odd, r, r_low), e.muladd(s, even, s_low))
    return (head + low) * 4.0


def _exponentials(e: VectorBuilder, a: Float) -> tuple[Float, Float, Float, Float, Float, Float]:
    """2^n / 8, 2^-n / 8, r and its error, sinh(r) / r - 1 and cosh(r) - 1: a = n * log(2) + r >= 0.

    2^-n is 0 where it is beyond the last place of 2^n.
    """
    t = TABLES[e.format.name]
    r, r_low, biased = reduce_exp(e, a.at_most(t.cosh_high), e.format.bias - 3)
    up = power_of_two(biased)
    far = up.compare("ogt", 2.0**e.format.mantissa)
    # 2^k has k in the exponent field alone: the difference of two fields is that of a quotient.
    down = (up.bits() ^ -1) + (((2 * e.format.bias - 6) << e.format.mantissa) + 1)
    z = r * r
    odd = z * e.fitted("sinh", z)
    even = e.muladd(z * z, e.fitted("cosh", z), z * 0.5)
    return up, far.select(0.0, down.as_float()), r, r_low, odd, even

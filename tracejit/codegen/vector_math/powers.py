"""log2, log10, log1p, exp2 and power become LLVM IR: float64, over vectors of one width.

They share a logarithm that is a sum of two numbers, good to about 2^-64 of itself: the product
with a power's exponent, up to 700, must still be as exact as a double. Results are then within
0.6 ULP, and exact where they are representable. Arithmetic on such sums is Dekker's, "A
floating-point technique for extending the available precision" (1971). Special values are those
of the C functions (annex F of the standard), which NumPy has too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tracejit.codegen.vector_math.builder import F64, Float, Int, VectorBuilder
from tracejit.codegen.vector_math.exponentials import nearest_integer, power_of_two, reduce_exp
from tracejit.codegen.vector_math.tables import TABLES

__all__ = ["exp2", "log1p", "power", "log2", "log10"]

#: 1 / 3, 1 / log(2), 1 / log(10) and log(2), each as a sum of two numbers.
_THIRD = (float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.5555555555555p-56"))
_PER_LOG_2 = (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"))
_PER_LOG_10 = (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57"))
_LOG_2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
#: The series of artanh(s) / s from s^4 on: 1 / 5, 1 / 7, ...; s^2 is at most 0.0295.
_ARTANH = tuple(1.0 / n for n in range(5, 29, 2))
_T = TABLES["f64"]


@dataclass(frozen=True)
class _Sum:
    """high + low, low being at most about half a unit in the last place of high."""

    high: Float
    low: Float

    def times(self, factor: tuple[float, float]) -> _Sum:
        """The product with a constant that is a sum itself."""
        e = self.high.emitter
        constant = self.high.like(factor[0])
        high = self.high * constant
        error = e.product_error(self.high, constant, high)
        return _Sum(high, error + e.muladd(self.low, factor[0], self.high * factor[1]))


def _ordered_sum(a: Float, b: Float) -> _Sum:
    """a + b exactly, where |a| >= |b| or a is 0 (Dekker's Fast2Sum)."""
    high = a + b
    return _Sum(high, b - (high - a))


def _log(e: VectorBuilder, x: Float, x_low: Float | None = None) -> _Sum:
    """log(x + x_low) for positive, finite x; x_low is at most half a unit in the last place of x.

    x = 2^k * m, sqrt(1/2) <= m < sqrt(2); log(m) = 2 * artanh(s), s = (m - 1) / (m + 1), and
    artanh(s) = s + s * (s^2 / 3 + s^4 * (1 / 5 + s^2 / 7 + ...)). Of s^2 / 3 only the first number
    need be exact in full: what follows is small against 1.
    """
    lift = F64.mantissa + 2
    subnormal = x.compare("olt", F64.tiny)
    normal = subnormal.select(x * 2.0**lift, x)
    start = F64.encode(math.sqrt(0.5))
    shifted = normal.bits() + (F64.encode(1.0) - start)
    m = ((shifted & ((1 << F64.mantissa) - 1)) + start).as_float()
    base = 2.0**F64.mantissa
    field = shifted >> F64.mantissa
    offset = base + F64.bias
    k = (field | F64.encode(base)).as_float() - subnormal.select(offset + lift, x.like(offset))

    f = m - 1.0
    below = m + 1.0
    below_low = m - (below - 1.0)
    f_low = None
    if x_low is not None:
        # 2^(1 - k), or 0 for the largest k, where x_low no longer matters: ~n is -n - 1.
        scale = (field ^ -1) + (2 * F64.bias + 2)
        scaled = (x_low * 0.5) * (scale << F64.mantissa).as_float()
        both = _ordered_sum(f, scaled)
        f, f_low = both.high, both.low
        below_low = below_low + scaled
    inverse = 1.0 / below
    s = f * inverse
    rest = -e.product_error(s, below, f)
    if f_low is not None:
        rest = rest + f_low
    s_low = (rest - s * below_low) * inverse

    z = s * s
    z_low = e.product_error(s, s, z) + (s + s) * s_low
    third = _Sum(z, z_low).times(_THIRD)
    tail = (z * z) * e.polynomial(z, _ARTANH)
    curve = _ordered_sum(third.high, tail)
    curve_low = curve.low + third.low
    twice, twice_low = s + s, s_low + s_low
    bend = twice * curve.high
    bend_low = e.product_error(twice, curve.high, bend) + e.muladd(
        twice, curve_low, twice_low * curve.high
    )
    line = _ordered_sum(twice, bend)
    # k * ln2[0] is exact, and at least 0.69 where it is not 0.
    whole = _ordered_sum(k * _T.ln2[0], line.high)
    low = whole.low + e.muladd(k, _T.ln2[1], line.low + (bend_low + twice_low))
    return _ordered_sum(whole.high, low)


def _exp(e: VectorBuilder, x: _Sum) -> Float:
    """exp(x.high + x.low), infinite or 0 beyond the range of results; NaN for a NaN."""
    # Where the high number is infinite or NaN, the low one is anything.
    low = abs(x.high).compare("olt", 2.0**11).select(x.low, x.high.like(0.0))
    high = x.high.at_least(_T.exp_low).at_most(_T.exp_high)
    r, r_low, biased = reduce_exp(e, high, 2 * F64.bias)
    rest = _ordered_sum(r, r_low + low)
    return _exp_of_rest(e, rest, biased)


def _exp_of_rest(e: VectorBuilder, r: _Sum, biased: Int) -> Float:
    """2^n * exp(r), |r| <= log(2) / 2, with n + 2 * bias in the low half of `biased`."""
    head = r.high + 1.0
    tail = ((1.0 - head) + r.high) + r.low
    tail = e.muladd(r.high * r.high, e.fitted("exp", r.high), tail)
    # Two factors, since 2^n alone may be beyond the format; products with the first are exact.
    half = biased >> 1
    first, second = power_of_two(half), power_of_two(biased - half)
    return e.muladd(tail, first, head * first) * second


def _logarithm(per_log: tuple[float, float]) -> Callable[[VectorBuilder, Float], Float]:
    def body(e: VectorBuilder, x: Float) -> Float:
        value = _log(e, x).times(per_log)
        y = value.high + value.low
        y = x.compare("oeq", math.inf).select(x, y)
        y = x.compare("olt", 0.0).select(math.nan, y)
        y = x.compare("oeq", 0.0).select(-math.inf, y)
        return x.compare("uno", 0.0).select(x, y)

    return body


def log1p(e: VectorBuilder, x: Float) -> Float:
    """log(u + error), u = 1 + x rounded and its error found exactly (Knuth's 2Sum)."""
    u = x + 1.0
    one = u - x
    error = (1.0 - one) + (x - (u - one))
    value = _log(e, u, error)
    y = value.high + value.low
    y = x.compare("oeq", math.inf).select(x, y)
    y = x.compare("olt", -1.0).select(math.nan, y)
    y = x.compare("oeq", -1.0).select(-math.inf, y)
    # The next term, x^2 / 2, is below half a unit in the last place; and -0 stays.
    y = abs(x).compare("olt", 2.0**-54).select(x, y)
    return x.compare("uno", 0.0).select(x, y)


def exp2(e: VectorBuilder, x: Float) -> Float:
    bounded = x.at_least(-1100.0).at_most(1025.0)
    n, biased = nearest_integer(e, bounded, 1.0, 2 * F64.bias)
    rest = bounded - n
    exact = _Sum(rest, rest.like(0.0)).times(_LOG_2)
    return _exp_of_rest(e, exact, biased)


def power(e: VectorBuilder, x: Float, y: Float) -> Float:
    """|x|^y = exp(y * log(|x|)), negative where x is and y is odd."""
    size = abs(x)
    log = _log(e, size)
    high = size.compare("oeq", 0.0).select(-math.inf, log.high)
    high = size.compare("oeq", math.inf).select(math.inf, high)
    high = size.compare("uno", 0.0).select(size, high)
    product = y * high
    error = e.product_error(y, high, product)
    result = _exp(e, _Sum(product, e.muladd(y, log.low, error)))
    # 1 to an infinite power: infinity times log(1).
    result = size.compare("oeq", 1.0).select(1.0, result)

    half = y * 0.5
    is_integer = y.compare("oeq", e.intrinsic("trunc", y))
    half_is_fraction = half.compare("one", e.intrinsic("trunc", half))
    signed = result.with_sign(x.sign())
    # Halves of numbers from 2^53 on, and of infinity, are integers.
    odd = is_integer.select(half_is_fraction.select(signed, result), result)
    undefined = is_integer.select(odd, odd.like(math.nan))
    # Negative numbers have no power to a fraction; -0 and -infinity have that of their size.
    negative = x.compare("olt", 0.0).select(undefined, odd)
    result = x.compare("oeq", -math.inf).select(odd, negative)
    result = y.compare("oeq", 0.0).select(1.0, result)
    return x.compare("oeq", 1.0).select(1.0, result)


log2 = _logarithm(_PER_LOG_2)
log10 = _logarithm(_PER_LOG_10)

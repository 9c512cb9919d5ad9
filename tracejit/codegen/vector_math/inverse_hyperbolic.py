"""arcsinh, arccosh and arctanh: k * log(2) and artanh of a quotient whose errors are kept apart.

log(w) = k * log(2) + 2 * artanh((w - 2^k) / (w + 2^k)). The difference is formed so that it is as
exact as w - 1 where w is close to 1: small results need no method of their own.
"""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.formats import F32
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.square_roots import square_root
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Int, Mask

__all__ = ["arccosh", "arcsinh", "arctanh"]


def arcsinh(e: VectorBuilder, x: Float) -> Float:
    """log(c + a), c = sqrt(a^2 + 1)."""
    size = abs(x)
    big = size.compare("uge", _big(e))
    a, one = _bounded(e, big, big, size, (size, size.like(1.0)))
    square, square_low = e.multiply_add(a, a, one)
    c, excess, factor = square_root(e, square, square_low)
    k = _exponent(c + a)
    # Where c - 1 is small, what its correction leaves must be small against a: -1 / (2 * c).
    factor = k.compare("ne", 0).select(factor, e.muladd(c, 0.5, -1.0))
    total, low = _log_of_sum(e, k, c, a, (excess, factor))
    return _scaled_back(e, big, big, size, 0.0, total, low).with_sign(x.sign())


def arccosh(e: VectorBuilder, x: Float) -> Float:
    """log(x + s), s = sqrt(x^2 - 1) = sqrt(t^2 + 2 * t), t = x - 1."""
    big = x.compare("uge", _big(e))
    # Differences of encodings of positive numbers are in the order of the numbers.
    one = e.format.encode(1.0)
    unusual = (x.bits() - one).compare("uge", e.format.encode(_big(e)) - one)
    t = x - 1.0
    a, t, twice_t = _bounded(e, unusual, big, x, (x, t, t + t))
    square, square_low = e.multiply_add(t, t, twice_t)
    s, *correction = square_root(e, square, square_low)
    excess, factor = correction
    total, low = _log_of_sum(e, _exponent(a + s), a, s, (excess, factor))
    return _scaled_back(e, unusual, big, x, 1.0, total, low)


def _big(e: VectorBuilder) -> float:
    """From here on squares are infinite; a quotient by it is at least 1, and has a square."""
    return float(2.0 ** ((e.format.bias + 1) // 2))


def _bounded(
    e: VectorBuilder, unusual: Mask, big: Mask, x: Float, values: tuple[Float, ...]
) -> tuple[Float, ...]:
    """`values`; where x is big, of a quotient of it: the quotient for all but the last, and 0."""

    def scaled() -> tuple[Float, ...]:
        less = x * (1 / _big(e))
        *first, last = values
        return *(big.select(less, value) for value in first), big.select(0.0, last)

    return e.where_any(unusual, values, scaled)


def _scaled_back(
    e: VectorBuilder, unusual: Mask, big: Mask, x: Float, least: float, total: Float, low: Float
) -> Float:
    """total + low, and what `_bounded` took away; NaN where x is below `least`."""
    y = total + low
    size = math.log2(_big(e))
    high, low_part = (part * size for part in TABLES[e.format.name].ln2)

    def limits() -> tuple[Float]:
        head, rest = e.ordered_sum(total.like(high), total)
        more = head + ((rest + low) + low_part)
        more = x.compare("oeq", math.inf).select(math.inf, big.select(more, y))
        return (x.compare("olt", least).select(math.nan, more),)

    return e.where_any(unusual, (y,), limits)[0]


def _exponent(w: Float) -> Int:
    """k in the exponent field, 11 / 16 <= w / 2^k < 11 / 8."""
    fmt = w.emitter.format
    return (w.bits() - fmt.encode(11 / 16)) & -(1 << fmt.mantissa)


def _log_of_sum(
    e: VectorBuilder, field: Int, c: Float, s: Float, correction: tuple[Float, Float]
) -> tuple[Float, Float]:
    """log(c + s + the product of the correction) as a sum of two, for c > s >= 0 and k given."""
    fmt, one = e.format, e.format.encode(1.0)
    scale = (field + one).as_float()
    # w - 2^k = (c - 2^k) + s; for k = 0 the first is as small as s^2.
    top, top_low = e.ordered_sum(c - scale, s)
    top_low = e.muladd(*correction, top_low)
    if fmt is F32:
        # Here a longer polynomial costs less than a division.
        inverse = (one - field).as_float()
        return _log1p(e, field, top * inverse, top_low * inverse)
    # (w + 2^k) / 2
    half = e.muladd(top, 0.5, scale)
    half_low = e.muladd(top_low, 0.5, e.muladd(top, 0.5, scale - half))
    inverse = 1.0 / half
    u = top * inverse
    rest = e.muladd(-u, half_low, top_low - e.product_error(u, half, top))
    total, low = _sum(e, field, u, 2)
    return total, _with_tail(e, u, e.muladd(rest, inverse, low), 2)


def _log1p(e: VectorBuilder, field: Int, f: Float, f_low: Float) -> tuple[Float, Float]:
    """k * log(2) + log(1 + f + f_low), as a sum of two."""
    total, low = _sum(e, field, f, 2)
    slope = e.muladd(f, e.muladd(f, 0.8125, -1.0), 1.0)  # About 1 / (1 + f).
    low = e.muladd(f_low, slope, low)
    return total, e.muladd(f * f, e.muladd(f, e.fitted("log1p", f), -0.5), low)


def _sum(e: VectorBuilder, field: Int, s: Float, factor: int) -> tuple[Float, Float]:
    """k * log(2) * factor / 2 + s and its error, for an integer k >= 0 in the exponent field."""
    fmt = e.format
    if fmt is F32:
        k, unit = field.converted(), 2.0**-fmt.mantissa
    else:
        # Many CPUs convert no integers of 64 bits.
        base = 2.0**fmt.mantissa
        k, unit = ((field >> fmt.mantissa) | fmt.encode(base)).as_float() - base, 1.0
    high, low_part = (part * unit * factor / 2 for part in TABLES[fmt.name].ln2)
    total = e.muladd(k, high, s)
    return total, e.muladd(k, low_part, e.muladd(k, high, -total) + s)


def _with_tail(e: VectorBuilder, s: Float, low: Float, factor: int) -> Float:
    """low + factor * artanh(s / factor) - s."""
    coefficients = POLYNOMIALS[e.format.name]["artanh"]
    coefficients = tuple(c / factor ** (2 * i + 2) for i, c in enumerate(coefficients))
    z = s * s
    return e.muladd(s * z, e.polynomial(z, coefficients), low)


def arctanh(e: VectorBuilder, x: Float) -> Float:
    """k / 2 * log(2) + artanh((c * d - b) / (c * d + b)), d = 1 + a, b = 1 - a, c = 2^-k."""
    fmt = e.format
    a = abs(x)
    d, b = a + 1.0, 1.0 - a
    d_low, b_low = a - (d - 1.0), (1.0 - b) - a
    one = 1 << fmt.mantissa
    # In float32 k = 0 goes further, and quotients are so small against the others' results that
    # the error of the sum below does not count.
    single = fmt is F32
    field = (d.bits() - b.bits() + one // (4 if single else 2)) & -one
    c = (fmt.encode(1.0) - field).as_float()
    far = field.compare("ne", 0)
    top = e.muladd(c, d, -b)
    top_low = e.muladd(c, d_low, -b_low)
    bottom = e.muladd(c, d, b)
    inverse = 1.0 / bottom
    quotient = top * inverse
    rest = top_low - e.product_error(quotient, bottom, top)
    if not single:
        bottom_low = e.muladd(c, d, b - bottom) + e.muladd(c, d_low, b_low)
        rest = e.muladd(-quotient, bottom_low, rest)
    s = far.select(quotient, a)
    total, low = _sum(e, field, s, 1)
    low = _with_tail(e, s, far.select(e.muladd(rest, inverse, low), low), 1)
    y = total + low

    def limits() -> tuple[Float]:
        return (a.compare("oeq", 1.0).select(math.inf, a.compare("ogt", 1.0).select(math.nan, y)),)

    (y,) = e.where_any(a.compare("uge", 1.0), (y,), limits)
    return y.with_sign(x.sign())

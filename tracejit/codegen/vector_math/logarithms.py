"""log, log2, log10 and log1p.

Each takes the argument as 2^k * m, m near 1, and m * c as 1 + r, c being one of 16 numbers with
known logarithms; then log(1 + r) = r + r^2 * polynomial(r). Where m is within 1/64 of 1, c is 1.
The sums keep their rounding errors, so that only r^2 and its polynomial round. In float32 the first
three have 32 such numbers and fewer sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.formats import F32
from tracejit.codegen.vector_math.logarithm_tables import START, centres, octave
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Int, Mask

__all__ = [
    "Reduced",
    "exponent_and_mantissa",
    "inverse_power",
    "log",
    "log1p",
    "log1p_parts",
    "log2",
    "log10",
    "not_ordinary",
    "parts",
    "reduce",
    "reduce_any",
]


@dataclass(frozen=True)
class Reduced:
    """A positive argument 2^k * m; the low 4 bits of `interval` count that of m."""

    m: Float
    k: Float
    field: Int
    interval: Int


def reduce(e: VectorBuilder, bits: Int) -> Reduced:
    """The number with these bits, positive and normal."""
    fmt = e.format
    # Counting from START instead of 1 moves the step of the exponent field there.
    start = fmt.encode(START)
    shifted = bits + (fmt.encode(1.0) - start)
    m = ((shifted & ((1 << fmt.mantissa) - 1)) + start).as_float()
    # The integer k + bias becomes a float as the low bits of 2^mantissa.
    base = 2.0**fmt.mantissa
    field = shifted >> fmt.mantissa
    k = (field | fmt.encode(base)).as_float() - (base + fmt.bias)
    return Reduced(m, k, field, shifted >> (fmt.mantissa - 4))


def not_ordinary(e: VectorBuilder, bits: Int) -> Mask:
    """All but positive, normal, finite numbers."""
    least = e.format.encode(e.format.tiny)
    return (bits - least).compare("uge", e.format.encode(math.inf) - least)


def parts(
    e: VectorBuilder, x: Reduced, base: int | None, less_one: tuple[Float, Float] | None = None
) -> tuple[Float, Float]:
    """log(x) to that base as a sum of two; m - 1 as one where it is known better than m."""
    t, fmt = TABLES[e.format.name], e.format.name
    k, interval = x.k, x.interval
    table = centres(fmt, base)
    inverse = e.permuted(table.inverse, interval)
    high = e.permuted(table.log_high, interval)
    low = e.permuted(table.log_low, interval)
    if less_one is None:
        r = e.short_muladd(x.m, inverse, k.like(-1.0))
    else:
        f, f_low = less_one
        product = f * inverse
        r = product + (inverse - 1.0)  # Exact: the two are within a factor of 2, or one is 0.
        r_low = e.muladd(f_low, inverse, e.product_error(f, inverse, product))
        low = low + r_low if base is None else e.muladd(r_low, t.per_log[base][0], low)
    if base == 2:
        whole = k + high
    else:
        log_2 = t.ln2 if base is None else t.log10_2
        whole = e.muladd(k, log_2[0], high)
        low = e.muladd(k, log_2[1], low)
    if base is None:
        total, error = e.ordered_sum(whole, r)
        low = low + error
    else:
        factor, factor_low = t.per_log[base]
        total, error = e.multiply_add(r, factor, whole)
        low = e.muladd(r, factor_low, low + error)
    return total, e.muladd(r * r, e.fitted(f"log{base or ''}", r), low)


def reduce_any(e: VectorBuilder, x: Float) -> Reduced:
    """Any positive, finite number."""
    usual = reduce(e, x.bits())

    def of_subnormal() -> tuple[Float, Float, Int]:
        lift = e.format.mantissa + 2
        subnormal = x.compare("olt", e.format.tiny)
        lifted = reduce(e, (x * 2.0**lift).bits())
        k = subnormal.select(lifted.k - float(lift), usual.k)
        m = subnormal.select(lifted.m, usual.m)
        return m, k, subnormal.select_int(lifted.interval, usual.interval)

    m, k, interval = e.where_any(
        not_ordinary(e, x.bits()), (usual.m, usual.k, usual.interval), of_subnormal
    )
    return Reduced(m, k, usual.field, interval)


def exponent_and_mantissa(e: VectorBuilder, x: Float) -> tuple[Float, Float]:
    """k and m, x = 2^k * m, 1 <= m < 2, for positive, finite numbers of any size.

    Where there are registers of AVX-512 for others, too, as the builder says.
    """
    if e.register_lanes:
        return e.registers_exponent_and_mantissa(x)
    one, base = e.format.encode(1.0), 2.0**e.format.mantissa

    def normal(y: Float) -> tuple[Float, Float]:
        # The integer k + bias becomes a float as the low bits of 2^mantissa.
        field = (y.bits() >> e.format.mantissa) | e.format.encode(base)
        m = (y.bits() & ((1 << e.format.mantissa) - 1)) | one
        return field.as_float() - (base + e.format.bias), m.as_float()

    usual = normal(x)

    def of_subnormal() -> tuple[Float, Float]:
        lift = e.format.mantissa + 2
        subnormal = x.compare("olt", e.format.tiny)
        k, m = normal(x * 2.0**lift)
        return subnormal.select(k - float(lift), usual[0]), subnormal.select(m, usual[1])

    return e.where_any(not_ordinary(e, x.bits()), usual, of_subnormal)


def _of_single(e: VectorBuilder, x: Float, base: int | None) -> Float:
    """The logarithm of a float32: x = 2^k * m, 1 <= m < 2, and m * c = 1 + r, c one of 32 numbers.

    log(1 + r) = f * r + r * polynomial(r), f being 1 / log(base) rounded. Where the sum of
    k * log(2) and of the first part of -log(c), which is exact, is not 0, it is 8 times as large as
    the other terms or r is exact, too.
    """
    table, log_2 = octave(base)
    k, m = exponent_and_mantissa(e, x)
    interval = m.bits() >> 18
    r = e.short_muladd(m, e.permuted(table.inverse, interval), x.like(-1.0))
    high, low = e.permuted(table.log_high, interval), e.permuted(table.log_low, interval)
    if base == 2:
        whole = k + high
    else:
        whole, low = e.muladd(k, log_2[0], high), e.muladd(k, log_2[1], low)
    polynomial = e.horner(r, POLYNOMIALS["f32"][f"octave{base or ''}"])
    if base is None:
        return whole + (r + e.muladd(r * r, polynomial, low))
    low = e.muladd(r, polynomial, low)
    factor = r.like(TABLES["f32"].per_log[base][0])
    if e.fma:
        return whole + e.muladd(r, factor, low)
    product = r * factor
    return whole + (product + (low + e.product_error(r, factor, product)))


def _logarithm(base: int | None) -> Callable[[VectorBuilder, Float], Float]:
    def body(e: VectorBuilder, x: Float) -> Float:
        if e.format is F32:
            y = _of_single(e, x, base)
            if e.register_lanes:
                return y
        else:
            head, low = parts(e, reduce_any(e, x), base)
            y = head + low

        def special() -> tuple[Float]:
            # +inf and NaN are their own logarithms.
            finite = x.compare("olt", math.inf).select(y, x)
            pole = x.compare("oeq", 0.0).select(-math.inf, x.like(math.nan))
            return (x.compare("ole", 0.0).select(pole, finite),)

        (result,) = e.where_any(not_ordinary(e, x.bits()), (y,), special)
        return result

    return body


log = _logarithm(None)
log2 = _logarithm(2)
log10 = _logarithm(10)


def inverse_power(e: VectorBuilder, x: Reduced) -> Float:
    """2^-k."""
    # The exponent field is bias - k: ~n is -n - 1.
    return (((x.field ^ -1) + (2 * e.format.bias + 1)) << e.format.mantissa).as_float()


def _beyond_one(e: VectorBuilder, x: Float) -> tuple[Reduced, tuple[Float, Float]]:
    """1 + x = 2^k * (1 + f), and f = (2^-k - 1) + 2^-k * x with its rounding error.

    2^-k - 1 is exact up to k = mantissa, and from there on hardly matters.
    """
    reduced = reduce(e, (x + 1.0).bits())
    scale = inverse_power(e, reduced)
    return reduced, e.multiply_add(x, scale, scale - 1.0)


def log1p_parts(e: VectorBuilder, x: Float) -> tuple[Float, Float]:
    """log(1 + x) as a sum of two for x from -1/2 to 1; the first is x where x is small."""
    reduced, less_one = _beyond_one(e, x)
    return parts(e, reduced, None, less_one)


def log1p(e: VectorBuilder, x: Float) -> Float:
    """log(2^k * (1 + f))."""
    fmt = e.format
    most = 2.0 ** (fmt.mantissa + 8)
    reduced, less_one = _beyond_one(e, x)
    least = fmt.encode(fmt.tiny)
    rare = ((x + 1.0).bits() - least).compare("uge", fmt.encode(most) - least)

    def large() -> tuple[Float, Float]:
        beyond = x.compare("ogt", most / 2)
        f, f_low = less_one
        return beyond.select(reduced.m - 1.0, f), beyond.select(0.0, f_low)

    less_one = e.where_any(rare, less_one, large)
    head, low = parts(e, reduced, None, less_one)
    y = abs(head + low).with_sign(x.sign())  # The sign of zero.

    def special() -> tuple[Float]:
        finite = x.compare("olt", math.inf).select(y, x)
        pole = x.compare("oeq", -1.0).select(-math.inf, x.like(math.nan))
        return (x.compare("ole", -1.0).select(pole, finite),)

    (result,) = e.where_any(rare, (y,), special)
    return result

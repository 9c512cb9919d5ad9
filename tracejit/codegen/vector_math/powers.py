"""power: exp(y * log(|x|)), the logarithm and the product each a sum of two numbers.

The product, up to 700, must still be as exact as a double: the logarithm is good to about 2^-64 of
itself. Results are then within 0.7 ULP, and exact where they are representable. Arithmetic on sums
of two is Dekker's, "A floating-point technique for extending the available precision" (1971).
Special values are those of the C function (annex F of the standard), which NumPy has too.

In float32 the logarithm is to base 2 and good to 2^-34 of itself.
"""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import (
    exp_of_rest,
    nearest_integer,
    power_of_sixteenths,
    scaled_at_the_ends,
)
from tracejit.codegen.vector_math.formats import F32
from tracejit.codegen.vector_math.logarithm_tables import centres, short_octave
from tracejit.codegen.vector_math.logarithms import (
    Reduced,
    exponent_and_mantissa,
    not_ordinary,
    reduce_any,
)
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.tables import TABLES, THIRD
from tracejit.codegen.vector_math.values import Float

__all__ = ["power"]

_T = TABLES["f64"]


def _log(e: VectorBuilder, x: Reduced) -> tuple[Float, Float]:
    """log(x), good to about 2^-64 of itself.

    log(1 + r + r_low) = r - r^2 / 2 + r^3 / 3 - r^4 * polynomial(r), the first three terms as sums
    of two.
    """
    table = centres("f64", None)
    inverse = e.permuted(table.inverse, x.interval)
    product = x.m * inverse
    r_low = e.product_error(x.m, inverse, product)
    r = product - 1.0
    z = r * r
    z_low = e.muladd(r + r, r_low, e.product_error(r, r, z))
    third = r * THIRD[0]
    third_low = e.muladd(r, THIRD[1], e.product_error(r, r.like(THIRD[0]), third))
    third_low = e.muladd(r_low, THIRD[0], third_low)
    cube = z * third
    cube_low = e.product_error(z, third, cube) + e.muladd(z, third_low, z_low * third)

    whole = e.muladd(x.k, _T.ln2[0], e.permuted(table.log_high, x.interval))
    low = e.muladd(x.k, _T.ln2[1], e.permuted(table.log_low, x.interval))
    first, first_low = e.ordered_sum(whole, r)
    second, second_low = e.ordered_sum(first, z * -0.5)
    third_sum, third_sum_low = e.ordered_sum(second, cube)
    tail = e.muladd(z * z, e.fitted("log_power", r), e.muladd(z_low, -0.5, cube_low))
    low = ((first_low + second_low) + (third_sum_low + low)) + (r_low + tail)
    return e.ordered_sum(third_sum, low)


def power(e: VectorBuilder, x: Float, y: Float) -> Float:
    if e.format is F32:
        return _power_of_singles(e, x, y)
    size = abs(x)
    log, log_low = _log(e, reduce_any(e, size))
    product = y * log
    low = e.muladd(y, log_low, e.product_error(y, log, product))
    n, count = nearest_integer(e, product, _T.sixteenth[0])
    rest = e.muladd(n, -_T.sixteenth[1], product)
    small = abs(product).compare("olt", _T.exp_normal)
    result = exp_of_rest(e, product, count, e.muladd(n, -_T.sixteenth[2], rest) + low)
    # Where the product is infinite or beyond the range of results, its low part is anything.
    rare = not_ordinary(e, x.bits()) | small.negated()

    def special() -> tuple[Float]:
        return (_special(e, x, y, product, result),)

    (result,) = e.where_any(rare, (result,), special)
    return result


def _special(e: VectorBuilder, x: Float, y: Float, product: Float, result: Float) -> Float:
    """The result for bases that are not positive and normal, and for products that are not small.

    `product` is y * log(|x|) for finite, nonzero x, and `result` its exponential.
    """
    size = abs(x)
    # Only the sign of the logarithm matters where it or the exponent is infinite.
    sign = size.compare("ogt", 1.0).select(math.inf, size.like(-math.inf))
    edge = size.compare("oeq", 0.0) | size.compare("oeq", math.inf)
    edge = edge | abs(y).compare("oeq", math.inf)
    grows = edge.select(y * sign, product).compare("ogt", 0.0)
    limit = grows.select(math.inf, size.like(0.0))
    result = edge.select(limit, result)
    result = size.compare("uno", y).select(size + y, result)
    # 1 to an infinite power: infinity times log(1).
    result = size.compare("oeq", 1.0).select(1.0, result)

    half = y * 0.5
    is_integer = y.compare("oeq", y.trunc())
    half_is_fraction = half.compare("one", half.trunc())
    signed = result.with_sign(x.sign())
    # Halves of numbers from 2^53 on, and of infinity, are integers.
    odd = is_integer.select(half_is_fraction.select(signed, result), result)
    undefined = is_integer.select(odd, odd.like(math.nan))
    # Negative numbers have no power to a fraction; -0 and -infinity have that of their size.
    negative = x.compare("olt", 0.0).select(undefined, odd)
    result = x.compare("oeq", -math.inf).select(odd, negative)
    result = y.compare("oeq", 0.0).select(1.0, result)
    return x.compare("oeq", 1.0).select(1.0, result)


def _log2_of_single(e: VectorBuilder, x: Float) -> tuple[Float, Float]:
    """log2(x) as a sum of two, good to 2^-34 of itself: x = 2^k * m, m * c = 1 + r, r exact.

    log2(1 + r) = f * (r - r^2 / 2) + r^3 * polynomial(r), f = 1 / log(2); the difference in
    parentheses and its product as sums of two.
    """
    table, (factor, factor_low) = short_octave(), TABLES["f32"].per_log[2]
    k, m = exponent_and_mantissa(e, x)
    interval = m.bits() >> 18
    r = e.short_muladd(m, e.permuted(table.inverse, interval), x.like(-1.0))
    whole = k + e.permuted(table.log_high, interval)
    bent, bent_low = e.multiply_add(r * -0.5, r, r)
    total, low = e.multiply_add(bent, factor, whole)
    low = e.muladd(bent, factor_low, e.muladd(bent_low, factor, low))
    z = r * r
    polynomial = e.horner(r, POLYNOMIALS["f32"]["log2_power"])
    return total, low + e.muladd(z * r, polynomial, e.permuted(table.log_low, interval))


def _power_of_singles(e: VectorBuilder, x: Float, y: Float) -> Float:
    log, log_low = _log2_of_single(e, abs(x))
    product = y * log
    product_low = e.muladd(y, log_low, e.product_error(y, log, product))
    n, count = nearest_integer(e, product + product_low, 16.0)
    r = e.muladd(n, -0.0625, product) + product_low
    bits, low = power_of_sixteenths(e, count)
    tail = e.muladd(r, e.horner(r, POLYNOMIALS["f32"]["exp2"]), low)
    scale = bits.as_float()
    usual = e.muladd(scale, tail, scale)
    most = float(e.format.bias - 12)
    beyond = abs(product).compare("uge", most)
    # With register lanes the product is infinite or NaN where the base is 0, infinite or NaN.
    unusual = x.compare("olt", 0.0) if e.register_lanes else not_ordinary(e, x.bits())

    def special() -> tuple[Float]:
        ends = scaled_at_the_ends(e, product, bits, tail, most, 1.0)
        return (_special(e, x, y, product, beyond.select(ends, usual)),)

    (result,) = e.where_any(beyond | unusual, (usual,), special)
    return result

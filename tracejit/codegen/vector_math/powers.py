"""power: exp(y * log(|x|)), the logarithm and the product each a sum of two numbers.

The product, up to 700, must still be as exact as a double: the logarithm is good to about 2^-64 of
itself. Results are then within 0.7 ULP, and exact where they are representable. Arithmetic on sums
of two is Dekker's, "A floating-point technique for extending the available precision" (1971).
Special values are those of the C function (annex F of the standard), which NumPy has too.

float32 goes through doubles: there a logarithm to base 2 good to 2^-35 will do.
"""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import exp_of_rest, nearest_integer, sixteenths
from tracejit.codegen.vector_math.logarithm_tables import centres
from tracejit.codegen.vector_math.logarithms import Reduced, not_ordinary, reduce, reduce_any
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Mask

__all__ = ["power", "power_of_singles"]

_T = TABLES["f64"]
#: 1 / 3 as a sum of two numbers.
_THIRD = (float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.5555555555555p-56"))


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
    third = r * _THIRD[0]
    third_low = e.muladd(r, _THIRD[1], e.product_error(r, r.like(_THIRD[0]), third))
    third_low = e.muladd(r_low, _THIRD[0], third_low)
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
        return (_special(e, x, y, product, small, result),)

    (result,) = e.where_any(rare, (result,), special)
    return result


def _special(
    e: VectorBuilder, x: Float, y: Float, product: Float, small: Mask, result: Float
) -> Float:
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


def power_of_singles(e: VectorBuilder, x: Float, y: Float) -> Float:
    """power of float32 numbers as doubles, where every finite size but 0 is normal."""
    size = abs(x)
    reduced = reduce(e, size.bits())
    table = centres("f64", 2)
    r = e.short_muladd(reduced.m, e.permuted(table.inverse, reduced.interval), x.like(-1.0))
    whole = reduced.k + e.permuted(table.log_high, reduced.interval)
    log = e.muladd(r, e.fitted("log2_singles", r), whole)
    product = (y * log).at_least(-1000.0).at_most(1000.0)
    n, count = nearest_integer(e, product, 16.0)
    r = e.muladd(n, -0.0625, product)
    scale = (e.permuted(sixteenths("f64")[0], count).bits() + (count << 48)).as_float()
    result = e.muladd(scale * r, e.fitted("exp2_singles", r), scale)
    # The clamped product of an infinity or a NaN is anything.
    rare = not_ordinary(e, x.bits()) | abs(y).compare("uge", math.inf)

    def special() -> tuple[Float]:
        small = abs(product).compare("olt", 1000.0)
        return (_special(e, x, y, product, small, result),)

    (y,) = e.where_any(rare, (result,), special)
    return y

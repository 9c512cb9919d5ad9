"""logaddexp and logaddexp2: m + log(1 + exp(n - m)), m the larger and n the smaller argument.

The difference, its exponential and the logarithm are sums of two numbers each, good to 2^-58 of
themselves: where m cancels the logarithm, what is left is as good as that. float32 has bits to
spare in doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import (
    exp,
    exp2,
    nearest_integer,
    power_of_sixteenths,
)
from tracejit.codegen.vector_math.logarithms import (
    inverse_power,
    log1p,
    parts,
    reduce,
)
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float

__all__ = ["logaddexp", "logaddexp2", "wide_logaddexp", "wide_logaddexp2"]

_T = TABLES["f64"]
#: By base: below this difference the smaller argument counts only beside a larger one near 0.
_LEAST = {None: -700.0, 2: -1000.0}


def _exponential(e: VectorBuilder, x: Float, x_low: Float, base: int | None) -> tuple[Float, Float]:
    """base^(x + x_low), for x from _LEAST[base] to 0."""
    if base is None:
        n, count = nearest_integer(e, x, _T.sixteenth[0])
        rest = e.muladd(n, -_T.sixteenth[1], x)
        r = e.muladd(n, -_T.sixteenth[2], rest)
        curve = e.muladd(r * r, e.fitted("exp16", r), x_low)
    else:
        n, count = nearest_integer(e, x, 16.0)
        r = e.muladd(n, -0.0625, x)
        curve = r * e.fitted("exp2", r) + x_low * math.log(2)
        r = r.like(0.0)
    bits, low = power_of_sixteenths(e, count)
    scale, tail = bits.as_float(), (r + low) + curve
    power = e.muladd(scale, tail, scale)
    return power, e.muladd(scale, tail, scale - power)


def _two_sum(a: Float, b: Float) -> tuple[Float, Float]:
    """a + b and its rounding error, in either order (Knuth's 2Sum)."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


def _of_doubles(base: int | None) -> Callable[[VectorBuilder, Float, Float], Float]:
    far, least = exp if base is None else exp2, _LEAST[base]

    def body(e: VectorBuilder, x: Float, y: Float) -> Float:
        larger = x.compare("ogt", y)
        m, n = larger.select(x, y), larger.select(y, x)
        d, d_low = _two_sum(n, -m)
        # Also where infinities leave no difference.
        rare = d.compare("uge", least).negated() | abs(d).compare("ult", math.inf).negated()
        near = d.at_least(least)
        power, power_low = _exponential(e, near, d_low, base)

        def at_the_end() -> tuple[Float, Float]:
            beyond = d.compare("olt", least)
            return beyond.select(far(e, d), power), beyond.select(0.0, power_low)

        power, power_low = e.where_any(rare, (power, power_low), at_the_end)
        reduced = reduce(e, (power + 1.0).bits())
        scale = inverse_power(e, reduced)
        f, f_low = e.multiply_add(power, scale, scale - 1.0)
        head, low = parts(e, reduced, base, (f, e.muladd(power_low, scale, f_low)))
        total, error = _two_sum(m, head)
        result = total + (error + low)
        special = d.compare("uno", d) | abs(d).compare("oeq", math.inf)

        def infinite() -> tuple[Float]:
            # Equal infinities, an infinite difference (the sum is the larger, -0 as +0), or a NaN.
            other = x.compare("oeq", y).select(x, x + y)
            other = abs(d).compare("oeq", math.inf).select(m + 0.0, other)
            return (special.select(other, result),)

        (result,) = e.where_any(special, (result,), infinite)
        return result

    return body


def _of_singles(base: int | None) -> Callable[[VectorBuilder, Float, Float], Float]:
    power = exp if base is None else exp2
    unit = 1.0 if base is None else 1 / math.log(2)

    def body(e: VectorBuilder, x: Float, y: Float) -> Float:
        larger = x.compare("ogt", y)
        m, n = larger.select(x, y), larger.select(y, x)
        d = n - m
        total = e.muladd(log1p(e, power(e, d)), unit, m)
        # Infinities of one sign have no difference.
        total = d.compare("uno", d).select(x + y, total)
        return x.compare("oeq", y).select(x + unit * math.log(2), total)

    return body


logaddexp = _of_doubles(None)
logaddexp2 = _of_doubles(2)
wide_logaddexp = _of_singles(None)
wide_logaddexp2 = _of_singles(2)

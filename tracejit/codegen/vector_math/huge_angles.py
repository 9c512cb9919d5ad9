"""Angles beyond what pi / 2 in a few parts can reduce: products with 2 / pi in integers.

Payne and Hanek, "Radian reduction for trigonometric functions" (1983): x = M * 2^E with an integer
M, and of the bits of 2 / pi only those count that neither give multiples of 4 nor lie far below the
last place of the result.
"""

from __future__ import annotations

import functools

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.formats import F64
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Int

__all__ = ["reduce_huge"]

#: Zero bits ahead of those of 2 / pi, so that a window may begin before them.
_LEAD = 64
#: Entry j holds the 64 bits from bit 32 * j on; the last window of 6 entries begins at bit 1033.
_ENTRIES = 38
_LOW = (1 << 32) - 1


def reduce_huge(e: VectorBuilder, x: Float) -> tuple[Float, Float, Int]:
    """r, its rounding error, and n modulo 4, x = n * pi / 2 + r, for x of 2^10 and more.

    NaN for infinity.
    """
    if e.format is F64:
        return _results(e.shared("reduce_huge", x, _reduce))
    wide, wide_low, quadrant = _results(e.doubles().shared("reduce_huge", x.widened(), _reduce))
    r = wide.narrowed(e)
    return r, ((wide - r.widened()) + wide_low).narrowed(e), quadrant.narrowed(e)


def _results(values: list[Float | Int]) -> tuple[Float, Float, Int]:
    r, r_low, quadrant = values
    assert isinstance(r, Float) and isinstance(r_low, Float) and isinstance(quadrant, Int)
    return r, r_low, quadrant


def _reduce(e: VectorBuilder, x: Float) -> tuple[Float, Float, Int]:
    finite = x.at_most(float.fromhex("0x1.fffffffffffffp+1023"))
    bits = finite.bits()
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    factors = mantissa & _LOW, mantissa >> 32
    # The window begins at the bit whose product with 2^E weighs 2.
    position = (bits >> 52) - (1013 + 64 - _LEAD)
    entry, shift = position >> 5, position & 31
    words = _two_over_pi()
    window = [(e.lookup(words, entry + k) << shift) >> 32 for k in reversed(range(6))]

    # Columns of 32 bits of mantissa * window modulo 2^192, but for what carries into the second.
    by_low = [factors[0] * w for w in window]
    by_high = [factors[1] * w for w in window[:5]]
    columns = []
    carried = by_low[0] >> 32
    for j in range(1, 6):
        total = carried + (by_low[j] & _LOW) + (by_high[j - 1] & _LOW)
        columns.append(total & _LOW)
        carried = (total >> 32) + (by_low[j] >> 32) + (by_high[j - 1] >> 32)

    # Quarter turns: 2 bits of integer, 62 of fraction, then the other columns. Half a quarter is
    # added to round, and subtracted again from the fraction.
    top = ((columns[4] << 32) | columns[3]) + (1 << 61)
    quadrant = top >> 62
    fraction = top & ((1 << 62) - 1)
    first = _number(fraction >> 32, 2.0**29) * 2.0**-30
    second = _number(fraction & _LOW) * 2.0**-62
    rest = _number(columns[2]) * 2.0**-94 + _number(columns[1]) * 2.0**-126
    head, low = e.ordered_sum(first, second)
    head, low = e.ordered_sum(head, low + rest)
    half_pi = TABLES["f64"].half_pi_fused
    r = head * half_pi[0]
    r_low = e.product_error(head, head.like(half_pi[0]), r)
    r_low = r_low + e.muladd(head, half_pi[1], low * half_pi[0])
    return r + (x - x), r_low, quadrant


def _number(value: Int, subtracted: float = 0.0) -> Float:
    """value - subtracted, value being below 2^52."""
    return (value | F64.encode(2.0**52)).as_float() - (2.0**52 + subtracted)


@functools.cache
def _two_over_pi() -> tuple[int, ...]:
    """The entries of the table, from Machin's formula pi = 16 arctan(1 / 5) - 4 arctan(1 / 239)."""
    digits = 32 * _ENTRIES + 64
    one = 1 << (digits + 64)

    def arctan_of_inverse(n: int) -> int:
        power, total, k = one // n, 0, 0
        while power:
            total += (-power if k % 2 else power) // (2 * k + 1)
            power //= n * n
            k += 1
        return total

    pi = 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
    bits = ((2 * one) << (digits - _LEAD)) // pi
    return tuple(bits >> (digits - 64 - 32 * j) & ((1 << 64) - 1) for j in range(_ENTRIES))

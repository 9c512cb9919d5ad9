"""Tables of the logarithms: centres of 16 intervals, their inverses and their logarithms.

Computed in integers, once a process and base.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from tracejit.codegen.vector_math.formats import FORMATS, Format

__all__ = ["START", "Centres", "centres", "octave", "short_octave", "split_logarithm"]

#: The intervals of 1 + f begin here and end at twice this. They are equally many encodings wide:
#: one reaches from 63/64 to 33/32, and there the inverse is 1.
START = 45 / 64
_COUNT = 16
#: The inverse in the interval of 1, and on either side inverses so short that m * inverse - 1 is
#: exact where the logarithm is smallest.
_SHORT = {8: 33 / 32, 9: 1.0, 10: 61 / 64}
_BITS = 160


@dataclass(frozen=True)
class Centres:
    """For each interval: about the inverse of its centre, and minus the inverse's logarithm.

    The logarithm is in two parts. Sums of the first with the first part of any exponent's logarithm
    are exact.
    """

    inverse: tuple[float, ...]
    log_high: tuple[float, ...]
    log_low: tuple[float, ...]


@functools.cache
def centres(dtype: str, base: int | None) -> Centres:
    """The tables of a format, for logarithms to that base, or natural ones."""
    fmt = FORMATS[dtype]
    step = 1 << (fmt.mantissa - 4)
    first = fmt.encode(START)
    inverses = []
    for i in range(_COUNT):
        low, high = (fmt.decode(first + j * step) for j in (i, i + 1))
        inverses.append(_SHORT.get(i, round(2**9 / (low + high)) / 2**8))
    parts = [split_logarithm(fmt, -_logarithm(Fraction(c), base)) for c in inverses]
    return Centres(tuple(inverses), *zip(*parts, strict=True))


@functools.cache
def octave(base: int | None) -> tuple[Centres, tuple[float, float]]:
    """Tables of float32 for 32 equal intervals of 1 to 2, and the logarithm of 2 in two parts.

    Numbers of the first interval have the inverse 1, those of the last 1/2; the next ones' are so
    short that m * inverse - 1 is exact. The second parts are not negative.
    """
    inverses = [round(2**15 / (2 * i + 65)) / 2**9 for i in range(32)]
    inverses[0], inverses[1], inverses[30], inverses[31] = 1.0, 61 / 64, 33 / 64, 1 / 2
    parts = [_below(-_logarithm(Fraction(c), base)) for c in inverses]
    return Centres(tuple(inverses), *zip(*parts, strict=True)), parts[31]


@functools.cache
def short_octave() -> Centres:
    """Tables for 32 equal intervals of 1 to 2 and base 2: m * inverse - 1 is exact in all."""
    inverses = [round(2**12 / (2 * i + 65)) / 2**6 for i in range(32)]
    inverses[0], inverses[31] = 1.0, 1 / 2
    parts = [split_logarithm(FORMATS["f32"], -_logarithm(Fraction(c), 2)) for c in inverses]
    return Centres(tuple(inverses), *zip(*parts, strict=True))


def _below(value: Fraction) -> tuple[float, float]:
    """As `split_logarithm` of float32, but the first part is no greater than the value."""
    high = Fraction(math.floor(value * 2**16), 2**16)
    return float(high), FORMATS["f32"].rounded(float(value - high))


def split_logarithm(fmt: Format, value: Fraction) -> tuple[float, float]:
    """A number of at most 1 in two parts; products of the first with exponents are exact."""
    unit = 1 << (42 if fmt.bits == 64 else 16)
    high = Fraction(round(value * unit), unit)
    return float(high), fmt.rounded(float(value - high))


@functools.cache
def _logarithm(value: Fraction, base: int | None) -> Fraction:
    """Good to 2^-150."""
    if base is not None:
        return _logarithm(value, None) / _logarithm(Fraction(base), None)
    # log(v) = k log(2) + 2 artanh((m - 1) / (m + 1)), v = 2^k m, m about 1.
    k = round(math.log2(value)) if value != 2 else 0
    s = (value / Fraction(2) ** k - 1) / (value / Fraction(2) ** k + 1)
    one, total, n = 1 << _BITS, 0, 0
    power = s.numerator * one // s.denominator
    while abs(power) > 1:
        total += power // (2 * n + 1)
        power = power * s.numerator**2 // s.denominator**2
        n += 1
    series = Fraction(2 * total, one)
    return series + k * _logarithm(Fraction(2), None) if k else series

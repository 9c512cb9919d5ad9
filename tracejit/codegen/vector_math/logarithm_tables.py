"""Tables of the logarithms: centres of 16 intervals, their inverses and their logarithms.

Computed in integers, once a process and base.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.vector_math.formats import F64, FORMATS, Format

__all__ = [
    "START",
    "Centres",
    "HalvedCentres",
    "arctangents",
    "centres",
    "halved_centres",
    "octave",
    "short_octave",
    "split_logarithm",
]

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


@dataclass(frozen=True)
class HalvedCentres:
    """For each interval: its centre, short, and half the centre's logarithm in two parts."""

    centre: tuple[float, ...]
    log_high: tuple[float, ...]
    log_low: tuple[float, ...]
    #: log(2) / 2, in two parts as well.
    half_ln2: tuple[float, float]


@functools.cache
def halved_centres() -> HalvedCentres:
    """The tables of float64 for logarithms of roots; 1 is a centre."""
    step = 1 << (F64.mantissa - 4)
    first = F64.encode(START)
    borders = [F64.decode(first + j * step) for j in range(_COUNT + 1)]
    middles = [round(2**7 * (p + q)) / 2**8 for p, q in itertools.pairwise(borders)]
    middles[9] = 1.0
    parts = [split_logarithm(F64, _logarithm(Fraction(c), None) / 2) for c in middles]
    half_ln2 = split_logarithm(F64, _logarithm(Fraction(2), None) / 2)
    high, low = zip(*parts, strict=True)
    return HalvedCentres(tuple(middles), high, low, half_ln2)


@functools.cache
def arctangents() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """arctan(j / 32) in two parts for j up to 13, and 0."""
    high, low = [], []
    for j in range(_COUNT):
        exact = _arctangent(Fraction(j, 32)) if j <= 13 else Fraction(0)
        high.append(float(exact))
        low.append(float(exact - Fraction(high[-1])))
    return tuple(high), tuple(low)


def _arctangent(t: Fraction) -> Fraction:
    """Good to 2^-150, for t below 1 / 2."""
    power, total, n = int(t * (1 << _BITS)), 0, 0
    while power:
        total += (-1) ** n * power // (2 * n + 1)
        power = power * t.numerator**2 // t.denominator**2
        n += 1
    return Fraction(total, 1 << _BITS)


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

"""gamma, gammaln and psi, over doubles.

Each has a polynomial on an interval of length 1, to which the recurrence Gamma(x + 1) = x Gamma(x)
leads from below, the series of Stirling (as a minimax polynomial) from there on, and the reflection
Gamma(x) Gamma(-x) = -pi / (x sin(pi x)), in a branch of its own, for negative numbers.
"""

from __future__ import annotations

import math

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import exp
from tracejit.codegen.vector_math.formats import F64
from tracejit.codegen.vector_math.logarithms import log
from tracejit.codegen.vector_math.powers import power
from tracejit.codegen.vector_math.values import Float, Int, Mask

__all__ = ["gamma", "gammaln", "psi"]

_HALF_LOG_2_PI_LESS_HALF = float.fromhex("0x1.acfe390c97d69p-2")
_ROOT_2_PI = math.sqrt(2 * math.pi)
#: The positive zero of psi, in two parts.
_PSI_ROOT = float.fromhex("0x1.762d86356be3fp+0"), float.fromhex("0x1.b86a722197829p-54")
_PSI_CENTRE = 1.75
#: Gamma(n) at n, from 1 on.
_GAMMA_OF_INTEGERS = (
    0,
    *(F64.encode(float(math.factorial(n - 1))) for n in range(1, 172)),
    F64.encode(math.inf),
)


def _stepped(e: VectorBuilder, x: Float, low: float) -> tuple[Float, Float, Float]:
    """z, p and s for low + 1 <= x < low + 5: z = x - n in [low, low + 1], or x below.

    p is (x - 1) ... (x - n), and s is p times the sum of the factors' reciprocals.
    """
    z, p, s = x, x.like(1.0), x.like(0.0)
    for n in range(4):
        further = x.compare("oge", low + 1 + n)
        z = further.select(x - (n + 1.0), z)
        s = further.select(e.muladd(s, z, p), s)
        p = further.select(p * z, p)
    return z, p, s


def _product(e: VectorBuilder, x: Float) -> Float:
    """x * (x + 1) for -1 < x, of the sign of x."""
    return abs(e.muladd(x, x, x)).with_sign(x.sign())


# gamma and gammaln -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Near:
    """Gamma(x) = Gamma(2 + t) / p where `up` is set, else Gamma(2 + t) * p; -1 / 2 <= x < 6.5."""

    t: Float
    p: Float
    up: Mask


def _near(e: VectorBuilder, x: Float) -> _Near:
    z, p, _ = _stepped(e, x, 1.5)
    up, twice = x.compare("olt", 1.5), x.compare("olt", 0.5)
    t = twice.select(x, up.select(x - 1.0, z - 2.0))
    return _Near(t, twice.select(_product(e, x), up.select(x, p)), up)


def gamma(e: VectorBuilder, x: Float) -> Float:
    reflected = x.compare("olt", -0.5)
    v = reflected.select(abs(x), x)
    small = v.compare("olt", 6.5)
    near = _near(e, v)
    value = e.muladd(near.t, e.fitted("gamma", near.t), 1.0)
    value = near.up.select(value / near.p, value * near.p)
    # Two factors, since the power alone may be beyond the format.
    far = v.at_least(6.5).at_most(200.0)
    r = 1.0 / far
    root = power(e, far, e.muladd(far, 0.5, -0.25))
    factor = e.muladd(r, e.fitted("gamma_far", r), 1.0) * _ROOT_2_PI
    first = small.select(value, (root * exp(e, -far)) * factor)
    second = small.select(1.0, root)
    y = first * second
    integer = (far + F64.magic) - F64.magic
    tabulated = integer.compare("oeq", v)

    def others() -> tuple[Float]:
        # NaN's low bits may be any.
        n = ((integer.at_most(172.0) + 2.0**F64.mantissa).bits() & 255).at_most(172)
        exact = e.lookup(_GAMMA_OF_INTEGERS, n).as_float()
        fraction, sign = _fraction(v)
        size = math.pi / (v * _sine(e, fraction))
        size = -((size / first) / second).with_sign(sign)
        regular = fraction.compare("one", 0.0)
        size = regular.select(size, x.like(math.nan))
        return (reflected.select(size, tabulated.select(exact, y)),)

    (out,) = e.where_any(reflected | tabulated, (y,), others)
    return out


def gammaln(e: VectorBuilder, x: Float) -> Float:
    reflected = x.compare("olt", -0.5)
    v = reflected.select(abs(x), x)
    small = v.compare("olt", 6.5)
    near = _near(e, v)
    up = near.up
    logarithm = log(e, small.select(abs(near.p), v))
    core = near.t * e.fitted("gammaln", near.t)
    low = core + up.select(-logarithm, logarithm)
    r = 1.0 / v
    series = e.muladd(r, e.fitted("gammaln_far", r * r), _HALF_LOG_2_PI_LESS_HALF)
    high = e.muladd(v - 0.5, logarithm - 1.0, series)
    y = small.select(low, high)

    def reflect() -> tuple[Float]:
        fraction, _ = _fraction(v)
        size = abs(v * _sine(e, fraction))
        value = log(e, math.pi / size) - y
        value = size.compare("oeq", 0.0).select(math.inf, value)
        # SciPy's, which makes no difference of the infinities' results.
        value = x.compare("oeq", -math.inf).select(x, value)
        return (reflected.select(value, y),)

    (out,) = e.where_any(reflected, (y,), reflect)
    return out


def _fraction(v: Float) -> tuple[Float, Int]:
    """v - n, at most 1 / 2 in size, and the sign bit where n is odd, for v >= 0; NaN for infinity.

    Numbers from 2^52 on are integers.
    """
    base = 2.0**F64.mantissa
    shifted = v + base
    n = v.compare("olt", base).select(shifted - base, v)
    return v - n, shifted.bits() << (F64.bits - 1)


def _sine(e: VectorBuilder, fraction: Float) -> Float:
    """sin(pi x), |x| <= 1 / 2."""
    return fraction * e.fitted("sin_turn", fraction * fraction)


# psi ---------------------------------------------------------------------------------------------


def psi(e: VectorBuilder, x: Float) -> Float:
    reflected = x.compare("olt", -0.75)
    v = reflected.select(abs(x), x)
    small = v.compare("olt", 6.25)
    z, p, s = _stepped(e, v, 1.25)
    up, twice = v.compare("olt", 1.25), v.compare("olt", 0.25)
    # z less the zero, by what is exact: z = v + 1 or v + 2 is rounded.
    shift = twice.select(2.0, up.select(1.0, v.like(0.0)))
    place = up.select(v, z)
    root, root_low = _PSI_ROOT
    # The zero less 1 or 2 is exact, too.
    offset = (place - (root - shift)) - root_low
    core = offset * e.fitted("psi", offset + (root - _PSI_CENTRE))
    s = twice.select(-e.muladd(v, 2.0, 1.0), up.select(-1.0, s))
    p = twice.select(_product(e, v), up.select(v, p))
    low = core + s / p
    r = 1.0 / v
    square = r * r
    high = log(e, v) + e.muladd(square, e.fitted("psi_far", square), r * -0.5)
    y = small.select(low, high)

    def reflect() -> tuple[Float]:
        fraction, _ = _fraction(v)
        z = fraction * fraction
        cosine = e.muladd(z, -4.0, 1.0) * e.fitted("cos_turn", z)
        value = (y + r) + (cosine * math.pi) / _sine(e, fraction)
        value = fraction.compare("one", 0.0).select(value, x.like(math.nan))
        return (reflected.select(value, y),)

    (out,) = e.where_any(reflected, (y,), reflect)
    return out

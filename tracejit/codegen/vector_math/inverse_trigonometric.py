"""arcsin, arccos, arctan and arctan2."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.square_roots import estimated_quotient, square_root
from tracejit.codegen.vector_math.tables import TABLES
from tracejit.codegen.vector_math.values import Float, Mask

__all__ = ["arccos", "arcsin", "arctan", "arctan2"]

#: A little above tan(1 / 2).
_TAN_HALF = 0.546875


def arcsin(e: VectorBuilder, x: Float) -> Float:
    """arcsin(a) = u + u^3 * p(u^2) up to 1 / 2, above it pi / 2 - 2 * arcsin(sqrt((1 - a) / 2))."""
    a = abs(x)
    far = a.compare("uge", 0.5)
    root = square_root(e, e.muladd(a, -2.0, 2.0))
    half_pi = _half_pi(e)[0]
    start = far.select(-half_pi, a.like(0.0))
    return abs(_arcsin(e, a, far, start, root, a)).with_sign(x.sign())


def arccos(e: VectorBuilder, x: Float) -> Float:
    """pi / 2 - arcsin(x) up to 1 / 2, above it 2 * arcsin(sqrt((1 - a) / 2)) or pi less that."""
    a = abs(x)
    far = a.compare("uge", 0.5)
    root = square_root(e, e.muladd(a, -2.0, 2.0), sign=x.sign())
    half_pi = _half_pi(e)[0]
    pole = x.compare("olt", 0.0).select(2.0 * half_pi, a.like(0.0))
    start = far.select(pole, a.like(half_pi))
    return _arcsin(e, a, far, start, root, -x)


def _arcsin(
    e: VectorBuilder,
    a: Float,
    far: Mask,
    start: Float,
    root: tuple[Float, Float, Float],
    near: Float,
) -> Float:
    """start + 2 * arcsin(root / 2) if `far`, else start + arcsin(near)."""
    z = far.select(e.muladd(a, -0.5, 0.5), a * a)
    u = far.select(root[0], near)
    head = start + u
    low = e.muladd(start, _half_pi(e)[1], (start - head) + u)
    low = far.select(e.muladd(root[1], root[2], low), low)
    return head + e.muladd(u * z, e.fitted("arcsin", z), low)


def arctan(e: VectorBuilder, x: Float) -> Float:
    """arctan(a) = c + arctan(t): t = a, (a - 1) / (a + 1) or -1 / a, c = 0, pi / 4 or pi / 2.

    Between the borders the result is at least 1 / 2 and t at most 1 / 3, so that what a + 1 and
    the quotient round away is small against the result's last place; a - 1 is exact.
    """
    half_pi, low_part = _half_pi(e)
    a = abs(x)
    shifted, near_one = a.compare("uge", _TAN_HALF), a.compare("ule", 2.0)
    zero, one = a.like(0.0), a.like(1.0)
    top = near_one.select(shifted.select(a - one, a), -one)
    bottom = near_one.select(a + one, a)
    t = shifted.select(top / bottom, a)
    start = shifted.select(near_one.select(half_pi / 2, a.like(half_pi)), zero)
    z = t * t
    head = start + t
    low = e.muladd(start, low_part, (start - head) + t)
    low = e.muladd(t * z, e.fitted("arctan", z), low)
    return (head + low).with_sign(x.sign())


def arctan2(e: VectorBuilder, y: Float, x: Float) -> Float:
    """As `arctan`, of the smaller of |x| and |y| over the larger; pi / 2 or pi less or more that.

    Below the border the error of the quotient is not small, and is found.
    """
    short, *rest = TABLES[e.format.name].half_pi_plain
    size_x, size_y = abs(x), abs(y)
    swap = size_y.compare("ogt", size_x)
    low, high = _with_quotient(e, swap.select(size_x, size_y), swap.select(size_y, size_x))
    shifted = low.compare("uge", high * _TAN_HALF)
    # Where x is negative or the two are exchanged, and not both, the angle counts backwards.
    sign = swap.select_int(x.sign() ^ e.format.sign_mask, x.sign())
    top = shifted.select(low - high, low).with_sign(sign)
    bottom = shifted.select(low + high, high)
    t = top / bottom
    z, zero = t * t, t.like(0.0)
    t_low = e.product_error(t, bottom, top) * estimated_quotient(-1.0, bottom)
    t_low = e.muladd(-t_low, z, t_low)  # Nearly t_low / (1 + z).
    if not e.fma:
        # So small a quotient is the result, or is of no account.
        t_low = low.compare("olt", _range(e)[0]).select(zero, t_low)
    # Multiples of a short part of pi / 4 are exact.
    start = x.bits().compare("slt", 0).select(2.0 * short, zero)
    start = swap.select(short, start)
    start = start + shifted.select(short / 2, zero).with_sign(sign)
    head = start + t
    tail = e.muladd(start, e.format.rounded(sum(rest) / short), (start - head) + t) + t_low
    tail = e.muladd(t * z, e.fitted("arctan", z), tail)
    return (head + tail).with_sign(y.sign())


def _with_quotient(e: VectorBuilder, low: Float, high: Float) -> tuple[Float, Float]:
    """Two numbers with the quotient of 0 <= low <= high, the second in a safe range.

    Of two zeros the quotient is 0, of two infinities 1.
    """
    least, most = _range(e)
    start = e.format.encode(least)
    unusual = (high.bits() - start).compare("uge", e.format.encode(most) - start)
    if not e.fma:
        unusual = unusual | low.compare("olt", least)

    def bounded() -> tuple[Float, Float]:
        one = high.like(1.0)
        scale = high.compare("ogt", most).select(2.0**-30, one)
        scale = (unusual & high.compare("olt", 1.0)).select(1 / least, scale)
        infinite = high.compare("oeq", math.inf)
        ends = infinite | high.compare("oeq", 0.0)
        limit = (infinite & low.compare("oeq", math.inf)).select(1.0, low * 0.0)
        return ends.select(limit, low * scale), ends.select(one, high * scale)

    return e.where_any(unusual, (low, high), bounded)


def _range(e: VectorBuilder) -> tuple[float, float]:
    """Errors of products are normal down to the first, inverses up to the second."""
    return (2.0**-900, 2.0**1000) if e.format.bits == 64 else (2.0**-90, 2.0**110)


def _half_pi(e: VectorBuilder) -> tuple[float, float]:
    """pi / 2 rounded, and what that leaves out, relative to it: right for 0 and pi, too."""
    half_pi, low = TABLES[e.format.name].half_pi_fused[:2]
    return half_pi, e.format.rounded(low / half_pi)

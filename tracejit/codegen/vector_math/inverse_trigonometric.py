"""arcsin, arccos and arctan."""

from __future__ import annotations

from tracejit.codegen.vector_math.builder import Float, Mask, VectorBuilder
from tracejit.codegen.vector_math.roots import square_root
from tracejit.codegen.vector_math.tables import TABLES

__all__ = ["arccos", "arcsin", "arctan"]

#: A little above tan(1 / 2).
_TAN_HALF = 0.546875


def arcsin(e: VectorBuilder, x: Float) -> Float:
    """arcsin(a) = u + u^3 * p(u^2) up to 1 / 2, above it pi / 2 - 2 * arcsin(sqrt((1 - a) / 2))."""
    a = abs(x)
    far = a.compare("uge", 0.5)
    root, root_low = square_root(e, e.muladd(a, -2.0, 2.0))
    half_pi = _half_pi(e)[0]
    start = far.select(-half_pi, a.like(0.0))
    return abs(_arcsin(e, a, far, start, root, root_low, a)).with_sign(x.sign())


def arccos(e: VectorBuilder, x: Float) -> Float:
    """pi / 2 - arcsin(x) up to 1 / 2, above it 2 * arcsin(sqrt((1 - a) / 2)) or pi less that."""
    a = abs(x)
    far = a.compare("uge", 0.5)
    root, root_low = square_root(e, e.muladd(a, -2.0, 2.0), sign=x.sign())
    half_pi = _half_pi(e)[0]
    pole = x.compare("olt", 0.0).select(2.0 * half_pi, a.like(0.0))
    start = far.select(pole, a.like(half_pi))
    return _arcsin(e, a, far, start, root, root_low, -x)


def _arcsin(
    e: VectorBuilder, a: Float, far: Mask, start: Float, root: Float, root_low: Float, near: Float
) -> Float:
    """start + 2 * arcsin(r / 2), r = root + root_low if `far`, else start + arcsin(near)."""
    z = far.select(e.muladd(a, -0.5, 0.5), a * a)
    u = far.select(root, near)
    head = start + u
    low = e.muladd(start, _half_pi(e)[1], (start - head) + u)
    low = far.select(low + root_low, low)
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


def _half_pi(e: VectorBuilder) -> tuple[float, float]:
    """pi / 2 rounded, and what that leaves out, relative to it: right for 0 and pi, too."""
    half_pi, low = TABLES[e.format.name].half_pi_fused[:2]
    return half_pi, e.format.rounded(low / half_pi)

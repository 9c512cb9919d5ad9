"""Powers of complex numbers: exp(b * log(a)), each part exact to a few places, over doubles.

The logarithm's parts are sums of two numbers, good to about 2^-78 of themselves: what b multiplies
and what cancels then still leaves more than a double has. The angle of a is so many eighths of a
turn and a rest: the power's eighths are counted without error, so that parts which are zero are.
Special values are those of the C functions (annex G of the standard), which NumPy calls.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TypeAlias

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import (
    exp,
    exp_in_parts,
    nearest_integer,
    power_of_two,
)
from tracejit.codegen.vector_math.inverse_trigonometric import arctan2
from tracejit.codegen.vector_math.logarithm_tables import arctangents, halved_centres
from tracejit.codegen.vector_math.logarithms import reduce
from tracejit.codegen.vector_math.tables import TABLES, THIRD
from tracejit.codegen.vector_math.trigonometric import reduce_angle, sincos, sincos_of_rest
from tracejit.codegen.vector_math.values import Float, Mask

__all__ = ["power_parts"]

_Sum: TypeAlias = tuple[Float, Float]

_T = TABLES["f64"]
#: Sizes from the inverse of this to it have squares whose rounding errors are numbers.
_LARGE = 2.0**480
_LIFT = 600
#: About tan(pi / 8).
_FOLD = 0.4140625
#: Exponents up to here have an exponential that is a product of numbers.
_MOST = 1400.0


def power_parts(e: VectorBuilder, x: Float, y: Float, c: Float, d: Float) -> _Sum:
    """The parts of (x + iy) ** (c + id); for x = y = 0 anything."""
    swapped = abs(y).compare("ogt", abs(x))
    large, small = swapped.select(abs(y), abs(x)), swapped.select(abs(x), abs(y))
    odd_size = large.compare("ogt", _LARGE) | large.compare("olt", 1.0 / _LARGE)

    def lifted() -> tuple[Float, Float, Float]:
        down = large.compare("ogt", 1.0)
        scale = down.select(2.0**-_LIFT, large.like(2.0**_LIFT))
        scale = odd_size.select(scale, large.like(1.0))
        n = odd_size.select(down.select(_LIFT, large.like(-_LIFT)), large.like(0.0))
        return large * scale, small * scale, n

    near, far, lift = e.where_any(odd_size, (large, small, large.like(0.0)), lifted)
    log = _log_of_size(e, near, far, lift)
    eighths, rest = _angle(e, near, far, swapped, x, y)
    angle = _whole(e, eighths, rest)
    exponent = _difference(e, _product(e, c, log), _product(e, d, angle))
    turned = _difference(e, _product(e, c, rest), _product(e, -d, log))
    # Where 8 divides the exponent its product with eighths of a turn is nothing.
    eighth = _error_free(e, c - (c * 0.125).trunc() * 8.0, eighths)
    sin, cos = _sincos(e, turned, eighth)
    # The sign of zero is that of the plain formula.
    zero = turned[0].compare("oeq", 0.0) & eighth[0].compare("oeq", 0.0)
    plain = c * (eighths + rest[0]) + d * log[0]
    sin = zero.select(sin.like(0.0).with_sign(plain.sign()), sin)
    usual = _times_exp(e, exponent, (cos, sin))
    # What overflows in the plain formula is as it is there.
    lost = (large + exponent[0]) * 0.0 + (c * angle[0] + turned[0]) * 0.0

    edge = lost.compare("uno", 0.0)

    def special() -> tuple[Float, Float]:
        re, im = _special(e, (x, y), (c, d), log[0])
        return edge.select(re, usual[0]), edge.select(im, usual[1])

    return e.where_any(edge, usual, special)


# Sums of two numbers ------------------------------------------------------------------------------


def _error_free(e: VectorBuilder, a: Float, b: Float) -> _Sum:
    product = a * b
    return product, e.product_error(a, b, product)


def _product(e: VectorBuilder, a: Float, b: _Sum) -> _Sum:
    product, low = _error_free(e, a, b[0])
    return product, e.muladd(a, b[1], low)


def _difference(e: VectorBuilder, a: _Sum, b: _Sum) -> _Sum:
    total, low = e.exact_sum(a[0], -b[0])
    return e.exact_sum(total, low + (a[1] - b[1]))


def _quotient(e: VectorBuilder, a: _Sum, b: _Sum) -> _Sum:
    reciprocal = 1.0 / b[0]
    quotient = a[0] * reciprocal
    excess = e.product_error(quotient, b[0], a[0])
    rest = a[1] - e.muladd(quotient, b[1], excess)
    return quotient, rest * reciprocal


def _odd_series(e: VectorBuilder, q: _Sum, sign: float) -> tuple[_Sum, Float]:
    """What artanh(q) or, with a sign of -1, arctan(q) has beyond q for |q| <= 1 / 63.

    sign * q^3 / 3 as a sum of two, and the rest, q^5 / 5 + ..., below 2^-26 of q.
    """
    z, z_low = _error_free(e, q[0], q[0])
    z_low = e.muladd(q[0] + q[0], q[1], z_low)
    third = z.like(sign * THIRD[0])
    line, line_low = _error_free(e, z, third)
    line_low = line_low + e.muladd(z, sign * THIRD[1], z_low * third)
    cube, cube_low = _error_free(e, q[0], line)
    cube_low = cube_low + e.muladd(q[0], line_low, q[1] * line)
    series = [sign**n / (2 * n + 1) for n in range(2, 7)]
    return (cube, cube_low), (q[0] * (z * z)) * e.polynomial(z, series)


# The logarithm ------------------------------------------------------------------------------------


def _log_of_size(e: VectorBuilder, large: Float, small: Float, lift: Float) -> _Sum:
    """log(hypot(large, small)) + lift * log(2).

    The sum s of the squares is near C = 2^k * one of 16 numbers: log(s / C) / 2 is
    artanh((s - C) / (s + C)). s - C is summed with all errors, for s near 1.
    """
    (first, first_low), (second, second_low) = (_error_free(e, v, v) for v in (large, small))
    reduced = reduce(e, (first + second).bits())
    table = halved_centres()
    centre = e.permuted(table.centre, reduced.interval) * power_of_two(reduced.field)
    # Each sum is of numbers within a factor of 2, or so that the first has the greater last place.
    top, low = e.ordered_sum(-centre, first)
    top, error = e.ordered_sum(top, second)
    lost = None
    for term in (first_low, second_low, low + error):
        top, rest = e.exact_sum(top, term)
        lost = rest if lost is None else lost + rest
    assert lost is not None
    above = e.exact_sum(top, lost)
    below, below_low = e.ordered_sum(centre + centre, above[0])
    q = _quotient(e, above, (below, below_low + above[1]))
    cube, tail = _odd_series(e, q, 1.0)

    n = reduced.k + (lift + lift)
    whole = e.muladd(n, table.half_ln2[0], e.permuted(table.log_high, reduced.interval))
    low = e.muladd(n, table.half_ln2[1], e.permuted(table.log_low, reduced.interval))
    return _summed(e, whole, q, cube, tail + low)


def _summed(e: VectorBuilder, start: Float, q: _Sum, cube: _Sum, low: Float) -> _Sum:
    """All of them; `start` is greater than q, or 0."""
    total, error = e.ordered_sum(start, q[0])
    total, second = e.ordered_sum(total, cube[0])
    return e.ordered_sum(total, ((error + second) + (q[1] + cube[1])) + low)


# The angle ----------------------------------------------------------------------------------------


def _angle(
    e: VectorBuilder, large: Float, small: Float, swapped: Mask, x: Float, y: Float
) -> tuple[Float, _Sum]:
    """The angle of x + iy as so many eighths of a turn and a rest of at most half of one.

    `large` and `small` are the sizes of the parts, which are `swapped` where y is the large one.
    """
    fold = small.compare("ogt", large * _FOLD)
    # Turned back by an eighth: the point large + small + i (small - large).
    there, there_low = e.ordered_sum(large, small)
    up, up_low = e.ordered_sum(-large, small)
    u, u_low = fold.select(there, large), fold.select(there_low, large.like(0.0))
    v, v_low = fold.select(up, small), fold.select(up_low, large.like(0.0))
    sign = v.sign()
    v, v_low = v.with_sign(sign), v_low.with_sign(sign)
    # Turned back by one of 16 angles, that leaves a slope of 1 / 64.
    n, count = nearest_integer(e, v / u, 32.0)
    tangent = n * 0.03125
    product, low = _product(e, tangent, (u, u_low))
    top = e.exact_sum(v - product, v_low - low)  # The first difference is exact.
    product, low = _product(e, tangent, (v, v_low))
    below, below_low = e.ordered_sum(u, product)
    q = _quotient(e, top, (below, below_low + (u_low + low)))
    cube, tail = _odd_series(e, q, -1.0)
    high, table_low = (e.permuted(part, count) for part in arctangents())
    rest = _summed(e, high, q, cube, tail + table_low)

    eighths = fold.select(1.0, large.like(0.0))
    eighths = swapped.select(2.0 - eighths, eighths)
    sign = swapped.select_int(sign ^ e.format.sign_mask, sign)
    eighths = (x.sign().compare("ne", 0)).select(4.0 - eighths, eighths)
    sign = sign ^ x.sign() ^ y.sign()
    return eighths.with_sign(y.sign()), (rest[0].with_sign(sign), rest[1].with_sign(sign))


def _whole(e: VectorBuilder, eighths: Float, rest: _Sum) -> _Sum:
    """The angle: pi / 4 times the eighths and the rest."""
    first, second, _ = (0.5 * part for part in _T.half_pi_fused)
    turned, low = _error_free(e, eighths, eighths.like(first))
    total, error = e.exact_sum(turned, rest[0])
    return e.exact_sum(total, (error + rest[1]) + e.muladd(eighths, second, low))


# The result ---------------------------------------------------------------------------------------


def _sincos(e: VectorBuilder, angle: _Sum, eighths: _Sum) -> _Sum:
    """sin and cos of the angle and pi / 4 times the eighths, of which there are at most 32."""
    size, sign = abs(angle[0]), angle[0].sign()
    r, r_low, quadrant = reduce_angle(e, size)
    quadrant = sign.compare("ne", 0).select_int(0 - quadrant, quadrant)
    # Where the angle's own last place is a turn or more, its error is anything.
    known = size.compare("olt", 2.0**52).select(angle[1], size.like(0.0))
    quarters = eighths[0] * 0.5
    n, count = nearest_integer(e, quarters, 1.0)
    fraction = quarters - n
    first, second, _ = _T.half_pi_fused
    added, low = _error_free(e, fraction, fraction.like(first))
    low = e.muladd(fraction, second, low) + eighths[1] * (0.5 * first)
    total, error = e.exact_sum(r.with_sign(sign), added)
    total, low = e.exact_sum(total, error + ((r_low.with_sign(sign) + low) + known))
    n, more = nearest_integer(e, total, _T.two_over_pi[0])
    # Of a quarter, the difference is exact.
    total, low = e.exact_sum(total - n * first, low - n * second)
    sin, cos = sincos_of_rest(e, total, low, quadrant + count + more)
    return sin + 0.0, cos + 0.0  # An exact zero is a positive one.


def _times_exp(e: VectorBuilder, exponent: _Sum, factors: _Sum) -> _Sum:
    """exp(exponent) times each factor of at most 1."""
    x = exponent[0].at_most(_MOST)
    # Beyond the range the exponent's own error may be large.
    low = abs(exponent[0]).compare("olt", _MOST).select(exponent[1], x.like(0.0))
    head, tail, first, second = exp_in_parts(e, x, low)
    p, q = ((e.muladd(tail, f, head * f) * first) * second for f in factors)

    def beyond() -> _Sum:
        # Up to 2^1074 it may be finite times the least number.
        more = exp(e, (exponent[0] - _MOST).at_least(0.0).at_most(100.0))
        return p * more, q * more

    return e.where_any(exponent[0].compare("ogt", _MOST), (p, q), beyond)


def _special(e: VectorBuilder, a: _Sum, b: _Sum, log: Float) -> _Sum:
    """By C's formulas: `log` is the logarithm of the size of a where that is a number."""
    endless = [[abs(v).compare("oeq", math.inf) for v in z] for z in (a, b)]
    of_base, of_exponent = (p | q for p, q in endless)
    log = of_base.select(math.inf, (a[0] + a[1]).compare("uno", 0.0).select(math.nan, log))
    log_of_base = log, arctan2(e, a[1], a[0])
    re, im, infinite = _plain_product(log_of_base, b)
    # Infinite where a factor or a term is, though both parts be NaN (annex G.5.1).
    lost = re.compare("uno", 0.0) & im.compare("uno", 0.0) & (infinite | of_base | of_exponent)
    boxes = [_box(z, own) for z, own in ((log_of_base, of_base), (b, of_exponent))]
    again = [part * math.inf for part in _plain_product(*boxes)[:2]]
    re, im = (lost.select(new, old) for new, old in zip(again, (re, im), strict=True))
    # The exponential, by annex G.6.3.1.
    size, (sin, cos) = exp(e, re), sincos(e, im)
    endless_angle = (im - im).compare("uno", 0.0)
    up, down = (endless_angle & re.compare("oeq", v) for v in (math.inf, -math.inf))
    zero = re.like(0.0)
    down_im = down.select(zero.with_sign(im.sign()), size * sin)
    return (
        up.select(math.inf, down.select(0.0, size * cos)),
        im.compare("oeq", 0.0).select(im, down_im),
    )


def _plain_product(a: _Sum, b: _Sum) -> tuple[Float, Float, Mask]:
    """The product of complex numbers, and whether one of its terms is infinite."""
    terms = [p * q for p, q in ((a[0], b[0]), (a[1], b[1]), (a[0], b[1]), (a[1], b[0]))]
    infinite = functools.reduce(operator.or_, (abs(t).compare("oeq", math.inf) for t in terms))
    return terms[0] - terms[1], terms[2] + terms[3], infinite


def _box(z: _Sum, endless: Mask) -> _Sum:
    """An infinite number's parts as 1 and 0, another's with 0 for NaN, all with their signs."""
    parts = []
    for v in z:
        unit = abs(v).compare("oeq", math.inf).select(1.0, v.like(0.0))
        known = v.compare("uno", 0.0).select(v.like(0.0).with_sign(v.sign()), v)
        parts.append(endless.select(unit.with_sign(v.sign()), known))
    return parts[0], parts[1]

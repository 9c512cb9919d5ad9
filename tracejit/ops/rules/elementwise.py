"""Derivatives of the elementwise functions, by the names of their ufuncs: tables for the ops.

`PARTIALS` has, for each operand, the partial derivative as a formula of the operands and the
result, or what is linear in the tangent v and no such product. In products of v with what depends
on operands, a v of exactly 0 stays 0 beside an infinite or undefined partial derivative. That is
what keeps the lane that `where` does not take out of gradients. A product of 0 and infinity that
arises in a chain of functions by itself, as in sqrt(x)**2 at 0, is 0 by the same rule.

What the rules give where a function has no derivative:

- absolute, copysign and hypot at 0: 0, also for complex numbers; maximum, minimum, fmax and fmin of
  equal operands: half for each; maximum and minimum of a NaN: 0, fmax and fmin: all for the number;
- sqrt and cbrt at 0: infinity; log at 0: infinity; arctan2 at (0, 0): NaN;
- x**p at x = 0, by x: 0 for p = 0 and p > 1, 1 for p = 1, infinite below 1;
  by p: 0 for p >= 0, minus infinity for p < 0; for a negative real x: NaN by p;
- remainder and fmod by the divisor: minus the whole quotient, with no jumps;
- heaviside by its value at 0: 1 there; nextafter by its first operand: 1;
- logaddexp of equal infinities: 1 for each.

`CONSTANT` are the steps, whose derivatives are zero, and what gives no floats.
"""

from __future__ import annotations

import math

from tracejit.ir.terms import Tangent, Term, equal, function, where
from tracejit.ops.rules.partials import LinearMap, Operand, Partial

__all__ = ["CONSTANT", "PARTIALS"]

#: The steps and what gives integers or booleans.
CONSTANT: frozenset[str] = frozenset(
    (
        *("floor", "ceil", "trunc", "rint", "floor_divide", "signbit", "spacing"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
        *("bitwise_count", "gcd", "lcm", "isnan", "isinf", "isfinite"),
    )
)


exp, log, sin, cos, sinh, cosh = map(function, ("exp", "log", "sin", "cos", "sinh", "cosh"))
square, sqrt, hypot, sign = map(function, ("square", "sqrt", "hypot", "sign"))
absolute, imag, isnan, rint = map(function, ("absolute", "imag", "isnan", "rint"))

# Functions of one operand ------------------------------------------------------------------------


def _sign_forward(v: Tangent, z: Term, unit: Term) -> Term | None:
    """d(z / |z|) = i u Im(conj(u) dz) / |z|, with u = z / |z|; nothing for real numbers."""
    return _turned(v, z, unit.conj(), unit) if z.is_complex else None


def _sign_back(v: Tangent, z: Term, unit: Term) -> Term | None:
    return _turned(v, z, unit, unit.conj()) if z.is_complex else None


def _turned(v: Tangent, z: Term, left: Term, right: Term) -> Term:
    speed = (v * left).op("imag") / absolute(z)
    return _times_i(speed) * right


def _times_i(v: Tangent) -> Tangent:
    return v.of(v.full(0).op("make_complex", v).value)


def _imag(v: Tangent, z: Term, y: Term) -> Term | None:
    if not z.is_complex:
        return None
    return v.op("imag") if v.is_complex else _times_i(-v)


def _imaginary(v: Tangent, re: Term, im: Term, y: Term) -> Term:
    """Of a complex number by its imaginary part; the transpose is minus the imaginary part."""
    return -v.op("imag") if v.is_complex else _times_i(v)


def _one_minus_square(v: Term) -> Term:
    """(1 - v)(1 + v), which has no cancellation near v = 1."""
    return (1 - v) * (1 + v)


def _arcsinh_root(x: Term) -> Term:
    """sqrt(1 + x**2), for real numbers without overflow."""
    return sqrt(square(x) + 1) if x.is_complex else hypot(x, 1)


def _arccosh_root(x: Term) -> Term:
    """sqrt(x - 1) sqrt(x + 1): undefined below 1, and on the right branch of complex numbers."""
    return sqrt(x - 1) * sqrt(x + 1)


_LN2, _LN10 = math.log(2.0), math.log(10.0)
_ERF = 2.0 / math.sqrt(math.pi)

#: Functions of one operand.
_UNARY: dict[str, Partial] = {
    "positive": 1,
    "negative": -1,
    "conjugate": LinearMap(lambda v, x, y: v.conj()),
    # d|z| = Re(conj(z) dz / |z|); of a real number, its sign.
    "absolute": lambda x, y: sign(x).conj(),
    "sign": LinearMap(_sign_forward, _sign_back),
    "square": lambda x, y: +(2 * x),
    "reciprocal": LinearMap(lambda v, x, y: -(v * y * y)),
    "sqrt": lambda x, y: 1 / (2 * y),
    "cbrt": lambda x, y: 1 / (3 * square(y)),
    "deg2rad": math.pi / 180.0,
    "rad2deg": 180.0 / math.pi,
    "exp": lambda x, y: y,
    "exp2": lambda x, y: _LN2 * y,
    "expm1": lambda x, y: y + 1,
    "log": lambda x, y: 1 / x,
    "log2": lambda x, y: (1 / _LN2) / x,
    "log10": lambda x, y: (1 / _LN10) / x,
    "log1p": lambda x, y: 1 / (x + 1),
    "sin": lambda x, y: cos(x),
    "cos": lambda x, y: -sin(x),
    "tan": lambda x, y: square(y) + 1,
    "arcsin": lambda x, y: 1 / sqrt(_one_minus_square(x)),
    "arccos": lambda x, y: -1 / sqrt(_one_minus_square(x)),
    "arctan": lambda x, y: 1 / (square(x) + 1),
    "sinh": lambda x, y: cosh(x),
    "cosh": lambda x, y: sinh(x),
    "tanh": lambda x, y: _one_minus_square(y),
    "arcsinh": lambda x, y: 1 / _arcsinh_root(x),
    "arccosh": lambda x, y: 1 / _arccosh_root(x),
    "arctanh": lambda x, y: 1 / _one_minus_square(x),
    "erf": lambda x, y: _ERF * exp(-square(x)),
    "erfc": lambda x, y: -_ERF * exp(-square(x)),
    # The rule takes the real part where a complex number becomes real.
    "real": 1,
    "cast": 1,
    "imag": LinearMap(_imag),
}


# Functions of several operands -------------------------------------------------------------------


def _base(x: Term, p: Term, y: Term) -> Term:
    """p x**(p - 1); 0 for p = 0, where x**p is 1 for every x, 0 and NaN too."""
    plain = p * x ** (p - 1)
    return where(~(absolute(x) > 0) & equal(p, 0), 0, plain)


def _exponent(x: Term, p: Term, y: Term) -> Term:
    """x**p log(x); 0 for x = 0 and p >= 0, where x**p does not change with p > 0."""
    plain = y * log(x)
    return where(equal(x, 0) & (p >= 0), 0, plain)


def _angle(k: int, number: float) -> Partial:
    """d arctan2(a, b) = (b da - a db) / h**2, h = hypot(a, b), without overflow."""

    def rule(v: Tangent, *terms: Term) -> Term:
        h = hypot(terms[0], terms[1])
        return v * (terms[k] / h) / h * number

    return LinearMap(rule)


def _leg(k: int) -> Partial:
    """d hypot(a, b) / da = a / hypot(a, b), 0 at the origin."""

    def partial(*terms: Term) -> Term:
        h = terms[2]
        share = terms[k] / h
        return where(equal(h, 0), 0, share)

    return partial


def _extreme(k: int, better: str, *, skips_nan: bool) -> Partial:
    """All for the operand that wins, half for one of two equal ones."""

    def rule(v: Tangent, *terms: Term) -> Term:
        x, other = terms[k], terms[1 - k]
        wins = x.op(better, other)
        if skips_nan:
            wins = wins | isnan(other) & equal(x, x)
        return where(wins, v, where(equal(x, other), v * 0.5, 0))

    return LinearMap(rule)


def _share(exponential: str, k: int) -> Partial:
    """d log(e**a + e**b) / da = e**(a - log(e**a + e**b)); 1 where `a` is the result.

    Equal infinities have no difference.
    """

    def partial(*terms: Term) -> Term:
        x, y = terms[k], terms[2]
        apart = x - y
        return where(equal(x, y), 0, apart).op(exponential)

    return partial


def _scaled_by_power(v: Tangent, x: Operand, power: Operand, y: Term) -> Term:
    return v.of(v.c.op("ldexp", v.value, power.given))


def _taken(v: Tangent, condition: Operand, *others: Term) -> Term:
    return where(condition.of(condition.given), v, 0)


def _not_taken(v: Tangent, condition: Operand, *others: Term) -> Term:
    return where(condition.of(condition.given), 0, v)


_POWER: tuple[Partial, ...] = (_base, _exponent)

#: Functions of several operands.
_MORE: dict[str, tuple[Partial, ...]] = {
    "add": (1, 1),
    "subtract": (1, -1),
    "multiply": (lambda a, b, y: b, lambda a, b, y: a),
    # d(a / b) / db = -(a / b) / b.
    "divide": (lambda a, b, y: 1 / b, LinearMap(lambda v, a, b, y: -(v / b * y))),
    "power": _POWER,
    "float_power": _POWER,
    "arctan2": (_angle(1, 1.0), _angle(0, -1.0)),
    "hypot": (_leg(0), _leg(1)),
    "maximum": tuple(_extreme(k, "greater", skips_nan=False) for k in (0, 1)),
    "minimum": tuple(_extreme(k, "less", skips_nan=False) for k in (0, 1)),
    "fmax": tuple(_extreme(k, "greater", skips_nan=True) for k in (0, 1)),
    "fmin": tuple(_extreme(k, "less", skips_nan=True) for k in (0, 1)),
    # Minus the whole quotient; of fmod that cut to a whole number, but for rounding.
    "remainder": (1, lambda a, b, y: -a.op("floor_divide", b)),
    "fmod": (1, lambda a, b, y: -rint((a - y) / b)),
    "copysign": (lambda a, b, y: sign(a) * b.full(1).op("copysign", b), None),
    "heaviside": (None, LinearMap(lambda v, x, at_zero, y: where(equal(x, 0), v, 0))),
    "nextafter": (1, None),
    "ldexp": (LinearMap(_scaled_by_power), None),
    "logaddexp": (_share("exp", 0), _share("exp", 1)),
    "logaddexp2": (_share("exp2", 0), _share("exp2", 1)),
    "select": (None, LinearMap(_taken), LinearMap(_not_taken)),
    "make_complex": (1, LinearMap(_imaginary)),
}

PARTIALS: dict[str, tuple[Partial, ...]] = {**{k: (f,) for k, f in _UNARY.items()}, **_MORE}

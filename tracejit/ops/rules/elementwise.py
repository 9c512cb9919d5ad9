"""Derivatives of the elementwise functions, by the names of their ufuncs: tables for the ops.

`TIMES` has, for each operand, (calculus, node, v) -> v times the partial derivative, v being a
tangent or a cotangent. Products with what depends on operands are `strong_mul` and `strong_div`: a
v of exactly 0 stays 0 beside an infinite or undefined partial derivative. That is what keeps the
lane that `where` does not take out of gradients. A product of 0 and infinity that arises in a chain
of functions by itself, as in sqrt(x)**2 at 0, is 0 by the same rule.

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
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tracejit.ir.graph import Value
from tracejit.ir.types import NpScalar, dtype_of

if TYPE_CHECKING:
    from tracejit.ir.calculus import Calculus, Site
    from tracejit.ops.rules.partials import Times

__all__ = ["CONSTANT", "TIMES", "TRANSPOSED"]

#: (calculus, node) -> a partial derivative, or what to divide by.
_Factor: TypeAlias = "Callable[[Calculus, Site], Value]"

#: The steps and what gives integers or booleans.
CONSTANT: frozenset[str] = frozenset(
    (
        *("floor", "ceil", "trunc", "rint", "floor_divide", "signbit"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
        *("bitwise_count", "gcd", "lcm", "isnan", "isinf", "isfinite"),
    )
)


# Parts of rules ----------------------------------------------------------------------------------


def _same(c: Calculus, s: Site, v: Value) -> Value:
    return v


def _negated(c: Calculus, s: Site, v: Value) -> Value:
    return c.neg(v)


def _zero(c: Calculus, s: Site, v: Value) -> None:
    return None


def _by(factor: _Factor, scale: float = 1.0) -> Times:
    """v * factor * scale."""
    return lambda c, s, v: _scaled(c, c.strong_mul(v, factor(c, s)), scale)


def _over(divisor: _Factor, scale: float = 1.0) -> Times:
    """v / divisor * scale."""
    return lambda c, s, v: _scaled(c, c.strong_div(v, divisor(c, s)), scale)


def _scaled(c: Calculus, v: Value, scale: float) -> Value:
    if scale == 1.0:
        return v
    return c.neg(v) if scale == -1.0 else c.scale(v, scale)


def _x(c: Calculus, s: Site, k: int = 0) -> Value:
    """Operand k in the result's dtype: Python's ints meet floats."""
    return c.cast(s.x(k), dtype_of(s.outputs[0]))


def _y(c: Calculus, s: Site) -> Value:
    return s.y()


def _full(c: Calculus, v: Value, number: float) -> Value:
    return c.full(NpScalar(dtype_of(v.type)), number)


def _plus_one(c: Calculus, v: Value) -> Value:
    return c.add(v, _full(c, v, 1.0))


def _of(name: str) -> _Factor:
    """A function of the operand."""
    return lambda c, s: c.op(name, _x(c, s))


# Functions of one operand ------------------------------------------------------------------------


def _absolute(c: Calculus, s: Site, v: Value) -> Value:
    """d|z| = Re(conj(z) dz / |z|); of a real number, its sign."""
    return c.strong_mul(v, c.conj(c.op("sign", s.x(0))))


def _sign(transpose: bool) -> Times:
    """d(z / |z|) = i u Im(conj(u) dz) / |z|, with u = z / |z|; nothing for real numbers."""

    def rule(c: Calculus, s: Site, v: Value) -> Value | None:
        if dtype_of(s.inputs[0]).kind != "c":
            return None
        unit, conj = s.y(), c.conj(s.y())
        left, right = (unit, conj) if transpose else (conj, unit)
        turn = c.op("imag", c.strong_mul(v, left))
        speed = c.strong_div(turn, c.op("absolute", s.x(0)))
        return c.strong_mul(c.op("make_complex", c.full(speed.type, 0), speed), right)

    return rule


def _imag(c: Calculus, s: Site, v: Value) -> Value | None:
    if dtype_of(s.inputs[0]).kind != "c":
        return None
    if dtype_of(v.type).kind == "c":
        return c.op("imag", v)
    return c.op("make_complex", c.full(v.type, 0), c.neg(v))


def _imaginary(c: Calculus, s: Site, v: Value) -> Value:
    """Of a complex number by its imaginary part; the transpose is minus the imaginary part."""
    if dtype_of(v.type).kind == "c":
        return c.neg(c.op("imag", v))
    return c.op("make_complex", c.full(v.type, 0), v)


def _one_minus_square(c: Calculus, v: Value) -> Value:
    """(1 - v)(1 + v), which has no cancellation near v = 1."""
    return c.mul(c.sub(_full(c, v, 1.0), v), _plus_one(c, v))


def _arcsin_root(c: Calculus, s: Site) -> Value:
    return c.op("sqrt", _one_minus_square(c, _x(c, s)))


def _arcsinh_root(c: Calculus, s: Site) -> Value:
    """sqrt(1 + x**2), for real numbers without overflow."""
    x = _x(c, s)
    if dtype_of(x.type).kind == "c":
        return c.op("sqrt", _plus_one(c, c.op("square", x)))
    return c.op("hypot", x, c.full(x.type, 1))


def _arccosh_root(c: Calculus, s: Site) -> Value:
    """sqrt(x - 1) sqrt(x + 1): undefined below 1, and on the right branch of complex numbers."""
    x = _x(c, s)
    below = c.op("sqrt", c.sub(x, _full(c, x, 1.0)))
    return c.mul(below, c.op("sqrt", _plus_one(c, x)))


def _reciprocal(c: Calculus, s: Site, v: Value) -> Value:
    return c.neg(c.strong_mul(c.strong_mul(v, s.y()), s.y()))


def _bell(c: Calculus, s: Site) -> Value:
    """exp(-x**2)."""
    return c.op("exp", c.neg(c.op("square", _x(c, s))))


_LN2, _LN10 = math.log(2.0), math.log(10.0)
_ERF = 2.0 / math.sqrt(math.pi)

#: Functions of one operand.
_UNARY: dict[str, Times] = {
    "positive": _same,
    "negative": _negated,
    "conjugate": lambda c, s, v: c.conj(v),
    "absolute": _absolute,
    "sign": _sign(transpose=False),
    "square": _by(lambda c, s: c.scale(_x(c, s), 2.0)),
    "reciprocal": _reciprocal,
    "sqrt": _over(lambda c, s: c.scale(s.y(), 2.0)),
    "cbrt": _over(lambda c, s: c.scale(c.op("square", s.y()), 3.0)),
    "deg2rad": lambda c, s, v: c.scale(v, math.pi / 180.0),
    "rad2deg": lambda c, s, v: c.scale(v, 180.0 / math.pi),
    "exp": _by(_y),
    "exp2": _by(_y, _LN2),
    "expm1": _by(lambda c, s: _plus_one(c, s.y())),
    "log": _over(_x),
    "log2": _over(_x, 1.0 / _LN2),
    "log10": _over(_x, 1.0 / _LN10),
    "log1p": _over(lambda c, s: _plus_one(c, _x(c, s))),
    "sin": _by(_of("cos")),
    "cos": _by(_of("sin"), -1.0),
    "tan": _by(lambda c, s: _plus_one(c, c.op("square", s.y()))),
    "arcsin": _over(_arcsin_root),
    "arccos": _over(_arcsin_root, -1.0),
    "arctan": _over(lambda c, s: _plus_one(c, c.op("square", _x(c, s)))),
    "sinh": _by(_of("cosh")),
    "cosh": _by(_of("sinh")),
    "tanh": _by(lambda c, s: _one_minus_square(c, s.y())),
    "arcsinh": _over(_arcsinh_root),
    "arccosh": _over(_arccosh_root),
    "arctanh": _over(lambda c, s: _one_minus_square(c, _x(c, s))),
    "erf": _by(_bell, _ERF),
    "erfc": _by(_bell, -_ERF),
    # The rule takes the real part where a complex number becomes real.
    "real": _same,
    "cast": _same,
    "imag": _imag,
}


# Functions of several operands -------------------------------------------------------------------


def _divisor(c: Calculus, s: Site, v: Value) -> Value:
    """d(a / b) / db = -(a / b) / b."""
    return c.neg(c.strong_mul(c.strong_div(v, _x(c, s, 1)), s.y()))


def _base(c: Calculus, s: Site) -> Value:
    """p x**(p - 1); 0 for p = 0, where x**p is 1 for every x, 0 and NaN too."""
    x, p = _x(c, s, 0), _x(c, s, 1)
    plain = c.mul(p, c.op("power", *c.alike(x, c.sub(p, _full(c, p, 1.0)))))
    size = c.op("absolute", x)
    odd = c.op("logical_not", c.compare("greater", size, 0.0))
    return c.where(
        c.op("logical_and", odd, c.compare("equal", p, 0.0)), _full(c, plain, 0.0), plain
    )


def _exponent(c: Calculus, s: Site) -> Value:
    """x**p log(x); 0 for x = 0 and p >= 0, where x**p does not change with p > 0."""
    x, p = _x(c, s, 0), _x(c, s, 1)
    plain = c.mul(s.y(), c.op("log", x))
    still = c.op("logical_and", c.compare("equal", x, 0.0), c.compare("greater_equal", p, 0.0))
    return c.where(still, _full(c, plain, 0.0), plain)


def _angle(other: int, sign: float) -> Times:
    """d arctan2(a, b) = (b da - a db) / h**2, h = hypot(a, b), without overflow."""

    def rule(c: Calculus, s: Site, v: Value) -> Value:
        h = c.op("hypot", *c.alike(_x(c, s, 0), _x(c, s, 1)))
        share = c.div(_x(c, s, other), h)
        return _scaled(c, c.strong_div(c.strong_mul(v, share), h), sign)

    return rule


def _leg(k: int) -> Times:
    """d hypot(a, b) / da = a / hypot(a, b), 0 at the origin."""

    def factor(c: Calculus, s: Site) -> Value:
        h = s.y()
        share = c.div(_x(c, s, k), h)
        return c.where(c.compare("equal", h, 0.0), _full(c, share, 0.0), share)

    return _by(factor)


def _extreme(k: int, better: str, *, skips_nan: bool) -> Times:
    """All for the operand that wins, half for one of two equal ones."""

    def rule(c: Calculus, s: Site, v: Value) -> Value:
        x, other = s.x(k), s.x(1 - k)
        wins = c.op(better, x, other)
        if skips_nan:
            alone = c.op("logical_and", c.op("isnan", other), c.op("equal", x, x))
            wins = c.op("logical_or", wins, alone)
        half = c.where(c.op("equal", x, other), c.scale(v, 0.5), 0.0)
        return c.where(wins, v, half)

    return rule


def _whole_quotient(c: Calculus, s: Site) -> Value:
    return c.op("floor_divide", *c.alike(_x(c, s, 0), _x(c, s, 1)))


def _cut_quotient(c: Calculus, s: Site) -> Value:
    """The quotient cut to a whole number: (x - fmod(x, y)) / y but for rounding."""
    return c.op("rint", c.div(c.sub(_x(c, s, 0), s.y()), _x(c, s, 1)))


def _copysign(c: Calculus, s: Site, v: Value) -> Value:
    sign = _x(c, s, 1)
    one = c.op("copysign", c.full(sign.type, 1), sign)
    return c.mul(c.strong_mul(v, c.op("sign", _x(c, s, 0))), one)


def _share(exponential: str, k: int) -> Times:
    """d log(e**a + e**b) / da = e**(a - log(e**a + e**b)); 1 where `a` is the result.

    Equal infinities have no difference.
    """

    def factor(c: Calculus, s: Site) -> Value:
        x, y = s.x(k), s.y()
        apart = c.sub(x, y)
        level = c.where(c.op("equal", x, y), c.full(apart.type, 0), apart)
        return c.op(exponential, level)

    return _by(factor)


def _at_zero(c: Calculus, s: Site, v: Value) -> Value:
    return c.where(c.compare("equal", s.x(0), 0.0), v, 0.0)


def _taken(c: Calculus, s: Site, v: Value) -> Value:
    return c.where(s.x(0), v, 0.0)


def _not_taken(c: Calculus, s: Site, v: Value) -> Value:
    return c.where(s.x(0), c.full(v.type, 0), v)


_POWER = (_by(_base), _by(_exponent))

#: Functions of several operands.
_MORE: dict[str, tuple[Times, ...]] = {
    "add": (_same, _same),
    "subtract": (_same, _negated),
    "multiply": (_by(lambda c, s: _x(c, s, 1)), _by(lambda c, s: _x(c, s, 0))),
    "divide": (_over(lambda c, s: _x(c, s, 1)), _divisor),
    "power": _POWER,
    "float_power": _POWER,
    "arctan2": (_angle(1, 1.0), _angle(0, -1.0)),
    "hypot": (_leg(0), _leg(1)),
    "maximum": tuple(_extreme(k, "greater", skips_nan=False) for k in (0, 1)),
    "minimum": tuple(_extreme(k, "less", skips_nan=False) for k in (0, 1)),
    "fmax": tuple(_extreme(k, "greater", skips_nan=True) for k in (0, 1)),
    "fmin": tuple(_extreme(k, "less", skips_nan=True) for k in (0, 1)),
    "remainder": (_same, _by(_whole_quotient, -1.0)),
    "fmod": (_same, _by(_cut_quotient, -1.0)),
    "copysign": (_copysign, _zero),
    "heaviside": (_zero, _at_zero),
    "nextafter": (_same, _zero),
    "ldexp": (lambda c, s, v: c.op("ldexp", v, s.x(1)), _zero),
    "logaddexp": (_share("exp", 0), _share("exp", 1)),
    "logaddexp2": (_share("exp2", 0), _share("exp2", 1)),
    "select": (_zero, _taken, _not_taken),
    "make_complex": (_same, _imaginary),
}

TIMES: dict[str, tuple[Times, ...]] = {**{k: (f,) for k, f in _UNARY.items()}, **_MORE}
#: The transposes, where they are others.
TRANSPOSED: dict[str, tuple[Times, ...]] = {"sign": (_sign(transpose=True),)}

"""Derivatives of the elementwise functions, by the names of their ufuncs: tables for the ops.

`PARTIALS` has, for each operand, (builder, node, v) -> v times the partial derivative, v being a
tangent or a cotangent. Products with what depends on operands are `mul_no_nan` and `div_no_nan`: a
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
    from tracejit.ir.derivatives import DerivativeBuilder, NodeAdaptor
    from tracejit.ops.rules.partials import Partial

__all__ = ["CONSTANT", "PARTIALS", "TRANSPOSED"]

#: (builder, node) -> a partial derivative, or what to divide by.
_Factor: TypeAlias = "Callable[[DerivativeBuilder, NodeAdaptor], Value]"

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


def _same(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return v


def _negated(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return c.neg(v)


def _zero(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> None:
    return None


def _by(factor: _Factor, scale: float = 1.0) -> Partial:
    """v * factor * scale."""
    return lambda c, at, v: _scaled(c, c.mul_no_nan(v, factor(c, at)), scale)


def _over(divisor: _Factor, scale: float = 1.0) -> Partial:
    """v / divisor * scale."""
    return lambda c, at, v: _scaled(c, c.div_no_nan(v, divisor(c, at)), scale)


def _scaled(c: DerivativeBuilder, v: Value, scale: float) -> Value:
    if scale == 1.0:
        return v
    return c.neg(v) if scale == -1.0 else c.scale(v, scale)


def _x(c: DerivativeBuilder, at: NodeAdaptor, k: int = 0) -> Value:
    """Operand k in the result's dtype: Python's ints meet floats."""
    return c.cast(at.x(k), dtype_of(at.outputs[0]))


def _y(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    return at.y()


def _full(c: DerivativeBuilder, v: Value, number: float) -> Value:
    return c.full(NpScalar(dtype_of(v.type)), number)


def _plus_one(c: DerivativeBuilder, v: Value) -> Value:
    return c.add(v, _full(c, v, 1.0))


def _of(name: str) -> _Factor:
    """A function of the operand."""
    return lambda c, at: c.op(name, _x(c, at))


# Functions of one operand ------------------------------------------------------------------------


def _absolute(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """d|z| = Re(conj(z) dz / |z|); of a real number, its sign."""
    return c.mul_no_nan(v, c.conj(c.op("sign", at.x(0))))


def _sign(transpose: bool) -> Partial:
    """d(z / |z|) = i u Im(conj(u) dz) / |z|, with u = z / |z|; nothing for real numbers."""

    def rule(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value | None:
        if dtype_of(at.inputs[0]).kind != "c":
            return None
        unit, conj = at.y(), c.conj(at.y())
        left, right = (unit, conj) if transpose else (conj, unit)
        turn = c.op("imag", c.mul_no_nan(v, left))
        speed = c.div_no_nan(turn, c.op("absolute", at.x(0)))
        return c.mul_no_nan(c.op("make_complex", c.full(speed.type, 0), speed), right)

    return rule


def _imag(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value | None:
    if dtype_of(at.inputs[0]).kind != "c":
        return None
    if dtype_of(v.type).kind == "c":
        return c.op("imag", v)
    return c.op("make_complex", c.full(v.type, 0), c.neg(v))


def _imaginary(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """Of a complex number by its imaginary part; the transpose is minus the imaginary part."""
    if dtype_of(v.type).kind == "c":
        return c.neg(c.op("imag", v))
    return c.op("make_complex", c.full(v.type, 0), v)


def _one_minus_square(c: DerivativeBuilder, v: Value) -> Value:
    """(1 - v)(1 + v), which has no cancellation near v = 1."""
    return c.mul(c.sub(_full(c, v, 1.0), v), _plus_one(c, v))


def _arcsin_root(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    return c.op("sqrt", _one_minus_square(c, _x(c, at)))


def _arcsinh_root(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    """sqrt(1 + x**2), for real numbers without overflow."""
    x = _x(c, at)
    if dtype_of(x.type).kind == "c":
        return c.op("sqrt", _plus_one(c, c.op("square", x)))
    return c.op("hypot", x, c.full(x.type, 1))


def _arccosh_root(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    """sqrt(x - 1) sqrt(x + 1): undefined below 1, and on the right branch of complex numbers."""
    x = _x(c, at)
    below = c.op("sqrt", c.sub(x, _full(c, x, 1.0)))
    return c.mul(below, c.op("sqrt", _plus_one(c, x)))


def _reciprocal(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return c.neg(c.mul_no_nan(c.mul_no_nan(v, at.y()), at.y()))


def _bell(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    """exp(-x**2)."""
    return c.op("exp", c.neg(c.op("square", _x(c, at))))


_LN2, _LN10 = math.log(2.0), math.log(10.0)
_ERF = 2.0 / math.sqrt(math.pi)

#: Functions of one operand.
_UNARY: dict[str, Partial] = {
    "positive": _same,
    "negative": _negated,
    "conjugate": lambda c, at, v: c.conj(v),
    "absolute": _absolute,
    "sign": _sign(transpose=False),
    "square": _by(lambda c, at: c.scale(_x(c, at), 2.0)),
    "reciprocal": _reciprocal,
    "sqrt": _over(lambda c, at: c.scale(at.y(), 2.0)),
    "cbrt": _over(lambda c, at: c.scale(c.op("square", at.y()), 3.0)),
    "deg2rad": lambda c, at, v: c.scale(v, math.pi / 180.0),
    "rad2deg": lambda c, at, v: c.scale(v, 180.0 / math.pi),
    "exp": _by(_y),
    "exp2": _by(_y, _LN2),
    "expm1": _by(lambda c, at: _plus_one(c, at.y())),
    "log": _over(_x),
    "log2": _over(_x, 1.0 / _LN2),
    "log10": _over(_x, 1.0 / _LN10),
    "log1p": _over(lambda c, at: _plus_one(c, _x(c, at))),
    "sin": _by(_of("cos")),
    "cos": _by(_of("sin"), -1.0),
    "tan": _by(lambda c, at: _plus_one(c, c.op("square", at.y()))),
    "arcsin": _over(_arcsin_root),
    "arccos": _over(_arcsin_root, -1.0),
    "arctan": _over(lambda c, at: _plus_one(c, c.op("square", _x(c, at)))),
    "sinh": _by(_of("cosh")),
    "cosh": _by(_of("sinh")),
    "tanh": _by(lambda c, at: _one_minus_square(c, at.y())),
    "arcsinh": _over(_arcsinh_root),
    "arccosh": _over(_arccosh_root),
    "arctanh": _over(lambda c, at: _one_minus_square(c, _x(c, at))),
    "erf": _by(_bell, _ERF),
    "erfc": _by(_bell, -_ERF),
    # The rule takes the real part where a complex number becomes real.
    "real": _same,
    "cast": _same,
    "imag": _imag,
}


# Functions of several operands -------------------------------------------------------------------


def _divisor(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """d(a / b) / db = -(a / b) / b."""
    return c.neg(c.mul_no_nan(c.div_no_nan(v, _x(c, at, 1)), at.y()))


def _base(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    """p x**(p - 1); 0 for p = 0, where x**p is 1 for every x, 0 and NaN too."""
    x, p = _x(c, at, 0), _x(c, at, 1)
    plain = c.mul(p, c.op("power", *c.alike(x, c.sub(p, _full(c, p, 1.0)))))
    size = c.op("absolute", x)
    odd = c.op("logical_not", c.compare("greater", size, 0.0))
    return c.where(
        c.op("logical_and", odd, c.compare("equal", p, 0.0)), _full(c, plain, 0.0), plain
    )


def _exponent(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    """x**p log(x); 0 for x = 0 and p >= 0, where x**p does not change with p > 0."""
    x, p = _x(c, at, 0), _x(c, at, 1)
    plain = c.mul(at.y(), c.op("log", x))
    still = c.op("logical_and", c.compare("equal", x, 0.0), c.compare("greater_equal", p, 0.0))
    return c.where(still, _full(c, plain, 0.0), plain)


def _angle(other: int, sign: float) -> Partial:
    """d arctan2(a, b) = (b da - a db) / h**2, h = hypot(a, b), without overflow."""

    def rule(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
        h = c.op("hypot", *c.alike(_x(c, at, 0), _x(c, at, 1)))
        share = c.div(_x(c, at, other), h)
        return _scaled(c, c.div_no_nan(c.mul_no_nan(v, share), h), sign)

    return rule


def _leg(k: int) -> Partial:
    """d hypot(a, b) / da = a / hypot(a, b), 0 at the origin."""

    def factor(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
        h = at.y()
        share = c.div(_x(c, at, k), h)
        return c.where(c.compare("equal", h, 0.0), _full(c, share, 0.0), share)

    return _by(factor)


def _extreme(k: int, better: str, *, skips_nan: bool) -> Partial:
    """All for the operand that wins, half for one of two equal ones."""

    def rule(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
        x, other = at.x(k), at.x(1 - k)
        wins = c.op(better, x, other)
        if skips_nan:
            alone = c.op("logical_and", c.op("isnan", other), c.op("equal", x, x))
            wins = c.op("logical_or", wins, alone)
        half = c.where(c.op("equal", x, other), c.scale(v, 0.5), 0.0)
        return c.where(wins, v, half)

    return rule


def _whole_quotient(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    return c.op("floor_divide", *c.alike(_x(c, at, 0), _x(c, at, 1)))


def _cut_quotient(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
    """The quotient cut to a whole number: (x - fmod(x, y)) / y but for rounding."""
    return c.op("rint", c.div(c.sub(_x(c, at, 0), at.y()), _x(c, at, 1)))


def _copysign(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    sign = _x(c, at, 1)
    one = c.op("copysign", c.full(sign.type, 1), sign)
    return c.mul(c.mul_no_nan(v, c.op("sign", _x(c, at, 0))), one)


def _share(exponential: str, k: int) -> Partial:
    """d log(e**a + e**b) / da = e**(a - log(e**a + e**b)); 1 where `a` is the result.

    Equal infinities have no difference.
    """

    def factor(c: DerivativeBuilder, at: NodeAdaptor) -> Value:
        x, y = at.x(k), at.y()
        apart = c.sub(x, y)
        level = c.where(c.op("equal", x, y), c.full(apart.type, 0), apart)
        return c.op(exponential, level)

    return _by(factor)


def _at_zero(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return c.where(c.compare("equal", at.x(0), 0.0), v, 0.0)


def _taken(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return c.where(at.x(0), v, 0.0)


def _not_taken(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return c.where(at.x(0), c.full(v.type, 0), v)


_POWER = (_by(_base), _by(_exponent))

#: Functions of several operands.
_MORE: dict[str, tuple[Partial, ...]] = {
    "add": (_same, _same),
    "subtract": (_same, _negated),
    "multiply": (_by(lambda c, at: _x(c, at, 1)), _by(lambda c, at: _x(c, at, 0))),
    "divide": (_over(lambda c, at: _x(c, at, 1)), _divisor),
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
    "ldexp": (lambda c, at, v: c.op("ldexp", v, at.x(1)), _zero),
    "logaddexp": (_share("exp", 0), _share("exp", 1)),
    "logaddexp2": (_share("exp2", 0), _share("exp2", 1)),
    "select": (_zero, _taken, _not_taken),
    "make_complex": (_same, _imaginary),
}

PARTIALS: dict[str, tuple[Partial, ...]] = {**{k: (f,) for k, f in _UNARY.items()}, **_MORE}
#: The transposes, where they are others.
TRANSPOSED: dict[str, tuple[Partial, ...]] = {"sign": (_sign(transpose=True),)}

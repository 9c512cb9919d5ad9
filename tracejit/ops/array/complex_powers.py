"""Complex powers by parts, and the exponential and logarithm near where they are 0 and 1.

Special values are those of NumPy's formulas. Each part of `log1p` is within 4 ULP of its true
value, and so is each of `expm1`, but that the real one is a difference, within 4 ULP of its larger
term. Whole exponents from -99 to 99 multiply, as NumPy does, and have its bits. Other powers are
exp(b log(a)): of c128 by vector code of their own, which is within 4 ULP in each part; the parts of
c64 are computed as f64, where that leaves one rounding.
"""

from __future__ import annotations

import functools
import math

from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ops.array.complex_elements import COMPLEX_RULES, Element, Pair, real
from tracejit.ops.array.complex_functions import (
    _angle,
    _both,
    _f,
    _log,
    _n,
    _over_doubles,
    _test,
    _times,
    _where,
)

__all__ = ["COMPLEX_POWERS", "complex_power"]

#: Doubles from here on are infinite as f32.
_INFINITE_F32 = 2.0**128 - 2.0**103
#: Whole exponents below this in size multiply.
_FEW = 100


def _as_f32(x: Expr) -> Expr:
    """x, infinite where it is as f32."""
    over = _test("greater_equal", _f("absolute", x), _n(_INFINITE_F32))
    return _where(over, _f("copysign", _n(math.inf), x), x)


def _expm1(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """expm1(a) cos(b) - 2 sin(b / 2)^2 + i exp(a) sin(b), infinite where its first factors are."""
    below, grown = _f("expm1", a), _f("exp", a)
    if not is_wide:
        over = _test("greater_equal", grown, _n(_INFINITE_F32))
        below, grown = (_where(over, _n(math.inf), x) for x in (below, grown))
    half = _f("sin", _times(b, _n(0.5)))
    square = _times(_times(half, half), _n(2.0))
    if not is_wide:
        square = _where(_test("less", square, _n(2.0**-150)), _n(0.0), square)
    re = _f("subtract", _times(below, _f("cos", b)), square)
    return re, _times(grown, _f("sin", b))


def _sum(x: Expr, y: Expr) -> Pair:
    """A sum and its rounding error, as Knuth does it."""
    total = _f("add", x, y)
    moved = _f("subtract", total, x)
    rest = _f("subtract", x, _f("subtract", total, moved))
    return total, _f("add", rest, _f("subtract", y, moved))


def _log1p(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """log1p(2 a + a^2 + b^2) / 2 near 0, the sum without rounding; log(|1 + z|) elsewhere."""
    up = _f("add", a, _n(1.0))
    size = _f("hypot", up, b)
    far = _f("log", size if is_wide else _as_f32(size))
    larger = _f("maximum", _f("absolute", up), _f("absolute", b))
    near = _both(_test("greater", larger, _n(0.5)), _test("less", larger, _n(1.5)))
    x, y = (_where(near, v, _n(0.0)) for v in (a, b))
    squares = [_times(v, v) for v in (x, y)]
    rests = [_f("fma", v, v, _f("negative", w)) for v, w in zip((x, y), squares, strict=True)]
    total, error = _sum(_times(x, _n(2.0)), squares[1])
    lost: Expr = _n(0.0)
    for term in (squares[0], error, *rests):
        total, rest = _sum(total, term)
        lost = _f("add", lost, rest)
    excess = _f("add", total, lost)
    return _where(near, _times(_f("log1p", excess), _n(0.5)), far), _angle(up, b)


#: Op name -> its rule: (dtype of the parts, operands) -> element.
COMPLEX_POWERS = {
    name: _over_doubles(rule) for name, rule in (("expm1", _expm1), ("log1p", _log1p))
}


# Powers ------------------------------------------------------------------------------------------


def complex_power(d: str, args: tuple[Pair, ...]) -> Element:
    """a ** b: 1 for b = 0; 0 for a = 0 where Re(b) > 0, else NaN; products; or exp(b log(a))."""
    base, (c, e) = args
    if isinstance(c, Const) and isinstance(e, Const):
        n = float(c.value)
        few = e.value == 0 and n.is_integer() and abs(n) < _FEW
        value = _known(d, base, int(n)) if few else _by_logarithm(d, args)
    else:
        value = _by_logarithm(d, args)
        size = real("absolute", d, c)
        whole = real("logical_and", "b1", _same(e, 0.0), real("equal", "b1", _rint(c), c))
        whole = real("logical_and", "b1", whole, real("less", "b1", size, Const(float(_FEW), d)))
        value = _select(d, whole, _counted(d, base, c), value)
    # Zeros and NaN in the base or the exponent, in NumPy's order.
    up = real("greater", "b1", c, Const(0.0, d))
    at_zero = real("select", d, up, Const(0.0, d), Const(math.nan, d))
    value = _select(d, _is_zero(base), (at_zero, at_zero), value)
    return _select(d, _is_zero((c, e)), _one(d), value)


def _one(d: str) -> Pair:
    return Const(1.0, d), Const(0.0, d)


def _same(x: Expr, value: float) -> Expr:
    return real("equal", "b1", x, Const(value, x.dtype))


def _rint(x: Expr) -> Expr:
    return real("rint", x.dtype, x)


def _is_zero(z: Pair) -> Expr:
    return real("logical_and", "b1", _same(z[0], 0.0), _same(z[1], 0.0))


def _select(d: str, condition: Expr, x: Pair, y: Pair) -> Pair:
    re, im = (real("select", d, condition, p, q) for p, q in zip(x, y, strict=True))
    return re, im


def _product(d: str, x: Pair, y: Pair) -> Pair:
    product = COMPLEX_RULES["multiply"](d, (x, y))
    assert isinstance(product, tuple)
    return product


def _inverse(d: str, x: Pair) -> Pair:
    quotient = COMPLEX_RULES["divide"](d, (_one(d), x))
    assert isinstance(quotient, tuple)
    return quotient


def _known(d: str, base: Pair, n: int) -> Pair:
    """A whole exponent that is known: the products that it takes."""
    if n in (0, 1):
        return base if n else _one(d)
    if n in (2, 3):
        square = _product(d, base, base)
        return square if n == 2 else _product(d, base, square)
    value, factor, left = _one(d), base, abs(n)
    while left:
        if left & 1:
            value = _product(d, value, factor)
        left >>= 1
        if left:
            factor = _product(d, factor, factor)
    return _inverse(d, value) if n < 0 else value


def _counted(d: str, base: Pair, n: Expr) -> Pair:
    """The same for a whole exponent below `_FEW` in size: every product, of which it takes some."""
    left, half = real("absolute", d, n), Const(0.5, d)
    value, factor = _one(d), base
    for _ in range(_FEW.bit_length()):
        rest = real("trunc", d, real("multiply", d, left, half))
        odd = real("not_equal", "b1", left, real("add", d, rest, rest))
        value, left = _select(d, odd, _product(d, value, factor), value), rest
        factor = _product(d, factor, factor)
    down = real("less", "b1", n, Const(0.0, d))
    value = _select(d, down, _inverse(d, value), value)
    for k in (1, 2, 3):
        value = _select(d, _same(n, float(k)), _known(d, base, k), value)
    return value


def _by_logarithm(d: str, args: tuple[Pair, ...]) -> Pair:
    if d == "f64":
        operands = (*args[0], *args[1])
        return _f("power_real", *operands), _f("power_imag", *operands)
    (a, b), (c, e) = (tuple(_f("cast", x) for x in z) for z in args)
    value = COMPLEX_RULES["exp"]("f64", (_endless_product(_log(a, b, False), (c, e)),))
    assert isinstance(value, tuple)
    return real("cast", d, value[0]), real("cast", d, value[1])


def _endless_product(x: Pair, y: Pair) -> Pair:
    """C's product (annex G.5.1): infinite where a factor or a term is, though both parts be NaN."""
    ends = [_test("logical_or", *(_test("isinf", v) for v in z)) for z in (x, y)]
    # Beside an infinite exponent, or NaN, a logarithm is what it is as f32, 0 perhaps.
    lows = [_f("cast", Call("cast", (v,), "f32")) for v in x]
    x = _select("f64", _both(*(_test("isfinite", v) for v in y)), x, (lows[0], lows[1]))
    terms = [_times(p, q) for p, q in ((x[0], y[0]), (x[1], y[1]), (x[0], y[1]), (x[1], y[0]))]
    # What overflows as f32 has no angle in NumPy.
    terms = [_as_f32(t) for t in terms]
    re, im = (_as_f32(v) for v in (_f("subtract", *terms[:2]), _f("add", *terms[2:])))
    lost = _both(_test("isnan", re), _test("isnan", im))
    endless = functools.reduce(
        lambda p, q: _test("logical_or", p, q), (*ends, *(_test("isinf", t) for t in terms))
    )
    boxes = []
    for z, own in zip((x, y), ends, strict=True):
        sides = []
        for v in z:
            unit = _where(_test("isinf", v), _n(1.0), _n(0.0))
            known = _where(_test("isnan", v), _f("copysign", _n(0.0), v), v)
            sides.append(_where(own, _f("copysign", unit, v), known))
        boxes.append((sides[0], sides[1]))
    again = [_times(_n(math.inf), part) for part in _product("f64", *boxes)]
    return _select("f64", _both(lost, endless), (again[0], again[1]), (re, im))

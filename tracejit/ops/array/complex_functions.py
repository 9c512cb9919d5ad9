"""Complex elementary functions by parts: roots, logarithms, circular and hyperbolic functions.

Each part is within 4 ULP of its true value; special values and branch cuts are those of C99, annex
G, as NumPy has them. The parts of c64 are computed as f64, where nothing overflows early.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ops.array.complex_elements import Element, Pair, real

__all__ = ["COMPLEX_FUNCTIONS"]

Rule = Callable[[Expr, Expr, bool], Pair]
_D = "f64"


def _n(value: float) -> Expr:
    return Const(value, _D)


def _f(name: str, *args: Expr) -> Expr:
    return Call(name, args, _D)


def _test(name: str, *args: Expr) -> Expr:
    return Call(name, args, "b1")


def _is(x: Expr, value: float) -> Expr:
    return _test("equal", x, _n(value))


def _times(x: Expr, y: Expr) -> Expr:
    return _f("multiply", x, y)


def _angle(a: Expr, b: Expr) -> Expr:
    """The angle of the complex number a + bi."""
    return _f("arctan2", b, a)


def _where(condition: Expr, a: Expr, b: Expr) -> Expr:
    return _f("select", condition, a, b)


def _both(a: Expr, b: Expr) -> Expr:
    return _test("logical_and", a, b)


def _endless(x: Expr) -> Expr:
    """Infinite or NaN."""
    return _test("logical_not", _test("isfinite", x))


def _over_doubles(rule: Rule) -> Callable[[str, tuple[Pair, ...]], Element]:
    """The rule for either dtype; it is told whether the parts were f64 from the beginning."""

    def whole(d: str, args: tuple[Pair, ...]) -> Element:
        ((a, b),) = args
        if d == _D:
            return rule(a, b, True)
        re, im = rule(_f("cast", a), _f("cast", b), False)
        return real("cast", d, re), real("cast", d, im)

    return whole


def _size(a: Expr, b: Expr) -> Expr:
    """The size of the larger part that is no NaN."""
    return _f("fmax", _f("absolute", a), _f("absolute", b))


# Square root and logarithms ----------------------------------------------------------------------


def _root(a: Expr, b: Expr) -> Pair:
    """sqrt(z) for finite parts, the larger neither beyond 2^1000 nor below 2^-1000.

    t = sqrt((|a| + |z|) / 2) is the real part where a >= 0, and |b| / (2 t) otherwise. The smaller
    part may be subnormal: a power of 4 keeps its half exact.
    """
    x, y = _times(a, _n(2.0**10)), _times(_f("absolute", b), _n(2.0**10))
    t = _f("sqrt", _times(_f("add", _f("absolute", x), _f("hypot", x, y)), _n(0.5)))
    other = _where(_is(t, 0.0), t, _f("divide", _times(y, _n(0.5)), t))
    right = _test("greater_equal", a, _n(0.0))
    re, im = _where(right, t, other), _where(right, other, t)
    return _times(re, _n(2.0**-5)), _f("copysign", _times(im, _n(2.0**-5)), b)


def _sqrt(a: Expr, b: Expr, is_wide: bool) -> Pair:
    back = None
    x, y = a, b
    if is_wide:
        size = _size(a, b)
        large, small = _test("greater", size, _n(2.0**1000)), _test("less", size, _n(2.0**-960))
        scale = _where(large, _n(2.0**-40), _where(small, _n(2.0**600), _n(1.0)))
        back = _where(large, _n(2.0**20), _where(small, _n(2.0**-300), _n(1.0)))
        x, y = _times(a, scale), _times(b, scale)
    re, im = _root(x, y)
    if back is not None:
        re, im = _times(re, back), _times(im, back)
    # Infinite real parts, then infinite imaginary ones, before NaN.
    number = _test("equal", b, b)
    up, down = _is(a, math.inf), _is(a, -math.inf)
    re, im = _where(up, a, re), _where(_both(up, number), _f("copysign", _n(0.0), b), im)
    re = _where(down, _where(number, _n(0.0), b), re)
    im = _where(down, _f("copysign", _n(math.inf), b), im)
    tall = _test("isinf", b)
    return _where(tall, _n(math.inf), re), _where(tall, b, im)


def _log(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """log(|z|), near 1 by |z|^2 - 1 as a sum of products without rounding errors; and the angle."""
    x, y = _f("absolute", a), _f("absolute", b)
    larger, smaller = _f("maximum", x, y), _f("minimum", x, y)
    square, other = _times(larger, larger), _times(smaller, smaller)
    rests = [_f("fma", v, v, _f("negative", w)) for v, w in ((larger, square), (smaller, other))]
    # larger^2 - 1 is exact where it counts, and the sum's error is found as Knuth does.
    first = _f("subtract", square, _n(1.0))
    total = _f("add", first, other)
    moved = _f("subtract", total, first)
    error = _f(
        "add",
        _f("subtract", first, _f("subtract", total, moved)),
        _f("subtract", other, moved),
    )
    excess = _f("add", total, _f("add", error, _f("add", *rests)))
    near = _both(_test("greater", larger, _n(0.5)), _test("less", larger, _n(1.5)))
    close = _times(_f("log1p", _where(near, excess, _n(0.0))), _n(0.5))
    if is_wide:
        large, small = _test("greater", larger, _n(2.0**500)), _test("less", larger, _n(2.0**-480))
        scale = _where(large, _n(2.0**-600), _where(small, _n(2.0**600), _n(1.0)))
        logs = 600 * math.log(2)
        shift = _where(large, _n(logs), _where(small, _n(-logs), _n(0.0)))
        x, y = _times(x, scale), _times(y, scale)
    far = _times(_f("log", _f("add", _times(x, x), _times(y, y))), _n(0.5))
    if is_wide:
        far = _f("add", far, shift)
    size = _where(near, close, far)
    infinite = _test("logical_or", _test("isinf", a), _test("isinf", b))
    return _where(infinite, _n(math.inf), size), _angle(a, b)


def _log_in_base(base: float) -> Rule:
    def rule(a: Expr, b: Expr, is_wide: bool) -> Pair:
        re, im = _log(a, b, is_wide)
        factor = _n(1 / math.log(base))
        return _times(re, factor), _times(im, factor)

    return rule


# Circular and hyperbolic functions ---------------------------------------------------------------

#: Beyond this the hyperbolic functions are half the exponential, which is taken in factors.
_LARGE = 709.0


def _hyperbolic(a: Expr, is_wide: bool) -> tuple[Expr, Expr, Callable[[Expr, Expr], Expr]]:
    """sinh(a) and cosh(a) without a factor, and what multiplies one by a number and by it."""
    if not is_wide:
        return _f("sinh", a), _f("cosh", a), _times
    size = _f("absolute", a)
    rest, factors = size, []
    for _ in range(2):
        large = _test("greater", rest, _n(_LARGE))
        factors.append(_where(large, _n(math.exp(_LARGE)), _n(1.0)))
        rest = _where(large, _f("subtract", rest, _n(_LARGE)), rest)
    half = _times(_f("exp", rest), _n(0.5))
    large = _test("greater", size, _n(_LARGE))
    sinh = _f("copysign", _where(large, half, _f("sinh", size)), a)
    cosh = _where(large, half, _f("cosh", size))
    # The number may be subnormal, and the product with all factors too large.
    return sinh, cosh, lambda x, y: _times(_times(_times(y, factors[0]), x), factors[1])


def _sinh(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """sinh(a) cos(b) + i cosh(a) sin(b)."""
    sinh, cosh, times = _hyperbolic(a, is_wide)
    re, im = times(sinh, _f("cos", b)), times(cosh, _f("sin", b))
    return _of_endless_angles(a, b, re), _where(_is(b, 0.0), b, im)


def _sin(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """sin(a) cosh(b) + i cos(a) sinh(b)."""
    sinh, cosh, times = _hyperbolic(b, is_wide)
    re, im = times(cosh, _f("sin", a)), times(sinh, _f("cos", a))
    return _where(_is(a, 0.0), a, re), _of_endless_angles(b, a, im)


def _of_endless_angles(a: Expr, b: Expr, value: Expr) -> Expr:
    """sinh(a) cos(b), but for an infinite b or NaN: 0 for a = 0, and infinity for infinities."""
    endless = _endless(b)
    value = _where(_both(endless, _is(a, 0.0)), a, value)
    return _where(_both(endless, _test("isinf", a)), _n(math.inf), value)


def _cosh(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """cosh(a) cos(b) + i sinh(a) sin(b)."""
    sinh, cosh, times = _hyperbolic(a, is_wide)
    re, im = times(cosh, _f("cos", b)), times(sinh, _f("sin", b))
    endless = _endless(b)
    re = _where(_both(endless, _test("isinf", a)), _n(math.inf), re)
    im = _where(_both(endless, _is(a, 0.0)), _n(0.0), im)
    signed = _where(_test("isnan", a), b, _times(_f("copysign", _n(1.0), a), b))
    return re, _where(_is(b, 0.0), signed, im)


def _cos(a: Expr, b: Expr, is_wide: bool) -> Pair:
    return _cosh(_f("negative", b), a, is_wide)


def _tanh(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """(sinh(2 a) + i sin(2 b)) / (cosh(2 a) + cos(2 b)), the sum as 2 sinh(a)^2 + 2 cos(b)^2."""
    size = _f("absolute", a)
    # From there on the quotient of sinh(2 a) and cosh(2 a) is 1.
    far = _test("greater", size, _n(22.0))
    x = _f("minimum", size, _n(22.0))
    sinh, sin, cos = _f("sinh", x), _f("sin", b), _f("cos", b)
    # The larger square with its error, which shows beside poles.
    larger, smaller = (
        _f("maximum", sinh, _f("absolute", cos)),
        _f("minimum", sinh, _f("absolute", cos)),
    )
    square = _times(larger, larger)
    rest = _f("fma", larger, larger, _f("negative", square))
    rest = _f("fma", smaller, smaller, rest)
    below = _times(_f("add", square, rest), _n(2.0))
    double = _times(_times(sin, cos), _n(2.0))
    if is_wide:
        # Functions of 2 a and 2 b have fewer roundings, where their sum does not cancel.
        turn = _times(b, _n(2.0))
        cosine, grown = _f("cos", turn), _times(x, _n(2.0))
        plain = _test("greater_equal", cosine, _n(0.0))
        below = _where(plain, _f("add", _f("cosh", grown), cosine), below)
        double = _where(_test("isfinite", turn), _f("sin", turn), double)
        up = _f("sinh", grown)
    else:
        up = _times(_times(sinh, _f("cosh", x)), _n(2.0))
    decay = _f("exp", _times(size, _n(-2.0)))
    re = _f("copysign", _where(far, _n(1.0), _f("divide", up, below)), a)
    im = _where(far, _times(_times(double, _n(2.0)), decay), _f("divide", double, below))
    infinite, endless = _test("isinf", a), _endless(b)
    sign = _where(endless, b, double)
    re = _where(infinite, _f("copysign", _n(1.0), a), re)
    im = _where(infinite, _f("copysign", _n(0.0), sign), im)
    # Of an infinite angle there is a value at 0 and infinity alone.
    re = _where(_test("logical_or", infinite, _test("logical_not", endless)), re, _n(math.nan))
    re = _where(_both(endless, _is(a, 0.0)), a, re)
    return re, _where(_both(_is(b, 0.0), _test("logical_not", infinite)), b, im)


def _tan(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """tanh(i z) / i."""
    re, im = _tanh(_f("negative", b), a, is_wide)
    return im, _f("negative", re)


# Inverse functions -------------------------------------------------------------------------------
#
# Kahan, "Branch cuts for complex elementary functions" (1987): products of two roots, in which no
# terms cancel.


#: From here on 1 is nothing beside z, and a factor keeps the products of roots finite.
_FAR, _NEARER = 2.0**500, 2.0**-20


def _brought_nearer(a: Expr, b: Expr, is_wide: bool) -> tuple[Expr, Expr, Expr]:
    """Large parts times a factor, and what its logarithm adds."""
    far = _test("greater", _size(a, b), _n(_FAR))
    if not is_wide:
        return a, b, _n(0.0)
    scale = _where(far, _n(_NEARER), _n(1.0))
    return _times(a, scale), _times(b, scale), _where(far, _n(-math.log(_NEARER)), _n(0.0))


def _is_tiny(a: Expr, b: Expr) -> Expr:
    """Where the second term of a series in z^2 is nothing beside the first."""
    return _both(
        _test("less", _f("absolute", a), _n(2.0**-28)),
        _test("less", _f("absolute", b), _n(2.0**-28)),
    )


def _infinite(a: Expr, b: Expr) -> Expr:
    return _test("logical_or", _test("isinf", a), _test("isinf", b))


def _roots(a: Expr, b: Expr) -> tuple[Pair, Pair]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    below = _root(_f("subtract", _n(1.0), a), _f("negative", b))
    return below, _root(_f("add", _n(1.0), a), b)


def _arcsin(a: Expr, b: Expr, is_wide: bool) -> Pair:
    x, y, more = _brought_nearer(a, b, is_wide)
    (p, q), (r, s) = _roots(x, y)
    far = _test("greater", _size(a, b), _n(_FAR))
    cosine = _f("subtract", _times(p, r), _times(q, s))
    re = _angle(_where(far, _f("absolute", y), cosine), x)
    im = _f("add", _f("arcsinh", _f("absolute", _f("subtract", _times(p, s), _times(q, r)))), more)
    im = _f("copysign", _where(_infinite(a, b), _n(math.inf), im), b)
    tiny = _is_tiny(a, b)
    re = _where(_test("logical_or", tiny, _is(a, 0.0)), a, re)
    return re, _where(tiny, b, im)


def _arcsinh(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """arcsin(i z) / i."""
    re, im = _arcsin(_f("negative", b), a, is_wide)
    return im, _f("negative", re)


def _arccos_parts(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """The angle, and the size of the imaginary part."""
    x, y, more = _brought_nearer(a, b, is_wide)
    (p, q), (r, s) = _roots(x, y)
    angle = _times(_angle(r, p), _n(2.0))
    size = _f(
        "add", _f("arcsinh", _f("absolute", _f("subtract", _times(q, r), _times(p, s)))), more
    )
    size = _where(_infinite(a, b), _n(math.inf), size)
    diagonal = _where(_test("signbit", a), _n(0.75 * math.pi), _n(0.25 * math.pi))
    upright = _where(_test("isinf", a), diagonal, _n(math.pi / 2))
    angle = _where(_test("isinf", b), upright, angle)
    angle = _where(_test("isnan", a), a, angle)
    return _where(_is(a, 0.0), _n(math.pi / 2), angle), _where(
        _is_tiny(a, b), _f("absolute", b), size
    )


def _arccos(a: Expr, b: Expr, is_wide: bool) -> Pair:
    angle, size = _arccos_parts(a, b, is_wide)
    # In this order, since a GPU does not keep the sign of a NaN where it negates one.
    return angle, _f("negative", _f("copysign", size, b))


def _arccosh(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """i arccos(z) or -i arccos(z), whichever has a real part that is not negative."""
    angle, size = _arccos_parts(a, b, is_wide)
    return size, _f("copysign", angle, b)


def _arctanh(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """log1p(4 x / ((1 - x)^2 + y^2)) / 4 and half the angle of (1 - x) (1 + x) - y^2 + 2 i y."""
    x, y = _f("absolute", a), _f("absolute", b)
    far = _test("greater", _f("maximum", x, y), _n(_FAR))
    u, v = _where(far, _n(2.0), x), _where(far, _n(0.0), y)
    below, square = _f("subtract", _n(1.0), u), _times(v, v)
    quotient = _f("divide", _times(u, _n(4.0)), _f("add", _times(below, below), square))
    re = _times(_f("log1p", quotient), _n(0.25))
    difference = _f("subtract", _times(below, _f("add", _n(1.0), u)), square)
    im = _times(_angle(difference, _times(v, _n(2.0))), _n(0.5))
    if is_wide:
        # The square of y has no bits left beside a pole.
        beside = _both(_is(x, 1.0), _test("less", y, _n(2.0**-500)))
        pole = _times(_f("subtract", _n(math.log(2)), _f("log", y)), _n(0.5))
        re = _where(beside, pole, re)
        # 1 / z, whose real part is x / (x^2 + y^2).
        shorter, other = _times(x, _n(2.0**-600)), _times(y, _n(2.0**-600))
        length = _f("add", _times(shorter, shorter), _times(other, other))
        inverse = _times(_f("divide", shorter, length), _n(2.0**-600))
        re = _where(far, inverse, re)
    re = _where(_infinite(a, b), _n(0.0), re)
    im = _where(_test("logical_or", far, _test("isinf", b)), _n(math.pi / 2), im)
    im = _where(_test("isnan", b), b, im)
    re = _where(_is(a, 0.0), _n(0.0), re)
    return _f("copysign", re, a), _f("copysign", im, b)


def _arctan(a: Expr, b: Expr, is_wide: bool) -> Pair:
    """arctanh(i z) / i."""
    re, im = _arctanh(_f("negative", b), a, is_wide)
    return im, _f("negative", re)


_RULES: dict[str, Rule] = {
    "sqrt": _sqrt,
    "log": _log,
    "log2": _log_in_base(2.0),
    "log10": _log_in_base(10.0),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "arcsin": _arcsin,
    "arccos": _arccos,
    "arcsinh": _arcsinh,
    "arccosh": _arccosh,
    "arctan": _arctan,
    "arctanh": _arctanh,
}
#: Op name -> its rule: (dtype of the parts, operands) -> element.
COMPLEX_FUNCTIONS = {name: _over_doubles(rule) for name, rule in _RULES.items()}

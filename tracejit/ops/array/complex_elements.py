"""Complex arithmetic by parts: pairs of real expressions in, a pair or a real expression out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.kernel import Call, Const, Expr, Var
from tracejit.ir.types import DTYPES, dtype_name

__all__ = [
    "COMPLEX_RULES",
    "SEVERAL_FORMULAS",
    "Element",
    "Pair",
    "fused_product",
    "is_nan",
    "on_values",
    "parts_dtype",
    "real",
    "scaled_absolute",
]

#: The parts of a complex number.
PARTS = ("real", "imag")
#: Ops that NumPy computes by another formula in some of its loops: `numpy_formulas` has those.
SEVERAL_FORMULAS = frozenset({"multiply", "square", "absolute"})

Pair: TypeAlias = tuple[Expr, Expr]
Element: TypeAlias = "Expr | Pair"


def parts_dtype(name: str) -> str:
    """The real dtype of the parts of a complex dtype, by name; a real dtype is its own."""
    return {"c64": "f32", "c128": "f64"}.get(name, name)


def real(name: str, dtype: str, *args: Expr) -> Expr:
    """A kernel function of real expressions."""
    return Call(name, args, dtype)


def _c_add(d: str, args: tuple[Pair, ...]) -> Element:
    (a, b), (c, e) = args
    return real("add", d, a, c), real("add", d, b, e)


def _c_subtract(d: str, args: tuple[Pair, ...]) -> Element:
    (a, b), (c, e) = args
    return real("subtract", d, a, c), real("subtract", d, b, e)


def _c_multiply(d: str, args: tuple[Pair, ...]) -> Element:
    (a, b), (c, e) = args
    re = real("subtract", d, real("multiply", d, a, c), real("multiply", d, b, e))
    im = real("add", d, real("multiply", d, a, e), real("multiply", d, b, c))
    return re, im


def _c_divide(d: str, args: tuple[Pair, ...]) -> Element:
    """Smith's method (Algorithm 116, CACM 1962), the one NumPy uses."""
    (a, b), (c, e) = args
    by_real = real("greater_equal", "b1", real("absolute", d, c), real("absolute", d, e))
    big, small = real("select", d, by_real, c, e), real("select", d, by_real, e, c)
    one = Const(1.0, d)
    zero = real("equal", "b1", big, Const(0.0, d))
    ratio = real("divide", d, small, big)
    scale = real("divide", d, one, real("add", d, big, real("multiply", d, small, ratio)))
    x, y = real("select", d, by_real, a, b), real("select", d, by_real, b, a)
    re = real("multiply", d, real("add", d, x, real("multiply", d, y, ratio)), scale)
    direct = real("subtract", d, b, real("multiply", d, a, ratio))
    swapped = real("subtract", d, real("multiply", d, b, ratio), a)
    im = real("multiply", d, real("select", d, by_real, direct, swapped), scale)
    by_zero = (
        real("divide", d, a, real("absolute", d, c)),
        real("divide", d, b, real("absolute", d, c)),
    )
    return real("select", d, zero, by_zero[0], re), real("select", d, zero, by_zero[1], im)


def _c_equal(d: str, args: tuple[Pair, ...]) -> Element:
    (a, b), (c, e) = args
    return real("logical_and", "b1", real("equal", "b1", a, c), real("equal", "b1", b, e))


def _c_not_equal(d: str, args: tuple[Pair, ...]) -> Element:
    (a, b), (c, e) = args
    return real("logical_or", "b1", real("not_equal", "b1", a, c), real("not_equal", "b1", b, e))


def _c_negative(d: str, args: tuple[Pair, ...]) -> Element:
    ((a, b),) = args
    return real("negative", d, a), real("negative", d, b)


def _c_conjugate(d: str, args: tuple[Pair, ...]) -> Element:
    ((a, b),) = args
    return a, real("negative", d, b)


def _c_absolute(d: str, args: tuple[Pair, ...]) -> Element:
    """C's hypot: of float32 the root of the squares' sum in float64, as the C libraries have it."""
    ((a, b),) = args
    if d == "f64":
        return real("libm_hypot", d, a, b)
    infinite = (real("isinf", "b1", part) for part in (a, b))
    squares = [real("square", "f64", real("cast", "f64", part)) for part in (a, b)]
    root = real("cast", d, real("sqrt", "f64", real("add", "f64", *squares)))
    return real("select", d, real("logical_or", "b1", *infinite), Const(math.inf, d), root)


def _c_square(d: str, args: tuple[Pair, ...]) -> Element:
    (a,) = args
    return _c_multiply(d, (a, a))


def is_nan(d: str, x: Pair) -> Expr:
    """Whether either part is NaN."""
    return real("logical_or", "b1", real("isnan", "b1", x[0]), real("isnan", "b1", x[1]))


def _c_isnan(d: str, args: tuple[Pair, ...]) -> Element:
    return is_nan(d, args[0])


def _c_isinf(d: str, args: tuple[Pair, ...]) -> Element:
    ((a, b),) = args
    return real("logical_or", "b1", real("isinf", "b1", a), real("isinf", "b1", b))


def _c_isfinite(d: str, args: tuple[Pair, ...]) -> Element:
    ((a, b),) = args
    return real("logical_and", "b1", real("isfinite", "b1", a), real("isfinite", "b1", b))


def _c_positive(d: str, args: tuple[Pair, ...]) -> Element:
    (a,) = args
    return a


def _c_reciprocal(d: str, args: tuple[Pair, ...]) -> Element:
    """Smith's method with a numerator of one."""
    ((a, b),) = args
    by_real = real("less_equal", "b1", real("absolute", d, b), real("absolute", d, a))
    big, small = real("select", d, by_real, a, b), real("select", d, by_real, b, a)
    ratio = real("divide", d, small, big)
    scale = real("add", d, big, real("multiply", d, small, ratio))
    one = real("divide", d, Const(1.0, d), scale)
    rest = real("divide", d, ratio, scale)
    minus_rest = real("divide", d, real("negative", d, ratio), scale)
    minus_one = real("divide", d, Const(-1.0, d), scale)
    return real("select", d, by_real, one, rest), real("select", d, by_real, minus_rest, minus_one)


def _ordered(strict: str, last: str) -> Callable[..., Element]:
    """NumPy's order: by the real parts, then by the imaginary ones, of which none may be NaN."""

    def rule(d: str, args: tuple[Pair, ...]) -> Element:
        (a, b), (c, e) = args
        # A number equals itself.
        numbers = real("logical_and", "b1", real("equal", "b1", b, b), real("equal", "b1", e, e))
        first = real("logical_and", "b1", real(strict, "b1", a, c), numbers)
        second = real("logical_and", "b1", real("equal", "b1", a, c), real(last, "b1", b, e))
        return real("logical_or", "b1", first, second)

    return rule


def _extreme(name: str, over_nan: bool) -> Callable[..., Element]:
    """The first operand where it is not beyond the second in NumPy's order, else the second.

    The first, too, where it is NaN; with `over_nan` where the second is.
    """

    def rule(d: str, args: tuple[Pair, ...]) -> Element:
        x, y = args
        in_order = COMPLEX_RULES[name](d, args)
        assert not isinstance(in_order, tuple)
        first = real("logical_or", "b1", in_order, is_nan(d, y if over_nan else x))
        return real("select", d, first, x[0], y[0]), real("select", d, first, x[1], y[1])

    return rule


def _c_rint(d: str, args: tuple[Pair, ...]) -> Element:
    ((a, b),) = args
    return real("rint", d, a), real("rint", d, b)


def _c_sign(d: str, args: tuple[Pair, ...]) -> Element:
    """z / |z|; 0 for 0, NaN for two infinite parts.

    Where |z| is infinite, 1 or -1 in the place of the real part if that is, else of the other.
    """
    ((a, b),) = args
    size = _c_absolute(d, args)
    assert not isinstance(size, tuple)
    zero, none, one = (Const(value, d) for value in (0.0, math.nan, 1.0))
    endless = real("isinf", "b1", size)
    real_is, imag_is = (real("isinf", "b1", part) for part in (a, b))
    lost = real("logical_and", "b1", real_is, imag_is)
    out = []
    for part, own in ((a, real_is), (b, real("logical_not", "b1", real_is))):
        unit = real("select", d, own, real("copysign", d, one, part), zero)
        quotient = real("divide", d, part, size)
        quotient = real("select", d, real("equal", "b1", size, zero), zero, quotient)
        value = real("select", d, endless, unit, quotient)
        value = real("select", d, real("isnan", "b1", size), none, value)
        out.append(real("select", d, lost, none, value))
    return out[0], out[1]


#: Beyond this real part the exponential is taken in factors, as it may overflow by itself.
_LARGE = {"f32": 88.0, "f64": 709.0}


def _c_exp(d: str, args: tuple[Pair, ...]) -> Element:
    """exp(a) (cos(b) + i sin(b)), with the special values of C99, annex G.6.3.1."""
    ((a, b),) = args
    limit, factor = Const(_LARGE[d], d), Const(math.exp(_LARGE[d]), d)
    rest, scales = a, []
    for _ in range(2):
        large = real("greater", "b1", rest, limit)
        rest = real("select", d, large, real("subtract", d, rest, limit), rest)
        scales.append(real("select", d, large, factor, Const(1.0, d)))
    size = real("exp", d, rest)
    zero, infinity = Const(0.0, d), Const(float("inf"), d)
    endless = real("logical_not", "b1", real("isfinite", "b1", b))
    up = real("logical_and", "b1", real("equal", "b1", a, infinity), endless)
    minus = Const(float("-inf"), d)
    down = real("logical_and", "b1", real("equal", "b1", a, minus), endless)
    re = real("multiply", d, size, real("cos", d, b))
    im = real("multiply", d, size, real("sin", d, b))
    for scale in scales:
        re, im = real("multiply", d, re, scale), real("multiply", d, im, scale)
    re = real("select", d, up, infinity, real("select", d, down, zero, re))
    im = real("select", d, down, real("copysign", d, zero, b), im)
    return re, real("select", d, real("equal", "b1", b, zero), b, im)


def _c_exp2(d: str, args: tuple[Pair, ...]) -> Element:
    """exp(log(2) z), as NumPy rounds it."""
    ((a, b),) = args
    factor = Const(float(DTYPES[d].type(math.log(2))), d)
    return _c_exp(d, ((real("multiply", d, a, factor), real("multiply", d, b, factor)),))


def fused_product(d: str, args: tuple[Pair, ...]) -> Element:
    """The product where each part is one rounded product in one fused operation."""
    (a, b), (c, e) = args
    re = real("fma", d, a, c, real("negative", d, real("multiply", d, b, e)))
    return re, real("fma", d, a, e, real("multiply", d, b, c))


def scaled_absolute(fused: bool) -> Callable[..., Element]:
    """The larger part times sqrt(1 + r * r) for the quotient r of the parts, `fused` or not."""

    def rule(d: str, args: tuple[Pair, ...]) -> Element:
        ((a, b),) = args
        a, b = real("absolute", d, a), real("absolute", d, b)
        zero, one, infinity = (Const(x, d) for x in (0.0, 1.0, math.inf))
        larger, smaller = real("maximum", d, a, b), real("minimum", d, a, b)
        ratio = real("divide", d, smaller, larger)
        # 0 / 0 is as 0 here.
        ratio = real("select", d, real("equal", "b1", larger, zero), zero, ratio)
        square = real("multiply", d, ratio, ratio)
        total = real("fma", d, ratio, ratio, one) if fused else real("add", d, square, one)
        size = real("multiply", d, real("sqrt", d, total), larger)
        # An infinite part counts more than a NaN.
        infinite = (real("equal", "b1", x, infinity) for x in (a, b))
        return real("select", d, real("logical_or", "b1", *infinite), infinity, size)

    return rule


def on_values(rule: Callable[..., Element], inputs: Sequence[Any]) -> Any:
    """What a rule gives for complex NumPy arrays or scalars: its expressions, function by function.

    Arrays keep the memory order of the first.
    """

    from tracejit.ir.fma import fma

    part = dtype_name(inputs[0].real.dtype)
    values = {f"{k}.{name}": getattr(x, name) for k, x in enumerate(inputs) for name in PARTS}
    operands = tuple(tuple(Var(f"{k}.{p}", part) for p in PARTS) for k in range(len(inputs)))

    def value(e: Expr) -> Any:
        match e:
            case Const(number, kind):
                return DTYPES[kind].type(number)
            case Var(name):
                return values[name]
            case Call("select", args):
                return np.where(*map(value, args))
            case Call("cast", (a,), kind):
                return value(a).astype(DTYPES[kind])
            case Call("fma", args):
                return fma(*map(value, args))
            case Call("libm_hypot", args):
                return np.hypot(*map(value, args))  # NumPy's is the C library's.
            case Call(name, args):
                return getattr(np, name)(*map(value, args))
        raise NotImplementedError(f"{e} in a rule of complex numbers")

    element = rule(part, operands)
    whole = isinstance(element, tuple)
    out = np.empty_like(inputs[0], dtype=inputs[0].dtype if whole else DTYPES[part])
    with np.errstate(all="ignore"):
        if isinstance(element, tuple):
            out.real, out.imag = map(value, element)
        else:
            out[...] = value(element)
    return out if isinstance(inputs[0], np.ndarray) else out[()]


#: Op name -> its rule: (dtype of the parts, operands) -> element.
COMPLEX_RULES: dict[str, Callable[..., Element]] = {
    "add": _c_add,
    "subtract": _c_subtract,
    "multiply": _c_multiply,
    "divide": _c_divide,
    "equal": _c_equal,
    "not_equal": _c_not_equal,
    "negative": _c_negative,
    "conjugate": _c_conjugate,
    "absolute": _c_absolute,
    "square": _c_square,
    "isnan": _c_isnan,
    "isinf": _c_isinf,
    "isfinite": _c_isfinite,
    "positive": _c_positive,
    "reciprocal": _c_reciprocal,
    "less": _ordered("less", "less"),
    "less_equal": _ordered("less", "less_equal"),
    "greater": _ordered("greater", "greater"),
    "greater_equal": _ordered("greater", "greater_equal"),
    "maximum": _extreme("greater_equal", over_nan=False),
    "minimum": _extreme("less_equal", over_nan=False),
    "fmax": _extreme("greater_equal", over_nan=True),
    "fmin": _extreme("less_equal", over_nan=True),
    "rint": _c_rint,
    "sign": _c_sign,
    "exp": _c_exp,
    "exp2": _c_exp2,
}

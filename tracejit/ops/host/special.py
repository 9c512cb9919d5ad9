"""Functions of scipy.special, and NumPy's sinc, that kernels compute: elementwise ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import OPS, Op, register, require
from tracejit.ir.types import DTYPES
from tracejit.ops.array.elementwise import Elementwise, ImportedUfunc, edge_values
from tracejit.ops.rules.partials import Partial

__all__ = ["SpecialFunction", "special_op"]


class _Rules:
    """The partial derivatives, which calls of the function have as well."""

    def __get__(self, op: Op | None, owner: type[Op]) -> tuple[Partial, ...]:
        from tracejit.ops.host.derivatives.partials import ELEMENTWISE

        module = "numpy" if owner.numpy is np.sinc else "scipy.special"
        return ELEMENTWISE[f"{module}:{owner.name}"]


class SpecialFunction(Elementwise):
    """A ufunc of scipy.special on real f32 and f64; complex numbers are for SciPy."""

    numpy = ImportedUfunc("scipy.special")
    native_on = ("f32", "f64")
    takes_complex = False
    partials: ClassVar[Any] = _Rules()

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        real = dtypes[0] in (DTYPES["f32"], DTYPES["f64"]) and len(set(dtypes)) == 1
        require(real, f"{self.name}: operands must be f32 or f64")
        return dtypes[0]

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [
            ([edge_values(DTYPES[d], k) for k in range(self.arity)], {}) for d in ("f32", "f64")
        ]


@register
class Sinc(SpecialFunction):
    """sin(pi x) / (pi x), as NumPy computes it, with its roundings."""

    name = "sinc"
    numpy = np.sinc
    parity = "ulp(3)"
    work = 20.0

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return np.sinc(*inputs)

    @staticmethod
    def formula(dtype: str, x: Expr) -> Expr:
        info = np.finfo(DTYPES[dtype])
        y = Call("multiply", (Const(float(info.dtype.type(np.pi)), dtype), x), dtype)
        regular = Call("not_equal", (y, Const(0.0, dtype)), "b1")
        y = Call("select", (regular, y, Const(float(info.eps), dtype)), dtype)
        return Call("divide", (Call("sin", (y,), dtype), y), dtype)


def _where_zero(x: Expr, y: Expr, value: Expr) -> Expr:
    """`value`, but 0 where x is 0 and y is no NaN."""
    dtype, zero = x.dtype, Const(0.0, x.dtype)
    skips = Call("equal", (x, zero), "b1"), Call("equal", (y, y), "b1")
    return Call("select", (Call("logical_and", skips, "b1"), zero, value), dtype)


def _xlogy(dtype: str, x: Expr, y: Expr) -> Expr:
    return _where_zero(x, y, Call("multiply", (x, Call("log", (y,), dtype)), dtype))


def _xlog1py(dtype: str, x: Expr, y: Expr) -> Expr:
    return _where_zero(x, y, Call("multiply", (x, Call("log1p", (y,), dtype)), dtype))


def _entr(dtype: str, x: Expr) -> Expr:
    product = Call("multiply", (x, Call("log", (x,), dtype)), dtype)
    value = _where_zero(x, x, Call("negative", (product,), dtype))
    below = Call("less", (x, Const(0.0, dtype)), "b1")
    return Call("select", (below, Const(-math.inf, dtype), value), dtype)


def _rel_entr(dtype: str, x: Expr, y: Expr) -> Expr:
    """By a logarithm that is exact where x is near y, and does not overflow, as SciPy's."""

    def f(name: str, *args: Expr) -> Expr:
        return Call(name, args, dtype)

    def test(name: str, a: Expr, b: Expr | float) -> Expr:
        return Call(name, (a, b if isinstance(b, Expr) else Const(b, dtype)), "b1")

    def both(a: Expr, b: Expr) -> Expr:
        return Call("logical_and", (a, b), "b1")

    ratio = f("divide", x, y)
    tiny = float(np.finfo(DTYPES[dtype]).tiny)
    normal = both(test("greater", ratio, tiny), test("less", ratio, math.inf))
    log = f("select", normal, f("log", ratio), f("subtract", f("log", x), f("log", y)))
    near = both(test("greater", ratio, 0.5), test("less", ratio, 2.0))
    log = f("select", near, f("log1p", f("divide", f("subtract", x, y), y)), log)
    inside = both(test("greater", x, 0.0), test("greater", y, 0.0))
    zero = both(test("equal", x, 0.0), test("greater_equal", y, 0.0))
    beyond = f("select", zero, Const(0.0, dtype), Const(math.inf, dtype))
    value = f("select", inside, f("multiply", x, log), beyond)
    number = both(test("equal", x, x), test("equal", y, y))
    return f("select", number, value, f("add", x, y))


def _instead(where: Callable[..., Any], value: Callable[..., Any]) -> Callable[..., Any]:
    """What an op computes where SciPy has no right value: infinity for some subnormal numbers."""

    def compute(op: SpecialFunction, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        (x,) = inputs
        given = where(x)
        out = np.where(given, value(np.where(given, x, 0.5)), op.numpy(x)).astype(x.dtype)
        return out if isinstance(x, np.ndarray) else out[()]

    return compute


def _divergence(op: SpecialFunction, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """By the relative entropy where SciPy's x / y overflows or vanishes."""
    from scipy.special import rel_entr

    x, y = inputs
    inside = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
    out = np.where(inside, rel_entr(x, y) - x + y, op.numpy(x, y)).astype(x.dtype)
    return out if isinstance(x, np.ndarray) else out[()]


def _special(
    name: str, doc: str, *, parity: str = "ulp(4)", work: float = 40.0, **more: Any
) -> None:
    """Define and register the op of a function, of whose name kernels have a function."""
    body = {"__doc__": doc, "name": name, "parity": parity, "work": work, **more}
    register(type(name.title(), (SpecialFunction,), body))


def special_op(name: str) -> SpecialFunction | None:
    """The op of a function."""
    op = OPS.get(name)
    return op if isinstance(op, SpecialFunction) else None


def _quantile_of_log(x: Any) -> Any:
    from scipy.special import ndtri_exp

    return ndtri_exp(x)


_special("erf", "The error function.", parity="ulp(3)", work=20.0)
_special("erfc", "The complementary error function, 1 - erf(x).")
_special("erfcx", "The scaled complementary error function, exp(x * x) * erfc(x).")
_special("erfinv", "The inverse of the error function.")
_special(
    "erfcinv",
    "The inverse of the complementary error function.",
    compute=_instead(
        lambda x: (x > 0) & (x < 1e-300),
        lambda x: _quantile_of_log(np.log(x) - math.log(2)) * -math.sqrt(0.5),
    ),
)
_special("expit", "The logistic function, 1 / (1 + exp(-x)).", work=20.0)
_special("log_expit", "The logarithm of the logistic function.")
_special("logit", "The inverse of the logistic function, log(x / (1 - x)).")
_special("ndtr", "The distribution function of the standard normal distribution.")
_special("log_ndtr", "The logarithm of the distribution function of the normal distribution.")
_special("ndtri", "The quantiles of the standard normal distribution.")
_special("xlogy", "x * log(y), and 0 for x = 0.", arity=2, formula=staticmethod(_xlogy))
_special("xlog1py", "x * log(1 + y), and 0 for x = 0.", arity=2, formula=staticmethod(_xlog1py))
_special("entr", "The entropy of an element, -x * log(x).", formula=staticmethod(_entr))
_special(
    "rel_entr",
    "The relative entropy of two elements, x * log(x / y).",
    arity=2,
    formula=staticmethod(_rel_entr),
)
_special(
    "kl_div",
    "The Kullback-Leibler divergence of two elements, x * log(x / y) - x + y.",
    arity=2,
    parity="ulp(8)",
    compute=_divergence,
)
_special("gamma", "The gamma function.", parity="ulp(6)", work=100.0)
_special(
    "gammaln",
    "The logarithm of the gamma function's absolute value.",
    parity="ulp(8)",
    compute=_instead(lambda x: (x != 0) & (np.abs(x) < 1e-300), lambda x: -np.log(np.abs(x))),
)
_special("psi", "The digamma function, the derivative of log(gamma(x)).", parity="ulp(8)")
_special("i0", "The modified Bessel function of order 0.")
_special("i0e", "The modified Bessel function of order 0, times exp(-|x|).")
_special("i1", "The modified Bessel function of order 1.", parity="ulp(16)")
_special("i1e", "The modified Bessel function of order 1, times exp(-|x|).", parity="ulp(16)")
_special("j0", "The Bessel function of order 0.", parity="ulp(8)")
_special("j1", "The Bessel function of order 1.", parity="ulp(8)")
_special("y0", "The Bessel function of the second kind of order 0.", parity="ulp(8)")
_special("y1", "The Bessel function of the second kind of order 1.", parity="ulp(8)")

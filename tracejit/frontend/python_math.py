"""Arithmetic on Python numbers in a traced program: builtins, and the modules math and operator.

`NUMBER_CALLS` maps each function to what a call of it does, as (hooks, *args, **kwargs) -> result.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.operators import has_traced, require_known, require_plain
from tracejit.frontend.shapes import SymInt
from tracejit.frontend.tracer import TracedArray, TracedScalar, Tracer, here, lift, user_line
from tracejit.ir.types import PyScalar, dtype_of

if TYPE_CHECKING:
    from tracejit.frontend.hooks import Hooks

__all__ = ["NUMBER_CALLS", "python_number"]


# Numbers -----------------------------------------------------------------------------------------


def python_number(x: Any, kind: str) -> Any:
    """float(x), int(x), complex(x) or bool(x) of a traced number, 0-d array or size."""
    trace = here()
    if isinstance(x, SymInt):
        if kind == "int":
            return x
        x = lift(x)
    if isinstance(x, TracedArray):
        if x.ndim:
            raise TraceError("TJ004", f"{kind}() of an array", user_line())
        x = trace.wrap(trace.emit("element", (x.value(),)))
    if isinstance(x.type, PyScalar) and x.type.kind == kind:
        return x
    if dtype_of(x.type).kind == "c" and kind in ("int", "float"):
        raise TypeError(f"{kind}() argument must be a real number, not 'complex'")
    return trace.wrap(trace.emit("py_scalar", (x.value(),), kind=kind))


def _number(cls: Any) -> Callable[..., Any]:
    def run(hooks: Hooks, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (Tracer, SymInt)):
            return python_number(args[0], cls.__name__)
        require_plain([*args, *kwargs.values()], f"{cls.__name__}()")
        return cls(*args, **kwargs)

    return run


def _bool(hooks: Hooks, x: Any = False) -> Any:
    return hooks.truth_of(x)


def _abs(hooks: Hooks, x: Any) -> Any:
    return hooks.unary("abs", x)


def _round(hooks: Hooks, x: Any, ndigits: Any = None) -> Any:
    if isinstance(x, SymInt) and ndigits is None:
        return x
    require_plain([x, ndigits], "round()")
    return round(x, ndigits)


def _pow(hooks: Hooks, x: Any, y: Any, mod: Any = None) -> Any:
    if mod is None:
        return hooks.binary("pow", x, y)
    require_plain([x, y, mod], "pow()")
    return pow(x, y, mod)


def _divmod(hooks: Hooks, x: Any, y: Any) -> Any:
    if isinstance(x, Tracer) or isinstance(y, Tracer):
        if any(isinstance(v, TracedScalar) and v.is_python for v in (x, y)):
            return hooks.binary("floordiv", x, y), hooks.binary("mod", x, y)
        require_known([x, y], "an operand")
        return divmod(x, y)
    return hooks.binary("floordiv", x, y), hooks.binary("mod", x, y)


def _plain(f: Any) -> Callable[..., Any]:
    """A function that runs on values known while tracing; a size is then known, under a guard."""

    def run(hooks: Hooks, *args: Any, **kwargs: Any) -> Any:
        given = [int(a) if isinstance(a, SymInt) else a for a in args]
        if any(isinstance(a, Tracer) for a in given):
            raise TraceError("TJ002", f"{f.__module__}.{f.__name__} of a traced value", user_line())
        require_plain([*given, *kwargs.values()], f"{f.__name__}()", sizes=True)
        return hooks.fresh(f(*given, **kwargs))

    return run


def _prod(hooks: Hooks, items: Any, *, start: Any = 1) -> Any:
    values = list(hooks.iterate(items))
    if not any(isinstance(v, (Tracer, SymInt)) for v in (start, *values)):
        require_plain([start, values], "math.prod()")
        return math.prod(values, start=start)
    return functools.reduce(lambda a, b: hooks.binary("mul", a, b), values, start)


# math --------------------------------------------------------------------------------------------


def _as_float64(x: Any) -> Any:
    """A real number as a traced np.float64."""
    trace = here()
    x = python_number(x, "float") if isinstance(x, (Tracer, SymInt)) else lift(float(x))
    return trace.wrap(trace.emit("np_scalar", (x.value(),), dtype="f64"))


def _math(f: Any, ufunc: Any, kind: str, domain: str) -> Callable[..., Any]:
    """A function of math by the ufunc of the same meaning, where it cannot raise.

    `domain` is "all" where it takes every number, "positive" where only sizes are known to be
    right.
    """
    plain = _plain(f)

    def run(hooks: Hooks, *args: Any) -> Any:
        if not has_traced(args):
            return plain(hooks, *args)
        if domain == "positive" and not (isinstance(args[0], SymInt) and args[0] > 0):
            raise TraceError("TJ002", f"math.{f.__name__} of a traced value", user_line())
        return python_number(ufunc(*map(_as_float64, args)), kind)

    return run


def _floor(f: Any) -> Callable[..., Any]:
    plain = _plain(f)
    return lambda hooks, x: x if isinstance(x, SymInt) else plain(hooks, x)


_MATH: dict[Any, Callable[..., Any]] = {
    **{
        f: _plain(f)
        for module in (math, cmath)
        for f in vars(module).values()
        if isinstance(f, types.BuiltinFunctionType)
    },
    **{
        f: _math(f, ufunc, kind, "all")
        for f, ufunc, kind in (
            (math.atan, np.arctan, "float"),
            (math.atan2, np.arctan2, "float"),
            (math.asinh, np.arcsinh, "float"),
            (math.tanh, np.tanh, "float"),
            (math.fabs, np.absolute, "float"),
            (math.copysign, np.copysign, "float"),
            (math.isnan, np.isnan, "bool"),
            (math.isinf, np.isinf, "bool"),
            (math.isfinite, np.isfinite, "bool"),
        )
    },
    **{
        f: _math(f, ufunc, "float", "positive")
        for f, ufunc in (
            (math.sqrt, np.sqrt),
            (math.log2, np.log2),
            (math.log10, np.log10),
        )
    },
    **{f: _floor(f) for f in (math.floor, math.ceil, math.trunc)},
    math.prod: _prod,
}

# operator ----------------------------------------------------------------------------------------

_BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split()
_COMPARISONS = "lt le gt ge eq ne is_ is_not".split()


def _named(hook: str, name: str) -> Callable[..., Any]:
    return lambda hooks, *args: getattr(hooks, hook)(name, *args)


_OPERATOR: dict[Any, Callable[..., Any]] = {
    **{getattr(operator, n): _named("binary", n) for n in _BINARY},
    **{
        getattr(operator, "i" + n.rstrip("_")): _named("in_place", "i" + n.rstrip("_"))
        for n in _BINARY
    },
    **{getattr(operator, n): _named("compare", n) for n in _COMPARISONS},
    **{getattr(operator, n): _named("unary", n) for n in ("neg", "pos", "invert")},
    operator.abs: _abs,
    operator.contains: lambda hooks, a, b: hooks.compare("contains", b, a),
    operator.getitem: lambda hooks, a, k: hooks.item(a, k),
    operator.setitem: lambda hooks, a, k, v: hooks.store_item(v, a, k),
    operator.delitem: lambda hooks, a, k: hooks.delete_item(a, k),
}

NUMBER_CALLS: dict[Any, Callable[..., Any]] = {
    **_MATH,
    **_OPERATOR,
    **{
        getattr(builtins, n): _plain(getattr(builtins, n))
        for n in "ascii bin bytes chr hex oct ord".split()
    },
    int: _number(int),
    float: _number(float),
    complex: _number(complex),
    bool: _bool,
    abs: _abs,
    round: _round,
    pow: _pow,
    divmod: _divmod,
}

"""Arithmetic on Python numbers in a traced program: builtins, and the modules math and operator.

`NUMBER_CALLS` maps each function to what a call of it does, as (interpreter, *args, **kwargs) ->
result.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.python import failures
from tracejit.frontend.tracing.checks import (
    class_of,
    has_traced,
    refuse_index,
    require_known,
    require_plain,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.frontend.tracing.union import Union
from tracejit.ir.op import OPS
from tracejit.ir.types import PYBOOL, PYCOMPLEX, PYINT, PyScalar, dtype_of
from tracejit.ops.python.math import MATH_OPS
from tracejit.ops.python.rounding import MAX_DIGITS

__all__ = [
    "NUMBER_CALLS",
    "OPERATOR_CALLS",
    "integer_operand",
    "on_numbers",
    "python_number",
    "real_operand",
]


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
        x = wrap(trace, trace.emit("element", (x.value(),)))
    if isinstance(x.type, PyScalar) and x.type.kind == kind:
        return x
    if dtype_of(x.type).kind == "c" and kind in ("int", "float"):
        if not isinstance(x.type, PyScalar):
            raise TraceError("TJ004", f"{kind}() of a complex number of NumPy", user_line())
        raise TypeError(f"{kind}() argument must be a real number, not 'complex'")
    return wrap(trace, trace.emit("py_scalar", (x.value(),), kind=kind))


def _number(cls: Any) -> Callable[..., Any]:
    def run(interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (Tracer, SymInt)):
            return python_number(args[0], cls.__name__)
        require_plain([*args, *kwargs.values()], f"{cls.__name__}()")
        return cls(*args, **kwargs)

    return run


def _bool(interpreter: Interpreter, x: Any = False) -> Any:
    return interpreter.truth_of(x)


def _abs(interpreter: Interpreter, x: Any) -> Any:
    return interpreter.unary("abs", x)


def _complex(interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
    if len(args) + len(kwargs) < 2 or not has_traced([*args, *kwargs.values()]):
        return _number(complex)(interpreter, *args, **kwargs)
    parts = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    if len(parts) != 2:
        raise TypeError("complex() takes at most 2 arguments")
    if any(issubclass(class_of(x), (complex, np.complexfloating)) for x in parts.values()):
        raise TraceError("TJ004", "complex() of two numbers, one of them complex", user_line())
    return _emit("py_complex", real_operand(parts["real"]), real_operand(parts["imag"]))


def _round(interpreter: Interpreter, number: Any, ndigits: Any = None) -> Any:
    x = number
    if isinstance(x, Union):
        return interpreter.on_unions(lambda settled: _round(interpreter, settled, ndigits), x)
    if isinstance(x, SymInt) and ndigits is None:
        return x
    if not isinstance(x, Tracer):
        require_plain([x, ndigits], "round()")
        return round(x, ndigits)
    cls = class_of(x)
    if isinstance(x, TracedArray) or issubclass(cls, (complex, np.complexfloating)):
        raise TypeError(f"type {cls.__name__} doesn't define __round__ method")
    if ndigits is None:
        return _emit(
            "py_round",
            real_operand(x) if issubclass(cls, (float, np.floating)) else integer_operand(x),
        )
    require_plain(ndigits, "the digits of round()", sizes=True)
    digits = operator.index(ndigits)
    if not isinstance(x.type, PyScalar):
        return interpreter.call(interpreter.attribute(x, "round"), digits)
    if cls is not float and digits >= 0:
        return interpreter.binary("add", x, 0)
    if cls is not float or not 0 <= digits <= MAX_DIGITS:
        raise TraceError("TJ004", f"round() to {digits} digits", user_line())
    return _emit("py_round_to", x, digits=digits)


def _pow(interpreter: Interpreter, base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return interpreter.binary("pow", base, exp)
    require_plain([base, exp, mod], "pow()")
    return pow(base, exp, mod)


def _divmod(interpreter: Interpreter, x: Any, y: Any) -> Any:
    if isinstance(x, Tracer) or isinstance(y, Tracer):
        if any(isinstance(v, TracedScalar) and v.is_python for v in (x, y)):
            return interpreter.binary("floordiv", x, y), interpreter.binary("mod", x, y)
        require_known([x, y], "an operand")
        return divmod(x, y)
    return interpreter.binary("floordiv", x, y), interpreter.binary("mod", x, y)


def _plain(f: Any) -> Callable[..., Any]:
    """A function that runs on values known while tracing; a size is then known, under a guard."""

    def run(interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        given = [int(a) if isinstance(a, SymInt) else a for a in args]
        if any(isinstance(a, Tracer) for a in given):
            raise TraceError("TJ002", f"{f.__module__}.{f.__name__} of a traced value", user_line())
        require_plain([*given, *kwargs.values()], f"{f.__name__}()", sizes=True)
        return interpreter.fresh(f(*given, **kwargs))

    return run


def _prod(interpreter: Interpreter, items: Any, *, start: Any = 1) -> Any:
    values = list(interpreter.iterate(items))
    if not any(isinstance(v, (Tracer, SymInt)) for v in (start, *values)):
        require_plain([start, values], "math.prod()")
        return math.prod(values, start=start)
    return functools.reduce(lambda a, b: interpreter.binary("mul", a, b), values, start)


# math --------------------------------------------------------------------------------------------


def _emit(op: str, *values: Any, **attrs: Any) -> Any:
    trace = here()
    return wrap(trace, trace.emit(op, [v.value() for v in values], **attrs))


def real_operand(x: Any) -> Any:
    """An operand of math as a traced Python number: NumPy's numbers are floats first."""
    if isinstance(x, TracedScalar) and x.is_python:
        if x.type == PYCOMPLEX:
            raise TypeError("must be real number, not complex")
        return x
    if isinstance(x, TracedArray) or isinstance(x, TracedScalar):
        return python_number(x, "float")
    if isinstance(x, SymInt):
        return lift(x)
    if isinstance(x, (complex, np.complexfloating)) or not isinstance(x, (int, float, np.generic)):
        raise TraceError("TJ004", f"math with a {type(x).__name__}", user_line())
    # A float holds what CPython computes with; it raises OverflowError for a huge int.
    return lift(float(x))


def integer_operand(x: Any) -> Any:
    """An operand that must be an int, as a traced Python number."""
    if isinstance(x, TracedScalar):
        if x.type in (PYINT, PYBOOL):
            return x
        if not x.is_python and dtype_of(x.type).kind in "iu":
            return python_number(x, "int")
        refuse_index(class_of(x))
    if isinstance(x, TracedArray):
        raise TraceError("TJ004", "an array as an int", user_line())
    return lift(x if isinstance(x, SymInt) else operator.index(x))


def _index(interpreter: Interpreter, x: Any) -> Any:
    """`operator.index(x)`."""
    if isinstance(x, SymInt):
        return x
    if isinstance(x, TracedArray) and x.ndim == 0 and x.dtype.kind in "iu":
        return python_number(x, "int")
    if isinstance(x, Tracer):
        return integer_operand(x)
    require_plain(x, "operator.index()")
    return operator.index(x)


def on_numbers(f: Any, traced: Callable[..., Any]) -> Callable[..., Any]:
    """`f` where its arguments are known; of traced numbers what `traced` makes of them."""
    plain = _plain(f)

    def run(interpreter: Interpreter, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(a, Union) for a in args):
            return interpreter.on_unions(
                lambda *settled: run(interpreter, *settled, **kwargs), *args
            )
        if kwargs or not has_traced(args):
            return plain(interpreter, *args, **kwargs)
        return traced(interpreter, *args)

    return run


def _by_op(f: Any, op: str) -> Callable[..., Any]:
    count = OPS[op].arity  # type: ignore[attr-defined]

    def traced(interpreter: Interpreter, *args: Any) -> Any:
        if len(args) != count:
            raise TraceError("TJ004", f"math.{f.__name__} of {len(args)} numbers", user_line())
        numbers = list(map(real_operand, args))
        failures.domain(interpreter, f, numbers[0])
        return _emit(op, *numbers)

    return on_numbers(f, traced)


def _rounding(f: Any, op: str) -> Callable[..., Any]:
    """floor, ceil or trunc."""

    def traced(interpreter: Interpreter, x: Any) -> Any:
        if isinstance(x, SymInt):
            return x
        if f is math.trunc and class_of(x) not in (bool, int, float, np.float64):
            raise TypeError(f"type {class_of(x).__name__} doesn't define __trunc__ method")
        return _emit(op, real_operand(x))

    return on_numbers(f, traced)


def _log(interpreter: Interpreter, x: Any, *base: Any) -> Any:
    number = real_operand(x)
    failures.domain(interpreter, math.log, number)
    log = _emit("py_log", number)
    if len(base) > 1:
        raise TypeError(f"log expected at most 2 arguments, got {1 + len(base)}")
    return (
        interpreter.binary("truediv", log, _emit("py_log", real_operand(base[0]))) if base else log
    )


def _gcd(interpreter: Interpreter, *args: Any) -> Any:
    numbers = list(map(integer_operand, args))
    if len(numbers) == 1:
        return interpreter.unary("abs", interpreter.binary("add", numbers[0], 0))
    return functools.reduce(lambda a, b: _emit("py_gcd", a, b), numbers)


def _isclose(
    interpreter: Interpreter, a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0
) -> Any:
    if not has_traced([a, b, rel_tol, abs_tol]):
        return _plain(math.isclose)(interpreter, a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    if has_traced([rel_tol, abs_tol]):
        raise TraceError("TJ004", "a traced tolerance", user_line())
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    a, b = (python_number(real_operand(x), "float") for x in (a, b))
    away = abs(b - a)
    near = [away <= abs(rel_tol * x) for x in (a, b)] + [away <= abs_tol]
    finite = [_emit("py_isfinite", x) for x in (a, b)]
    within = functools.reduce(lambda p, q: _emit("py_or", p, q), near)
    return _emit(
        "py_or", a == b, functools.reduce(lambda p, q: _emit("py_and", p, q), [*finite, within])
    )


def _modf(interpreter: Interpreter, x: Any) -> Any:
    wide = _emit("np_scalar", python_number(real_operand(x), "float"), dtype="f64")
    return tuple(python_number(part, "float") for part in np.modf(wide))


def _phase(interpreter: Interpreter, z: Any) -> Any:
    z = python_number(z, "complex")
    return _emit("py_atan2", _emit("py_imag", z), _emit("py_real", z))


def _polar(interpreter: Interpreter, z: Any) -> Any:
    return _emit("py_abs", python_number(z, "complex")), _phase(interpreter, z)


_MATH: dict[Any, Callable[..., Any]] = {
    **{
        f: _plain(f)
        for module in (math, cmath)
        for f in vars(module).values()
        if isinstance(f, types.BuiltinFunctionType)
    },
    **{f: _by_op(f, op) for f, op in MATH_OPS.items()},
    **{f: _rounding(f, f"py_{f.__name__}") for f in (math.floor, math.ceil, math.trunc)},
    math.log: on_numbers(math.log, _log),
    math.isqrt: on_numbers(
        math.isqrt, lambda interpreter, x: _emit("py_isqrt", integer_operand(x))
    ),
    math.gcd: on_numbers(math.gcd, _gcd),
    math.modf: on_numbers(math.modf, _modf),
    math.isclose: _isclose,
    cmath.phase: on_numbers(cmath.phase, _phase),
    cmath.polar: on_numbers(cmath.polar, _polar),
    math.prod: _prod,
}

# operator ----------------------------------------------------------------------------------------

_BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split()
_COMPARISONS = "lt le gt ge eq ne is_ is_not".split()


def _named(hook: str, name: str) -> Callable[..., Any]:
    return lambda interpreter, *args: getattr(interpreter, hook)(name, *args)


_OPERATOR: dict[Any, Callable[..., Any]] = {
    **{getattr(operator, n): _named("binary", n) for n in _BINARY},
    **{
        getattr(operator, "i" + n.rstrip("_")): _named("in_place", "i" + n.rstrip("_"))
        for n in _BINARY
    },
    **{getattr(operator, n): _named("compare", n) for n in _COMPARISONS},
    **{getattr(operator, n): _named("unary", n) for n in ("neg", "pos", "invert")},
    operator.abs: _abs,
    operator.index: _index,
    operator.contains: lambda interpreter, a, b: interpreter.compare("contains", b, a),
    operator.getitem: lambda interpreter, a, k: interpreter.item(a, k),
    operator.setitem: lambda interpreter, a, k, v: interpreter.store_item(v, a, k),
    operator.delitem: lambda interpreter, a, k: interpreter.delete_item(a, k),
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
    complex: _complex,
    bool: _bool,
    abs: _abs,
    round: _round,
    pow: _pow,
    divmod: _divmod,
}

#: Those of them that are none of math and cmath.
OPERATOR_CALLS: dict[Any, Callable[..., Any]] = {
    f: call
    for f, call in NUMBER_CALLS.items()
    if getattr(f, "__module__", None) not in ("math", "cmath")
}

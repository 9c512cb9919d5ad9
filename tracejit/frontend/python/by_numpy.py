"""Functions of math and cmath on traced numbers that NumPy and SciPy have for arrays.

Where an operand or the result is no finite number, and Python may raise an exception or have a
rule of its own, Python repeats the call.
"""

from __future__ import annotations

import cmath
import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.numpy.derived import require
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.python.numbers import (
    NUMBER_CALLS,
    OPERATOR_CALLS,
    integer_operand,
    on_numbers,
    python_number,
    real_operand,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.tracer import here, lift, wrap

__all__ = ["MATH_CALLS"]


def _wide(x: Any, kind: str) -> Any:
    """A number as NumPy's of the same precision."""
    trace = here()
    dtype = {"float": "f64", "complex": "c128", "int": "i64"}[kind]
    return wrap(
        trace, trace.emit("np_scalar", (python_number(lift(x), kind).value(),), dtype=dtype)
    )


def _finite(result: Any, *operands: Any) -> Any:
    """`result`, which a run goes on with where it and the operands are finite."""
    for x in (result, *operands):
        require(elementwise(np.isfinite, (x,)))
    return result


def _by_op(op: str) -> Callable[..., Any]:
    """A function of one float, by an op on arrays."""

    def traced(interpreter: Interpreter, x: Any) -> Any:
        trace = here()
        wide = _wide(real_operand(x), "float")
        return python_number(_finite(wrap(trace, trace.emit(op, (wide.value(),)))), "float")

    return traced


def _of_complex(ufunc: np.ufunc) -> Callable[..., Any]:
    """A function of one complex number, by the ufunc that means the same."""

    def traced(interpreter: Interpreter, z: Any) -> Any:
        wide = _wide(z, "complex")
        return python_number(_finite(elementwise(ufunc, (wide,)), wide), "complex")

    return traced


def _test(ufunc: np.ufunc) -> Callable[..., Any]:
    """A question about one complex number."""
    return lambda interpreter, z: python_number(elementwise(ufunc, (_wide(z, "complex"),)), "bool")


def _ldexp(interpreter: Interpreter, x: Any, i: Any) -> Any:
    operands = _wide(real_operand(x), "float"), _wide(integer_operand(i), "int")
    return python_number(_finite(elementwise(np.ldexp, operands)), "float")


def _frexp(interpreter: Interpreter, x: Any) -> Any:
    wide = _wide(real_operand(x), "float")
    mantissa, exponent = np.frexp(_finite(wide))
    return python_number(mantissa, "float"), python_number(exponent, "int")


def _rect(interpreter: Interpreter, r: Any, phi: Any) -> Any:
    length, angle = (_finite(_wide(real_operand(x), "float")) for x in (r, phi))
    r, phi = python_number(length, "float"), python_number(angle, "float")
    parts = [interpreter.binary("mul", r, interpreter.call(f, phi)) for f in (math.cos, math.sin)]
    return interpreter.call(complex, *parts)


def _dist(interpreter: Interpreter, p: Any, q: Any) -> Any:
    first, second = (list(interpreter.iterate(x)) for x in (p, q))
    if len(first) != len(second):
        raise ValueError("both points must have the same number of dimensions")
    pairs = (
        [_wide(real_operand(x), "float") for x in pair] for pair in zip(first, second, strict=True)
    )
    apart = [np.abs(a - b) for a, b in pairs]
    return python_number(_norm(apart), "float") if apart else 0.0


def _norm(sizes: list[Any]) -> Any:
    """The root of a sum of squares, right in the last place: CPython's sum in two numbers, which it
    begins with 1.0, of numbers below 1.0, and its correction of the root.
    """
    most = functools.reduce(np.maximum, sizes)
    if len(sizes) == 1:
        return most
    plain = np.logical_and(np.greater(most, 0.0), np.isfinite(most))
    # Of subnormal numbers CPython makes others first.
    require(np.logical_or(np.greater_equal(most, sys.float_info.min), np.logical_not(plain)))
    scale = np.ldexp(1.0, -np.frexp(most)[1])
    total, errors, more = 1.0, 0.0, 0.0
    for x in sizes:
        total, errors, more = _plus(total, errors, more, *_exact_product(x * scale, x * scale))
    root = np.sqrt(np.where(plain, total - 1.0 + (errors + more), 1.0)[()])
    total, errors, more = _plus(total, errors, more, *_exact_product(-root, root))
    rest = total - 1.0 + (errors + more)
    # An infinite number hides a NaN.
    largest = functools.reduce(np.fmax, sizes)
    other = np.where(np.isinf(largest), largest, most)
    return np.where(plain, (root + rest / (2.0 * root)) / scale, other)[()]


def _plus(total: Any, errors: Any, more: Any, x: Any, error: Any) -> tuple[Any, Any, Any]:
    """A sum and what it lacks, with a product and what this lacks."""
    new = total + x
    return new, errors + error, more + (x - (new - total))


def _exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """x * y, and what it lacks."""
    (a, b), (c, d) = _halves(x), _halves(y)
    z = x * y
    return z, ((a * c - z) + a * d + b * c) + b * d


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of 26 bits, the sum of which is `x`."""
    t = x * (2.0**27 + 1.0)
    high = t - (t - x)
    return high, x - high


def _log(interpreter: Interpreter, z: Any, *base: Any) -> Any:
    logs = [_of_complex(np.log)(interpreter, x) for x in (z, *base)]
    return interpreter.binary("truediv", *logs) if base else logs[0]


_NAMES = {f: f for f in "exp log10 sqrt sin cos tan sinh cosh tanh".split()}
_NAMES |= {f"a{f}": f"arc{f}" for f in "sin cos tan sinh cosh tanh".split()}

#: Callee -> what a call of it does.
_BY_NUMPY: dict[Any, Callable[..., Any]] = {
    math.gamma: on_numbers(math.gamma, _by_op("gamma")),
    math.lgamma: on_numbers(math.lgamma, _by_op("gammaln")),
    math.ldexp: on_numbers(math.ldexp, _ldexp),
    math.frexp: on_numbers(math.frexp, _frexp),
    **{
        getattr(cmath, name): on_numbers(getattr(cmath, name), _of_complex(getattr(np, ufunc)))
        for name, ufunc in _NAMES.items()
    },
    math.dist: on_numbers(math.dist, _dist),
    cmath.log: on_numbers(cmath.log, _log),
    cmath.rect: on_numbers(cmath.rect, _rect),
    **{
        getattr(cmath, name): on_numbers(getattr(cmath, name), _test(getattr(np, name)))
        for name in ("isfinite", "isinf", "isnan")
    },
}

#: All functions of math and cmath.
MATH_CALLS: dict[Any, Callable[..., Any]] = {
    **{f: call for f, call in NUMBER_CALLS.items() if f not in OPERATOR_CALLS},
    **_BY_NUMPY,
}

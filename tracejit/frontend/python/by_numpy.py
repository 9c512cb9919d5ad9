"""Functions of math and cmath on traced numbers that NumPy and SciPy have for arrays.

Where the result is no finite number, and Python may raise an exception, Python repeats the call.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.numpy.derived import require
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.python.numbers import (
    integer_operand,
    on_numbers,
    python_number,
    real_operand,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.tracer import here, lift, wrap

__all__ = ["CALLS_BY_NUMPY"]


def _wide(x: Any, kind: str) -> Any:
    """A number as NumPy's of the same precision."""
    trace = here()
    dtype = {"float": "f64", "complex": "c128", "int": "i64"}[kind]
    return wrap(
        trace, trace.emit("np_scalar", (python_number(lift(x), kind).value(),), dtype=dtype)
    )


def _finite(result: Any, *operands: Any) -> Any:
    """`result`, which a run goes on with where it is finite."""
    require(elementwise(np.isfinite, (result,)))
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
        return python_number(_finite(elementwise(ufunc, (_wide(z, "complex"),))), "complex")

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
    parts = [interpreter.binary("mul", r, interpreter.call(f, phi)) for f in (math.cos, math.sin)]
    return interpreter.call(complex, *parts)


def _log(interpreter: Interpreter, z: Any, *base: Any) -> Any:
    logs = [_of_complex(np.log)(interpreter, x) for x in (z, *base)]
    return interpreter.binary("truediv", *logs) if base else logs[0]


_NAMES = {f: f for f in "exp log10 sqrt sin cos tan sinh cosh tanh".split()}
_NAMES |= {f"a{f}": f"arc{f}" for f in "sin cos tan sinh cosh tanh".split()}

#: Callee -> what a call of it does.
CALLS_BY_NUMPY: dict[Any, Callable[..., Any]] = {
    math.gamma: on_numbers(math.gamma, _by_op("gamma")),
    math.lgamma: on_numbers(math.lgamma, _by_op("gammaln")),
    math.ldexp: on_numbers(math.ldexp, _ldexp),
    math.frexp: on_numbers(math.frexp, _frexp),
    **{
        getattr(cmath, name): on_numbers(getattr(cmath, name), _of_complex(getattr(np, ufunc)))
        for name, ufunc in _NAMES.items()
    },
    cmath.log: on_numbers(cmath.log, _log),
    cmath.rect: on_numbers(cmath.rect, _rect),
    **{
        getattr(cmath, name): on_numbers(getattr(cmath, name), _test(getattr(np, name)))
        for name in ("isfinite", "isinf", "isnan")
    },
}

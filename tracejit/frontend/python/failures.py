"""Where Python's and NumPy's operations raise: conditions, for programs that handle it.

Elsewhere an operation itself bails out, and the call's repetition raises what Python raises.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.tracing.checks import NUMBERS, class_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer

__all__ = ["division", "domain", "index"]

_INTS = (int, np.integer)
_DIVISIONS = {name: getattr(operator, name) for name in ("truediv", "floordiv", "mod")}
#: Functions of math, the comparison with 0 for which they raise, and numbers for which it holds.
_DOMAINS: dict[Any, tuple[str, tuple[float, ...]]] = {
    math.sqrt: ("lt", (-1.0, -2.0)),
    math.log: ("le", (-1.0, 0.0)),
    math.log2: ("le", (-1.0, 0.0)),
    math.log10: ("le", (-1.0, 0.0)),
}


def division(interpreter: Interpreter, op: str, a: Any, b: Any) -> None:
    """`a op b` of Python numbers is done next."""
    f = _DIVISIONS.get(op)
    if f is None or not interpreter.tries or not isinstance(b, (Tracer, SymInt)):
        return
    kinds = class_of(a), class_of(b)
    if all(kind in NUMBERS for kind in kinds):
        fails = interpreter.truth_of(interpreter.compare("eq", b, 0))
        args = _text_of(lambda: f(kinds[0](1), kinds[1](0)))
        interpreter.may_raise(fails, ZeroDivisionError, *args)


def domain(interpreter: Interpreter, f: Any, x: Any) -> None:
    """`f(x)`, a function of math, is computed next."""
    if not interpreter.tries or f not in _DOMAINS or not isinstance(x, TracedScalar):
        return
    op, examples = _DOMAINS[f]
    texts = [_text_of(lambda v=v: f(v)) for v in examples]  # type: ignore[misc]
    fails = interpreter.truth_of(interpreter.compare(op, x, 0))
    interpreter.may_raise(fails, ValueError, *(texts[0] if texts[0] == texts[1] else ()))


def index(interpreter: Interpreter, x: Any, key: Any) -> None:
    """`x[key]` is read or stored next; ints on the first axes are looked at."""
    if not interpreter.tries or not isinstance(x, TracedArray):
        return
    keys = key if isinstance(key, tuple) else (key,)
    for axis, k in enumerate(keys[: x.ndim]):
        if not isinstance(k, (TracedScalar, SymInt)) or not issubclass(class_of(k), _INTS):
            return
        n = x.shape[axis]
        low = interpreter.compare("lt", k, interpreter.unary("neg", n))
        high = interpreter.compare("ge", k, n)
        for fails in (low, high):
            interpreter.may_raise(interpreter.truth_of(fails), IndexError)


def _text_of(fail: Callable[[], Any]) -> tuple[Any, ...]:
    """The arguments of the exception that something raises."""
    try:
        fail()
    except (ArithmeticError, ValueError) as e:
        return e.args
    raise AssertionError("nothing was raised")

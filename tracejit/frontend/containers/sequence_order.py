"""Comparisons of tuples and lists that hold traced numbers: element by element, as Python does."""

from __future__ import annotations

import operator
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.unions import require
from tracejit.frontend.tracing.checks import has_traced
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar
from tracejit.frontend.tracing.union import Union
from tracejit.ir.types import dtype_of

__all__ = ["are_sequences", "both", "compare_sequences", "either"]


def are_sequences(a: Any, b: Any) -> bool:
    """Whether two tuples, or two lists, of which one holds traced numbers are to be compared."""
    if type(a) is list and type(b) is list:
        return not (is_grown(a) or is_grown(b)) and (_is_traced(a) or _is_traced(b))
    return _is_tuple(a) and _is_tuple(b) and (_is_traced(a) or _is_traced(b))


def _is_tuple(x: Any) -> bool:
    return type(x) is tuple or is_namedtuple(type(x))


def _is_traced(x: Any) -> bool:
    return has_traced(x) or any(isinstance(v, Union) or _is_tuple(v) and _is_traced(v) for v in x)


def both(interpreter: Interpreter, p: Any, q: Any) -> Any:
    """`p and q` for truths that are known or traced."""
    if p is False or q is False:
        return False
    if p is True or q is True:
        return q if p is True else p
    return interpreter.binary("and_", p, q)


def either(interpreter: Interpreter, p: Any, q: Any) -> Any:
    """`p or q` for truths that are known or traced."""
    if p is True or q is True:
        return True
    if p is False or q is False:
        return q if p is False else p
    return interpreter.binary("or_", p, q)


def compare_sequences(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """`a op b`: a bool, or a traced one. The first elements that differ decide, or the lengths.

    A run in which two elements are NaN is left to Python: it asks first whether they are one
    object.
    """
    if op in ("eq", "ne") and len(a) != len(b):
        return op == "ne"
    result: Any = getattr(operator, op)(len(a), len(b))
    for u, v in reversed(list(zip(a, b, strict=False))):
        same = _same(interpreter, u, v)
        if same is True:
            continue
        if op in ("eq", "ne"):
            differ = op == "ne"
        else:
            differ = interpreter.truth_of(interpreter.compare(op, u, v))
        other = interpreter.truth_of(interpreter.not_(same))
        result = either(
            interpreter, both(interpreter, same, result), both(interpreter, other, differ)
        )
    return result


def _same(interpreter: Interpreter, u: Any, v: Any) -> Any:
    for x in (u, v):
        if isinstance(x, TracedArray) or is_grown(x):
            raise TraceError("TJ001", "a comparison of sequences of arrays", user_line())
    same = interpreter.truth_of(interpreter.compare("eq", u, v))
    if same is not True and _may_be_nan(u) and _may_be_nan(v):
        for_nan = both(interpreter, _is_nan(interpreter, u), _is_nan(interpreter, v))
        known = interpreter.truth_of(interpreter.not_(for_nan))
        if isinstance(known, TracedScalar):
            require(known, True)
        elif not known and u is not v:
            raise TraceError("TJ001", "a comparison of sequences with NaN", user_line())
        elif not known:
            return True
    return same


def _may_be_nan(x: Any) -> bool:
    if isinstance(x, TracedScalar):
        return dtype_of(x.type).kind in "fc"
    return isinstance(x, Union) or isinstance(x, (float, complex)) or hasattr(x, "dtype")


def _is_nan(interpreter: Interpreter, x: Any) -> Any:
    return interpreter.truth_of(interpreter.compare("ne", x, x))

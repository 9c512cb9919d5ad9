"""Operators between numbers and Python's sequences or texts: repeated, an array, or an error

Python's numbers, NumPy's scalars and arrays differ in what they do with a list: one repeats it, one
adds to its elements, one raises. Which of these happens depends on the kinds of the operands alone,
so it is found by trying the operator on plain operands of the same kinds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.pytree import VIEWS, is_namedtuple
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer, user_line
from tracejit.ir.types import PyScalar, dtype_of

__all__ = ["EXAMPLES", "beside_sequence", "is_sequence", "meets", "tried"]

_ARRAY_LIKE = (list, tuple, range)
_OTHERS = (str, bytes, dict, set, frozenset, type(None), type(...), *VIEWS)
#: Kind of a Python number -> one.
EXAMPLES: dict[str, Any] = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def is_sequence(x: Any) -> bool:
    """Whether NumPy makes an array of `x` by its items: a list, a tuple or a range."""
    return type(x) in _ARRAY_LIKE or is_namedtuple(type(x))


def meets(x: Tracer, other: Any) -> bool:
    """Whether it is known what operators make of `x` and an object that is no number or array."""
    return is_sequence(other) or isinstance(x, TracedScalar) and type(other) in _OTHERS


def beside_sequence(f: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """`f(x, y)` of a number or array and an object that is neither, where one of them is traced.

    Raises what Python and NumPy raise for operands of these kinds, TraceError TJ001 where the
    result has a length that is known only at run time.
    """
    if not (isinstance(x, TracedArray) or isinstance(y, TracedArray)):
        made = tried(f, x, y)
        if isinstance(made, (bool, np.bool_)):
            return made
        if f is not divmod and isinstance(made, (list, tuple, str, bytes)):
            if isinstance(x, TracedScalar) or isinstance(y, TracedScalar):
                raise TraceError("TJ001", f"a {type(made).__name__} repeated", user_line())
            return f(_count(x), _count(y))
    return DISPATCH.binary_operator(f, *(asarray(v) if is_sequence(v) else v for v in (x, y)))


def tried(f: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """`f(x, y)` of plain operands of the same kinds. Raises what it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(_example(x), _example(y))


def _count(x: Any) -> Any:
    """How often a sequence is repeated, as an int; the sequence as it is."""
    return int(x) if isinstance(x, np.generic) else x


def _example(x: Any) -> Any:
    """A plain object of the kind of `x`."""
    if isinstance(x, SymInt):
        return 1
    if isinstance(x, TracedArray):
        return np.ones((1,) * x.ndim, x.dtype)
    if isinstance(x, Tracer):
        t = x.type
        return EXAMPLES[t.kind] if isinstance(t, PyScalar) else dtype_of(t).type(1)
    if type(x) is dict:
        return {k: _example(v) for k, v in x.items()}
    if type(x) is list:
        return [_example(v) for v in x]
    if isinstance(x, tuple):
        return tuple.__new__(type(x), [_example(v) for v in x])
    return x

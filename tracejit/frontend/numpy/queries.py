"""Questions about arrays, on tracers: closeness, equality, parts, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.creation import placeholder
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.tracing.checks import CONTAINERS
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.tracer import TracedArray, is_number, lift, user_line

__all__: list[str] = []


def _part(name: str) -> Any:
    """The real or the imaginary part: of a Python number a Python number."""
    return lambda val: getattr(lift(val if is_number(val) else asarray(val)), name)


handles(np.real)(_part("real"))
handles(np.imag)(_part("imag"))


@handles(np.shape)
def shape(a: Any) -> Any:
    """The shape."""
    return () if is_number(a) else asarray(a).shape


@handles(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes."""
    return 0 if is_number(a) else asarray(a).ndim


@handles(np.isscalar)
def isscalar(element: Any) -> bool:
    """Whether it is a number of Python's or NumPy's, or text."""
    if isinstance(element, TracedArray):
        return False
    return is_number(element) or isinstance(element, TracedText) or np.isscalar(element)


@handles(np.iterable)
def iterable(y: Any) -> bool:
    """Whether it can be iterated over."""
    if isinstance(y, TracedArray):
        return y.ndim > 0
    if is_number(y) or y is None:
        return False
    if not isinstance(y, (*CONTAINERS, str, bytes, range, TracedText)):
        raise TraceError("TJ004", f"np.iterable of a {type(y).__name__}", user_line())
    return True


@handles(np.size)
def size(a: Any, axis: Any = None) -> Any:
    """The number of elements, along one axis where it is given."""
    x = asarray(a)
    if isinstance(axis, tuple):
        raise TraceError("TJ004", "np.size along several axes", user_line())
    return x.size if axis is None else x.shape[normalize_axis_index(axis, x.ndim)]


@handles(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that NumPy's promotion gives."""
    return np.result_type(*(placeholder(x) for x in arrays_and_dtypes))


@handles(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a dtype can be cast to another."""
    return np.can_cast(
        from_.dtype if isinstance(from_, TracedArray) else placeholder(from_), to, casting
    )

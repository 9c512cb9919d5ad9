"""Selection, rounding, differences, comparisons and predicates of NumPy on tracers."""

from __future__ import annotations

import operator
from functools import cache, reduce
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, cast_value, operand
from tracejit.frontend.numpy.creation import placeholder
from tracejit.frontend.numpy.memory_orders import (
    along_axis,
    copy_of,
    in_order_of,
    in_order_of_elements,
)
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import HANDLERS, NOT_GIVEN, handles, only
from tracejit.frontend.numpy.shape import ravel
from tracejit.frontend.numpy.ufunc_loops import keeps_equal
from tracejit.frontend.numpy.ufuncs import apply_to_arrays, elementwise
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    broadcast_dims,
    here,
    is_number,
    lift,
    user_line,
    wrap,
)
from tracejit.ir.graph import Value
from tracejit.ir.types import dtype_of, shape_of

__all__ = ["as_operand", "as_scalar", "sort_in_place", "truth"]

#: Decimals whose powers of ten are floats.
_MOST_PLACES = 300


def as_scalar(x: Any) -> Any:
    """A 0-d result as NumPy's ufuncs give it: a scalar."""
    return x[()] if isinstance(x, TracedArray) and not x.ndim else x


def as_operand(x: Any) -> Any:
    """An array or a NumPy scalar as it is; anything else as an array."""
    if isinstance(x, Tracer) and not (isinstance(x, TracedScalar) and x.is_python):
        return x
    return asarray(x)


def truth(x: Any) -> Any:
    """Whether each element differs from zero."""
    t = as_operand(x)
    return t if t.dtype.kind == "b" else elementwise(np.not_equal, (t, t.dtype.type(0)))


def _cast_number(x: Any, dtype: np.dtype[Any]) -> Value:
    """An operand in `dtype`: before NumPy 2.5 np.where casts Python numbers as it casts arrays."""
    if isinstance(x, SymInt):
        x = lift(x)
    if not _where_takes_any_int():
        return operand(x, dtype)
    if isinstance(x, TracedScalar) and x.is_python:
        return cast_value(operand(x, dtype_of(x.type)), dtype)
    if not isinstance(x, Tracer):
        if type(x) is int and not -(2**63) <= x < 2**63:
            raise TraceError("TJ003", "an int that does not fit 64 bits", user_line())
        with np.errstate(all="ignore"):
            x = np.asarray(x).astype(dtype)[()]
    return operand(x, dtype)


@cache
def _where_takes_any_int() -> bool:
    try:
        np.where(True, 300, np.zeros(1, np.int8))
    except OverflowError:
        return False
    return True


@handles(np.where)
def where(condition: Any, x: Any = NOT_GIVEN, y: Any = NOT_GIVEN, /) -> Any:
    """`x` where the condition holds, else `y`; Python numbers do not promote. Always an array."""
    if x is NOT_GIVEN or y is NOT_GIVEN:
        if x is NOT_GIVEN and y is NOT_GIVEN:
            return HANDLERS[np.nonzero](condition)
        raise ValueError("either both or neither of x and y should be given")
    sides = [v if is_number(v) else asarray(v) for v in (x, y)]
    dtype = np.result_type(*(placeholder(v) for v in sides))
    test = truth(condition)
    values = [test.value(), *(_cast_number(v, dtype) for v in sides)]
    shape = broadcast_dims([shape_of(v.type) for v in values])
    return apply_to_arrays("select", values, shape, (test, *sides))


@handles(np.clip)
@accepts_out("np.clip", "same_kind", repeated=True)
def clip(
    a: Any,
    a_min: Any = NOT_GIVEN,
    a_max: Any = NOT_GIVEN,
    out: Any = None,
    *,
    min: Any = NOT_GIVEN,
    max: Any = NOT_GIVEN,
    **kwargs: Any,
) -> Any:
    """Values limited to an interval; bounds that an integer dtype cannot reach are dropped."""
    only("np.clip", **kwargs)
    if (a_min is NOT_GIVEN) != (a_max is NOT_GIVEN):
        raise TraceError("TJ004", "np.clip with one of a_min= and a_max=", user_line())
    if a_min is not NOT_GIVEN and not (min is NOT_GIVEN and max is NOT_GIVEN):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are.")
    low = min if a_min is NOT_GIVEN else a_min
    high = max if a_max is NOT_GIVEN else a_max
    low, high = (None if v is NOT_GIVEN else v for v in (low, high))
    x = as_operand(a)
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        if type(low) is int and low <= info.min:
            low = None
        if type(high) is int and high >= info.max:
            high = None
    if low is None and high is None:
        return elementwise(np.positive, (x,))
    if low is None:
        return elementwise(np.minimum, (x, high))
    if high is None:
        return elementwise(np.maximum, (x, low))
    dtype = np.result_type(
        *(placeholder(v if is_number(v) else asarray(v)) for v in (x, low, high))
    )
    if dtype.kind == "b":
        raise TraceError("TJ004", "np.clip of booleans", user_line())
    given = [v if is_number(v) else asarray(v) for v in (x, low, high)]
    parts: list[Any] = [wrap(here(), operand(v, dtype)) for v in given]
    if dtype.char in "fd" and keeps_equal(*given):
        found = elementwise(np.minimum, (parts[2], elementwise(np.maximum, (parts[1], parts[0]))))
    elif dtype.kind == "c":
        found = _nearer(_nearer(parts[0], parts[1], np.greater), parts[2], np.less)
    else:
        found = elementwise(np.minimum, (elementwise(np.maximum, parts[:2]), parts[2]))
    return in_order_of_elements(found, *given) if isinstance(found, TracedArray) else found


def _nearer(x: Any, limit: Any, beyond: Any) -> Any:
    """A complex number where it is NaN or beyond a limit, of which a part may be NaN, else that."""
    first = elementwise(beyond, (x.real, limit.real))
    same = elementwise(np.equal, (x.real, limit.real))
    second = elementwise(np.logical_and, (same, elementwise(beyond, (x.imag, limit.imag))))
    stays = elementwise(np.logical_or, (elementwise(np.isnan, (x,)), first))
    return as_scalar(HANDLERS[np.where](elementwise(np.logical_or, (stays, second)), x, limit))


@handles(np.round, np.around)
@accepts_out("np.round", repeated=True)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Values rounded half to even at a decimal place, by NumPy's scaling."""
    x = as_operand(a)
    places = operator.index(decimals)
    if abs(places) > _MOST_PLACES:
        raise TraceError("TJ004", f"np.round to {places} decimals", user_line())
    # NumPy multiplies one by one, which is not exact beyond 22 places.
    power = reduce(operator.mul, [10.0] * abs(places), 1.0)
    d = x.dtype
    if d.kind == "c":
        parts = [round_(part, places).value() for part in (x.real, x.imag)]
        return wrap(here(), here().emit("make_complex", parts))
    if d.kind in "iu":
        if places >= 0:
            return as_scalar(copy_of(x)) if isinstance(x, TracedArray) else x
        scaled = elementwise(np.rint, (elementwise(np.divide, (x, power)),))
        new = lift(elementwise(np.multiply, (scaled, power)))
        new = wrap(here(), cast_value(new.value(), d))
        return in_order_of(new, x) if isinstance(new, TracedArray) else new
    if d.kind == "b" and places != 0:
        raise TraceError("TJ004", "np.round of booleans with decimals=", user_line())
    if places == 0:
        return elementwise(np.rint, (x,))
    to, back = (np.multiply, np.divide) if places > 0 else (np.divide, np.multiply)
    scaled = elementwise(np.rint, (elementwise(to, (x, power)),))
    out = elementwise(back, (scaled, power))
    return in_order_of(out, x) if isinstance(x, TracedArray) and x.ndim else out


def _check_kind(kind: Any, stable: Any) -> None:
    """Raise ValueError where both say how to sort."""
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time.")


@handles(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """The elements in ascending order."""
    only("np.sort", order=order)
    _check_kind(kind, stable)
    x = asarray(a)
    if axis is None:
        x, axis = ravel(x), 0
    k = normalize_axis_index(axis, x.ndim)
    return along_axis("sort", x, k, copies=True)


def sort_in_place(
    x: TracedArray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """`x.sort()`: the elements in ascending order along one axis."""
    _check_kind(kind, stable)
    if order is not None:
        raise TraceError("TJ004", "sort with order=", user_line())
    k = normalize_axis_index(axis, x.ndim)
    x.store(here().emit("sort", (x.value(),), axis=k))


@handles(np.argsort)
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """The indices that sort the elements."""
    only("np.argsort", order=order)
    _check_kind(kind, stable)
    x = asarray(a)
    if axis is None or not x.ndim and axis in (0, -1):
        x, axis = ravel(x), 0
    k = normalize_axis_index(axis, x.ndim)
    keep = bool(stable) or kind in ("stable", "mergesort")
    return wrap(here(), here().emit("argsort", (x.value(),), axis=k, stable=keep))

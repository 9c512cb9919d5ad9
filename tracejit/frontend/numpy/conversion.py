"""Numbers, sequences and arrays as traced arrays or values of a dtype, converted as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.memory_orders import in_c_order
from tracejit.frontend.tracing.checks import constant_array
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    as_array,
    check_dtype,
    here,
    lift,
    user_line,
    wrap,
    wrap_array,
)
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import NpScalar, PyScalar, dtype_name, dtype_of

__all__ = [
    "asarray",
    "astype",
    "cast_value",
    "fit_dims",
    "is_static_number",
    "operand",
    "stored",
]


def asarray(x: Any, dtype: Any = None) -> TracedArray:
    """A number, tracer or nested sequence of them as a traced array."""
    here()
    if isinstance(x, (list, tuple, range)):
        if not _has_tracer(x):
            return constant_array(np.array(x, dtype))
        wanted = np.dtype(dtype) if dtype is not None else _joint_dtype(x)
        return in_c_order(_stacked([astype(_element(item, wanted), wanted) for item in x]))
    t = lift(x)
    if not isinstance(t, TracedArray):
        if dtype is not None:
            t = _number(t if isinstance(x, np.generic) else x, np.dtype(dtype))
        t = wrap_array(as_array(t, ()))
    return t if dtype is None else astype(t, np.dtype(dtype))


def _number(x: Any, dtype: np.dtype[Any]) -> Tracer:
    """A number as one of `dtype`: Python's numbers must fit."""
    check_dtype(dtype)
    _require_real(x, dtype)
    return wrap(here(), operand(x, dtype))


def _require_real(x: Any, dtype: np.dtype[Any]) -> None:
    """Raise TraceError for a traced complex number where numbers of `dtype` are made of it."""
    if dtype.kind not in "cb" and not is_static_number(x) and dtype_of(lift(x).type).kind == "c":
        raise TraceError("TJ004", f"a complex number made {dtype}", user_line())


def _stacked(parts: list[TracedArray]) -> TracedArray:
    """Arrays of one shape joined along a new first axis."""
    trace, first = here(), parts[0].type.shape
    for x in parts:
        pairs = zip(x.type.shape, first, strict=False)
        if x.ndim != len(first) or any(not trace.env.expect(a, "==", b) for a, b in pairs):
            raise ValueError("all input arrays must have the same shape")
    rows = [fit_dims(x.view("reshape", shape=(1, *x.type.shape)), (1, *first)) for x in parts]
    return wrap_array(trace.emit("concatenate", [x.value() for x in rows], axis=0))


def _element(x: Any, dtype: np.dtype[Any]) -> TracedArray:
    """One element of an array of `dtype` made from a sequence: a number is as if stored there."""
    if isinstance(x, (TracedArray, np.ndarray)):
        _require_real(x, dtype)
        return asarray(x)
    if isinstance(x, (list, tuple)):
        return asarray(x, dtype)
    _require_real(x, dtype)
    return wrap_array(as_array(wrap(here(), stored(x, dtype)), ()))


def _joint_dtype(items: Any) -> np.dtype[Any]:
    """The dtype np.array gives a sequence: Python numbers count with their default dtypes."""
    return np.result_type(*(asarray(item).dtype for item in items))


def _has_tracer(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_has_tracer(item) for item in x)
    return isinstance(x, (Tracer, SymInt))


def astype(x: Any, dtype: np.dtype[Any]) -> TracedArray:
    """`x` converted to `dtype`: itself where it has that dtype already."""
    check_dtype(dtype)
    if x.dtype == dtype:
        assert isinstance(x, TracedArray)
        return x
    return wrap_array(cast_value(x.value(), dtype))


def is_static_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.generic))


def cast_value(v: Value, dtype: np.dtype[Any]) -> Value:
    """`v` converted to `dtype` (a Python number becomes a NumPy scalar)."""
    trace = here()
    if isinstance(v.type, PyScalar):
        return trace.emit("np_scalar", (v,), dtype=dtype_name(dtype))
    if dtype_of(v.type) == dtype:
        return v
    return trace.emit("cast", (v,), dtype=dtype_name(dtype))


def operand(x: Any, dtype: np.dtype[Any]) -> Value:
    """An operand as a value of `dtype`: an array or a NumPy scalar."""
    trace = here()
    if is_static_number(x):
        # NumPy's own conversion: raises OverflowError for a Python int that does not fit.
        with np.errstate(all="ignore"):
            strong = isinstance(x, np.generic)
            converted = np.asarray(x).astype(dtype)[()] if strong else dtype.type(x)
        return trace.constant(converted.item(), NpScalar(dtype))
    return cast_value(lift(x).value(), dtype)


def stored(value: Any, dtype: np.dtype[Any]) -> Value:
    """What NumPy stores for `value` in an array of `dtype`.

    NumPy's scalars go into signed integers by way of Python's int, unless that is always safe: a
    NaN or one that does not fit is then an error, as it is not for arrays.
    """
    return operand(_as_stored(value, dtype), dtype)


def _as_stored(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, TracedScalar):
        known = value.type.dtype if isinstance(value.type, NpScalar) else None
    else:
        known = value.dtype if isinstance(value, np.generic) else None
    if known is None or dtype.kind != "i" or known.kind not in "iuf" or np.can_cast(known, dtype):
        return value
    if isinstance(value, np.generic):
        return int(value)
    return wrap(here(), here().emit("py_scalar", (value.value(),), kind="int"))


def fit_dims(x: TracedArray, shape: tuple[Dim, ...]) -> TracedArray:
    """`x`, whose sizes equal those of `shape`, with them written in the same way."""
    if x.type.shape == shape:
        return x
    return x.view("reshape", shape=shape, assume=True)


DISPATCH.asarray = asarray

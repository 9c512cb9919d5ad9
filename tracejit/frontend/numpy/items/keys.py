"""Keys: slices of axes, as a start, a size and a step clipped as Python does, and single elements.

Bounds that are known only at run time are clipped there; what comes out are new size symbols.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Hashable
from functools import cache
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.symint import SymInt, as_dim
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    lift,
    number_of,
    wrap,
)
from tracejit.ir.dims import Dim, floordiv
from tracejit.ir.graph import Value
from tracejit.ir.types import NpScalar, PyScalar, dtype_of

__all__ = ["int64_constant", "int64_of", "is_element", "is_index", "slice_extent", "takes_no_array"]


def slice_extent(s: slice, n: Dim, env: ShapeEnv) -> tuple[Dim, Dim, int]:
    """(start, size, step) of a slice of an axis of `n` elements, clipped as Python clips it.

    Raises ValueError for a step of 0, TypeError for bounds that are no integers and TraceError for
    a step that is traced.
    """
    if isinstance(s.step, Tracer):
        raise TraceError("TJ015", "a slice step that is traced", user_line())
    step = 1 if s.step is None else operator.index(s.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if any(b is not None and not _is_decided(b, env) for b in (s.start, s.stop)):
        return _at_run_time(s, n, step)
    lowest: Dim = 0 if step > 0 else -1
    highest: Dim = n if step > 0 else n - 1

    def clip(bound: Any, default: Dim) -> Dim:
        if bound is None:
            return default
        b = as_dim(bound)
        if env.decide(b, "<", 0):
            return env.maximum(b + n, lowest)
        return env.minimum(b, highest)

    start = clip(s.start, 0 if step > 0 else n - 1)
    stop = clip(s.stop, n if step > 0 else -1)
    low, high = (start, stop) if step > 0 else (stop, start)
    length = env.maximum(high - low, 0)
    if length == 0:
        return 0, 0, 1  # As NumPy has it, which shows in the strides.
    return start, floordiv(length + (abs(step) - 1), abs(step)), step


def _is_decided(bound: Any, env: ShapeEnv) -> bool:
    """Whether it is decided while tracing if a bound is negative."""
    if isinstance(bound, Tracer):
        return False
    b = as_dim(bound)
    return env.is_known(b) or env.proved(b, "<", 0) is not None


def _at_run_time(s: slice, n: Dim, step: int) -> tuple[Dim, Dim, int]:
    """The extent of a slice by arithmetic of the run; the same one for the same bounds."""
    known = here().bounds
    key = *(_key(b) for b in (s.start, s.stop)), n, step
    if key not in known:
        known[key] = _computed(s, n, step)
    start, size, step = known[key]
    return start, size, step


def _key(bound: Any) -> Hashable:
    if isinstance(bound, Tracer):
        return bound.value()
    return None if bound is None else as_dim(bound)


def _computed(s: slice, n: Dim, step: int) -> tuple[Dim, Dim, int]:
    trace = here()
    length = int64_of(number_of(trace, n))
    low, high = (int64_constant(0), length) if step > 0 else (int64_constant(-1), _minus(length, 1))

    def clip(bound: Any, default: Value) -> Value:
        if bound is None:
            return default
        b = int64_of(lift(bound))
        from_end = trace.emit("add", (b, length))
        b = trace.emit("select", (trace.emit("less", (b, int64_constant(0))), from_end, b))
        return trace.emit("minimum", (trace.emit("maximum", (b, low)), high))

    start = clip(s.start, low if step > 0 else high)
    stop = clip(s.stop, high if step > 0 else low)
    span = trace.emit("subtract", (stop, start) if step > 0 else (start, stop))
    span = trace.emit("maximum", (span, int64_constant(0)))
    if abs(step) > 1:
        span = trace.emit(
            "floor_divide",
            (trace.emit("add", (span, int64_constant(abs(step) - 1))), int64_constant(abs(step))),
        )
    if step < 0:
        # A slice without elements may begin in front of the first one.
        start = trace.emit("maximum", (start, int64_constant(0)))
    if s.start is None and step > 0:
        return 0, trace.bound(span), step
    return trace.bound(start), trace.bound(span), step


def int64_constant(value: int) -> Value:
    """A number known while tracing as an i64."""
    return here().emit("constant", (), value=value, type="i64")


def _minus(value: Value, k: int) -> Value:
    return here().emit("subtract", (value, int64_constant(k)))


def int64_of(x: Tracer) -> Value:
    """An integer as an i64. Raises TypeError for what Python does not take as a bound."""
    known, key = here().bounds, ("i64", x.value())
    if key not in known:
        known[key] = _as_int64(x)
    out: Value = known[key]
    return out


def _as_int64(x: Tracer) -> Value:
    trace = here()
    if isinstance(x, TracedArray):
        if x.ndim or x.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        x = wrap(trace, trace.emit("element", (x.value(),)))
    kind = dtype_of(x.type).kind
    v = x.value()
    if kind not in "iub" or (kind == "b" and isinstance(x.type, NpScalar)):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    if dtype_of(x.type).name == "uint64":
        raise TraceError("TJ015", "a slice bound that is a uint64", user_line())
    if isinstance(x.type, PyScalar):
        return trace.emit("np_scalar", (v,), dtype="i64")
    return v if dtype_of(x.type).name == "int64" else trace.emit("cast", (v,), dtype="i64")


def is_index(x: Any) -> bool:
    """Whether `x` can be used as an index without being an array."""
    return isinstance(x, (int, np.integer, SymInt, TracedScalar)) and not isinstance(x, bool)


def is_element(key: Any, ndim: int) -> bool:
    """Whether a key is one integer for each axis: it names a number, not an array of rank 0."""
    keys = key if isinstance(key, tuple) else (key,)
    return len(keys) == ndim and all(
        is_index(k)
        or (isinstance(k, (TracedArray, np.ndarray)) and k.ndim == 0 and k.dtype.kind in "iu")
        for k in keys
    )


@cache
def takes_no_array(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy refuses an array with axes, though of one element, as an element.

    NumPy 2.4 does, but for bools; older ones warn.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            np.zeros(1, dtype)[0] = np.zeros(1, dtype)
        except (TypeError, ValueError):
            return True
    return False

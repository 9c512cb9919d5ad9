"""Ranges, grids and unit matrices of NumPy, as index ranges and arithmetic of the trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, operand
from tracejit.frontend.numpy.creation import filled, iota, placeholder
from tracejit.frontend.numpy.items.keys import int64_constant, int64_of
from tracejit.frontend.numpy.memory_orders import in_order_of_elements
from tracejit.frontend.numpy.registry import handles, only
from tracejit.frontend.numpy.ufuncs import (
    apply,
    elementwise,
    operand_dtype,
    operand_tracer,
    refuse,
    resolve,
)
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    Tracer,
    as_array,
    check_dtype,
    here,
    lift,
    user_line,
    wrap,
    wrap_array,
)
from tracejit.ir.dims import Dim, floordiv
from tracejit.ir.graph import Value
from tracejit.ir.types import dtype_of, shape_of

__all__: list[str] = []


@handles(np.arange, creates=True)
def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """Evenly spaced numbers from `start` up to `stop`, by NumPy's own arithmetic.

    Raises TraceError where the length depends on traced data.
    """
    only("np.arange", device=device, like=like)
    if start is None and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if stop is None:
        start, stop = 0, start
    if start is None:
        raise TraceError("TJ004", "np.arange with no start", user_line())
    step = 1 if step is None else step
    if any(isinstance(x, Tracer) for x in (start, stop, step)):
        return _traced_arange(start, stop, step, dtype)
    if any(isinstance(x, SymInt) for x in (start, stop, step)):
        if all(isinstance(x, (int, np.integer, SymInt)) for x in (start, stop)):
            if isinstance(step, (int, np.integer)):
                return _symbolic_arange(start, stop, int(step), dtype)
        start, stop, step = (int(x) if isinstance(x, SymInt) else x for x in (start, stop, step))
    return _static_arange(start, stop, step, dtype)


def _traced_arange(start: Any, stop: Any, step: Any, dtype: Any) -> TracedArray:
    """Integers between bounds that are known only at run time."""
    trace, bounds = here(), [start, stop]
    kinds = [dtype_of(lift(x).type) for x in bounds]
    if type(step) is not int or step == 0 or dtype is not None or set(kinds) != {np.dtype("i8")}:
        raise TraceError("TJ015", "np.arange with a traced bound", user_line())
    first, last = (int64_of(lift(x)) for x in bounds)
    pair = (last, first) if step > 0 else (first, last)
    more, by = int64_constant(abs(step) - 1), int64_constant(abs(step))
    span = trace.emit("maximum", (trace.emit("subtract", pair), int64_constant(0)))
    count = trace.emit("floor_divide", (trace.emit("add", (span, more)), by))
    steps = elementwise(np.multiply, (iota(trace.bound(count)), step))
    return asarray(elementwise(np.add, (steps, wrap(trace, first))))


def _static_arange(start: Any, stop: Any, step: Any, dtype: Any) -> TracedArray:
    bounds = (start, stop, step)
    if any(type(x) is int and not -(2**63) <= x < 2**63 for x in bounds):
        raise TraceError("TJ003", "an int that does not fit 64 bits", user_line())
    # The dtype depends on the types of the bounds alone.
    kinds = [type(x) for x in bounds]
    d = check_dtype(np.arange(kinds[0](0), kinds[1](0), kinds[2](1), dtype=dtype).dtype)
    # The length as `np.arange` computes it, in Python's arithmetic.
    steps = (stop - start) / step
    if isinstance(steps, (complex, np.complexfloating)):
        raise TraceError("TJ004", "np.arange with complex bounds", user_line())
    length = max(0, math.ceil(steps))
    if steps == 0 and stop - start != 0:
        length = 0 if math.copysign(1.0, steps) < 0 else 1
    if length >= 2**63 // d.itemsize:
        raise TraceError("TJ004", f"np.arange of {length} numbers", user_line())
    if length <= 2 or d.kind == "b":
        return (
            asarray(np.arange(start, stop, step, dtype=d).tolist(), d)
            if length
            else filled((0,), 0, d)
        )
    second = np.arange(start, stop, step, dtype=d)[1] if length < 64 else _cast(start + step, d)
    return _progression(length, _cast(start, d), second, d)


def _cast(x: Any, d: np.dtype[Any]) -> Any:
    return np.asarray(x).astype(d)[()]


def _progression(length: Dim, first: Any, second: Any, d: np.dtype[Any]) -> TracedArray:
    """`first`, `second`, then first + i * (second - first), as NumPy's fill loops compute it.

    Half precision runs in single.
    """
    wide = np.dtype(np.float32) if d == np.float16 else d
    with np.errstate(all="ignore"):
        start, after = wide.type(first), wide.type(second)
        delta = after - start
        exact = d.type(start + delta) == d.type(after)
    i = iota(length, wide)
    out: Any = i if delta == 1 else elementwise(np.multiply, (i, delta))
    if start != 0 or (d.kind in "fc" and delta < 0):
        out = elementwise(np.add, (start, out))
    out = astype(out, d)
    if d.kind in "fc" and start == 0 and (np.signbit(start.real) or np.signbit(start.imag)):
        out = _select(elementwise(np.equal, (iota(length), 0)), d.type(start), out)
    if not exact:
        is_second = elementwise(np.equal, (iota(length), 1))
        out = _select(is_second, d.type(second), out)
    return asarray(out)


def _select(condition: Any, x: Any, y: Any) -> TracedArray:
    """`x` where the condition holds, else `y`, both of the dtype and shape of `y`."""
    trace = here()
    shape = y.type.shape
    values = [condition.value(), operand(x, y.dtype), y.value()]
    arrays: list[Value] = [as_array(wrap(trace, v), shape) for v in values]
    return wrap_array(trace.emit("select", arrays))


def _symbolic_arange(start: Any, stop: Any, step: int, dtype: Any) -> TracedArray:
    """A range whose bounds are sizes."""
    if step == 0:
        raise ZeroDivisionError("division by zero")
    trace = here()
    first, last = as_dim(start), as_dim(stop)
    span = last - first if step > 0 else first - last
    d = check_dtype(np.dtype(np.int64 if dtype is None else dtype))
    if not trace.env.is_known(span):
        span = trace.env.maximum(span, 0)
    elif not trace.env.decide(0, "<", span):
        return filled((0,), 0, d)
    length = floordiv(span + (abs(step) - 1), abs(step))
    if d == np.int64 or (d.kind == "f" and d.itemsize == 8):
        # Exact in float64 as well, as long as sizes stay below 2**53.
        out: Any = iota(length, d)
        out = out if step == 1 else elementwise(np.multiply, (out, step))
        if first == 0:
            return asarray(out)
        return asarray(elementwise(np.add, (out, unwrap(first, trace.env))))
    if isinstance(first, int):
        return _progression(length, _cast(first, d), _cast(first + step, d), d)
    raise TraceError("TJ004", f"np.arange from a size in {d}", user_line())


@handles(np.linspace, creates=True)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers; the arithmetic is NumPy's, operation by operation."""
    only("np.linspace", device=device)
    trace = here()
    env = trace.env
    size = as_dim(num)
    if env.decide(size, "<", 0):
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    a, b = placeholder(start), placeholder(stop)
    work = check_dtype(np.linspace(a, b, 2).dtype)
    result = work if dtype is None else check_dtype(np.dtype(dtype))
    if isinstance(start, (list, tuple)):
        start = asarray(start)
    if isinstance(stop, (list, tuple)):
        stop = asarray(stop)
    first, last = operand_tracer(start, work), operand_tracer(stop, work)
    delta = elementwise(np.subtract, (last, first))
    steps = size - 1 if endpoint else size
    base = iota(size, work)
    ndim = delta.ndim if isinstance(delta, TracedArray) else 0
    y: Any = base[(slice(None), *([None] * ndim))]
    column = y
    step: Any = math.nan
    if env.decide(0, "<", steps):
        div = unwrap(steps, env)
        step = elementwise(np.divide, (delta, div))
        is_zero: Any = elementwise(np.equal, (step, 0))
        any_zero = is_zero.any() if ndim else is_zero
        tiny = elementwise(np.multiply, (elementwise(np.divide, (y, div)), delta))
        y = elementwise(np.multiply, (y, step))
        y = _select(asarray(any_zero), tiny, y)
    else:
        y = elementwise(np.multiply, (y, delta))
    y = elementwise(np.add, (y, first))
    if endpoint and env.decide(1, "<", size):
        place = iota(size)[(slice(None), *([None] * ndim))]
        is_last = elementwise(np.equal, (place, unwrap(size - 1, env)))
        y = _select(is_last, last, y)
    if ndim:
        y = in_order_of_elements(y, column, delta)
    if axis != 0:
        y = np.moveaxis(y, 0, axis)
    if result.kind in "iu":
        y = elementwise(np.floor, (y,))
    out = astype(y, result)
    return (out, step) if retstep else out


@handles(np.logspace, creates=True)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """Numbers spaced evenly on a log scale: base ** linspace(start, stop)."""
    if not isinstance(base, (int, float)):
        raise TraceError("TJ004", "np.logspace with an array as base", user_line())
    y = linspace(start, stop, num, endpoint, axis=axis)
    loop = resolve(np.power, (operand_dtype(base), y.dtype), None)[0]
    y = astype(y, loop)
    values = [operand(base, loop), y.value()]
    out = apply("numpy_power", values, y.type.shape, (y,))
    return out if dtype is None else astype(out, np.dtype(dtype))


@handles(np.geomspace, creates=True)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0
) -> Any:
    """Numbers spaced evenly on a log scale, from `start` on; the arithmetic is NumPy's."""
    first: Any = asarray(start)
    last: Any = asarray(stop)
    for end in (first, last):
        refuse(elementwise(np.equal, (end, 0)))
    zero = np.zeros((), dtype)
    work = np.result_type(placeholder(first), placeholder(last), 1.0, zero)
    result = work if dtype is None else zero.dtype
    first, last = astype(first, work), astype(last, work)
    sign = elementwise(np.sign, (first,))
    first, last = (elementwise(np.divide, (end, sign)) for end in (first, last))
    ends = [apply("numpy_log10", [x.value()], shape_of(x.type), (x,)) for x in (first, last)]
    out = logspace(ends[0], ends[1], num, endpoint, dtype=work)
    size, env = as_dim(num), here().env
    if env.decide(0, "<", size):
        out[0] = first
        if endpoint and env.decide(1, "<", size):
            out[-1] = last
    if work.kind == "c" and env.decide(out.type.size, "==", 1):
        raise TraceError("TJ004", "np.geomspace of one complex number", user_line())
    out *= sign
    if axis != 0:
        out = np.moveaxis(out, 0, axis)
    return astype(out, result)

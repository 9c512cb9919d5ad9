"""Windows that slide over arrays: views, each element of which is one of the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.array_objects import strides_of
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.registry import HANDLERS, handles
from tracejit.frontend.numpy.shape import permuted
from tracejit.frontend.tracing.memory.layout import is_c_contiguous
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, as_array, here, user_line
from tracejit.ir.dims import Dim, prod

__all__: list[str] = []


@handles(np.lib.stride_tricks.sliding_window_view, creates=True, several_axes=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Any:
    """The parts of an array that windows of a shape see, in new axes at the end: a view."""
    array, env = asarray(x), here().env
    sizes = window_shape if isinstance(window_shape, tuple) else (window_shape,)
    axes = tuple(range(array.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
    if any(isinstance(n, Tracer) for n in sizes):
        raise TraceError("TJ015", "windows of a length that only the run knows", user_line())
    whole = all(isinstance(n, SymInt) or type(n) is int and n >= 0 for n in sizes)
    inside = all(type(k) is int and -array.ndim <= k < array.ndim for k in axes)
    if not whole or not inside or len(sizes) != len(axes) or subok or writeable:
        raise TraceError("TJ004", "np.sliding_window_view in this form", user_line())
    axes = tuple(k % array.ndim for k in axes)
    windows = [as_dim(n) for n in sizes]
    lengths = [array.type.shape[k] for k in axes]
    fit = all(env.expect(w, "<=", n) for w, n in zip(windows, lengths, strict=True))
    if not fit or len({*axes}) != len(axes):
        raise TraceError("TJ004", "np.sliding_window_view in this form", user_line())
    return _windows(array, dict(zip(axes, windows, strict=True)))


@handles(np.lib.stride_tricks.as_strided)
def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: Any = False, writeable: Any = True
) -> Any:
    """The elements that steps through the memory of an array lead to.

    They are a copy, which must not be stored into, nor be a result.
    """
    array, env = asarray(x), here().env
    refused = TraceError("TJ004", "np.lib.stride_tricks.as_strided in this form", user_line())
    if subok or is_c_contiguous(array) is not True:
        raise refused
    sizes = [as_dim(n) for n in _numbers(array.shape if shape is None else shape, refused)]
    given = strides_of(array) if strides is None else strides
    steps = [_elements(s, array.itemsize, refused) for s in _numbers(given, refused)]
    if len(sizes) != len(steps) or not sizes:
        raise refused
    last: Any = 0
    for n, step in zip(sizes, steps, strict=True):
        if not (env.expect(1, "<=", n) and env.expect(0, "<=", step)):
            raise refused
        last = last + (n - 1) * step
    # What lies beyond is memory of nobody knows what.
    if not env.expect(last, "<", prod(array.type.shape)):
        raise refused
    index: Any = 0
    for k, step in enumerate(steps):
        index = index + _along(k, sizes, env) * unwrap(step, env)
    trace, flat = here(), array.reshape(-1)
    return array.snapshot(trace.emit("gather", (flat.value(), as_array(index, tuple(sizes)))))


def _numbers(x: Any, refused: TraceError) -> Sequence[Any]:
    """The parts of a shape or of strides. Raises `refused` for what only a run tells."""
    parts = x if isinstance(x, (tuple, list)) else (x,)
    parts = [int(n) if isinstance(n, np.integer) else n for n in parts]
    if not all(isinstance(n, SymInt) or type(n) is int for n in parts):
        raise refused
    return parts


def _elements(stride: Any, size: int, refused: TraceError) -> Dim:
    """A stride in bytes, in elements of a size."""
    found = as_dim(stride // size)
    if found * size != as_dim(stride):
        raise refused
    return found


def _windows(x: TracedArray, windows: dict[int, Any]) -> Any:
    """The view; `windows` are the lengths of windows by their axes.

    What is gathered lies as NumPy's copies of the view do: each window behind its axis.
    """
    env, order = here().env, x.type.order
    base = permuted(x, order)
    inner = {order.index(k): w for k, w in windows.items()}
    last = max(inner) + 1
    sizes: list[Any] = []
    starts: list[int] = []
    for k, n in enumerate(base.type.shape):
        starts.append(len(sizes))
        sizes += [n - inner[k] + 1, inner[k]] if k in inner else [n]
    gathered = sizes[: starts[last - 1] + 2]
    places = []
    for k in range(last):
        index = _along(starts[k], gathered, env)
        if k in inner:
            index = index + _along(starts[k] + 1, gathered, env)
        places.append(as_array(index, tuple(gathered)))
    flags = tuple(k in inner for k in range(last))
    found = base.view("gather", *places, writeable=False, windows=flags, checked=False)
    axes = [starts[order.index(k)] for k in range(x.ndim)]
    return permuted(found, (*axes, *(starts[order.index(k)] + 1 for k in windows)))


def _along(axis: int, sizes: list[Any], env: Any) -> Any:
    """The indices along one of the axes."""
    lone = [1] * len(sizes)
    lone[axis] = -1
    return HANDLERS[np.arange](unwrap(sizes[axis], env)).reshape(lone)

"""Windows that slide over arrays: views, each element of which is one of the array."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.registry import HANDLERS, handles
from tracejit.frontend.numpy.shape import permuted
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import TracedArray, as_array, here, user_line

__all__: list[str] = []


@handles(np.lib.stride_tricks.sliding_window_view, several_axes=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Any:
    """The parts of an array that windows of a shape see, in new axes at the end: a view."""
    array, env = asarray(x), here().env
    sizes = window_shape if isinstance(window_shape, tuple) else (window_shape,)
    axes = tuple(range(array.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
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

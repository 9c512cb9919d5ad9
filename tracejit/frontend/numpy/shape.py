"""Shape functions of NumPy on tracers: views where NumPy makes views, copies where it copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, fit_dims
from tracejit.frontend.numpy.items.keys import int64_of
from tracejit.frontend.numpy.memory_orders import in_c_order, memory_order
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.tracing.memory.layout import (
    broadcast_order,
    is_c_contiguous,
    is_view_after_reshape,
)
from tracejit.frontend.tracing.symint import as_dim
from tracejit.frontend.tracing.tracer import (
    Storage,
    TracedArray,
    TracedScalar,
    Tracer,
    broadcast_dims,
    broadcasts_to,
    dims_as,
    here,
    user_line,
)
from tracejit.ir.dims import Dim, floordiv, mod, prod

__all__ = [
    "permuted",
    "reshaped",
    "shape_dims",
    "whole_view",
]


def shape_dims(shape: Any) -> tuple[Dim, ...]:
    """A shape argument (an integer or a sequence of integers) as dimensions.

    Raises TypeError for anything else, bools included, as NumPy does.
    """
    if isinstance(shape, (tuple, list, bytes)):
        return tuple(_size(d, "an integer is required") for d in shape)
    if isinstance(shape, np.ndarray):
        return tuple(int(d) for d in shape.reshape(-1))
    if isinstance(shape, TracedArray):
        raise TraceError("TJ015", "a shape that is a traced array", user_line())
    if shape is None:
        raise TraceError("TJ004", "a shape that is None", user_line())
    text = f"expected a sequence of integers or a single integer, got '{shape!r}'"
    return (_size(shape, text),)


def _size(x: Any, text: str) -> Dim:
    if isinstance(x, (bool, np.bool_)) or not hasattr(x, "__index__"):
        raise TypeError(text)
    return here().bound_as_given(int64_of(x)) if isinstance(x, Tracer) else as_dim(x)


def whole_view(x: TracedArray) -> TracedArray:
    """Another array object over the same elements."""
    return x.view("reshape", shape=x.type.shape)


def permuted(x: TracedArray, axes: Sequence[int]) -> TracedArray:
    """The view whose axis k is axis `axes[k]` of `x`."""
    if tuple(axes) == tuple(range(x.ndim)):
        return whole_view(x)
    return x.view("transpose", axes=tuple(axes))


def _filled_in(size: Dim, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """`shape` with its -1 replaced. Raises ValueError where the sizes cannot fit."""
    env = here().env
    unknown = [k for k, d in enumerate(shape) if isinstance(d, int) and d < 0]
    text = f"cannot reshape array of size {size} into shape {shape}"
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if not unknown:
        if prod(shape) != size and not env.expect(size, "==", prod(shape)):
            raise ValueError(text)
        return shape
    (k,) = unknown
    rest = prod((*shape[:k], *shape[k + 1 :]))
    if env.decide(rest, "==", 0) or not env.expect(mod(size, rest), "==", 0):
        raise ValueError(text)
    return (*shape[:k], floordiv(size, rest), *shape[k + 1 :])


def reshaped(x: TracedArray, shape: tuple[Dim, ...], *, copy: bool = False) -> TracedArray:
    """`x` under another shape, in C order: a view exactly where NumPy gives one.

    A -1 stands for the size that fits. Raises ValueError where the sizes do not fit.
    """
    trace = here()
    shape = _filled_in(x.type.size, shape)
    if shape == x.type.shape and not copy:
        return whole_view(x)
    attrs: dict[str, Any] = {"shape": shape}
    if prod(shape) != x.type.size:
        attrs["assume"] = True
    shared = False if copy else is_view_after_reshape(x, shape)
    if shared:
        return x.view("reshape", **attrs)
    value = trace.emit("reshape", (x.value(),), **attrs)
    return x.snapshot(value) if shared is None else TracedArray(trace, Storage(trace, value))


@handles(np.reshape)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """The elements under another shape; a view where NumPy gives one."""
    x = asarray(a)
    dims = shape_dims(shape)
    if isinstance(a, TracedScalar) and not a.is_python and not dims:
        return a
    if order == "A":
        order = _memory_order(x)
    if order not in ("C", "F"):
        raise TraceError("TJ004", f"np.reshape with order={order!r}", user_line())
    made = reshaped(x, dims) if order == "C" else reshaped(reversed_axes(x), dims[::-1])
    if copy is False and made.storage is not x.storage:
        raise TraceError("TJ004", "np.reshape with copy=False", user_line())
    made = in_c_order(made) if copy is True else made
    return made if order == "C" else reversed_axes(made)


def _memory_order(x: TracedArray) -> str:
    """What order "A" means for `x`. Raises TraceError where that is not known."""
    order = memory_order(x)
    if order is None:
        raise TraceError("TJ004", 'order="A" of an array of unknown layout', user_line())
    return order


def reversed_axes(x: TracedArray) -> TracedArray:
    """The view with the axes in reverse."""
    return permuted(x, tuple(reversed(range(x.ndim))))


@handles(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    """All elements along one axis; a view where NumPy gives one."""
    x = asarray(a)
    if order == "K":
        return _ravel_in_k_order(x)
    if order == "A":
        order = _memory_order(x)
    if order == "F":
        x = reversed_axes(x)
    elif order != "C":
        raise TraceError("TJ004", f"np.ravel with order={order!r}", user_line())
    flat = is_c_contiguous(x)
    if flat is None:
        return x.snapshot(here().emit("reshape", (x.value(),), shape=(x.type.size,)))
    return reshaped(x, (x.type.size,), copy=not flat)


def _ravel_in_k_order(x: TracedArray) -> Any:
    """The elements as they lie in memory."""
    order = broadcast_order([x], x.ndim)
    if order is None or any(view.op == "broadcast_to" for view in x.views):
        raise TraceError("TJ004", 'np.ravel with order="K" of unknown layout', user_line())
    if is_c_contiguous(permuted(x, order)) is None:
        raise TraceError("TJ004", 'np.ravel with order="K" of unknown layout', user_line())
    return ravel(permuted(x, order))


@handles(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order (reversed by default)."""
    if isinstance(a, TracedScalar) and not a.is_python and axes in (None, ()):
        return a
    x = asarray(a)
    if axes is None:
        return reversed_axes(x)
    if isinstance(axes, (int, np.integer)):
        axes = (axes,)
    if len(axes) != x.ndim:
        raise ValueError("axes don't match array")
    order = tuple(normalize_axis_index(k, x.ndim) for k in axes)
    if len(set(order)) != len(order):
        raise ValueError("repeated axis in transpose")
    return permuted(x, order)


@handles(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped."""
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@handles(np.swapaxes)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Two axes swapped."""
    x = asarray(a)
    i, j = (normalize_axis_index(k, x.ndim) for k in (axis1, axis2))
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return permuted(x, order)


@handles(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places, the others in their order."""
    x = asarray(a)
    old = normalize_axis_tuple(source, x.ndim, "source")
    new = normalize_axis_tuple(destination, x.ndim, "destination")
    if len(old) != len(new):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [k for k in range(x.ndim) if k not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return permuted(x, order)


@handles(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of size 1 at the given places of the result."""
    x = asarray(a)
    places = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = x.ndim + len(places)
    new = normalize_axis_tuple(places, ndim)
    if not new:
        return whole_view(x)
    old = iter(x.type.shape)
    return x.view("reshape", shape=tuple(1 if k in new else next(old) for k in range(ndim)))


@handles(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """Axes of size 1 dropped: all of them, or the ones named."""
    if isinstance(a, TracedScalar) and not a.is_python and axis is None:
        return a
    x = asarray(a)
    env = here().env
    shape = x.type.shape
    if axis is None:
        return _without(x, [k for k, d in enumerate(shape) if not env.expect(d, "!=", 1)])
    if not x.ndim and type(axis) is int and axis in (0, -1):
        return a if isinstance(a, TracedScalar) and not a.is_python else x
    gone = normalize_axis_tuple(axis, x.ndim)
    if any(not env.decide(shape[k], "==", 1) for k in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return _without(x, gone)


def _without(x: TracedArray, axes: Sequence[int]) -> TracedArray:
    """`x` without axes that are known to be of size 1, at least in this run."""
    shape = x.type.shape
    if all(shape[k] == 1 for k in axes):
        kept = tuple(k for k in range(x.ndim) if k not in axes)
        return x.view("reshape", kept=kept, shape=tuple(shape[k] for k in kept)) if axes else x
    found = x[tuple(0 if k in axes else slice(None) for k in range(x.ndim))]
    return asarray(found)


@handles(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: Any = False) -> Any:
    """`array` repeated to `shape`: a view that cannot be stored into."""
    x = asarray(array)
    target = shape_dims(shape)
    if not broadcasts_to(x.type.shape, target):
        raise ValueError(
            "operands could not be broadcast together with remapped shapes "
            f"[original->remapped]: {x.type.shape} and requested shape {target}"
        )
    return _broadcast_view(x, target, False)


def _broadcast_view(x: TracedArray, target: tuple[Dim, ...], writeable: bool | None) -> TracedArray:
    own = dims_as(x.type.shape, target[len(target) - x.ndim :])
    return fit_dims(x, own).view("broadcast_to", shape=target, writeable=writeable)


@handles(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: Any = False) -> Any:
    """Views of all arguments under their common shape."""
    arrays = [asarray(a) for a in args]
    shape = broadcast_dims([x.type.shape for x in arrays])
    return tuple(x if _has_shape(x, shape) else _broadcast_view(x, shape, None) for x in arrays)


def _has_shape(x: TracedArray, shape: tuple[Dim, ...]) -> bool:
    """Whether `x`, which broadcasts to a shape, has it."""
    env = here().env
    pairs = zip(x.type.shape, shape, strict=False)
    return x.ndim == len(shape) and all(d == n or not env.is_one(d) for d, n in pairs)

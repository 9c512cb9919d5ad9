"""NumPy's functions that make arrays, as nodes of the trace, with or without traced operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, operand
from tracejit.frontend.numpy.memory_orders import (
    copied,
    copy_order,
    expect_several,
    laid_out_as,
    memory_order,
)
from tracejit.frontend.numpy.registry import NOT_GIVEN, handles, only
from tracejit.frontend.numpy.shape import permuted, shape_dims
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    as_array,
    check_dtype,
    here,
    user_line,
    wrap,
    wrap_array,
)
from tracejit.ir.dims import Dim, prod
from tracejit.ir.types import dtype_name

__all__ = ["filled", "iota", "placeholder", "with_order"]


def iota(size: Dim, dtype: Any = np.int64) -> TracedArray:
    """0, 1, ..., size - 1. Raises ValueError for a negative size."""
    trace = here()
    if trace.env.decide(size, "<", 0):
        raise ValueError("negative dimensions are not allowed")
    if isinstance(size, int) and size >= 2**48:
        raise TraceError("TJ004", "more numbers than memory holds", user_line())
    return wrap_array(trace.emit("iota", (), size=size, dtype=dtype_name(np.dtype(dtype))))


def filled(shape: tuple[Dim, ...], value: Any, dtype: np.dtype[Any]) -> TracedArray:
    """A new array of one number. Raises ValueError for a negative size."""
    trace = here()
    for d in shape:
        if trace.env.decide(d, "<", 0):
            raise ValueError("negative dimensions are not allowed")
    size = prod(shape)
    if isinstance(size, int) and size * dtype.itemsize >= 2**63:
        raise ValueError(
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum "
            "possible size."
        )
    v = operand(value, check_dtype(dtype))
    return wrap_array(as_array(wrap(trace, v), shape))


def placeholder(x: Any) -> Any:
    """A concrete operand that NumPy promotes as it would promote `x`."""
    if isinstance(x, TracedArray):
        return np.ones((1,) * x.ndim, x.dtype)
    if isinstance(x, TracedScalar):
        python = {"int": 1, "float": 1.0, "complex": 1j, "bool": True}
        return python[str(x.type)] if x.is_python else x.dtype.type(1)
    if isinstance(x, SymInt):
        return 1
    return x


def with_order(dims: tuple[Dim, ...], value: Any, dtype: np.dtype[Any], order: Any) -> TracedArray:
    """A new array of one value in C or Fortran order."""
    if order == "F" and len(dims) > 1:
        return permuted(filled(dims[::-1], value, dtype), tuple(reversed(range(len(dims)))))
    if order not in ("C", "F", None):
        raise TraceError("TJ004", f"order={order!r}", user_line())
    return filled(dims, value, dtype)


def _maker(name: str, value: int) -> Any:
    def run(
        shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
    ) -> Any:
        only(f"np.{name}", device=device, like=like)
        d = np.dtype(dtype)
        return with_order(shape_dims(shape), check_dtype(d).type(value), d, order)

    return run


handles(np.zeros, creates=True)(_maker("zeros", 0))
handles(np.ones, creates=True)(_maker("ones", 1))
handles(np.empty, creates=True)(_maker("empty", 0))


@handles(np.full, creates=True)
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """A new array of one value, or of an array broadcast to its shape."""
    only("np.full", device=device, like=like)
    if isinstance(fill_value, (TracedArray, list, tuple, range)):
        x = asarray(fill_value)
        d = x.dtype if dtype is None else np.dtype(dtype)
        result = with_order(shape_dims(shape), d.type(0), d, order)
        result[...] = _castable(x, d)
        return result
    d = np.asarray(placeholder(fill_value)).dtype if dtype is None else np.dtype(dtype)
    return with_order(shape_dims(shape), _castable(fill_value, d), d, order)


def _castable(x: Any, d: np.dtype[Any]) -> Any:
    kind = np.asarray(placeholder(x)).dtype.kind
    if kind == "c" and d.kind != "c":
        raise TraceError("TJ004", "a complex value stored into a real array", user_line())
    if isinstance(x, float) and d.kind in "iu":
        info = np.iinfo(d)
        if not info.min <= x <= info.max:
            raise TraceError("TJ004", f"{x} stored into an array of {d}", user_line())
    return x


def _filled_like(
    name: str, a: Any, value: Any, dtype: Any, order: Any, shape: Any, device: Any
) -> TracedArray:
    """A new array in the shape and, for order "K", the axis order of `a`."""
    only(f"np.{name}", device=device)
    x = asarray(a)
    d = x.dtype if dtype is None else np.dtype(dtype)
    dims = x.type.shape if shape is None else shape_dims(shape)
    order = memory_order(x) if order == "A" else order or "K"
    if order is None:
        raise TraceError("TJ004", f'np.{name} with order="A" of an unknown layout', user_line())
    if order == "K" and len(dims) == x.ndim > 1:
        axes = copy_order(x)
        if axes is None:
            made = filled(dims, _castable(value, d), d)
            made.storage.order = None
            return made
        if axes != tuple(range(x.ndim)):
            expect_several(tuple(n for n in dims if not here().env.is_known(n)))
        made = filled(tuple(dims[k] for k in axes), _castable(value, d), d)
        return permuted(made, tuple(axes.index(k) for k in range(x.ndim)))
    return with_order(dims, _castable(value, d), d, "F" if order == "F" else "C")


def _like_maker(name: str, value: int) -> Any:
    def run(
        a: Any,
        dtype: Any = None,
        order: Any = "K",
        subok: Any = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        return _filled_like(name, a, value, dtype, order, shape, device)

    return run


handles(np.zeros_like)(_like_maker("zeros_like", 0))
handles(np.ones_like)(_like_maker("ones_like", 1))
handles(np.empty_like)(_like_maker("empty_like", 0))


@handles(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """A new array like `a` of one value, or of an array broadcast to its shape."""
    if not isinstance(fill_value, (TracedArray, list, tuple, range)):
        return _filled_like("full_like", a, fill_value, dtype, order, shape, device)
    result = _filled_like("full_like", a, 0, dtype, order, shape, device)
    result[...] = _castable(asarray(fill_value), result.dtype)
    return result


@handles(np.asarray, np.asanyarray, creates=True)
def asarray_(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Any:
    """`a` itself where it is such an array already."""
    only("np.asarray", device=device, like=like)
    if copy is False:
        raise TraceError("TJ004", "np.asarray with copy=False", user_line())
    return _array(a, dtype, bool(copy), order)


def _array(a: Any, dtype: Any, copy: bool, order: Any) -> TracedArray:
    """`a` as an array in a memory order; `a` itself where it is one and `copy` is not set."""
    order = "K" if order is None else order
    x = asarray(a)
    out = x if dtype is None or x.dtype == np.dtype(dtype) else asarray(a, dtype)
    if out is not a:
        made = order
        if order in ("K", "A"):
            # What is made of a list is in C order; NumPy casts in no other than K.
            made = "K" if isinstance(a, TracedArray) else "C"
        return out if out.ndim < 2 else copied(out, made, a)
    if copy:
        return copied(out, order)
    return out if order in ("K", "A") else laid_out_as(out, order)


def _in_order(name: str, order: str) -> Any:
    """An array in a memory order with at least one axis; whether it is a copy its layout says."""

    def run(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
        only(f"np.{name}", like=like)
        out = asarray(a, dtype)
        return laid_out_as(out, order) if out.ndim else out.reshape(1)

    return run


handles(np.ascontiguousarray, creates=True)(_in_order("ascontiguousarray", "C"))
handles(np.asfortranarray, creates=True)(_in_order("asfortranarray", "F"))


@handles(np.array, creates=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: Any = False,
    ndmin: Any = 0,
    ndmax: Any = 0,
    like: Any = None,
) -> Any:
    """A new array from an array, a number or a nested list."""
    only("np.array", like=like, ndmax=NOT_GIVEN if ndmax == 0 else ndmax)
    if copy is False:
        raise TraceError("TJ004", "np.array with copy=False", user_line())
    out = _array(object, dtype, bool(copy), order)
    return out[(None,) * (ndmin - out.ndim)] if ndmin > out.ndim else out


@handles(np.copy)
def copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    """A new array with the same contents."""
    return copied(asarray(a), order)

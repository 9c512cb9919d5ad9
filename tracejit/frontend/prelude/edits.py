"""Arrays with elements deleted, of another size or dtype, and arrays that fulfil demands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.frontend.prelude.intrinsics import is_known, refuse

__all__ = ["FUNCTIONS"]


def without(arr: Any, k: Any, axis: Any) -> Any:
    """Returns an array without element `k` along an axis."""
    n, key = arr.shape[axis], (slice(None),) * axis
    if not is_known(k, n):
        places = np.arange(n - 1)
        return arr[(*key, places + (places >= np.arange(n)[k]))]
    if k < -n or k >= n:
        raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
    k = k + n if k < 0 else k
    return np.concatenate((arr[(*key, slice(None, k))], arr[(*key, slice(k + 1, None))]), axis)


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """The array without some elements along an axis."""
    arr = np.asarray(arr)
    if axis is None:
        arr, axis = arr.ravel(), 0
    axis = normalize_axis_index(axis, arr.ndim)
    n = arr.shape[axis]
    if isinstance(obj, (list, np.ndarray)):
        given, obj = obj, np.asarray(obj)
        if obj.size == 0 and isinstance(given, list):
            obj = obj.astype(np.intp)
        elif obj.size == 1 and obj.dtype.kind in "ui":
            obj = obj.item()
    if type(obj) is int or isinstance(obj, np.integer):
        left = without(arr, obj, axis)
    elif isinstance(obj, np.ndarray) and obj.dtype.kind == "b" and obj.shape != (n,):
        raise ValueError(
            "boolean array argument obj to delete must be one dimensional and match the axis "
            f"length of {n}"
        )
    elif isinstance(obj, (slice, np.ndarray)):
        keep = np.ones(n, bool)
        keep[obj] = False
        left = arr[(*(slice(None),) * axis, keep)]
        if isinstance(obj, np.ndarray):
            return left
    else:
        refuse("np.delete at an object of another class")
    out = np.empty_like(arr, shape=left.shape, order="A")
    out[...] = left
    return out


def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated or cut off, under another shape."""
    if isinstance(new_shape, np.ndarray) and new_shape.ndim:
        refuse("np.resize to an array")
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    a, size = np.ravel(a), 1
    for n in shape:
        size *= n
        if n < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    if a.size == 0 or size == 0:
        return np.zeros_like(a, shape=shape)
    return np.concatenate((a,) * int(-(-size // a.size)))[:size].reshape(shape)


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """The array in another dtype."""
    if not isinstance(x, np.ndarray) or device is not None:
        refuse("np.astype in this form")
    return x.astype(dtype, copy=copy)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`a` as an array of finite numbers."""
    a = np.asarray(a, dtype, order)
    if a.dtype.kind in "fc" and not np.isfinite(a).all():
        raise ValueError("array must not contain infs or NaNs")
    return a


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`a` as an array of a dtype, in a memory order."""
    if like is not None:
        refuse("np.require with like=")
    if not requirements:
        return np.asanyarray(a, dtype)
    letters = {str(name).upper()[0] for name in requirements}
    if not letters <= {"C", "F"}:
        refuse("np.require of more than a memory order")
    if len(letters) > 1:
        raise ValueError('Cannot specify both "C" and "F" order')
    return np.asanyarray(a, dtype, "F" if "F" in letters else "C")


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.asarray_chkfinite: asarray_chkfinite,
    np.astype: astype,
    np.delete: delete,
    np.require: require,
    np.resize: resize,
}

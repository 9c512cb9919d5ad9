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


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The array with elements put in front of places along an axis."""
    arr = np.asarray(arr)
    if axis is None:
        arr, axis = arr.ravel(), 0
    axis = normalize_axis_index(axis, arr.ndim)
    n = arr.shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(n))
    if isinstance(obj, (list, tuple)) and len(obj) > 1 and all_known(obj, n):
        require_fit(values, (*arr.shape[:axis], len(obj), *arr.shape[axis + 1 :]))
        return between(arr, [k + n if k < 0 else k for k in obj], values, axis)
    places = np.array(obj)
    if places.size == 0 and not isinstance(obj, np.ndarray):
        places = places.astype(np.intp)
    if places.dtype.kind not in "iu":
        refuse("np.insert at places that are no integers")
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if places.size == 1:
        k = obj if type(obj) is int else places.item()
        if k < -n or k > n:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
        k = k + n if k < 0 else k
        values = np.array(values, copy=None, ndmin=arr.ndim, dtype=arr.dtype)
        if places.ndim == 0:
            values = np.moveaxis(values, 0, axis)
        new = like(arr, values.shape[axis], axis)
        new[...] = values
        return joined(arr, [k], [new], axis)
    order = np.argsort(places, kind="stable")
    places = np.where(places < 0, places + n, places)
    places[order] += np.arange(len(places))
    out = like(arr, n + len(places), axis)
    old = np.ones(out.shape[axis], bool)
    old[places] = False
    key = (slice(None),) * axis
    out[(*key, places)] = values
    out[(*key, old)] = arr
    return out


def all_known(places: Any, n: Any) -> Any:
    """Whether a few places along an axis of `n` elements are ints inside that are known."""
    if len(places) > 8 or not is_known(n, *places):
        return False
    inside = [type(k) is int and -n <= k <= n for k in places]
    return all(inside)


def require_fit(values: Any, shape: Any) -> None:
    """Refuse values that cannot be broadcast to a shape."""
    given = np.shape(values)
    misfits = [d != 1 and d != n for d, n in zip(given[::-1], shape[::-1], strict=False)]
    if len(given) > len(shape) or any(misfits):
        refuse("np.insert of values of another shape")


def between(arr: Any, places: Any, values: Any, axis: Any) -> Any:
    """An array with one of several values in front of each place."""
    new, key = like(arr, len(places), axis), (slice(None),) * axis
    new[...] = values
    order = sorted(range(len(places)), key=lambda j: places[j])
    parts = [new[(*key, slice(j, j + 1))] for j in order]
    return joined(arr, [places[j] for j in order], parts, axis)


def joined(arr: Any, places: Any, parts: Any, axis: Any) -> Any:
    """An array with parts put in front of places, which ascend."""
    key, pieces, last = (slice(None),) * axis, [], 0
    for k, part in zip(places, parts, strict=True):
        pieces += [arr[(*key, slice(last, k))], part]
        last = k
    whole = np.concatenate([*pieces, arr[(*key, slice(last, None))]], axis)
    out = like(arr, whole.shape[axis], axis)
    out[...] = whole
    return out


def like(arr: Any, count: Any, axis: Any) -> Any:
    """A new array with another number of elements along an axis, laid out as NumPy's edits are."""
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    return np.empty_like(arr, shape=shape, order="A")


def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated or cut off, under another shape."""
    if not isinstance(new_shape, (int, np.integer, list, tuple)):
        refuse("np.resize to another object than a shape")
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
    np.insert: insert,
    np.require: require,
    np.resize: resize,
}

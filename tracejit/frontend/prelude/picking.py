"""Elements picked and stored by conditions and places; functions applied to parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tracejit.frontend.prelude.intrinsics import NUMPY, elements_at, refuse

__all__ = ["FUNCTIONS"]


def argwhere(a: Any) -> Any:
    """The indices of the elements that are not zero, a row for each."""
    a = np.asarray(a)
    places = flatnonzero(a)
    if a.ndim == 0:
        return np.zeros((len(places), 0), np.intp)
    return np.stack(indices_of(places, a.shape)).T


def indices_of(places: Any, shape: Any) -> list[Any]:
    """The numbers of elements as an index for each axis."""
    parts: list[Any] = []
    for n in shape[:0:-1]:
        parts.append(places % n)
        places = places // n
    parts.append(places)
    return parts[::-1]


def flatnonzero(a: Any) -> Any:
    """The indices of the elements of the raveled array that are not zero."""
    return np.nonzero(np.ravel(a))[0]


def extract(condition: Any, arr: Any) -> Any:
    """The elements of the raveled array where the condition holds."""
    return np.take(np.ravel(arr), np.nonzero(np.ravel(condition))[0])


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices along an axis (None: the raveled array) where the condition holds."""
    if isinstance(axis, tuple) or out is not None and not isinstance(out, np.ndarray):
        refuse("np.compress along several axes, or into no array")
    condition = np.asarray(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return np.take(a, np.nonzero(condition)[0], axis, out)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element the first choice whose condition holds there."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    sides = [v if type(v) in (int, float, complex) else np.asarray(v) for v in choicelist]
    sides.append(default if type(default) in (int, float, complex) else np.asarray(default))
    dtype = np.result_type(*sides)
    conditions = [np.asarray(c) for c in condlist]
    for k, c in enumerate(conditions):
        if c.dtype.kind != "b":
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    *choices, found = [np.asarray(v) for v in sides]
    for v in choices:
        if not np.can_cast(v.dtype, dtype, "same_kind"):
            refuse("np.select of a choice that does not fit")
    found = found.astype(dtype)
    for c, v in zip(conditions[::-1], choices[::-1], strict=True):
        found = np.where(c, v.astype(dtype, copy=False), found)
    return np.asarray(found, order="C")


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Elements that a function or a number gives where its condition holds."""
    x = np.asarray(x)
    lone = np.isscalar(condlist)
    if lone or x.ndim != 0 and not isinstance(condlist[0], (list, np.ndarray)):
        condlist = [condlist]
    conditions = np.asarray(condlist, dtype=np.bool_)
    n = len(conditions)
    if n == len(funclist) - 1:
        others = ~np.any(conditions, axis=0, keepdims=True)
        conditions = np.concatenate([conditions, others], axis=0)
    elif n != len(funclist):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = np.zeros_like(x)
    for k, f in enumerate(funclist):
        if not callable(f):
            y[conditions[k]] = f
        else:
            part = x[conditions[k]]
            if part.size > 0:
                y[conditions[k]] = f(part, *args, **kw)
    return y


def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function gives for each vector along an axis, in place of that axis."""
    arr = np.asarray(arr)
    axis = normalize_axis_index(axis, arr.ndim)
    last = arr.ndim - 1
    before, after = list(range(axis)), list(range(axis + 1, arr.ndim))
    rows = np.transpose(arr, before + after + [axis])
    places = (place + (Ellipsis,) for place in np.ndindex(rows.shape[:-1]))
    for n in rows.shape[:-1]:
        if n == 0:
            raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    place = next(places)
    first = np.asarray(func1d(rows[place], *args, **kwargs))
    found = np.zeros_like(first, shape=rows.shape[:-1] + first.shape)
    found[place] = first
    for place in places:
        found[place] = np.asarray(func1d(rows[place], *args, **kwargs))
    inner = list(range(last, last + first.ndim))
    return np.transpose(found, before + inner + list(range(axis, last)))


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """What a function gives for an array and one axis after another."""
    found, n = np.asarray(a), a.ndim
    if np.ndim(axes) == 0:
        axes = (axes,)
    for axis in axes:
        axis = axis + n if axis < 0 else axis
        new = func(found, axis)
        if new.ndim != found.ndim:
            new = np.expand_dims(new, axis)
        if new.ndim != found.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        found = new
    return found


def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    """An array without the zeros at its beginnings and ends: a view."""
    x, trim = np.asarray(filt), trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    if NUMPY < (2, 4) and (axis is not None or x.ndim == 0):
        refuse("np.trim_zeros along an axis, before NumPy 2.4")
    axes = tuple(range(x.ndim))
    if axis is not None:
        axes = normalize_axis_tuple(axis, x.ndim, argname="axis")
    if not axes:
        return filt
    differs, parts = x != 0, []
    for k, n in enumerate(x.shape):
        others = tuple([j for j in range(x.ndim) if j != k])
        lines, number = np.any(differs, axis=others) if others else differs, np.arange(n)
        end: Any = np.max(np.where(lines, number + 1, 0), initial=0)
        begin: Any = np.min(np.where(lines, number, end), initial=n)
        if "f" not in trim:
            begin = 0
        if "b" not in trim:
            end = np.where(end > 0, n, 0)[()]
        parts.append(slice(begin, end) if k in axes else slice(None))
    return filt[parts[0]] if x.ndim == 1 else filt[tuple(parts)]


def along(indices: Any, shape: Any, axis: Any) -> Any:
    """The indices of elements, for each axis, where those along one are given."""
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if len(shape) != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    keys = []
    for k, n in enumerate(shape):
        lone = [n if j == k else 1 for j in range(len(shape))]
        keys.append(indices if k == axis else np.arange(n).reshape(lone))
    return tuple(keys)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Elements at indices along one axis, matched with the other axes."""
    if isinstance(arr, (list, tuple)) or isinstance(indices, (list, tuple)):
        refuse("np.take_along_axis of sequences")
    if axis is not None:
        axis = normalize_axis_index(axis, arr.ndim)
        return arr[along(indices, arr.shape, axis)]
    if indices.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    arr = np.ravel(arr)
    return arr[along(indices, arr.shape, 0)]


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Store at indices along one axis, matched with the other axes."""
    if isinstance(arr, (list, tuple)) or isinstance(indices, (list, tuple)):
        refuse("np.put_along_axis of sequences")
    if axis is not None:
        axis = normalize_axis_index(axis, arr.ndim)
        arr[along(indices, arr.shape, axis)] = values
        return
    if indices.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    if NUMPY < (2, 4):
        arr.flat[along(indices, (arr.size,), 0)] = values
    elif arr.flags.c_contiguous:
        arr.reshape(-1)[along(indices, (arr.size,), 0)] = values
    else:
        refuse("np.put_along_axis with axis=None")


def fill_diagonal(a: Any, val: Any, wrap: Any = False) -> None:
    """Store along the main diagonal; with `wrap` that of a tall matrix starts again."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and any(n != a.shape[0] for n in a.shape):
        raise ValueError("All dimensions of input must be of equal length")
    a.flat[:0] = 0  # An array that is read-only says so as NumPy has it.
    if a.size == 0:
        return
    if a.ndim == 2 and wrap:
        rows, columns = a.shape
        number = np.arange((rows * columns + columns) // (columns + 1)) * (columns + 1)
        places: Any = np.divmod(number, columns)
    else:
        number = np.arange(min(a.shape))
        places = (number,) * a.ndim
    if np.ndim(val) == 0:
        a[places] = val
        return
    val = np.ravel(val)
    if val.size == 0:
        refuse("np.fill_diagonal with no values")
    a[places] = elements_at(val, np.arange(len(number)) % val.size)


def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    """Flat indices as one index an axis."""
    x = np.asarray(indices)
    if order not in ("C", "F") or isinstance(indices, (list, tuple)) and len(indices) == 0:
        refuse("np.unravel_index in this form")
    if x.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(type(n) is not int and not isinstance(n, np.integer) for n in sizes):
        refuse("np.unravel_index with such a shape")
    whole: Any = 1
    for n in sizes:
        whole = whole * n
    rest = x.astype(np.intp, copy=False)
    inside = (rest >= 0) & (rest < whole)
    if not inside.all():
        wrong = rest.reshape(-1)[np.argmin(inside)]
        raise ValueError(f"index {wrong} is out of bounds for array with size {whole}")
    parts = indices_of(rest, sizes if order == "C" else sizes[::-1])
    parts = parts if order == "C" else parts[::-1]
    if x.ndim == 0:
        return tuple([p[()] for p in parts])
    if len(parts) == 1:
        return (parts[0] + 0,)
    table = np.stack(parts, axis=-1)
    return tuple([table[..., k] for k in range(len(parts))])


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """The flat indices of elements that have an index for each axis."""
    sizes = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(multi_index) != len(sizes) or order not in ("C", "F"):
        refuse("np.ravel_multi_index in this form")
    modes = (mode,) * len(sizes) if type(mode) is str else mode
    if len(modes) != len(sizes) or any(m not in ("raise", "wrap", "clip") for m in modes):
        refuse("np.ravel_multi_index with such modes")
    found: Any = 0
    steps = range(len(sizes)) if order == "C" else range(len(sizes) - 1, -1, -1)
    for k in steps:
        x, n = np.asarray(multi_index[k]), sizes[k]
        if x.dtype.kind not in "biu" or type(n) is not int or n < 1:
            refuse("np.ravel_multi_index of such indices")
        x = x.astype(np.intp, copy=False)
        if modes[k] == "raise":
            if not ((x >= 0) & (x < n)).all():
                raise ValueError("invalid entry in coordinates array")
        else:
            x = x % n if modes[k] == "wrap" else np.clip(x, 0, n - 1)
        found = found * n + x
    return found


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.apply_along_axis: apply_along_axis,
    np.apply_over_axes: apply_over_axes,
    np.argwhere: argwhere,
    np.compress: compress,
    np.extract: extract,
    np.fill_diagonal: fill_diagonal,
    np.flatnonzero: flatnonzero,
    np.piecewise: piecewise,
    np.put_along_axis: put_along_axis,
    np.ravel_multi_index: ravel_multi_index,
    np.select: select,
    np.take_along_axis: take_along_axis,
    np.trim_zeros: trim_zeros,
    np.unravel_index: unravel_index,
}

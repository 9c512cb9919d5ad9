"""Joins of arrays: stacks, columns, blocks, and what gives arrays axes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]

#: NumPy fills blocks of more elements one by one, in C or Fortran order.
_LARGE_BLOCK = 2 * 512 * 512


_NO_SEQUENCE = 'arrays to stack must be passed as a "sequence" type such as list or tuple.'


def atleast_1d(*arys: Any) -> Any:
    """Each array with at least one axis."""
    if len(arys) != 1:
        return tuple([atleast_1d(x) for x in arys])
    x = np.asanyarray(arys[0])
    return x if x.ndim else x.reshape(1)


def atleast_2d(*arys: Any) -> Any:
    """Each array with at least two axes; vectors are rows."""
    if len(arys) != 1:
        return tuple([atleast_2d(x) for x in arys])
    x = np.asanyarray(arys[0])
    if x.ndim > 1:
        return x
    return x[None, :] if x.ndim else x.reshape(1, 1)


def atleast_3d(*arys: Any) -> Any:
    """Each array with at least three axes; vectors lie along the second."""
    if len(arys) != 1:
        return tuple([atleast_3d(x) for x in arys])
    x = np.asanyarray(arys[0])
    if x.ndim > 2:
        return x
    if x.ndim == 2:
        return x[:, :, None]
    return x[None, :, None] if x.ndim else x.reshape(1, 1, 1)


def as_column(x: Any) -> Any:
    """A vector or a number as a column."""
    return x if x.ndim > 1 else np.atleast_2d(x).T


def fitted(arrays: Any, fit: Callable[[Any], Any]) -> Any:
    """Returns a sequence of arrays, or an array along its first axis, to each of which `fit` gave
    axes."""
    if isinstance(arrays, np.ndarray) and arrays.ndim and len(arrays):
        return arrays.reshape(len(arrays), *fit(np.asarray(arrays[0])).shape)
    if isinstance(arrays, np.ndarray) and arrays.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    if type(arrays) in (bool, int, float, complex):
        raise TypeError(_NO_SEQUENCE)
    if not isinstance(arrays, (list, tuple, np.ndarray, np.generic)):
        refuse("arrays in another sequence")
    return [fit(np.asanyarray(x)) for x in arrays]


def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Arrays of one shape joined along a new axis."""
    if isinstance(arrays, np.ndarray) and arrays.ndim and len(arrays):
        axis = normalize_axis_index(axis, arrays.ndim)
        new: Any = arrays[(*(slice(None),) * (axis + 1), None)]
    else:
        parts = fitted(arrays, np.asanyarray)
        if not parts:
            raise ValueError("need at least one array to stack")
        if any(x.shape != parts[0].shape for x in parts):
            raise ValueError("all input arrays must have the same shape")
        axis = normalize_axis_index(axis, parts[0].ndim + 1)
        new = [x[(*(slice(None),) * axis, None)] for x in parts]
    return np.concatenate(new, axis, out, dtype=dtype, casting=casting)


def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays joined along the first axis; vectors are rows."""
    return np.concatenate(fitted(tup, np.atleast_2d), 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays joined along the second axis; vectors along their own."""
    parts = fitted(tup, np.atleast_1d)
    axis = 0 if len(parts) and parts[0].ndim == 1 else 1
    return np.concatenate(parts, axis, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """Arrays joined along the third axis."""
    return np.concatenate(fitted(tup, np.atleast_3d), 2)


def column_stack(tup: Any) -> Any:
    """Arrays joined as columns."""
    return np.concatenate(fitted(tup, as_column), 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """`values` joined behind `arr`."""
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(values)), 0)
    return np.concatenate((np.asanyarray(arr), values), axis)


def levels_of(x: Any) -> Any:
    """Returns how many levels of lists there are around arrays."""
    if isinstance(x, tuple):
        refuse("np.block of a tuple")
    if not isinstance(x, list):
        return 0
    levels = [levels_of(part) for part in x]
    if not levels or any(n != levels[0] for n in levels):
        refuse("np.block of lists in unlike levels")
    return levels[0] + 1


def arrays_in(x: Any) -> Any:
    """Returns the arrays in nested lists."""
    return [a for part in x for a in arrays_in(part)] if isinstance(x, list) else [np.asanyarray(x)]


def joined_blocks(x: Any, level: Any, ndim: Any) -> Any:
    """Returns nested lists of blocks joined along axis `-level`."""
    if level:
        return np.concatenate([joined_blocks(part, level - 1, ndim) for part in x], -level)
    return np.array(x, copy=None, subok=True, ndmin=ndim)


def block(arrays: Any) -> Any:
    """Blocks in nested lists, joined along the last axis, the last but one, and so on."""
    levels, parts = levels_of(arrays), arrays_in(arrays)
    if not levels:
        return parts[0].copy()
    ndim = max([levels, *[x.ndim for x in parts]])
    out = joined_blocks(arrays, levels, ndim)
    if levels * out.size <= _LARGE_BLOCK:
        return out
    in_fortran = all(x.flags.f_contiguous for x in parts)
    in_c = all(x.flags.c_contiguous for x in parts)
    return out.copy(order="F" if in_fortran and not in_c else "C")


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.append: append,
    np.atleast_1d: atleast_1d,
    np.atleast_2d: atleast_2d,
    np.atleast_3d: atleast_3d,
    np.block: block,
    np.column_stack: column_stack,
    np.dstack: dstack,
    np.hstack: hstack,
    np.stack: stack,
    np.vstack: vstack,
}

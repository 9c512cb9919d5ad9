"""Differences, running sums and integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]


def neighbours(ndim: int, axis: Any) -> Any:
    """Keys of all elements but the first, and but the last, along an axis."""
    after, before = [slice(None)] * ndim, [slice(None)] * ndim
    after[axis], before[axis] = slice(1, None), slice(None, -1)
    return tuple(after), tuple(before)


def diff(
    a: Any, n: Any = 1, axis: Any = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    """Differences of neighbours, `n` times; of booleans, whether they differ."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    a = np.asanyarray(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    parts = [a]
    if prepend is not np._NoValue:
        parts = [end_of(prepend, a.shape, axis), a]
    if append is not np._NoValue:
        parts = [*parts, end_of(append, a.shape, axis)]
    if len(parts) > 1:
        a = np.concatenate(parts, axis)
    after, before = neighbours(a.ndim, axis)
    subtract = np.not_equal if a.dtype == np.bool else np.subtract
    for _ in range(n):
        a = subtract(a[after], a[before])
    return a


def end_of(x: Any, shape: Any, axis: Any) -> Any:
    """What is put before or after an array of a shape; a number once for each row."""
    x = np.asanyarray(x)
    return x if x.ndim else np.broadcast_to(x, (*shape[:axis], 1, *shape[axis + 1 :]))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of all elements, between two other ends."""
    ary = np.asanyarray(ary).ravel()
    begin = [] if to_begin is None else [end_as(to_begin, ary, "to_begin")]
    end = [] if to_end is None else [end_as(to_end, ary, "to_end")]
    found = ary[1:] - ary[:-1]
    return np.concatenate((*begin, found, *end)) if begin or end else found


def end_as(x: Any, ary: Any, name: str) -> Any:
    """An end in the dtype of the differences."""
    x = np.asanyarray(x)
    if not np.can_cast(x, ary.dtype, casting="same_kind"):
        rule = "must be compatible with input `ary` under the `same_kind` rule."
        raise TypeError(f"dtype of `{name}` {rule}")
    return x.ravel().astype(ary.dtype, copy=False)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral by the trapezoid rule."""
    y = np.asanyarray(y)
    d = dx
    if x is not None:
        x = np.asanyarray(x)
        if x.ndim == 1:
            shape = [1] * y.ndim
            d = diff(x)
            shape[axis] = d.shape[0]
            d = d.reshape(shape)
        else:
            d = diff(x, axis=axis)
    after, before = neighbours(y.ndim, axis)
    return (d * (y[after] + y[before]) / 2.0).sum(axis)


def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Any:
    """Phases without jumps of more than half a period."""
    p = np.asarray(p)
    d = diff(p, axis=axis)
    axis = normalize_axis_index(axis, p.ndim)
    dtype = np.result_type(d, period)
    if np.issubdtype(dtype, np.integer):
        high, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        high, is_ambiguous = period / 2, True
    step = np.mod(d + high, period) - high
    if is_ambiguous:
        step = np.where((step == -high) & (d > 0), high, step)
    change = step - d
    change = np.where(np.abs(d) < (period / 2 if discont is None else discont), 0, change)
    after, _ = neighbours(p.ndim, axis)
    out = np.array(p, copy=True, dtype=dtype)
    out[after] = p[after] + change.cumsum(axis)
    return out


def running(ufunc: Any) -> Any:
    """Running sums or products along an axis, which may begin with 0 or 1."""

    def run(
        x: Any,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: Any = False,
    ) -> Any:
        x = np.atleast_1d(x)
        if axis is None:
            if x.ndim >= 2:
                raise ValueError(
                    "For arrays which have more than one dimension ``axis`` argument is required."
                )
            axis = 0
        if include_initial and out is not None:
            refuse("running sums or products with include_initial= and out=")
        found = ufunc.accumulate(x, axis=axis, dtype=dtype, out=out)
        if not include_initial:
            return found
        axis = normalize_axis_index(axis, x.ndim)
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        start = np.full(shape, ufunc.identity, found.dtype)
        return np.concatenate((start, found), axis=axis)

    return run


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.diff: diff,
    np.ediff1d: ediff1d,
    np.trapezoid: trapezoid,
    np.unwrap: unwrap,
    np.cumulative_sum: running(np.add),
    np.cumulative_prod: running(np.multiply),
}

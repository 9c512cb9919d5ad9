"""Searches in sorted arrays, interpolation, counts of ints, and orders by several keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import (
    NUMPY,
    added_at,
    derived_as,
    elements_at,
    over_elements,
    refuse,
    require,
)

__all__ = ["FUNCTIONS", "bisected", "counted", "vector"]

#: Arrays of so many elements at most are looked through before something is searched in them.
_FEW = 4096
#: So many points at least are looked through: if they are in order they are met one by one. So many
#: bytes at least are looked up.
_MANY = 1024


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Where `v` goes in the sorted `a`, by bisection; NaN is the largest of all numbers."""
    if sorter is not None or side not in ("left", "right"):
        refuse("np.searchsorted with sorter=, or another side")
    a, v = vector(a), np.asarray(v)
    if a.dtype.kind not in "biuf" or v.dtype.kind not in "biuf":
        refuse("np.searchsorted of these arrays")
    dtype = np.promote_types(a.dtype, v.dtype)
    a, keys = a.astype(dtype, copy=False), v.astype(dtype, copy=False).reshape(-1)
    n, count = len(a), len(keys)
    if n == 0:
        found = np.zeros(count, np.intp)
    elif n <= max(_FEW, 4 * count):
        require_order(a)
        if dtype.itemsize == 1 and count >= _MANY:
            found = bisected_bytes(a, keys, side)
        else:
            found = bisected(a, keys, side)
    else:
        found = bisected_in_turn(a, keys, side)
    return np.reshape(found, v.shape, copy=True) if v.ndim else found[0]


def vector(x: Any) -> Any:
    """An array with one axis. Raises ValueError."""
    x = np.asarray(x)
    if x.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if x.ndim > 1:
        raise ValueError("object too deep for desired array")
    return x


def goes_before(x: Any, key: Any, side: str) -> Any:
    """Whether elements stay before keys that are put on a side of their equals."""
    if key.dtype.kind != "f":
        return x < key if side == "left" else x <= key
    if side == "left":
        return (x < key) | ((key != key) & (x == x))
    return (x <= key) | (key != key)


def require_order(a: Any) -> None:
    """Leave a run to NumPy in which elements are not in ascending order."""
    require(goes_before(a[:-1], a[1:], "right").all())


def bisected(a: Any, keys: Any, side: str) -> Any:
    """Where keys go in the sorted `a`, which has elements: each interval is halved at once."""
    found, size = np.zeros(len(keys), np.intp), len(a)
    while size > 1:
        half = size // 2
        found += np.where(goes_before(elements_at(a, found + (half - 1)), keys, side), half, 0)
        size -= half
    return found + goes_before(elements_at(a, found), keys, side)


def bisected_bytes(a: Any, keys: Any, side: str) -> Any:
    """As `bisected`, which is asked once for each value that a byte has."""
    first = -128 if a.dtype.kind == "i" else 0
    count = 2 if a.dtype.kind == "b" else 256
    values = np.arange(first, first + count).astype(a.dtype)
    return elements_at(bisected(a, values, side), keys.astype(np.intp) - first)


@over_elements
def bisected_in_turn(a: Any, keys: Any, side: str) -> Any:
    """As `bisected`, from where the key before was found on, as NumPy does it in any order."""
    found = np.empty(len(keys), np.intp)
    n, low, high = len(a), 0, len(a)
    for i in range(len(keys)):
        key = keys[i]
        if goes_before(keys[max(i - 1, 0)], key, side):
            high = n
        else:
            low, high = 0, min(high + 1, n)
        while low < high:
            middle = (low + high) // 2
            if goes_before(a[middle], key, side):
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """The number of the interval between ascending or descending bounds that each element is in."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    bins = vector(bins)
    if bins.dtype.kind not in "biuf" or type(right) is not bool:
        refuse("np.digitize with these bins")
    if bins.dtype.kind == "f":
        require(not np.isnan(bins).any())
    side: Any = "left" if right else "right"
    bounds = bins.astype(np.float64, copy=False)
    if not (bounds[:-1] > bounds[1:]).any():
        return np.searchsorted(bins, x, side)
    if (bounds[:-1] < bounds[1:]).any():
        raise ValueError("bins must be monotonically increasing or decreasing")
    return len(bins) - np.searchsorted(bins[::-1], x, side)


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """How often each int occurs, or the sum of the weights beside it."""
    x = vector(x)
    if not np.can_cast(x.dtype, np.intp) or type(minlength) is not int:
        refuse("np.bincount of these numbers")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if weights is not None:
        weights = np.asarray(weights)
        if len(x) == 0:
            return np.zeros(minlength, np.intp)
        if weights.ndim != 1 or weights.dtype.kind not in "biuf":
            refuse("np.bincount with these weights")
        if len(weights) != len(x):
            raise ValueError("The weights and list don't have the same length.")
    x = x.astype(np.intp, copy=False)
    if x.min(initial=0) < 0:
        raise ValueError("'list' argument must have no negative elements")
    return counted(x, weights, max(int(x.max(initial=-1)) + 1, minlength))


@over_elements
def counted(x: Any, weights: Any, size: Any) -> Any:
    """How often each int below `size` occurs, or the sum of the weights beside it."""
    if weights is None:
        counts = np.zeros(size, np.intp)
        for i in range(len(x)):
            counts[x[i]] += 1
        return counts
    weights = weights.astype(np.float64, copy=False)
    sums = np.zeros(size)
    for i in range(len(x)):
        sums[x[i]] += weights[i]
    return derived_as(sums, added_at(np.zeros(size), x, weights))


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The piecewise linear function through points; at one of them its derivative is that on the
    right, at the last that on the left.
    """
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if not all(v.dtype.kind in "biuf" for v in (x, xp, fp)):
        refuse("np.interp of such numbers")
    ends = [np.asarray(v) for v in (left, right) if v is not None]
    if not all(v.ndim == 0 and v.dtype.kind in "biuf" for v in ends):
        refuse("np.interp with such ends")
    shape, x = x.shape, x.astype(np.float64, copy=False).reshape(-1)
    xp, fp = xp.astype(np.float64, copy=False), fp.astype(np.float64, copy=False)
    if period is not None:
        x, xp, fp = in_period(x, xp, fp, period)
        left = right = None
    n, fp = len(vector(xp)), vector(fp)
    if n == 0 and (x.size > 0 or NUMPY < (2, 5)):
        raise ValueError("array of sample points is empty")
    if len(fp) != n:
        raise ValueError("fp and xp are not of the same length.")
    if n == 0:
        return np.zeros(shape)
    first = fp[0] if left is None else np.float64(left)
    last = fp[-1] if right is None else np.float64(right)
    require_order(xp)
    if n == 1:
        value = np.where(x < xp[0], first, np.where(x > xp[0], last, fp[0]))
        return np.reshape(value, shape, copy=True) if shape else value[0]
    value = np.empty(len(x))
    if len(x) >= _MANY and 4 * len(x) >= n and (x[:-1] <= x[1:]).all():
        interp_in_order(value, x, xp, fp, first, last)
    else:
        value[:] = interp_at_once(x, xp, fp, first, last, False)
    value = derived_as(value, interp_at_once(x, xp, fp, first, last, True))
    return np.reshape(value, shape, copy=True) if shape else value[0]


def in_period(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    """Numbers and points in one period from 0 on, in order, with a point beyond each end."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    xp = xp % period
    order = np.argsort(xp)
    xp, fp = elements_at(xp, order), elements_at(fp, order)
    xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
    return x % period, xp, np.concatenate((fp[-1:], fp, fp[:1]))


def interp_at_once(x: Any, xp: Any, fp: Any, first: Any, last: Any, is_line: bool) -> Any:
    """The values at numbers in any order; or the lines that they lie on, for derivatives."""
    n, slopes = len(xp), (fp[1:] - fp[:-1]) / (xp[1:] - xp[:-1])
    base = np.minimum(np.maximum(bisected(xp, x, "right") - 1, 0), n - 1)
    low = np.minimum(base, n - 2)
    # At the last point the interval ends, at all others it begins.
    x0, y0 = elements_at(xp, base), elements_at(fp, base)
    slope = elements_at(slopes, low)
    is_outside = (x < x0) | (x > elements_at(xp, n - 1))
    line = np.where(is_outside, np.where(x < x0, first, last), slope * (x - x0) + y0)
    if is_line:
        return line
    value = np.where((x == x0) | np.isnan(x), np.where(x == x0, y0, x), line)
    if np.isnan(value).any():
        # What is NaN from one side may be a number from the other.
        x1, y1 = elements_at(xp, low + 1), elements_at(fp, low + 1)
        other = slope * (x - x1) + y1
        other = np.where(np.isnan(other) & (y0 == y1), y0, other)
        value = np.where(np.isnan(value) & ~is_outside & ~np.isnan(x), other, value)
    return value


@over_elements
def interp_in_order(values: Any, x: Any, xp: Any, fp: Any, first: Any, last: Any) -> None:
    """The values at numbers in ascending order: one walk along both."""
    n, at = len(xp), 0
    for i in range(len(x)):
        here = x[i]
        while at < n and xp[at] <= here:
            at += 1
        if at == 0:
            values[i] = first
        elif xp[at - 1] == here:
            values[i] = fp[at - 1]
        elif at == n:
            values[i] = last
        else:
            slope = (fp[at] - fp[at - 1]) / (xp[at] - xp[at - 1])
            value = slope * (here - xp[at - 1]) + fp[at - 1]
            if value != value:
                # What is NaN from one side may be a number from the other.
                value = slope * (here - xp[at]) + fp[at]
                if value != value and fp[at - 1] == fp[at]:
                    value = fp[at]
            values[i] = value


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Places that sort by the last key, those of equal ones by the key before it, and so on."""
    keys = [np.asarray(key) for key in keys]
    if len(keys) == 0 or axis not in (0, -1):
        refuse("np.lexsort along this axis")
    for key in keys:
        if key.ndim != 1 or key.dtype.kind not in "biuf":
            refuse("np.lexsort of these keys")
        if len(key) != len(keys[0]):
            raise ValueError("all keys need to be the same shape")
    order = np.argsort(keys[0], stable=True)
    for key in keys[1:]:
        order = elements_at(order, np.argsort(elements_at(key, order), stable=True))
    return order


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.bincount: bincount,
    np.digitize: digitize,
    np.interp: interp,
    np.lexsort: lexsort,
    np.searchsorted: searchsorted,
}

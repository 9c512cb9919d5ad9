"""Functions that NumPy has as compiled code, in Python: they are traced as its source is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from tracejit.frontend.interpreter.library_parts import INSIDE, WHOLE, refuse
from tracejit.frontend.interpreter.library_parts import PARTS as OTHER_PARTS
from tracejit.frontend.numpy.derived import added_at, derived_as, elements_at, require

__all__ = ["LOOPS", "PARTS", "WITHIN"]


#: Arrays of so many elements at most are looked through before something is searched in them.
_FEW = 4096
#: So many points at least are looked through: if they are in order they are met one by one. So many
#: bytes at least are looked up.
_MANY = 1024


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Where `v` goes in the sorted `a`, by bisection; NaN is the largest of all numbers."""
    a, v = np.asarray(a), np.asarray(v)
    known = a.dtype.kind in "biuf" and v.dtype.kind in "biuf" and side in ("left", "right")
    if a.ndim != 1 or sorter is not None or not known:
        refuse("searchsorted")
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
    return found.reshape(v.shape) if v.ndim else found[0]


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
    """Where keys go in the sorted `a`: the interval of each is halved at once."""
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


def monotonicity(bins: Any) -> Any:
    """1 for numbers that ascend, or are all equal; -1 for numbers that descend; else 0."""
    x = np.asarray(bins, np.float64)
    if x.ndim != 1:
        refuse("digitize")
    if len(x) == 0:
        return 1
    begin = 1
    while begin < len(x) and x[begin] == x[0]:
        begin += 1
    if begin == len(x):
        return 1
    direction = 1 if x[0] < x[begin] else -1
    for i in range(begin + 1, len(x)):
        if (x[i - 1] > x[i]) if direction == 1 else (x[i - 1] < x[i]):
            return 0
    return direction


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """How often each int occurs, or the sum of the weights beside it."""
    x = np.asarray(x)
    if x.ndim != 1 or not np.can_cast(x.dtype, np.intp) or type(minlength) is not int:
        refuse("bincount")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if weights is not None:
        weights = np.asarray(weights)
        if len(x) == 0:
            return np.zeros(minlength, np.intp)
        if weights.ndim != 1 or weights.dtype.kind not in "biuf":
            refuse("bincount")
        if len(weights) != len(x):
            raise ValueError("The weights and list don't have the same length.")
    x = x.astype(np.intp, copy=False)
    if x.min(initial=0) < 0:
        raise ValueError("'list' argument must have no negative elements")
    return counted(x, weights, max(int(x.max(initial=-1)) + 1, minlength))


def bincount_of_bins(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """As `bincount`, for NumPy's code, which counts bins and says how many there are."""
    if x.ndim != 1 or x.dtype != np.intp:
        refuse("bincount")
    require(((x >= 0) & (x < minlength)).all())
    return counted(x, weights, minlength)


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


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """The piecewise linear function through points; at one of them its derivative is that on the
    right, at the last that on the left.
    """
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if xp.ndim != 1 or fp.ndim != 1 or not all(v.dtype.kind in "biuf" for v in (x, xp, fp)):
        refuse("interp")
    ends = [np.asarray(v) for v in (left, right) if v is not None]
    if not all(v.ndim == 0 and v.dtype.kind in "biuf" for v in ends):
        refuse("interp")
    n = len(xp)
    if n == 0:
        raise ValueError("array of sample points is empty")
    if len(fp) != n:
        raise ValueError("fp and xp are not of the same length.")
    if n == 1:
        refuse("interp")
    shape, x = x.shape, x.astype(np.float64, copy=False).reshape(-1)
    xp, fp = xp.astype(np.float64, copy=False), fp.astype(np.float64, copy=False)
    first = fp[0] if left is None else np.float64(left)
    last = fp[-1] if right is None else np.float64(right)
    require_order(xp)
    value = np.empty(len(x))
    if len(x) >= _MANY and 4 * len(x) >= n and (x[:-1] <= x[1:]).all():
        interp_in_order(value, x, xp, fp, first, last)
    else:
        value[:] = interp_at_once(x, xp, fp, first, last, False)
    value = derived_as(value, interp_at_once(x, xp, fp, first, last, True))
    return value.reshape(shape) if shape else value[0]


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


def interp_complex(*args: Any) -> None:
    """Complex values of points are left to NumPy."""
    refuse("interp")


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """The sums of products of two sequences at each shift; the shorter one is shifted."""
    a, v = np.asarray(a), np.asarray(v)
    dtype = np.promote_types(a.dtype, v.dtype)
    if a.ndim != 1 or v.ndim != 1 or mode not in ("valid", "same", "full"):
        refuse("correlate")
    if dtype.kind not in "iufc" or dtype == np.float16:
        refuse("correlate")
    if len(a) == 0:
        raise ValueError("first array argument cannot be empty")
    if len(v) == 0:
        raise ValueError("second array argument cannot be empty")
    a, v = a.astype(dtype, copy=False), v.astype(dtype, copy=False)
    if len(a) < len(v):
        a, v = v, a
    n = len(v)
    if n == 2:
        return of_two_taps(a, v, mode)
    if n == 3:
        return of_three_taps(a, v, mode)
    before = 0 if mode == "valid" else n // 2 if mode == "same" else n - 1
    after = 0 if mode == "valid" else n - 1 - before if mode == "same" else n - 1
    size = len(a) - n + 1
    out = np.zeros(before + size + after, dtype)
    for i in range(before):
        out[i] = (a[: n - before + i] * v[before - i :]).sum(dtype=dtype)
    for i in range(after):
        out[before + size + i] = (a[size + i :] * v[: n - 1 - i]).sum(dtype=dtype)
    middle = out[before : before + size]
    # What is summed is stored once for several products.
    eights, fours = n // 8 * 8, n // 4 * 4
    for k in range(0, eights, 8):
        middle += (
            a[k : k + size] * v[k]
            + a[k + 1 : k + 1 + size] * v[k + 1]
            + a[k + 2 : k + 2 + size] * v[k + 2]
            + a[k + 3 : k + 3 + size] * v[k + 3]
            + a[k + 4 : k + 4 + size] * v[k + 4]
            + a[k + 5 : k + 5 + size] * v[k + 5]
            + a[k + 6 : k + 6 + size] * v[k + 6]
            + a[k + 7 : k + 7 + size] * v[k + 7]
        )
    for k in range(eights, fours, 4):
        middle += (
            a[k : k + size] * v[k]
            + a[k + 1 : k + 1 + size] * v[k + 1]
            + a[k + 2 : k + 2 + size] * v[k + 2]
            + a[k + 3 : k + 3 + size] * v[k + 3]
        )
    threes = fours + (n - fours) // 3 * 3
    for k in range(fours, threes, 3):
        middle += (
            a[k : k + size] * v[k]
            + a[k + 1 : k + 1 + size] * v[k + 1]
            + a[k + 2 : k + 2 + size] * v[k + 2]
        )
    twos = threes + (n - threes) // 2 * 2
    for k in range(threes, twos, 2):
        middle += a[k : k + size] * v[k] + a[k + 1 : k + 1 + size] * v[k + 1]
    for k in range(twos, n):
        middle += a[k : k + size] * v[k]
    return out


def of_two_taps(a: Any, v: Any, mode: str) -> Any:
    """As `correlate` of a second sequence of two elements, in one pass."""
    middle = a[:-1] * v[0] + a[1:] * v[1] + 0
    if mode == "valid":
        return middle
    head = a[:1] * v[1] + 0
    if mode == "same":
        return np.concatenate((head, middle))
    return np.concatenate((head, middle, a[-1:] * v[0] + 0))


def of_three_taps(a: Any, v: Any, mode: str) -> Any:
    """As `correlate` of a second sequence of three elements, in one pass."""
    middle = a[:-2] * v[0] + a[1:-1] * v[1] + a[2:] * v[2] + 0
    if mode == "valid":
        return middle
    head, tail = a[:1] * v[1] + a[1:2] * v[2] + 0, a[-2:-1] * v[0] + a[-1:] * v[1] + 0
    if mode == "same":
        return np.concatenate((head, middle, tail))
    return np.concatenate((a[:1] * v[2] + 0, head, middle, tail, a[-1:] * v[0] + 0))


def correlate2(a: Any, v: Any, mode: Any = "valid") -> Any:
    """As `correlate`, with the conjugate of the second sequence, shifts in its order."""
    a, v = np.asarray(a), np.asarray(v)
    out = correlate(a, np.conjugate(v) if v.dtype.kind == "c" else v, mode)
    return out[::-1].copy() if len(a) < len(v) else out


#: What these functions call of each other.
PARTS = (
    *(bisected, bisected_bytes, bisected_in_turn, correlate, counted, goes_before),
    *(interp_at_once, interp_in_order, of_three_taps, of_two_taps, require_order),
    *OTHER_PARTS,
)
#: What stands for these functions inside NumPy's own.
WITHIN: dict[Any, Any] = {bincount: bincount_of_bins, **INSIDE}
#: A function of NumPy -> the Python function that is traced for it.
LOOPS: dict[Any, Any] = {
    **WHOLE,
    np.bincount: bincount,
    np.searchsorted: searchsorted,
    _multiarray_umath.interp: interp,
    _multiarray_umath.interp_complex: interp_complex,
    _multiarray_umath.correlate: correlate,
    _multiarray_umath.correlate2: correlate2,
    _multiarray_umath._monotonicity: monotonicity,
}

"""Quantiles and percentiles, by each of NumPy's methods, with weights, and without NaN.

The elements in ascending order x[0], ..., x[n-1] are read at a place that a method computes of n
and q. Between two elements the line through them is taken from the nearer one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tracejit.frontend.prelude.intrinsics import NUMPY, elements_at, refuse, require
from tracejit.frontend.prelude.statistics import (
    filled,
    fitted_weights,
    kept_axes,
    nanmean,
    on_one_axis,
)

__all__ = ["FUNCTIONS"]

#: Method -> alpha and beta of the place n q + alpha + q (1 - alpha - beta) - 1.
LINES = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
#: Methods that give an element.
STEPS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
METHODS = (*LINES, *STEPS, "linear", "midpoint", "averaged_inverted_cdf")


def place_of(n: Any, q: Any, method: str) -> Any:
    """The place of a quantile among n elements; an int array for methods that give an element."""
    if method in LINES:
        alpha, beta = LINES[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method == "averaged_inverted_cdf":
        return n * q - 1
    if method in ("inverted_cdf", "closest_observation"):
        at = n * q - 1 if method == "inverted_cdf" else n * q - 1 - 0.5
        before = np.floor(at)
        is_element = at == before
        if method == "closest_observation":
            is_element = is_element & (before % 2 == 1)
        return np.maximum(np.where(is_element, before, before + 1).astype(np.intp), 0)
    at = (n - 1) * q
    if method == "midpoint":
        return 0.5 * (np.floor(at) + np.ceil(at))
    if method == "linear":
        return at
    rounded: Any = {"lower": np.floor, "higher": np.ceil, "nearest": np.around}[method]
    return rounded(at).astype(np.intp)


def share_of(at: Any, low: Any, method: str) -> Any:
    """How far a place lies from the element before it to the one after it."""
    share = at - low
    if method == "averaged_inverted_cdf":
        share = np.where(share == 0, 0.5, 1.0)
    elif method == "midpoint":
        share = np.where(at % 1 == 0, 0.0, 0.5)
    return np.asanyarray(share, dtype=at.dtype)


def between(n: Any, at: Any, method: str, weak: bool, x: Any, read: Any, ndim: int = 0) -> Any:
    """The values at places among the `n` elements of rows of `x`, which `read` reads.

    `ndim`: so many axes of what is read follow those of the places.
    """
    if method in STEPS or method == "linear" and at.dtype.kind == "i":
        return read(at)
    is_above, is_below, before = at >= n - 1, at < 0, np.floor(at)
    low = np.where(is_above, -1, np.where(is_below, 0, before)).astype(np.intp)
    share = share_of(at, low, method).reshape((*np.shape(at), *(1,) * ndim))
    rest, is_near = 1 - share, share >= 0.5
    if weak:
        dtype = x.dtype if x.dtype.kind == "f" else np.float64
        share, rest = share.astype(dtype), rest.astype(dtype)
    high = np.where(is_below, 0, before + 1)
    a = read(np.where(is_above, n - 1, low))
    b = read(np.where(is_above, n - 1, high).astype(np.intp))
    step = b - a
    return np.where(is_near, b - step * rest, a + step * share)[()]


def of_ordered(x: Any, q: Any, method: str, weak: bool) -> Any:
    """The quantiles of ordered elements along the first axis; NaN where one is NaN."""
    n = x.shape[0]
    at = np.asanyarray(place_of(n, q, method))
    found = between(n, at, method, weak, x, lambda k: elements_at(x, k), x.ndim - 1)
    return with_nan(found, x) if x.dtype.kind == "f" else found


def with_nan(found: Any, x: Any) -> Any:
    """Quantiles with NaN where the last of the ordered elements is one."""
    last = x[-1]
    is_nan = np.isnan(last)
    if found.dtype != x.dtype and np.ndim(found) == 0:
        require(not is_nan)
    return filled(found, last, is_nan)


def of_numbers(x: Any, q: Any, method: str, weak: bool) -> Any:
    """The quantiles of elements but NaN along the last axis, on the first axes of the result."""
    x = np.sort(x.copy(), axis=-1)
    n = np.sum(~np.isnan(x), axis=-1, keepdims=True)
    at = place_of(n.astype(q.dtype), q.reshape(-1), method)
    found = between(n, at, method, weak, x, lambda k: np.take_along_axis(x, k, axis=-1))
    if found.dtype != x.dtype:
        require(np.all(n > 0))
    return first_axes(found.reshape((*x.shape[:-1], *q.shape)), q)


def first_axes(found: Any, q: Any) -> Any:
    """Quantiles with their own axes, which are the last, as the first."""
    return turned(found, found.ndim - q.ndim)[()]


def turned(x: Any, n: Any) -> Any:
    """An array whose first `n` axes are the last."""
    return x.transpose((*range(n, x.ndim), *range(n)))


def of_weighted(x: Any, k: Any, q: Any, weights: Any, skips: bool) -> Any:
    """The quantiles of weighted elements along an axis; without NaN if `skips`."""
    like, x, weights = np.moveaxis(x, k, -1), np.moveaxis(x, k, 0), np.moveaxis(weights, k, 0)
    order = np.argsort(x, axis=0)
    w = np.take_along_axis(np.broadcast_to(weights, x.shape), order, axis=0)
    x = np.take_along_axis(x, order, axis=0)
    n: Any = x.shape[0]
    if skips:
        is_number = ~np.isnan(x)
        w, n = np.where(is_number, w, 0), np.maximum(np.sum(is_number, axis=0), 1)
    total = w.cumsum(axis=0, dtype=np.float64)
    total = total / total[-1]
    require(not np.isnan(total[-1]).any())
    if q.dtype.kind == "f":
        total = total.astype(q.dtype)
    total = np.where(total == 0, -1, total)
    rows = (1,) * (x.ndim - 1)
    smaller = total.reshape((x.shape[0], 1, *x.shape[1:])) < q.reshape((1, -1, *rows))
    places = np.minimum(np.sum(smaller, axis=0), n - 1)
    out = np.empty_like(like if skips else x, shape=(*q.shape, *x.shape[1:]))
    out[...] = np.take_along_axis(x, places, axis=0).reshape(out.shape)
    if x.dtype.kind != "f" or skips:
        return out
    # A NaN alone is a scalar, and other elements are arrays.
    require(out.ndim > 0 or not np.isnan(x[-1]))
    return with_nan(out, x)


def found_in(a: Any, q: Any, weak: bool, axis: Any, weights: Any, method: str, skips: bool) -> Any:
    """The quantiles along axes, on the first axes of the result; without NaN if `skips`."""
    x, k = on_one_axis(a, axis)
    if x.shape[k] == 0:
        if x.dtype.kind != "f" or weights is not None:
            refuse("quantiles of no elements")
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if weights is not None:
        if skips and x.ndim > 1 and weights.shape != a.shape:
            refuse("quantiles with weights of an axis but for NaN")
        return of_weighted(x, k, q, on_one_axis(weights, axis)[0], skips)
    if skips and a.dtype.kind == "f":
        return of_numbers(np.moveaxis(x, k, -1), q, method, weak)
    found = of_ordered(np.moveaxis(np.sort(x.copy(), axis=k), k, 0), q, method, weak)
    if not skips:
        return found
    return first_axes(turned(found, q.ndim).copy(), q)


def quantiles(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    overwrite_input: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    interpolation: Any,
) -> Any:
    """What NumPy's function of that name gives."""
    a = np.asanyarray(a)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if method not in METHODS or overwrite_input or interpolation is not None:
        refuse("quantiles of this method")
    # A Python number does not decide the dtype of the result, or takes that of the array.
    weak = NUMPY >= (2, 4) and type(q) in (int, float)
    if name.endswith("percentile"):
        old = NUMPY < (2, 4) and a.dtype.kind == "f"
        q = np.asanyarray(np.true_divide(q, a.dtype.type(100) if old else 100))
        message = "Percentiles must be in the range [0, 100]"
    else:
        old = NUMPY < (2, 4) and isinstance(q, (int, float)) and a.dtype.kind == "f"
        q = np.asanyarray(q, dtype=a.dtype if old else None)
        message = "Quantiles must be in the range [0, 1]"
    if q.dtype.char not in "fdl" or q.ndim > 2:
        refuse("quantiles by such numbers")
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError(message)
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        if axis is not None:
            axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
            if NUMPY < (2, 4) and len(axis) > 1:
                refuse("weighted quantiles along several axes")
        weights = fitted_weights(weights, a, axis)
        if np.any(weights < 0):
            raise ValueError("Weights must be non-negative.")
    skips = name.startswith("nan")
    if skips and a.size == 0:
        return nanmean(a, axis, out=out, keepdims=keepdims)
    found = found_in(a, q, weak, axis, weights, method, skips)
    kept = kept_axes(a.ndim, axis) if keepdims and keepdims is not np._NoValue else ()
    if out is None:
        return found[(..., *kept)] if kept else found
    if not isinstance(out, np.ndarray) or not out.flags.writeable:
        refuse("quantiles with such an out=")
    to = out[(..., *[0 if d is None else d for d in kept])]
    if not skips and (to.shape != np.shape(found) or to.dtype != found.dtype):
        refuse("quantiles with such an out=")
    to[...] = found
    return out


def named(name: str, no_keepdims: Any) -> Any:
    """The q-th quantiles along axes, as NumPy's function of that name gives them."""

    def found(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: Any = False,
        method: Any = "linear",
        keepdims: Any = no_keepdims,
        *,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Any:
        given = (a, q, axis, out, overwrite_input, method, keepdims, weights, interpolation)
        return quantiles(name, *given)

    return found


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.nanpercentile: named("nanpercentile", np._NoValue),
    np.nanquantile: named("nanquantile", np._NoValue),
    np.percentile: named("percentile", False),
    np.quantile: named("quantile", False),
}

"""Averages, medians, covariances, and reductions that leave out NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tracejit.frontend.prelude.intrinsics import refuse, require, root_of_squares

__all__ = ["FUNCTIONS"]

NOT_GIVEN: Any = np._NoValue


def given(**options: Any) -> dict[str, Any]:
    """The options that are given."""
    return {name: x for name, x in options.items() if x is not NOT_GIVEN}


# Averages and covariances ------------------------------------------------------------------------


def fitted_weights(weights: Any, a: Any, axis: Any) -> Any:
    """Weights with the axes of an array, or the one axis that they are given for."""
    w = np.asanyarray(weights)
    if a.shape == w.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple([a.shape[k] for k in axis]):
        message = "Shape of weights must be consistent with shape of a along specified axis."
        raise ValueError(message)
    w = w.transpose(sorted(range(len(axis)), key=lambda k: axis[k]))
    return w.reshape([d if k in axis else 1 for k, d in enumerate(a.shape)])


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: Any = False,
    *,
    keepdims: Any = NOT_GIVEN,
) -> Any:
    """The mean, or the weighted mean, along axes; with the sum of the weights if `returned`."""
    a = np.asanyarray(a)
    if axis is not None:
        axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
    options = given(keepdims=keepdims)
    if weights is None:
        mean = a.mean(axis, **options)
        if np.size(mean) == 0:
            raise ZeroDivisionError("division by zero")
        scale: Any = mean.dtype.type(a.size / np.size(mean)) if returned else None
    else:
        w = fitted_weights(weights, a, axis)
        dtype = np.result_type(a.dtype, w.dtype, *(["f8"] if a.dtype.kind in "biu" else []))
        scale = w.sum(axis=axis, dtype=dtype, **options)
        require(np.all(scale != 0.0))
        mean = np.multiply(a, w, dtype=dtype).sum(axis, **options) / scale
    if not returned:
        return mean
    shape = np.shape(mean)
    return mean, scale if np.shape(scale) == shape else np.broadcast_to(scale, shape).copy()


def weights_of(w: Any, name: str, count: Any) -> Any:
    """Weights of observations."""
    w = np.asarray(w, dtype=float)
    if name == "fweights" and not np.all(w == np.around(w)):
        raise TypeError("fweights must be integer")
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if np.any(w < -w):
        raise ValueError(f"{name} cannot be negative")
    return w


def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The matrix of covariances of variables in rows, or in columns."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    parts = [np.asarray(m)] if y is None else [np.asarray(m), np.asarray(y)]
    for x, name in zip(parts, "my", strict=False):
        if x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(*parts, np.float64)
    elif np.dtype(dtype).kind not in ("c" if np.result_type(*parts).kind == "c" else "fc"):
        refuse("np.cov in a dtype of other numbers")
    x = np.array(parts[0], ndmin=2, dtype=dtype)
    if not rowvar and parts[0].ndim != 1:
        x = x.T
    if x.shape[0] == 0:
        return np.array([]).reshape(0, 0)
    if y is not None:
        other = np.array(parts[1], copy=None, ndmin=2, dtype=dtype)
        if not rowvar and other.shape[0] != 1:
            other = other.T
        x = np.concatenate((x, other), axis=0)
    if ddof is None:
        ddof = 1 if bias == 0 else 0
    f = None if fweights is None else weights_of(fweights, "fweights", x.shape[1])
    w = a = None if aweights is None else weights_of(aweights, "aweights", x.shape[1])
    if f is not None:
        w = f if a is None else f * a
    if w is None:
        factor: Any = x.shape[1] - ddof
        x -= np.mean(x, axis=1)[:, None]
        right = x.T
    else:
        mean, total = average(x, axis=1, weights=w, returned=True)
        factor = total[0]
        if ddof != 0:
            factor = factor - (ddof if a is None else ddof * sum(w * a) / factor)
        x -= mean[:, None]
        right = (x * w).T
    if factor <= 0:
        factor = 0.0
    c = np.dot(x, right.conj())
    c *= np.true_divide(1, factor)
    return c.squeeze()


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """The matrix of correlation coefficients, clipped to [-1, 1]."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diagonal(c).real)
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return np.clip(c.real, -1, 1) + 1j * np.clip(c.imag, -1, 1)
    return np.clip(c, -1, 1)


# Ranges and medians ------------------------------------------------------------------------------


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOT_GIVEN) -> Any:
    """Maximum minus minimum."""
    options = given(keepdims=keepdims)
    high = np.max(a, axis=axis, out=out, **options)
    return np.subtract(high, np.min(a, axis=axis, **options), out=out)


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> Any:
    """The mean of the one or two middle elements; NaN where there is one."""
    a = np.asanyarray(a)
    x, k = on_one_axis(a, axis)
    kept = kept_axes(a.ndim, axis) if keepdims else ()
    to = None if out is None else out[(..., *[0 if d is None else d for d in kept])]
    n = x.shape[k]
    require(n > 0)
    ordered = np.sort(x, axis=k)
    before = (slice(None),) * k
    found = np.mean(ordered[(*before, slice((n - 1) // 2, n // 2 + 1))], axis=k, out=to)
    if a.dtype.kind in "fc":
        last = ordered[(*before, n - 1)]
        found = filled(found, last, np.isnan(last))
    return out if out is not None else found[(..., *kept)] if keepdims else found


def filled(x: Any, values: Any, where: Any) -> Any:
    """An array with values put where a condition holds; of a scalar another one."""
    if np.ndim(x) == 0 and not isinstance(x, np.ndarray):
        return np.where(where, values, x)[()]
    np.copyto(x, values, where=where, casting="unsafe")
    return x


def on_one_axis(a: Any, axis: Any) -> tuple[Any, Any]:
    """An array whose elements to reduce lie along one axis, and which."""
    if axis is None:
        return a.ravel(), 0
    axis = normalize_axis_tuple(axis, a.ndim)
    if len(axis) == 1:
        return a, axis[0]
    kept = [k for k in range(a.ndim) if k not in axis]
    a = a.transpose((*kept, *sorted(axis)))
    return a.reshape((*a.shape[: len(kept)], -1)), len(kept)


def kept_axes(ndim: int, axis: Any) -> Any:
    """The key by which a result gets its reduced axes back."""
    if axis is None:
        return (None,) * ndim
    axis = normalize_axis_tuple(axis, ndim)
    return tuple([None if k in axis else slice(None) for k in range(ndim)])


# Without NaN -------------------------------------------------------------------------------------


def without_nan(a: Any, number: Any) -> Any:
    """An array with a number in place of NaN, and where; None where there cannot be any."""
    a = np.asanyarray(a)
    if a.dtype.kind not in "fc":
        return a, None
    missing = np.isnan(a)
    clean = np.array(a, copy=True)
    np.copyto(clean, number, where=missing)
    return clean, missing


def accumulation(function: Any, number: float) -> Any:
    """Running sums or products of all elements but NaN, of which `number` changes none."""

    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return function(without_nan(a, number)[0], axis=axis, dtype=dtype, out=out)

    return run


def total(function: Any, number: float) -> Any:
    """The sum or product of all elements but NaN, which `number` does not change."""

    def run(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = NOT_GIVEN,
        initial: Any = NOT_GIVEN,
        where: Any = NOT_GIVEN,
    ) -> Any:
        options = given(keepdims=keepdims, initial=initial, where=where)
        return function(without_nan(a, number)[0], axis=axis, dtype=dtype, out=out, **options)

    return run


def extreme(function: Any, ufunc: Any, worst: float) -> Any:
    """The extreme of all elements but NaN, by the ufunc that leaves it out."""

    def run(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = NOT_GIVEN,
        initial: Any = NOT_GIVEN,
        where: Any = NOT_GIVEN,
    ) -> Any:
        options = given(keepdims=keepdims, where=where)
        first = given(initial=initial)
        if isinstance(a, np.ndarray):
            return ufunc.reduce(a, axis=axis, out=out, **options, **first)
        a, missing = without_nan(a, worst)
        found = function(a, axis=axis, out=out, **options, **first)
        if missing is None:
            return found
        return filled(found, np.nan, np.all(missing, axis=axis, **options))

    return run


def place(function: Any, worst: float) -> Any:
    """Where the extreme of all elements but NaN is."""

    def run(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOT_GIVEN) -> Any:
        a, missing = without_nan(a, worst)
        if missing is not None and missing.size and np.any(np.all(missing, axis=axis)):
            raise ValueError("All-NaN slice encountered")
        return function(a, axis=axis, out=out, **given(keepdims=keepdims))

    return run


def check_inexact(dtype: Any, out: Any) -> None:
    """Raise TypeError for integers that a mean would be stored in."""
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and out.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


def divided(x: Any, count: Any) -> Any:
    """An array or scalar divided by counts, in its own dtype."""
    if isinstance(x, np.ndarray):
        return np.divide(x, count, out=x, casting="unsafe")
    return x.dtype.type(x / count)


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
) -> Any:
    """The mean of all elements but NaN."""
    options = given(keepdims=keepdims, where=where)
    a, missing = without_nan(a, 0)
    if missing is None:
        return np.mean(a, axis=axis, dtype=dtype, out=out, **options)
    check_inexact(dtype, out)
    count = np.sum(~missing, axis=axis, dtype=np.intp, **options)
    return divided(np.sum(a, axis=axis, dtype=dtype, out=out, **options), count)


def nanmedian(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    keepdims: Any = NOT_GIVEN,
) -> Any:
    """The mean of the one or two middle elements of all but NaN."""
    a = np.asanyarray(a)
    if a.size == 0:
        return nanmean(a, axis, out=out, keepdims=keepdims)
    x, k = on_one_axis(a, axis)
    if a.dtype.kind not in "biuf" or x.ndim > 2:
        refuse("np.nanmedian of complex numbers, or where several axes are left")
    x = np.sort(np.moveaxis(x, k, -1), axis=-1)
    n = np.sum(~np.isnan(x), axis=-1, keepdims=True)
    pair = np.take_along_axis(x, np.concatenate(((n - 1) // 2, n // 2), axis=-1), axis=-1)
    if x.ndim > 1 and x.shape[-1] < 600 and x.dtype.kind == "f":
        found = np.sum(pair, axis=-1) / 2.0  # Of few elements NumPy adds the middle one twice.
    else:
        middle = pair[..., 0] + 0.0  # A sum begins with 0, which leaves no -0.
        found = np.where(n[..., 0] % 2 == 1, middle, np.mean(pair, axis=-1))[()]
    kept = kept_axes(a.ndim, axis) if keepdims is not NOT_GIVEN and keepdims else ()
    if out is None:
        return found[(..., *kept)] if kept else found
    if not isinstance(out, np.ndarray):
        refuse("np.nanmedian with such an out=")
    out[(..., *[0 if d is None else d for d in kept])] = found
    return out


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The mean squared deviation of all elements but NaN; NaN for too few of them."""
    options = given(keepdims=keepdims, where=where)
    a, missing = without_nan(a, 0)
    if missing is None:
        options |= given(mean=mean, correction=correction)
        return np.var(a, axis=axis, dtype=dtype, out=out, ddof=ddof, **options)
    check_inexact(dtype, out)
    if correction is not NOT_GIVEN:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    whole = {**given(where=where), "axis": axis, "keepdims": True}
    count = np.sum(~missing, dtype=np.intp, **whole)
    if mean is NOT_GIVEN:
        mean = divided(np.sum(a, dtype=dtype, **whole), count)
    np.subtract(a, mean, out=a, casting="unsafe")
    np.copyto(a, 0, where=missing)
    squares = (a * a.conj()).real if a.dtype.kind == "c" else a * a
    variance = np.sum(squares, axis=axis, dtype=dtype, out=out, **options)
    if np.ndim(variance) < count.ndim:
        count = count.squeeze(axis)
    count = count - ddof
    return filled(divided(variance, count), np.nan, count <= 0)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The square root of `nanvar`."""
    options = given(where=where, mean=mean, correction=correction)
    variance = nanvar(a, axis, dtype, out, ddof, keepdims, **options)
    if out is not None and out.dtype.kind not in "fc":
        return np.sqrt(variance, out=out)
    root = root_of_squares(variance)
    if out is None:
        return root
    out[...] = root
    return out


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    **{
        getattr(np, f.__name__): f
        for f in (average, corrcoef, cov, median, nanmean, nanmedian, nanstd, nanvar, ptp)
    },
    np.nanargmax: place(np.argmax, -np.inf),
    np.nanargmin: place(np.argmin, np.inf),
    np.nancumprod: accumulation(np.cumprod, 1),
    np.nancumsum: accumulation(np.cumsum, 0),
    np.nanmax: extreme(np.max, np.fmax, -np.inf),
    np.nanmin: extreme(np.min, np.fmin, np.inf),
    np.nanprod: total(np.prod, 1),
    np.nansum: total(np.sum, 0),
}

"""Covariances, correlations and moments without NaNs on tracers, by NumPy's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.join import concatenate
from tracejit.frontend.numpy.linalg.products import matrix_product
from tracejit.frontend.numpy.memory_orders import in_k_order
from tracejit.frontend.numpy.registry import NOT_GIVEN, handles, only
from tracejit.frontend.numpy.selection import as_scalar, handler_where
from tracejit.frontend.numpy.shape import at_least, permuted
from tracejit.frontend.numpy.ufuncs import elementwise, root_of_squares
from tracejit.frontend.tracing.checks import constant_array, has_traced
from tracejit.frontend.tracing.symint import as_dim, unwrap
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line

__all__: list[str] = []


def _transposed(x: TracedArray) -> TracedArray:
    return permuted(x, (1, 0))


def _observations(m: Any, y: Any, rowvar: Any, dtype: Any) -> TracedArray:
    """The variables of both arguments as rows."""
    x = asarray(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    others = [] if y is None else [asarray(y)]
    if any(o.ndim > 2 for o in others):
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(x.dtype, *(o.dtype for o in others), np.float64)
    kinds = "c" if any(o.dtype.kind == "c" for o in (x, *others)) else "fc"
    if np.dtype(dtype).kind not in kinds:
        raise TraceError("TJ004", f"np.cov with dtype={dtype}", user_line())
    rows = at_least(astype(x, np.dtype(dtype)), 2)
    rows = rows if rowvar or x.ndim == 1 else _transposed(rows)
    parts = [rows]
    for o in others:
        other = at_least(astype(o, np.dtype(dtype)), 2)
        if not rowvar and not here().env.decide(other.type.shape[0], "==", 1):
            other = _transposed(other)
        parts.append(other)
    return parts[0] if len(parts) == 1 else asarray(concatenate(parts, axis=0))


def _weights(fweights: Any, aweights: Any, count: Any) -> Any:
    """The product of the weights as an array, or None. Raises TraceError for traced ones."""
    given = [w for w in (fweights, aweights) if w is not None]
    if has_traced(given):
        raise TraceError("TJ004", "np.cov with traced weights", user_line())
    if not given:
        return None
    # NumPy's own checks, on data of the same number of observations.
    size = here().env.concrete(as_dim(count))
    np.cov(np.zeros((1, size)), fweights=fweights, aweights=aweights, ddof=0)
    return np.prod([np.asarray(w, float) for w in given], axis=0)


@handles(np.cov)
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
    """The covariance matrix of variables in rows (or columns)."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _observations(m, y, rowvar, dtype)
    env = here().env
    if env.decide(x.type.shape[0], "==", 0):
        raise TraceError("TJ004", "np.cov of no variables", user_line())
    if ddof is None:
        ddof = 1 if bias == 0 else 0
    count = x.shape[1]
    weights = _weights(fweights, aweights, count)
    if weights is None:
        center: Any = np.mean(x, axis=1, keepdims=True)
        left = as_dim(count) - int(ddof)
        factor: Any = 0.0 if env.decide(left, "<=", 0) else unwrap(left, env)
    else:
        total = float(np.sum(weights))
        w = constant_array(weights)
        center = np.sum(elementwise(np.multiply, (x, w)), axis=1, keepdims=True) / total
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * sum(weights * np.asarray(aweights, float)) / total
        factor = max(factor, 0.0)
    d = asarray(elementwise(np.subtract, (x, center)))
    right = d if weights is None else asarray(elementwise(np.multiply, (d, w)))
    right = _transposed(right)
    if d.dtype.kind == "c":
        right = asarray(elementwise(np.conjugate, (right,)))
    product = matrix_product(d, right, "dot")
    scale = elementwise(np.divide, (d.dtype.type(1).real, _real(factor)))
    return np.squeeze(asarray(elementwise(np.multiply, (product, scale))))


def _real(factor: Any) -> Any:
    """A size or number as a divisor that does not promote."""
    return factor * 1.0


def _without_nan(a: Any, name: str) -> tuple[TracedArray, TracedArray] | None:
    """The elements with 0 for NaN, and which are none; None where there is no NaN."""
    x = asarray(a)
    if x.dtype == np.float16:
        raise TraceError("TJ004", f"np.{name} of float16", user_line())
    if x.dtype.kind not in "fc":
        return None
    bad = asarray(elementwise(np.isnan, (x,)))
    clean = in_k_order(asarray(handler_where(bad, x.dtype.type(0), x)), x)
    return clean, asarray(elementwise(np.logical_not, (bad,)))


def _divided(total: Any, count: Any, dtype: np.dtype[Any]) -> Any:
    """A quotient by a number of elements, in the dtype and memory order of what was summed."""
    out: Any = elementwise(np.divide, (total, count))
    out = out if out.dtype == dtype else out.astype(dtype)
    return in_k_order(out, total) if isinstance(out, TracedArray) else out


@handles(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOT_GIVEN,
    *,
    where: Any = NOT_GIVEN,
) -> Any:
    """The mean of the elements that are no NaNs."""
    only("np.nanmean", dtype=dtype, out=out, where=where)
    found = _without_nan(a, "nanmean")
    keep = keepdims is not NOT_GIVEN and bool(keepdims)
    if found is None:
        return np.mean(a, axis=axis, keepdims=keep)
    x, good = found
    total: Any = np.sum(x, axis=axis, keepdims=keep)
    count = np.sum(good, axis=axis, dtype=np.intp, keepdims=keep)
    return _divided(total, count, x.dtype)


@handles(np.nanvar)
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
    """The mean squared deviation of the elements that are no NaNs; NaN for too few of them."""
    only("np.nanvar", dtype=dtype, out=out, where=where, mean=mean, correction=correction)
    clean = _without_nan(a, "nanvar")
    keep = keepdims is not NOT_GIVEN and bool(keepdims)
    if clean is None:
        return np.var(a, axis=axis, ddof=ddof, keepdims=keep)
    x, good = clean
    count = np.sum(good, axis=axis, dtype=np.intp, keepdims=True)
    center = _divided(np.sum(x, axis=axis, keepdims=True), count, x.dtype)
    d: Any = handler_where(good, elementwise(np.subtract, (x, center)), x.dtype.type(0))
    d = in_k_order(asarray(d), x)
    squares = (d * np.conj(d)).real if x.dtype.kind == "c" else d * d
    total: Any = np.sum(squares, axis=axis, keepdims=keep)
    left = elementwise(np.subtract, (np.sum(good, axis=axis, dtype=np.intp, keepdims=keep), ddof))
    variance = _divided(total, left, total.dtype)
    few = elementwise(np.less_equal, (left, 0))
    found = asarray(handler_where(few, total.dtype.type(np.nan), variance))
    return as_scalar(in_k_order(found, asarray(total)))


@handles(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NOT_GIVEN,
    **others: Any,
) -> Any:
    """The square root of `nanvar`."""
    return root_of_squares(nanvar(a, axis, dtype, out, ddof, keepdims, **others))

"""Parts of NumPy's own functions in another form, for what their source does not let be traced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.fft import _pocketfft
from numpy.lib import _arraysetops_impl, _histograms_impl, _nanfunctions_impl

from tracejit.errors import TraceError
from tracejit.frontend.host.calls import as_called
from tracejit.frontend.numpy.derived import derived_as, elements_at, require
from tracejit.frontend.tracing.trace import user_line

__all__ = ["INSIDE", "PARTS", "WHOLE", "refuse"]


#: What histograms find their first and last edge by.
outer_edges: Any = getattr(_histograms_impl, "_get_outer_edges", None)


def refuse(name: str) -> None:
    """Give up a form of the arguments: NumPy is called."""
    raise TraceError("TJ004", f"np.{name}", user_line())


def unique1d(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    *,
    equal_nan: Any = True,
    inverse_shape: Any = None,
    axis: Any = None,
    sorted: Any = True,
) -> Any:
    """The different elements by a sort. What NumPy finds by hashes, of ints, it sorts then."""
    ar = np.asarray(ar)
    if ar.dtype.kind not in "biuf" or axis is not None:
        refuse("unique")
    if not (sorted or return_index or return_inverse or return_counts) and ar.dtype.kind in "iu":
        refuse("unique_values")
    ar = ar.reshape(-1)
    perm: Any = None
    if return_index or return_inverse:
        perm = ar.argsort(kind="stable" if return_index else "quicksort")
        aux = elements_at(ar, perm)
    else:
        aux = np.sort(ar)
    mask = np.empty(aux.shape, np.bool_)
    mask[:1] = True
    if equal_nan and aux.dtype.kind == "f":
        # NaNs are the last.
        mask[1:] = (aux[1:] != aux[:-1]) & ~(np.isnan(aux[:-1]))
    else:
        mask[1:] = aux[1:] != aux[:-1]
    ret: Any = (aux[mask],)
    if return_index:
        ret += (perm[mask],)
    if return_inverse:
        inverse = np.empty(mask.shape, np.intp)
        inverse[perm] = np.cumsum(mask) - 1
        ret += (inverse.reshape(inverse_shape),)
    if return_counts:
        ends = np.concatenate((np.nonzero(mask)[0], np.asarray([mask.size])))
        ret += (np.diff(ends),)
    return ret


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Places that sort by the last key, those of equal ones by the key before it, and so on."""
    keys = [np.asarray(key) for key in keys]
    for key in keys:
        if key.ndim != 1 or key.dtype.kind not in "biuf":
            refuse("lexsort")
        if len(key) != len(keys[0]):
            raise ValueError("all keys need to be the same shape")
    if len(keys) == 0 or axis not in (0, -1):
        refuse("lexsort")
    order = np.argsort(keys[0], stable=True)
    for key in keys[1:]:
        order = elements_at(order, np.argsort(elements_at(key, order), stable=True))
    return order


def window_places(m: Any, name: str) -> Any:
    """The points of a window of so many around 0, in steps of 2, and the last of them or 1."""
    if type(m) is not int:
        refuse(name)
    m = max(m, 0)
    return np.arange(1 - m, m, 2), max(m - 1, 1)


def hanning(M: Any) -> Any:
    """Hann's window."""
    n, last = window_places(M, "hanning")
    return 0.5 + 0.5 * np.cos(np.pi * n / last)


def hamming(M: Any) -> Any:
    """Hamming's window."""
    n, last = window_places(M, "hamming")
    return 0.54 + 0.46 * np.cos(np.pi * n / last)


def blackman(M: Any) -> Any:
    """Blackman's window."""
    n, last = window_places(M, "blackman")
    window = 0.42 + 0.5 * np.cos(np.pi * n / last) + 0.08 * np.cos(2.0 * np.pi * n / last)
    return np.where(M == 1, 1.0, window)


def bartlett(M: Any) -> Any:
    """A triangle."""
    n, last = window_places(M, "bartlett")
    return np.where(n <= 0, 1 + n / last, 1 - n / last)


def kaiser(M: Any, beta: Any) -> Any:
    """Kaiser's window."""
    if type(M) is not int:
        refuse("kaiser")
    m = max(M, 0)
    middle = (m - 1) / 2.0 if m > 1 else 1.0
    n = np.arange(m) - (middle if m > 1 else 0.0)
    return np.i0(beta * np.sqrt(1 - (n / middle) ** 2.0)) / np.i0(beta)


def nanmedian1d(arr1d: Any, overwrite_input: Any = False) -> Any:
    """The median of what is not NaN."""
    return np.median(arr1d[~np.isnan(arr1d)])


def cook_nd_args(a: Any, s: Any = None, axes: Any = None, invreal: Any = 0) -> Any:
    """The lengths and axes of a transform."""
    given = s is not None
    if axes is None:
        if given:
            refuse("fft.fftn")
        axes = list(range(-a.ndim, 0))
    axes = list(axes)
    for axis in axes:
        if not -a.ndim <= axis < a.ndim:
            refuse("fft.fftn")
    s = list(s) if given else [a.shape[axis] for axis in axes]
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if invreal and not given:
        s[-1] = (a.shape[axes[-1]] - 1) * 2
    if given:
        for k in range(len(s)):
            if type(s[k]) is not int:
                refuse("fft.fftn")
            if s[k] == -1:
                s[k] = a.shape[axes[k]]
    return s, axes


def cond(x: Any, p: Any = None) -> Any:
    """The ratio of the largest singular value and the least, or its inverse."""
    x = np.asarray(x)
    if p is not None and not (type(p) is int and p in (2, -2)) or x.ndim < 2:
        refuse("linalg.cond")
    require(x.size > 0)
    s = np.linalg.svd(x, compute_uv=False)
    first, last = s[..., 0], s[..., -1]
    ratio = last / first if p == -2 else first / last
    return np.where(np.isnan(ratio) & ~np.isnan(x).any(axis=(-2, -1)), np.inf, ratio)[()]


def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = np._NoValue) -> Any:
    """The pseudo-inverse by singular values."""
    a = np.asarray(a)
    if hermitian or rtol is not np._NoValue or a.ndim < 2 or a.dtype.kind not in "iufc":
        refuse("linalg.pinv")
    if rcond is not None and type(rcond) is not float:
        refuse("linalg.pinv")
    limit = 1e-15 if rcond is None else rcond
    require(a.size > 0)
    u, s, vt = np.linalg.svd(np.conjugate(a), full_matrices=False)
    large = s > limit * np.max(s, axis=-1, keepdims=True)
    s = np.where(large, 1 / np.where(large, s, 1), s.dtype.type(0))
    flat = np.swapaxes(u, -1, -2)
    value = np.matmul(np.swapaxes(vt, -1, -2), np.multiply(s[..., np.newaxis], flat))
    return derived_as(value, as_called("numpy.linalg._linalg:pinv", a, limit))


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many points, or what weight, lies in each box of a grid."""
    if isinstance(sample, (list, tuple)):
        columns = [np.asarray(x) for x in sample]
    else:
        sample = np.asarray(sample)
        if sample.ndim != 2 or type(sample.shape[1]) is not int:
            refuse("histogramdd")
        columns = [sample[:, k] for k in np.arange(sample.shape[1]).tolist()]
    count = len(columns)
    for x in columns:
        if x.ndim != 1 or x.dtype.kind not in "iuf" or x.dtype != columns[0].dtype:
            refuse("histogramdd")
    if type(bins) is int:
        bins = [bins for _ in columns]
    if not isinstance(bins, (list, tuple)) or len(bins) != count:
        refuse("histogramdd")
    if range is None:
        range = [None for _ in columns]
    if len(range) != count:
        raise ValueError("range argument must have one entry per dimension")
    edges: list[Any] = []
    places: Any = 0
    sizes: list[Any] = []
    for x, number, ends in zip(columns, bins, range, strict=True):
        if type(number) is int:
            if number < 1:
                refuse("histogramdd")
            low, high = outer_edges(x, ends)
            edge = np.linspace(low, high, number + 1)
            size: Any = number
        else:
            edge = np.asarray(number)
            if edge.ndim != 1:
                refuse("histogramdd")
            require((edge[:-1] <= edge[1:]).all())
            size = len(edge) - 1
        found = np.searchsorted(edge, x, side="right")
        found = found - (x == edge[-1])
        places = places * (size + 2) + found
        edges.append(edge)
        sizes.append(size)
    total: Any = 1
    for size in sizes:
        total = total * (size + 2)
    hist = np.bincount(places, weights, minlength=total)
    hist = hist.reshape([size + 2 for size in sizes]).astype(np.float64)
    hist = hist[tuple([slice(1, -1) for _ in sizes])]
    if density:
        sum_of_all = hist.sum()
        for axis, edge in enumerate(edges):
            shape = [1 for _ in sizes]
            shape[axis] = sizes[axis]
            hist = hist / np.diff(edge).reshape(shape)
        hist = hist / sum_of_all
    return hist, edges


#: What these functions call of each other.
PARTS = (window_places,)
#: A function of NumPy -> the Python function that is traced for it.
WHOLE: dict[Any, Any] = {
    np.bartlett: bartlett,
    np.blackman: blackman,
    np.hamming: hamming,
    np.hanning: hanning,
    np.kaiser: kaiser,
    np.lexsort: lexsort,
    np.histogramdd: histogramdd,
    np.linalg.cond: cond,
    np.linalg.pinv: pinv,
}
#: What stands for these functions inside NumPy's own.
INSIDE: dict[Any, Any] = {
    getattr(module, f"_{f.__name__}"): f
    for module, f in (
        (_arraysetops_impl, unique1d),
        (_nanfunctions_impl, nanmedian1d),
        (_pocketfft, cook_nd_args),
    )
    if hasattr(module, f"_{f.__name__}")
}

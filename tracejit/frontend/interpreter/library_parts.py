"""Parts of NumPy's own functions in another form, for what their source does not let be traced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.fft import _pocketfft
from numpy.lib import _nanfunctions_impl

from tracejit.errors import TraceError
from tracejit.frontend.host.calls import as_called
from tracejit.frontend.numpy.derived import derived_as, require
from tracejit.frontend.tracing.trace import user_line

__all__ = ["INSIDE", "WHOLE"]


def refuse(name: str) -> None:
    """Give up a form of the arguments: NumPy is called."""
    raise TraceError("TJ004", f"np.{name}", user_line())


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


#: A function of NumPy -> the Python function that is traced for it.
WHOLE: dict[Any, Any] = {
    np.linalg.cond: cond,
    np.linalg.pinv: pinv,
}
#: What stands for these functions inside NumPy's own.
INSIDE: dict[Any, Any] = {
    getattr(module, f"_{f.__name__}"): f
    for module, f in (
        (_nanfunctions_impl, nanmedian1d),
        (_pocketfft, cook_nd_args),
    )
    if hasattr(module, f"_{f.__name__}")
}

"""Convolutions and correlations as sums of products in windows: NumPy's, and SciPy's.

What SciPy would do by Fourier transforms, for large filters, is left to it, and so is a filter with
infinities where it meets the zeros around an array: SciPy does not multiply those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.frontend.prelude.intrinsics import refuse, require
from tracejit.frontend.prelude.searching import vector

__all__ = ["FUNCTIONS"]

#: A filter with more elements is left to SciPy, and where SciPy may take Fourier transforms, more
#: products for each element of the array, which then take longer.
_MOST_TAPS, _MOST_PRODUCTS = 1024, 128


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """The sums of products of a sequence and the conjugate of another at each shift."""
    a, v = np.asarray(a), np.asarray(v)
    out = products(a, np.conjugate(v) if v.dtype.kind == "c" else v, mode)
    return out[::-1].copy() if len(a) < len(v) else out


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """The sums of products of a sequence and a reversed one at each shift."""
    a, v = np.atleast_1d(np.asarray(a), np.asarray(v))
    if len(v) > len(a):
        a, v = v, a
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    return products(a, v[::-1], mode)


def products(a: Any, v: Any, mode: Any) -> Any:
    """The sums of products of two sequences at each shift; the shorter one is shifted."""
    if type(mode) is not str or mode not in ("valid", "same", "full"):
        refuse("np.correlate in such a mode")
    a, v = vector(a), vector(v)
    dtype = np.promote_types(a.dtype, v.dtype)
    if dtype.kind not in "iufc" or dtype == np.float16:
        refuse("np.correlate of such numbers")
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
    first = 0
    for count in (8, 4, 3, 2, 1):
        last = first + (n - first) // count * count
        for k in range(first, last, count):
            middle += of_taps(a, v, k, size, count)
        first = last
    return out


def of_taps(a: Any, v: Any, k: Any, size: Any, count: Any) -> Any:
    """The sum of the products of `count` elements of the second sequence from `k` on."""
    found = a[k : k + size] * v[k]
    for j in range(k + 1, k + count):
        found = found + a[j : j + size] * v[j]
    return found


def of_two_taps(a: Any, v: Any, mode: str) -> Any:
    """As `products` of a second sequence of two elements, in one pass."""
    middle = a[:-1] * v[0] + a[1:] * v[1] + 0
    if mode == "valid":
        return middle
    head = a[:1] * v[1] + 0
    if mode == "same":
        return np.concatenate((head, middle))
    return np.concatenate((head, middle, a[-1:] * v[0] + 0))


def of_three_taps(a: Any, v: Any, mode: str) -> Any:
    """As `products` of a second sequence of three elements, in one pass."""
    middle = a[:-2] * v[0] + a[1:-1] * v[1] + a[2:] * v[2] + 0
    if mode == "valid":
        return middle
    head, tail = a[:1] * v[1] + a[1:2] * v[2] + 0, a[-2:-1] * v[0] + a[-1:] * v[1] + 0
    if mode == "same":
        return np.concatenate((head, middle, tail))
    return np.concatenate((a[:1] * v[2] + 0, head, middle, tail, a[-1:] * v[0] + 0))


def of_arrays(name: str, is_reversed: bool) -> Any:
    """The sums of products of an array with a filter, or a reversed one, at each place."""

    def run(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
        x, taps = operands(in1, in2, mode, name)
        if method not in ("auto", "direct"):
            refuse(f"scipy.signal.{name} in this form")
        before = [(n - 1) // 2 for n in taps.shape]
        return in_windows(x, np.flip(taps) if is_reversed else taps, mode, before)

    return run


def of_matrices(name: str, is_reversed: bool) -> Any:
    """As `of_arrays`; of a filter of even size that is not reversed the middle is another one."""

    def run(
        in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0
    ) -> Any:
        x, taps = operands(in1, in2, mode, name)
        if x.ndim != 2 or boundary != "fill" or type(fillvalue) is not int or fillvalue != 0:
            refuse(f"scipy.signal.{name} in this form")
        before = [(n - 1) // 2 if is_reversed else n // 2 for n in taps.shape]
        return in_windows(x, np.flip(taps) if is_reversed else taps, mode, before)

    return run


def operands(in1: Any, in2: Any, mode: Any, name: str) -> Any:
    """The array, and the filter, which is nowhere larger."""
    x, taps = np.asarray(in1), np.asarray(in2)
    if x.ndim != taps.ndim or x.ndim == 0 or mode not in ("full", "same", "valid"):
        refuse(f"scipy.signal.{name} in this form")
    if x.dtype != taps.dtype or x.dtype not in (np.float32, np.float64):
        refuse(f"scipy.signal.{name} in this form")
    if taps.size > _MOST_TAPS or taps.size == 0:
        refuse(f"scipy.signal.{name} in this form")
    products = taps.size
    for m, n in zip(x.shape, taps.shape):  # noqa: B905 - they are equally many
        if m < n:
            refuse(f"scipy.signal.{name} in this form")
        places = m - n + 1 if mode == "valid" else m if mode == "same" else m + n - 1
        products = products * places
    if not name.endswith("2d") and products > _MOST_PRODUCTS * x.size:
        refuse(f"scipy.signal.{name} in this form")
    return x, taps


def in_windows(x: Any, taps: Any, mode: Any, before: Any) -> Any:
    """The products of the filter with each window; `before` places of "same" begin in front."""
    axes = tuple(range(x.ndim))
    if mode != "valid":
        require(np.isfinite(taps).all())
        around = [
            (n - 1 - b, b) if mode == "same" else (n - 1, n - 1)
            for n, b in zip(taps.shape, before)  # noqa: B905 - they are equally many
        ]
        x = np.pad(x, around)
    windows = sliding_window_view(x, taps.shape)
    return np.tensordot(windows, taps, axes=(tuple(k + x.ndim for k in axes), axes))


#: Function of NumPy, or the path of one of SciPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.convolve: convolve,
    np.correlate: correlate,
    "scipy.signal._signaltools:convolve": of_arrays("convolve", True),
    "scipy.signal._signaltools:convolve2d": of_matrices("convolve2d", True),
    "scipy.signal._signaltools:correlate": of_arrays("correlate", False),
    "scipy.signal._signaltools:correlate2d": of_matrices("correlate2d", False),
}

"""SciPy's convolutions and correlations as sums of products in windows, in Python, to be traced.

What SciPy would do by Fourier transforms, for large filters, is left to it, and so is a filter with
infinities where it meets the zeros around an array: SciPy does not multiply those.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.errors import TraceError
from tracejit.frontend.numpy.derived import require
from tracejit.frontend.tracing.trace import user_line

__all__ = ["PARTS", "filter_of"]

#: A filter with more elements is left to SciPy, and where SciPy may take Fourier transforms, more
#: products for each element of the array, which then take longer.
_MOST_TAPS, _MOST_PRODUCTS = 1024, 128
_MODULE = "scipy.signal._signaltools"


def refuse(name: str) -> None:
    """Give up a form of the arguments: SciPy is called."""
    raise TraceError("TJ004", f"scipy.signal.{name}", user_line())


def correlate(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """The sums of products of an array with a filter at each place."""
    x, taps = operands(in1, in2, mode, "correlate")
    if method not in ("auto", "direct"):
        refuse("correlate")
    return in_windows(x, taps, mode, [(n - 1) // 2 for n in taps.shape])


def convolve(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """As `correlate`, with the filter reversed."""
    x, taps = operands(in1, in2, mode, "convolve")
    if method not in ("auto", "direct"):
        refuse("convolve")
    return in_windows(x, np.flip(taps), mode, [(n - 1) // 2 for n in taps.shape])


def correlate2d(
    in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0
) -> Any:
    """As `correlate` of matrices; of a filter of even size the middle is another one."""
    x, taps = operands(in1, in2, mode, "correlate2d")
    if x.ndim != 2 or boundary != "fill" or type(fillvalue) is not int or fillvalue != 0:
        refuse("correlate2d")
    return in_windows(x, taps, mode, [n // 2 for n in taps.shape])


def convolve2d(
    in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0
) -> Any:
    """As `convolve` of matrices."""
    x, taps = operands(in1, in2, mode, "convolve2d")
    if x.ndim != 2 or boundary != "fill" or type(fillvalue) is not int or fillvalue != 0:
        refuse("convolve2d")
    return in_windows(x, np.flip(taps), mode, [(n - 1) // 2 for n in taps.shape])


def operands(in1: Any, in2: Any, mode: Any, name: str) -> Any:
    """The array, and the filter, which is nowhere larger."""
    x, taps = np.asarray(in1), np.asarray(in2)
    if x.ndim != taps.ndim or x.ndim == 0 or mode not in ("full", "same", "valid"):
        refuse(name)
    if x.dtype != taps.dtype or x.dtype not in (np.float32, np.float64):
        refuse(name)
    if taps.size > _MOST_TAPS or taps.size == 0:
        refuse(name)
    products = taps.size
    for m, n in zip(x.shape, taps.shape):  # noqa: B905 - they are equally many
        if m < n:
            refuse(name)
        places = m - n + 1 if mode == "valid" else m if mode == "same" else m + n - 1
        products = products * places
    if not name.endswith("2d") and products > _MOST_PRODUCTS * x.size:
        refuse(name)
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


#: What these functions call of each other.
PARTS = (in_windows, operands, refuse)
_FILTERS: dict[str, Any] = {f.__name__: f for f in (convolve, convolve2d, correlate, correlate2d)}


def filter_of(f: Any) -> Any:
    """The function that is traced for one of SciPy's; None where there is none."""
    if getattr(f, "__module__", None) != _MODULE:
        return None
    name = f.__name__
    return _FILTERS.get(name) if vars(sys.modules[_MODULE]).get(name) is f else None

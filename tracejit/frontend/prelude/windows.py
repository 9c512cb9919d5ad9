"""Windows that weigh the points of a signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]


def size_of(m: Any) -> Any:
    """The size of a window as an int from 0 on, or as a float."""
    if type(m) is int:
        return max(m, 0)
    if np.ndim(m) != 0 or np.asarray(m).dtype.kind not in "biuf":
        refuse("a window of such a size")
    if np.asarray(m).dtype.kind != "f":
        return max(int(m), 0)
    m = np.float64(m)
    return m if m >= 1 or np.isnan(m) else 0


def places(m: Any) -> Any:
    """The points of a window of so many around 0, in steps of 2, and the last of them or 1."""
    m = size_of(m)
    return np.arange(1 - m, m, 2), m - 1 if type(m) is not int and m > 1 else max(m - 1, 1)


def hanning(M: Any) -> Any:
    """Hann's window."""
    n, last = places(M)
    return 0.5 + 0.5 * np.cos(np.pi * n / last)


def hamming(M: Any) -> Any:
    """Hamming's window."""
    n, last = places(M)
    return 0.54 + 0.46 * np.cos(np.pi * n / last)


def blackman(M: Any) -> Any:
    """Blackman's window."""
    n, last = places(M)
    window = 0.42 + 0.5 * np.cos(np.pi * n / last) + 0.08 * np.cos(2.0 * np.pi * n / last)
    return np.where(M == 1, 1.0, window)


def bartlett(M: Any) -> Any:
    """A triangle."""
    n, last = places(M)
    return np.where(n <= 0, 1 + n / last, 1 - n / last)


def kaiser(M: Any, beta: Any) -> Any:
    """Kaiser's window."""
    if np.ndim(beta) != 0 or np.asarray(beta).dtype.kind not in "biuf":
        refuse("np.kaiser with such a shape")
    beta, m = np.float64(beta), size_of(M)
    middle = (m - 1) / 2.0 if m > 1 else 1.0
    n = np.arange(m) - (middle if m > 1 else 0.0)
    window = np.i0(beta * np.sqrt(1 - (n / middle) ** 2.0)) / np.i0(beta)
    return np.where(m == 1, 1.0, window)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.bartlett: bartlett,
    np.blackman: blackman,
    np.hamming: hamming,
    np.hanning: hanning,
    np.kaiser: kaiser,
}

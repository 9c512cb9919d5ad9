"""Covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["FUNCTIONS"]


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """The matrix of correlation coefficients, clipped to [-1, 1]."""
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diagonal(c).real)
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return np.clip(c.real, -1, 1) + 1j * np.clip(c.imag, -1, 1)
    return np.clip(c, -1, 1)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {np.corrcoef: corrcoef}

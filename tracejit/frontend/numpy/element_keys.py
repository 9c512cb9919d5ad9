"""Keys that name one element of an array, and what NumPy stores there."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar

__all__ = ["is_element", "is_index", "takes_no_array"]


def is_index(x: Any) -> bool:
    """Whether `x` can be used as an index without being an array."""
    return isinstance(x, (int, np.integer, SymInt, TracedScalar)) and not isinstance(x, bool)


def is_element(key: Any, ndim: int) -> bool:
    """Whether a key is one integer for each axis: it names a number, not an array of rank 0."""
    keys = key if isinstance(key, tuple) else (key,)
    return len(keys) == ndim and all(
        is_index(k)
        or (isinstance(k, (TracedArray, np.ndarray)) and k.ndim == 0 and k.dtype.kind in "iu")
        for k in keys
    )


@cache
def takes_no_array(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy refuses an array with axes, though of one element, as an element.

    NumPy 2.4 does, but for bools; older ones warn.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            np.zeros(1, dtype)[0] = np.zeros(1, dtype)
        except (TypeError, ValueError):
            return True
    return False

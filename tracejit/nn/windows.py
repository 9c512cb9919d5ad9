"""Windows over the last axes of an array: what convolutions and pools look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

__all__ = ["padded", "per_axis", "windows"]


def per_axis(x: int | Sequence[int], ndim: int, what: str) -> tuple[int, ...]:
    """A number for each of `ndim` axes. Raises ValueError where another count is given."""
    found = (x,) * ndim if isinstance(x, int) else tuple(x)
    if len(found) != ndim:
        raise ValueError(f"{what} has one number, or one for each of {ndim} axes, not {x}")
    return found


def padded(x: Any, before: Sequence[int], after: Sequence[int], value: float) -> Any:
    """`x` with a frame of `value` around its last axes."""
    if not any(before) and not any(after):
        return x
    first = x.ndim - len(before)
    inner = x.shape[first:]
    whole = tuple(b + n + a for b, n, a in zip(before, inner, after, strict=True))
    out: Any = np.full(x.shape[:first] + whole, value, x.dtype)
    within: tuple[Any, ...] = tuple(slice(b, b + n) for b, n in zip(before, inner, strict=True))
    out[(..., *within)] = x
    return out


def windows(x: Any, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Any:
    """A view of the windows over the last axes: [..., *positions, *size]."""
    n = len(size)
    span = tuple(d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True))
    seen: Any = sliding_window_view(x, span, axis=tuple(range(x.ndim - n, x.ndim)))
    steps: tuple[Any, ...] = (
        *(slice(None, None, s) for s in stride),
        *(slice(None, None, d) for d in dilation),
    )
    return seen[(..., *steps)]

"""Pools: the largest of each window, or the mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.nn.module import Module
from tracejit.nn.windows import padded, per_axis, windows

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "MaxPool1d",
    "MaxPool2d",
]

Sizes = int | Sequence[int]


class _Pool(Module):
    ndim: int

    def __init__(self, size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        self.size = per_axis(size, self.ndim, "size")
        self.stride = self.size if stride is None else per_axis(stride, self.ndim, "stride")
        self.padding = per_axis(padding, self.ndim, "padding")

    def _windows(self, x: Any, value: float) -> Any:
        if x.ndim < self.ndim:
            raise ValueError(f"{type(self).__name__} takes {self.ndim} axes or more, not {x.shape}")
        x = padded(x, self.padding, self.padding, value)
        return windows(x, self.size, self.stride, (1,) * self.ndim)


class _MaxPool(_Pool):
    def __call__(self, x: Any) -> Any:
        return self._windows(x, -np.inf).max(axis=tuple(range(-self.ndim, 0)))


class _AvgPool(_Pool):
    def __call__(self, x: Any) -> Any:
        return self._windows(x, 0).mean(axis=tuple(range(-self.ndim, 0)))


class MaxPool1d(_MaxPool):
    """The largest of each window of `size` on the last axis; nothing is larger than the frame."""

    ndim = 1


class MaxPool2d(_MaxPool):
    """The largest of each window on the last two axes: [n, c, h, w] -> [n, c, p, q].

    Windows begin `stride` apart (default: their size), after a frame of `padding`. Where several
    elements of a window are largest, its gradient is shared equally among them.
    """

    ndim = 2


class AvgPool1d(_AvgPool):
    """The mean of each window on the last axis; a frame counts as zeros."""

    ndim = 1


class AvgPool2d(_AvgPool):
    """The mean of each window on the last two axes; a frame counts as zeros."""

    ndim = 2


class _Adaptive(Module):
    ndim: int

    def __init__(self, size: Sizes) -> None:
        self.size = per_axis(size, self.ndim, "size")

    def _reduced(self, x: Any, reduce: Any) -> Any:
        """Part k of m of an axis of n elements is from floor(k n / m) to ceil((k + 1) n / m)."""
        for axis, parts in zip(range(x.ndim - self.ndim, x.ndim), self.size, strict=True):
            n = x.shape[axis]
            if n % parts == 0:
                x = reduce(
                    x.reshape(*x.shape[:axis], parts, n // parts, *x.shape[axis + 1 :]), axis + 1
                )
            else:
                before = (slice(None),) * axis
                cut = [slice(k * n // parts, -(-(k + 1) * n // parts)) for k in range(parts)]
                x = np.stack([reduce(x[(*before, part)], axis) for part in cut], axis)
        return x


class _AdaptiveAvg(_Adaptive):
    def __call__(self, x: Any) -> Any:
        return self._reduced(x, np.mean)


class _AdaptiveMax(_Adaptive):
    def __call__(self, x: Any) -> Any:
        return self._reduced(x, np.max)


class AdaptiveAvgPool1d(_AdaptiveAvg):
    """Means of `size` parts of the last axis, whatever its length."""

    ndim = 1


class AdaptiveAvgPool2d(_AdaptiveAvg):
    """Means of `size` parts of each of the last two axes: [n, c, h, w] -> [n, c, *size]."""

    ndim = 2


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest of `size` parts of the last axis, whatever its length."""

    ndim = 1


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest of `size` parts of each of the last two axes: [n, c, h, w] -> [n, c, *size]."""

    ndim = 2

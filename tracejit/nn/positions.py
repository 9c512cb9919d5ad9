"""Positions in a sequence, for attention, which has no order of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["rotary", "sinusoids"]


def sinusoids(length: int, size: int, dtype: Any = np.float32) -> Any:
    """Vectors to add to those of a sequence: [length, size] (Vaswani et al., 2017).

    Elements 2k and 2k + 1 are sine and cosine of position / 10000^(2k / size).
    """
    angles = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, size, 2) / size)
    out = np.empty((length, size), dtype)
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles[:, : size // 2])
    return out


def rotary(x: Any, start: int = 0, base: float = 10000.0) -> Any:
    """Queries or keys [..., t, d], turned by their positions start, start + 1, ...

    Features k and k + d / 2 are a pair, turned by position / base^(2k / d): products of two turned
    vectors depend on the distance of their positions only (Su et al., 2021). Raises ValueError for
    an odd d.
    """
    t, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"rotary takes an even number of features, not {d}")
    angles = (start + np.arange(t))[:, None] / base ** (np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), axis=-1)

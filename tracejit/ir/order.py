"""Sums and products in the order that `ir/kernel.py` defines, from vectorised NumPy.

The evaluator calls `ordered_reduce`; native code and the reference backend follow the same order,
so all agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LANES", "STRIDED_BLOCK", "VECTOR_BLOCK", "ordered_reduce", "reduction_order"]

#: Virtual lanes and block of a sum along the last axis, and the block of any other.
LANES, VECTOR_BLOCK, STRIDED_BLOCK = 64, 512, 32

Combine = Callable[[Any, Any], Any]


def reduction_order(ndim: int, axes: tuple[int, ...]) -> tuple[int, int]:
    """(lanes, block) of a sum over `axes` of an operand with `ndim` axes."""
    return (LANES, VECTOR_BLOCK) if ndim - 1 in axes else (1, STRIDED_BLOCK)


def ordered_reduce(
    x: np.ndarray[Any, Any], lanes: int, block: int, combine: Combine
) -> np.ndarray[Any, Any]:
    """Reduce the rows of `x`, shape (rows, n), to shape (rows,) in the order of `ir/kernel.py`.

    `combine` is `np.add` or `np.multiply`; `x` is real and floating-point and the result has its
    dtype. An empty row gives +0.0 or 1. `lanes` is a power of two that divides `block`; raises
    ValueError otherwise.
    """
    if lanes < 1 or lanes & (lanes - 1) or block % lanes or block < 1:
        raise ValueError(f"{lanes} lanes do not fit blocks of {block}")
    if combine is np.multiply:
        return np.asarray(np.multiply.reduce(np.ascontiguousarray(x), axis=1, dtype=x.dtype))
    with np.errstate(over="ignore", invalid="ignore"):
        return _compensated(_block_sums(x, lanes, block))


def _block_sums(x: np.ndarray[Any, Any], lanes: int, block: int) -> np.ndarray[Any, Any]:
    """The sums of the blocks of each row, shape (rows, blocks)."""
    rows, n = x.shape
    blocks = -(-n // block)
    # The padding may turn a lane that is -0.0 into +0.0, where it would have started otherwise.
    padded = np.zeros((rows, blocks * block), x.dtype)
    padded[:, :n] = x
    steps = padded.reshape(rows, blocks, block // lanes, lanes)
    lane = steps[:, :, 0, :]
    for step in range(1, block // lanes):
        lane = lane + steps[:, :, step, :]
    half = lanes // 2
    while half:
        lane = lane[..., :half] + lane[..., half : 2 * half]
        half //= 2
    return lane[..., 0]


def _compensated(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The sum of each row, with the rounding errors of its additions added at the end."""
    total = np.zeros(values.shape[0], values.dtype)
    error = np.zeros_like(total)
    for value in values.T:
        following = total + value
        change = following - total
        error = error + ((total - (following - change)) + (value - change))
        total = following
    corrected = total + error
    return np.where(np.isfinite(corrected), corrected, total)

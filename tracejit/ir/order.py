"""Sums and products in the order that `ir/kernel.py` defines, from vectorised NumPy.

The evaluator and the reference backend call `ordered_reduce`; native code follows the same order,
so all agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LANES", "STRIDED_BLOCK", "VECTOR_BLOCK", "ordered_reduce", "reduction_order"]

#: Virtual lanes and block of a reduction along the last axis, and the block of any other.
LANES, VECTOR_BLOCK, STRIDED_BLOCK = 64, 1024, 32

Combine = Callable[[Any, Any], Any]


def reduction_order(ndim: int, axes: tuple[int, ...]) -> tuple[int, int]:
    """(lanes, block) of a sum or product over `axes` of an operand with `ndim` axes."""
    return (LANES, VECTOR_BLOCK) if ndim - 1 in axes else (1, STRIDED_BLOCK)


def ordered_reduce(
    x: np.ndarray[Any, Any], lanes: int, block: int, combine: Combine
) -> np.ndarray[Any, Any]:
    """Reduce the rows of `x`, shape (rows, n), to shape (rows,) in the order of `ir/kernel.py`.

    `combine` is `np.add` or `np.multiply`; `x` is real and the result has its dtype. An empty row
    gives +0.0 or 1. `lanes` is a power of two that divides `block`; raises ValueError otherwise.
    """
    if lanes < 1 or lanes & (lanes - 1) or block % lanes:
        raise ValueError(f"{lanes} lanes do not fit blocks of {block}")
    rows, n = x.shape
    is_sum = combine is np.add
    if n == 0:
        return np.full(rows, 0 if is_sum else 1, x.dtype)
    # Positions past the end hold the identity, which leaves every value as it is: -0.0, not 0.0.
    blocks = -(-n // block)
    identity = (-0.0 if x.dtype.kind == "f" else 0) if is_sum else 1
    padded = np.full((rows, blocks * block), identity, x.dtype)
    padded[:, :n] = x
    steps = padded.reshape(rows, blocks, block // lanes, lanes)
    lane = steps[:, :, 0, :]
    for step in range(1, block // lanes):
        lane = combine(lane, steps[:, :, step, :])
    half = lanes // 2
    while half:
        lane = combine(lane[..., :half], lane[..., half : 2 * half])
        half //= 2
    return _binary_counter(lane[..., 0], combine)


def _binary_counter(partial: np.ndarray[Any, Any], combine: Combine) -> np.ndarray[Any, Any]:
    """Combine block results, shape (rows, blocks), level by level as a binary counter would.

    The counter holds one complete subtree for each set bit of the number of blocks; on each level
    an entry without a partner is that subtree, newer than those of the levels above.
    """
    result: np.ndarray[Any, Any] | None = None
    while True:
        count = partial.shape[1]
        if count % 2:
            older = partial[:, -1]
            result = older if result is None else combine(older, result)
        if count < 2:
            assert result is not None
            return np.array(result)
        even = count - count % 2
        partial = combine(partial[:, 0:even:2], partial[:, 1:even:2])

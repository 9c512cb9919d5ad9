"""Functions whose kernels are looked at: rows, columns, stencils, loops in threads."""

from __future__ import annotations

from typing import Any

import numpy as np


def softmax(x: Any) -> Any:
    """Three passes over each row."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Any) -> Any:
    """Moments of each row, then the row."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5))


def smooth(x: Any) -> Any:
    """A stencil."""
    return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * np.float32(0.25)


def totals(x: Any) -> Any:
    """Sums of columns, and of everything."""
    return x.sum(axis=0), x.sum()


def escape(x: Any, y: Any) -> Any:
    """How many steps a point takes to leave the circle."""
    a = b = x * 0
    n = 0
    while a * a + b * b <= 4 and n < 30:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n

"""Initial values of parameters.

Each takes a shape and a NumPy generator, and gives a new array; the axes of a shape are (outputs,
inputs, *window), as those of a layer's weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = [
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "normal",
    "orthogonal",
    "truncated_normal",
    "uniform",
]

Shape = tuple[int, ...]


def uniform(shape: Shape, rng: Any, low: float, high: float, dtype: Any = np.float32) -> Any:
    """Uniform in [low, high)."""
    return rng.uniform(low, high, shape).astype(dtype)


def normal(shape: Shape, rng: Any, std: float = 1.0, dtype: Any = np.float32) -> Any:
    """Normal, of mean 0."""
    return (std * rng.standard_normal(shape)).astype(dtype)


def truncated_normal(shape: Shape, rng: Any, std: float = 1.0, dtype: Any = np.float32) -> Any:
    """Normal of mean 0, drawn again where it is more than two standard deviations off."""
    x = rng.standard_normal(shape)
    while (far := np.abs(x) > 2).any():
        x[far] = rng.standard_normal(int(far.sum()))
    return (std * x).astype(dtype)


def glorot_uniform(shape: Shape, rng: Any, gain: float = 1.0, dtype: Any = np.float32) -> Any:
    """Uniform of variance gain^2 * 2 / (fan-in + fan-out) (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6 / sum(_fans(shape)))
    return uniform(shape, rng, -bound, bound, dtype)


def glorot_normal(shape: Shape, rng: Any, gain: float = 1.0, dtype: Any = np.float32) -> Any:
    """Normal of variance gain^2 * 2 / (fan-in + fan-out) (Glorot and Bengio, 2010)."""
    return normal(shape, rng, gain * math.sqrt(2 / sum(_fans(shape))), dtype)


def he_uniform(shape: Shape, rng: Any, slope: float = 0.0, dtype: Any = np.float32) -> Any:
    """Uniform of variance 2 / ((1 + slope^2) fan-in), for rectifiers (He et al., 2015)."""
    bound = math.sqrt(6 / ((1 + slope**2) * _fans(shape)[0]))
    return uniform(shape, rng, -bound, bound, dtype)


def he_normal(shape: Shape, rng: Any, slope: float = 0.0, dtype: Any = np.float32) -> Any:
    """Normal of variance 2 / ((1 + slope^2) fan-in), for rectifiers (He et al., 2015)."""
    return normal(shape, rng, math.sqrt(2 / ((1 + slope**2) * _fans(shape)[0])), dtype)


def orthogonal(shape: Shape, rng: Any, gain: float = 1.0, dtype: Any = np.float32) -> Any:
    """Rows, or columns where these are fewer, that are orthonormal (Saxe et al., 2014).

    All axes but the first count as one. Raises ValueError for fewer than two axes.
    """
    if len(shape) < 2:
        raise ValueError(f"an orthogonal array has at least two axes, not the shape {shape}")
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diag(r))
    return (gain * (q if rows >= columns else q.T)).reshape(shape).astype(dtype)


def _fans(shape: Shape) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input has.

    Raises ValueError for fewer than two axes.
    """
    if len(shape) < 2:
        raise ValueError(f"weights have at least two axes, not the shape {shape}")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window

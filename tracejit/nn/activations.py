"""Activations: functions of each element, and softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erf

__all__ = [
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]


def relu(x: Any) -> Any:
    """max(x, 0); the derivative at 0 is 0."""
    return np.where(x <= 0, 0, x)


def relu6(x: Any) -> Any:
    """x, but at least 0 and at most 6."""
    return np.where(x <= 0, 0, np.where(x >= 6, 6, x))


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """x, times `slope` where it is negative."""
    return np.where(x <= 0, slope * x, x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or alpha (exp(x) - 1) where that is negative (Clevert et al., 2016)."""
    return np.where(x <= 0, alpha * np.expm1(np.where(x <= 0, x, 0)), x)


def selu(x: Any) -> Any:
    """A scaled `elu` that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), which overflows nowhere."""
    return 0.5 * np.tanh(0.5 * x) + 0.5


def silu(x: Any) -> Any:
    """x sigmoid(x), also called swish (Elfwing et al., 2018)."""
    return x * sigmoid(x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), which overflows nowhere."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def mish(x: Any) -> Any:
    """x tanh(softplus(x)) (Misra, 2020)."""
    return x * np.tanh(softplus(x))


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return np.tanh(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    The approximation is theirs, by a tanh.
    """
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def hard_sigmoid(x: Any) -> Any:
    """x / 6 + 1 / 2, but at least 0 and at most 1."""
    return relu6(x + 3) / 6


def hard_swish(x: Any) -> Any:
    """x hard_sigmoid(x) (Howard et al., 2019)."""
    return x * hard_sigmoid(x)


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) over its sum along an axis, shifted by the largest element first."""
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of `softmax`."""
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))

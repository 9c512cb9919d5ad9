"""Programs in which `np.where` keeps a function from where it is undefined; their gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "X"]

#: Zeros, and a number on either side of them.
X = np.array([0.0, 0.5, -1.0, 2.0, -0.0])


def root(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0))


def sinc(x):
    return np.sum(np.where(x != 0, np.sin(x) / x, 1))


def power(x):
    return np.sum(np.where(x > 0, x**0.5, 0))


def logarithm(x):
    return np.sum(np.where(x > 0, np.log(x), 0))


def entropy(x):
    return -np.sum(np.where(x > 0, x * np.log(x), 0))


def reciprocal(x):
    return np.sum(np.where(x > 0, 1 / x, 0))


def angle(x):
    return np.sum(np.where(x != 0, np.arctan2(x, 2 * x), 0))


def nested(x):
    inner = np.where(x > 1, np.log(x - 1), np.sqrt(x))
    return np.sum(np.where(x > 0, inner, np.where(x < 0, x * np.log(-x), 0)))


def normed(x):
    """A norm of zeros in the lane not taken, the condition one number."""
    return np.where(np.sum(x * x) > 100, np.sqrt(np.sum((0 * x) ** 2)), np.sum(x))


def head(x):
    """Roots of which only some are read."""
    return np.sum(np.sqrt(x * x)[1:4])


def _on(mask: Any, f: Callable[[Any], Any]) -> Any:
    out = np.zeros_like(X)
    out[mask] = f(X[mask])
    return out


_up, _off = X > 0, X != 0
_below = _on(X < 0, lambda x: np.log(-x) + 1)
_middle = _on((X > 0) & (X <= 1), lambda x: 0.5 / np.sqrt(x))

#: Each with its gradient at X.
PROGRAMS: list[tuple[Callable[[Any], Any], Any]] = [
    (root, _on(_up, lambda x: 0.5 / np.sqrt(x))),
    (sinc, _on(_off, lambda x: np.cos(x) / x - np.sin(x) / x**2)),
    (power, _on(_up, lambda x: 0.5 / np.sqrt(x))),
    (logarithm, _on(_up, lambda x: 1 / x)),
    (entropy, _on(_up, lambda x: -np.log(x) - 1)),
    (reciprocal, _on(_up, lambda x: -1 / x**2)),
    (angle, np.zeros_like(X)),
    (nested, _below + _middle + _on(X > 1, lambda x: 1 / (x - 1))),
    (normed, np.ones_like(X)),
    (head, np.array([0.0, 1.0, -1.0, 1.0, 0.0])),
]

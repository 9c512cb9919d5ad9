"""The default network of the estimators, and their steps, compiled as the user's own code is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit
from tracejit import nn

__all__ = ["Perceptron", "cross_entropy", "squares", "step"]


class Perceptron:
    """Layers of a matrix and a bias with max(x, 0) between them.

    They are drawn as by He et al., 2015, "Delving deep into rectifiers".
    """

    def __init__(self, sizes: Sequence[int], rng: Any) -> None:
        pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
        draws = [
            rng.standard_normal((n, m), np.float32) * np.float32((2 / n) ** 0.5) for n, m in pairs
        ]
        self.weights, self.biases = draws, [np.zeros(m, np.float32) for _, m in pairs]

    def __call__(self, x: Any) -> Any:
        x = x @ self.weights[0] + self.biases[0]
        for w, b in zip(self.weights[1:], self.biases[1:], strict=True):
            x = np.maximum(x, 0) @ w + b
        return x


def cross_entropy(net: Any, x: Any, y: Any) -> Any:
    """The mean of -log(probability of the right class), `y`."""
    return nn.cross_entropy(net(x), y)


def squares(net: Any, x: Any, y: Any) -> Any:
    """The mean square of what is missing to `y`. Raises ValueError for another shape."""
    return nn.mse_loss(net(x), y)


def step(loss: Any, net: Any, optimiser: Any, x: Any, y: Any) -> Any:
    """One step of an optimiser, in place. Gives the loss before it."""
    value, grads = tracejit.value_and_grad(loss)(net, x, y)
    optimiser.update(net, grads)
    return value

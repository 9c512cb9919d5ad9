"""The default network of the estimators, and their steps, compiled as the user's own code is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit
from tracejit import tree

__all__ = ["Adam", "Perceptron", "cross_entropy", "squares", "step"]


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


class Adam:
    """Kingma and Ba, 2015, "Adam: a method for stochastic optimization", algorithm 1."""

    def __init__(self, net: Any, lr: float) -> None:
        self.lr, self.count = lr, np.zeros((), np.int64)
        self.m = [np.zeros_like(p) for p in tree.leaves(net)]
        self.v = [np.zeros_like(p) for p in tree.leaves(net)]

    def update(self, net: Any, grads: Any) -> None:
        self.count += 1
        rate = float(self.lr * np.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count))
        for p, g, m, v in zip(tree.leaves(net), tree.leaves(grads), self.m, self.v, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= rate * m / (np.sqrt(v) + 1e-8)


def cross_entropy(net: Any, x: Any, y: Any) -> Any:
    """The mean of -log(probability of the right class), `y`."""
    z = net(x)
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y])


def squares(net: Any, x: Any, y: Any) -> Any:
    """The mean square of what is missing to `y`. Raises ValueError for another shape."""
    z = net(x)
    if z.shape != y.shape:
        raise ValueError(f"the network gives {z.shape}, for targets {y.shape}")
    return np.mean((z - y) ** 2)


def step(loss: Any, net: Any, optimiser: Any, x: Any, y: Any) -> Any:
    """One step of an optimiser, in place. Gives the loss before it."""
    value, grads = tracejit.value_and_grad(loss)(net, x, y)
    optimiser.update(net, grads)
    return value

"""Models as users write them, to be derived by."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit


class Dense:
    def __init__(self, n: int, m: int, seed: int) -> None:
        self.w = np.random.default_rng(seed).normal(size=(n, m))
        self.b = np.zeros(m)
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        self.last = x
        return np.tanh(x @ self.w + self.b)


class Model:
    def __init__(self) -> None:
        self.layers = [Dense(3, 4, 0), Dense(4, 2, 1)]
        self.extra = {"gain": np.ones(2), "kind": [1, 2]}
        self.sizes, self.name, self.rate = [3, 4, 2], "model", 0.1
        self.tied = self.layers[0].w
        self.mean = np.zeros(2)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x


def loss(model: Model, x: Any) -> Any:
    y = model.forward(x)
    return (y**2 * model.extra["gain"]).sum() + 0.1 * (model.tied**2).sum()


def loss_and_aux(model: Model, x: Any) -> Any:
    return loss(model, x), 3


def step(model: Model, x: Any) -> Any:
    """One step of gradient descent, in place."""
    value, slopes = tracejit.value_and_grad(loss)(model, x)
    for layer, slope in zip(model.layers, slopes.layers, strict=True):
        layer.w -= model.rate * slope.w
        layer.b -= model.rate * slope.b
    return value


class Momentum:
    """An optimiser whose state is a tree like the model."""

    def __init__(self, model: Any) -> None:
        self.velocity = tracejit.tree.map(np.zeros_like, model)
        self.steps = 0

    def update(self, model: Any, slopes: Any) -> None:
        self.steps += 1
        self.velocity = tracejit.tree.map(
            lambda v, g: 0.9 * v + g, self.velocity, tracejit.tree.map(np.copy, slopes)
        )
        parameters = zip(
            tracejit.tree.leaves(model), tracejit.tree.leaves(self.velocity), strict=True
        )
        for p, v in parameters:
            p -= 0.05 * v


def small_loss(model: Model, x: Any) -> Any:
    for layer in model.layers:
        x = np.tanh(x @ layer.w + layer.b)
    return (x * x * model.extra["gain"]).sum()


def descend(model: Model, optimiser: Momentum, x: Any) -> Any:
    value, slopes = tracejit.value_and_grad(small_loss)(model, x)
    optimiser.update(model, slopes)
    return value

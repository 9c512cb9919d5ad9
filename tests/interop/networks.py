"""Networks of plain NumPy, for other packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import nn


class Noisy(nn.Module):
    """A net that changes itself in each call, and draws random numbers."""

    __buffers__ = ("mean",)

    def __init__(self, rng: Any) -> None:
        self.w, self.b = rng.standard_normal((3, 4)), np.zeros(4)
        self.layers = [{"v": rng.standard_normal((4, 1))}]
        self.mean, self.rng, self.tied, self.steps = np.zeros(4), rng, self.b, 0

    def __call__(self, x: Any) -> Any:
        z = np.tanh(x @ self.w + self.b)
        if self.training:
            self.mean *= 0.9
            self.mean += 0.1 * z.mean(0)
            self.steps += 1
            z = z * (self.rng.random(z.shape) > 0.1)
        return z @ self.layers[0]["v"]


class Rebinding(nn.Module):
    """A net that has a new array of state after each call."""

    __buffers__ = ("mean",)

    def __init__(self) -> None:
        self.w, self.mean = np.ones((3, 2)), np.zeros(3)

    def __call__(self, x: Any) -> Any:
        self.mean = 0.5 * self.mean + x.mean(0)
        return (x + self.mean) @ self.w


class Linear(nn.Module):
    def __init__(self, n: int, m: int) -> None:
        self.weight, self.bias = np.zeros((m, n), np.float32), np.zeros(m, np.float32)


class Norm(nn.Module):
    __buffers__ = ("running_mean", "running_var")

    def __init__(self, n: int) -> None:
        self.weight, self.bias, self.running_mean, self.running_var = np.zeros((4, n), np.float32)


def linear_and_norm() -> list[Any]:
    """The counterpart of a Sequential of these two."""
    return [Linear(3, 4), Norm(4)]


class Matrix(nn.Module):
    """A matrix, a bias, and the number of rows seen in training."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.w, self.b = np.zeros((inputs, outputs), np.float32), np.zeros(outputs, np.float32)
        self.rows = 0

    def __call__(self, x: Any) -> Any:
        if self.training:
            self.rows += len(x)
        return x @ self.w + self.b


class Convolutional(nn.Module):
    """Layers with the names that a Sequential of PyTorch gives them."""

    def __init__(self, rng: Any) -> None:
        for name, layer in {
            "0": nn.Conv2d(3, 4, 3, rng, padding=1),
            "1": nn.BatchNorm(4),
            "3": nn.Linear(64, 5, rng),
        }.items():
            setattr(self, name, layer)

    def __call__(self, x: Any) -> Any:
        x = getattr(self, "1")(getattr(self, "0")(x))
        return getattr(self, "3")(x.reshape(len(x), -1))

"""The optimisers as their papers write them, number by number, and problems for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import optim

__all__ = ["FORMULAS", "gradients", "start"]


def sgd(lr: float = 0.1, weight_decay: float = 0.0) -> Any:
    return lambda p, g, s, t: p - lr * (g + weight_decay * p)


def momentum(lr: float = 0.002, nesterov: bool = False) -> Any:
    def step(p: float, g: float, s: dict[str, float], t: int) -> float:
        s["m"] = 0.9 * s["m"] + g
        return p - lr * (g + 0.9 * s["m"] if nesterov else s["m"])

    return step


def adagrad(p: float, g: float, s: dict[str, float], t: int) -> float:
    s["v"] += g * g
    return p - 0.05 * g / (math.sqrt(s["v"]) + 1e-10)


def adadelta(p: float, g: float, s: dict[str, float], t: int) -> float:
    s["v"] = 0.9 * s["v"] + 0.1 * g * g
    d = math.sqrt(s["u"] + 1e-6) / math.sqrt(s["v"] + 1e-6) * g
    s["u"] = 0.9 * s["u"] + 0.1 * d * d
    return p - d


def rmsprop(p: float, g: float, s: dict[str, float], t: int) -> float:
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    s["m"] = 0.99 * s["m"] + 0.01 * g
    s["b"] = 0.9 * s["b"] + g / (math.sqrt(s["v"] - s["m"] ** 2) + 1e-8)
    return p - 0.001 * s["b"]


def adam(decay: float = 0.0, decoupled: bool = False, amsgrad: bool = False) -> Any:
    def step(p: float, g: float, s: dict[str, float], t: int) -> float:
        old, lr = p, 0.01
        g = g if decoupled else g + decay * p
        s["m"] = 0.9 * s["m"] + 0.1 * g
        s["v"] = 0.999 * s["v"] + 0.001 * g * g
        s["top"] = max(s["top"], s["v"]) if amsgrad else s["v"]
        root = math.sqrt(s["top"] / (1 - 0.999**t)) + 1e-8
        p = p - lr * s["m"] / (1 - 0.9**t) / root
        return p - lr * decay * old if decoupled else p

    return step


def lion(p: float, g: float, s: dict[str, float], t: int) -> float:
    sign = math.copysign(1.0, 0.9 * s["m"] + 0.1 * g)
    s["m"] = 0.99 * s["m"] + 0.01 * g
    return p - 0.001 * (sign + 0.1 * p)


#: An optimiser, and the step of one number: parameter, gradient, state, count from 1.
FORMULAS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "SGD": (lambda p: optim.SGD(p, 0.1, weight_decay=0.01), sgd(weight_decay=0.01)),
    "Momentum": (lambda p: optim.Momentum(p, 0.002), momentum()),
    "Nesterov": (lambda p: optim.Momentum(p, 0.002, nesterov=True), momentum(nesterov=True)),
    "AdaGrad": (lambda p: optim.AdaGrad(p, 0.05), adagrad),
    "AdaDelta": (optim.AdaDelta, adadelta),
    "RMSProp": (lambda p: optim.RMSProp(p, 0.001, momentum=0.9, centered=True), rmsprop),
    "Adam": (lambda p: optim.Adam(p, 0.01, weight_decay=0.01), adam(0.01)),
    "AMSGrad": (lambda p: optim.Adam(p, 0.01, amsgrad=True), adam(amsgrad=True)),
    "AdamW": (lambda p: optim.AdamW(p, 0.01, weight_decay=0.1), adam(0.1, decoupled=True)),
    "Lion": (lambda p: optim.Lion(p, 0.001, weight_decay=0.1), lion),
}


def start(dtype: Any) -> list[Any]:
    """Parameters: a matrix and a vector."""
    rng = np.random.default_rng(3)
    return [rng.standard_normal((3, 2)).astype(dtype), rng.standard_normal(4).astype(dtype)]


def gradients(dtype: Any, steps: int = 100) -> Iterator[list[Any]]:
    """Gradients for `start`: of one direction for a while, and noise."""
    rng = np.random.default_rng(4)
    for k in range(steps):
        shift = math.sin(k / 20)
        yield [(rng.standard_normal(p.shape) + shift).astype(dtype) for p in start(dtype)]

"""Three dense layers on digits of 8 by 8 pixels, 128 at a time, with Adam."""

import numpy as np

import tracejit

from .model import Arrays, Model, adam, cross_entropy, normal, relu, weights, zeros


def forward(p, x):
    h = relu(x @ p["w1"] + p["b1"])
    h = relu(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    adam(p, g, state, 1e-3)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, hidden = (4, 6) if small else (128, 128)
    p = {"w1": weights(rng, 64, hidden), "b1": zeros(hidden)}
    p |= {"w2": weights(rng, hidden, hidden), "b2": zeros(hidden)}
    p |= {"w3": weights(rng, hidden, 10), "b3": zeros(10)}
    return p, [normal(rng, batch, 64)], rng.integers(0, 10, batch)


MODEL = Model("mlp", "matmul", forward, step, make, adam=True, rate=1e-3)

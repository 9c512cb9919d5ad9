"""An LSTM over 20 steps with attention over its states, 32 sequences, with Adam."""

import numpy as np

import tracejit

from .model import Arrays, Model, adam, cross_entropy, normal, weights, zeros


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def forward(p, x):
    n, steps, _ = x.shape
    size = p["u"].shape[0]
    h, c = np.zeros((n, size), x.dtype), np.zeros((n, size), x.dtype)
    states = np.empty((n, steps, size), x.dtype)
    for t in range(steps):
        gates = x[:, t] @ p["w"] + h @ p["u"] + p["b"]
        i, f = sigmoid(gates[:, :size]), sigmoid(gates[:, size : 2 * size])
        g, o = np.tanh(gates[:, 2 * size : 3 * size]), sigmoid(gates[:, 3 * size :])
        c = f * c + i * g
        h = o * np.tanh(c)
        states[:, t] = h
    scores = np.einsum("nth,nh->nt", states, h @ p["q"]) / np.sqrt(np.float32(size))
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention = e / e.sum(axis=1, keepdims=True)
    context = np.einsum("nt,nth->nh", attention, states)
    return np.concatenate([context, h], axis=1) @ p["w2"] + p["b2"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    adam(p, g, state, 1e-3)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, steps, inputs, size = (2, 4, 3, 4) if small else (32, 20, 64, 128)
    p = {"w": weights(rng, inputs, 4 * size, fan_in=2 * inputs)}
    p |= {"u": weights(rng, size, 4 * size, fan_in=2 * size), "b": zeros(4 * size)}
    p |= {"q": weights(rng, size, size), "w2": weights(rng, 2 * size, 10), "b2": zeros(10)}
    return p, [normal(rng, batch, steps, inputs)], rng.integers(0, 10, batch)


MODEL = Model("lstm", "a loop of time steps", forward, step, make, adam=True, rate=1e-3)

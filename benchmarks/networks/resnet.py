"""A bottleneck block of ResNet, 8 images; sliding windows and tensordot, with a mean pool."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import tracejit

from .model import Arrays, Model, batch_norm, cross_entropy, normal, ones, relu, sgd, weights, zeros


def pointwise(x, w):
    return np.tensordot(x, w, axes=(1, 1)).transpose(0, 3, 1, 2)


def conv(x, w):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(x, (3, 3), axis=(2, 3))
    return np.tensordot(windows, w, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def forward(p, x):
    h = relu(batch_norm(pointwise(x, p["c1"]), p["s1"], p["t1"]))
    h = relu(batch_norm(conv(h, p["c2"]), p["s2"], p["t2"]))
    h = batch_norm(pointwise(h, p["c3"]), p["s3"], p["t3"])
    h = relu(h + x)
    return h.mean(axis=(2, 3)) @ p["w4"] + p["b4"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    sgd(p, g, 1e-2)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, size, c = (2, 5, 3) if small else (8, 16, 64)
    p = {"c1": weights(rng, c, 4 * c, fan_in=4 * c), "s1": ones(c), "t1": zeros(c)}
    p |= {"c2": weights(rng, c, c, 3, 3), "s2": ones(c), "t2": zeros(c)}
    p |= {"c3": weights(rng, 4 * c, c, fan_in=c), "s3": ones(4 * c), "t3": zeros(4 * c)}
    p |= {"w4": weights(rng, 4 * c, 10), "b4": zeros(10)}
    return p, [normal(rng, batch, 4 * c, size, size)], rng.integers(0, 10, batch)


MODEL = Model("resnet", "sliding windows, tensordot", forward, step, make)

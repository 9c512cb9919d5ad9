"""A small VGG on 32 by 32 pixels, 4 at a time; windows by sliding_window_view and einsum."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import tracejit

from .model import Arrays, Model, cross_entropy, max_pool, normal, relu, sgd, weights, zeros


def conv(x, w, b):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None]


def forward(p, x):
    for block in ("1", "2", "3"):
        x = relu(conv(x, p["c" + block], p["d" + block]))
        x = relu(conv(x, p["e" + block], p["f" + block]))
        x = max_pool(x)
    x = relu(x.reshape(len(x), -1) @ p["w4"] + p["b4"])
    return x @ p["w5"] + p["b5"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    sgd(p, g, 1e-3)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, size, c = (1, 8, 2) if small else (4, 32, 64)
    p, before = {}, 3
    for block, width in zip("123", (c, 2 * c, 4 * c), strict=True):
        p |= {"c" + block: weights(rng, width, before, 3, 3), "d" + block: zeros(width)}
        p |= {"e" + block: weights(rng, width, width, 3, 3), "f" + block: zeros(width)}
        before = width
    p |= {"w4": weights(rng, before * (size // 8) ** 2, 256), "b4": zeros(256)}
    p |= {"w5": weights(rng, 256, 10), "b5": zeros(10)}
    return p, [normal(rng, batch, 3, size, size)], rng.integers(0, 10, batch)


MODEL = Model("vgg", "sliding windows, einsum", forward, step, make, rate=1e-3)

"""LeNet-5 on 28 by 28 pixels, 32 at a time; patches by loops over the kernel's positions."""

import numpy as np

import tracejit

from .model import Arrays, Model, cross_entropy, max_pool, normal, relu, sgd, weights, zeros


def conv(x, w, b, pad=0):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, c, h, width = x.shape
    o, _, kh, kw = w.shape
    oh, ow = h - kh + 1, width - kw + 1
    cols = np.empty((n, c, kh, kw, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            cols[:, :, i, j] = x[:, :, i : i + oh, j : j + ow]
    cols = cols.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1)
    out = cols @ w.reshape(o, -1).T + b
    return out.reshape(n, oh, ow, o).transpose(0, 3, 1, 2)


def forward(p, x):
    x = max_pool(relu(conv(x, p["c1"], p["d1"], pad=2)))
    x = max_pool(relu(conv(x, p["c2"], p["d2"])))
    x = x.reshape(len(x), -1)
    x = relu(x @ p["w3"] + p["b3"])
    x = relu(x @ p["w4"] + p["b4"])
    return x @ p["w5"] + p["b5"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    sgd(p, g, 1e-2)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, size = (2, 12) if small else (32, 28)
    flat = 16 * ((size // 2 - 4) // 2) ** 2
    p = {"c1": weights(rng, 6, 1, 5, 5), "d1": zeros(6)}
    p |= {"c2": weights(rng, 16, 6, 5, 5), "d2": zeros(16)}
    p |= {"w3": weights(rng, flat, 120), "b3": zeros(120)}
    p |= {"w4": weights(rng, 120, 84), "b4": zeros(84)}
    p |= {"w5": weights(rng, 84, 10), "b5": zeros(10)}
    return p, [normal(rng, batch, 1, size, size)], rng.integers(0, 10, batch)


MODEL = Model("lenet", "im2col by loops", forward, step, make)

"""A small AlexNet on 64 by 64 pixels, 8 at a time; patches by fancy indices."""

import numpy as np

import tracejit

from .model import Arrays, Model, cross_entropy, max_pool, normal, relu, sgd, weights, zeros


def patches(x, kh, kw, pad, stride):
    """im2col: a column for each output position of each image."""
    n, c, h, w = x.shape
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="constant")
    oh, ow = (h + 2 * pad - kh) // stride + 1, (w + 2 * pad - kw) // stride + 1
    i0 = np.tile(np.repeat(np.arange(kh), kw), c)
    i1 = stride * np.repeat(np.arange(oh), ow)
    j0 = np.tile(np.arange(kw), kh * c)
    j1 = stride * np.tile(np.arange(ow), oh)
    i = i0.reshape(-1, 1) + i1.reshape(1, -1)
    j = j0.reshape(-1, 1) + j1.reshape(1, -1)
    k = np.repeat(np.arange(c), kh * kw).reshape(-1, 1)
    return x[:, k, i, j], oh, ow


def conv(x, w, b, pad=1, stride=1):
    o, _, kh, kw = w.shape
    cols, oh, ow = patches(x, kh, kw, pad, stride)
    out = w.reshape(o, -1) @ cols + b[:, None]
    return out.reshape(len(x), o, oh, ow)


def forward(p, x):
    x = max_pool(relu(conv(x, p["c1"], p["d1"], pad=2, stride=2)))
    x = max_pool(relu(conv(x, p["c2"], p["d2"])))
    x = relu(conv(x, p["c3"], p["d3"]))
    x = max_pool(relu(conv(x, p["c4"], p["d4"])))
    x = relu(x.reshape(len(x), -1) @ p["w5"] + p["b5"])
    return x @ p["w6"] + p["b6"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    sgd(p, g, 1e-3)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, size, c = (2, 16, 2) if small else (8, 64, 32)
    p = {"c1": weights(rng, c, 3, 5, 5), "d1": zeros(c)}
    p |= {"c2": weights(rng, 2 * c, c, 3, 3), "d2": zeros(2 * c)}
    p |= {"c3": weights(rng, 3 * c, 2 * c, 3, 3), "d3": zeros(3 * c)}
    p |= {"c4": weights(rng, 2 * c, 3 * c, 3, 3), "d4": zeros(2 * c)}
    p |= {"w5": weights(rng, 2 * c * (size // 16) ** 2, 256), "b5": zeros(256)}
    p |= {"w6": weights(rng, 256, 10), "b6": zeros(10)}
    return p, [normal(rng, batch, 3, size, size)], rng.integers(0, 10, batch)


MODEL = Model("alexnet", "im2col by fancy indices", forward, step, make, rate=1e-3)

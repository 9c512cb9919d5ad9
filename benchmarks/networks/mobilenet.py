"""An inverted bottleneck of MobileNetV2, 8 images; depthwise by sums of shifted products."""

import numpy as np

import tracejit

from .model import Arrays, Model, batch_norm, cross_entropy, normal, ones, sgd, weights, zeros


def pointwise(x, w):
    n, c, h, width = x.shape
    return (w @ x.reshape(n, c, h * width)).reshape(n, len(w), h, width)


def depthwise(x, w):
    n, c, h, width = x.shape
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((n, c, h, width), x.dtype)
    for i in range(3):
        for j in range(3):
            out += x[:, :, i : i + h, j : j + width] * w[:, i, j][:, None, None]
    return out


def relu6(x):
    return np.minimum(np.maximum(x, 0), 6)


def forward(p, x):
    h = relu6(batch_norm(pointwise(x, p["c1"]), p["s1"], p["t1"]))
    h = relu6(batch_norm(depthwise(h, p["c2"]), p["s2"], p["t2"]))
    h = x + batch_norm(pointwise(h, p["c3"]), p["s3"], p["t3"])
    return h.mean(axis=(2, 3)) @ p["w4"] + p["b4"]


def loss(p, x, labels):
    return cross_entropy(forward(p, x), labels)


def step(p, state, x, labels):
    value, g = tracejit.value_and_grad(loss)(p, x, labels)
    sgd(p, g, 1e-2)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, size, c = (2, 5, 3) if small else (8, 28, 32)
    wide = 6 * c
    p = {"c1": weights(rng, wide, c, fan_in=c), "s1": ones(wide), "t1": zeros(wide)}
    p |= {"c2": weights(rng, wide, 3, 3, fan_in=9), "s2": ones(wide), "t2": zeros(wide)}
    p |= {"c3": weights(rng, c, wide, fan_in=wide), "s3": ones(c), "t3": zeros(c)}
    p |= {"w4": weights(rng, c, 10), "b4": zeros(10)}
    return p, [normal(rng, batch, c, size, size)], rng.integers(0, 10, batch)


MODEL = Model("mobilenet", "shifted products", forward, step, make)

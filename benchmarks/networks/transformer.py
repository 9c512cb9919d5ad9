"""A decoder block: 128 positions of 256 channels, causal attention by 8 heads, GELU, Adam."""

import numpy as np

import tracejit

from .model import Arrays, Model, adam, normal, ones, weights, zeros

HEADS = 8


def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def attention(x, p):
    n, steps, d = x.shape
    q, k, v = np.split(x @ p["qkv"], 3, axis=-1)
    q, k, v = (a.reshape(n, steps, HEADS, d // HEADS).transpose(0, 2, 1, 3) for a in (q, k, v))
    mask = (1 - np.tri(steps, dtype=x.dtype)) * np.float32(-1e10)
    a = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(np.float32(d // HEADS)) + mask)
    return (a @ v).transpose(0, 2, 1, 3).reshape(n, steps, d) @ p["out"]


def forward(p, x):
    x = x + attention(layer_norm(x, p["s1"], p["t1"]), p)
    h = layer_norm(x, p["s2"], p["t2"])
    return x + gelu(h @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss(p, x, target):
    return np.mean((forward(p, x) - target) ** 2)


def step(p, state, x, target):
    value, g = tracejit.value_and_grad(loss)(p, x, target)
    adam(p, g, state, 1e-3)
    return value


def make(rng: np.random.Generator, small: bool) -> tuple[Arrays, list, np.ndarray]:
    batch, steps, d = (1, 3, 16) if small else (4, 128, 256)
    p = {"qkv": weights(rng, d, 3 * d, fan_in=2 * d), "out": weights(rng, d, d)}
    p |= {"s1": ones(d), "t1": zeros(d), "s2": ones(d), "t2": zeros(d)}
    p |= {"w1": weights(rng, d, 4 * d), "b1": zeros(4 * d)}
    p |= {"w2": weights(rng, 4 * d, d), "b2": zeros(d)}
    return p, [normal(rng, batch, steps, d)], normal(rng, batch, steps, d)


MODEL = Model("transformer", "matmul", forward, step, make, kind="squares", adam=True, rate=1e-3)

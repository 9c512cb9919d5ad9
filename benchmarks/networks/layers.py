"""Single layers as NumPy users write them: what each takes, and the peers' layer that it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .convolutions import CONVOLUTIONS
from .lstm import sigmoid
from .mobilenet import pointwise
from .model import batch_norm, max_pool, normal, ones, relu, zeros
from .transformer import gelu, layer_norm

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Layer:
    """`function(*make(rng))`; `peer` is the name of the same layer in the peers' files.

    An update (Adam) has no backward pass.
    """

    name: str
    function: Callable[..., Any]
    peer: str
    make: Callable[[np.random.Generator], Arrays]
    update: bool = False


def conv_1x1_einsum(x, w):
    return np.einsum("nchw,oc->nohw", x, w)


def depthwise_shifted(x, w):
    n, c, h, width = x.shape
    out = np.zeros((n, c, h - 2, width - 2), x.dtype)
    for i in range(3):
        for j in range(3):
            out += x[:, :, i : i + h - 2, j : j + width - 2] * w[:, i, j][:, None, None]
    return out


def depthwise_windows(x, w):
    windows = sliding_window_view(x, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,cij->nchw", windows, w)


def max_pool_slices(x):
    top = np.maximum(x[:, :, ::2, ::2], x[:, :, ::2, 1::2])
    return np.maximum(top, np.maximum(x[:, :, 1::2, ::2], x[:, :, 1::2, 1::2]))


def mean_pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))


def lstm_gates(gates, c):
    size = c.shape[1]
    i, f = sigmoid(gates[:, :size]), sigmoid(gates[:, size : 2 * size])
    g, o = np.tanh(gates[:, 2 * size : 3 * size]), sigmoid(gates[:, 3 * size :])
    return o * np.tanh(f * c + i * g)


def matmul(x, w):
    return x @ w


def adam_update(p, g, m, v):
    """A step, in place."""
    m *= 0.9
    m += 0.1 * g
    v *= 0.999
    v += 0.001 * g**2
    p -= 1e-3 * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8)


def images(*shape: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: (normal(rng, *shape),)


def convolution(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: tuple(normal(rng, *shape) for shape in shapes)


def scaled(channels: int, *shape: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: (normal(rng, *shape), ones(channels), zeros(channels))


def adam_arrays(rng: np.random.Generator) -> Arrays:
    p, g, m = (normal(rng, 1_000_000) for _ in range(3))
    return p, g, m, np.abs(m)


MAPS = (8, 64, 32, 32)
LAYERS = [
    *(
        Layer(f"conv 3x3, {name}", f, "conv", convolution((4, 32, 30, 30), (32, 32, 3, 3)))
        for name, f in CONVOLUTIONS.items()
    ),
    Layer("conv 1x1, matmul", pointwise, "conv_1x1", convolution(MAPS, (64, 64))),
    Layer("conv 1x1, einsum", conv_1x1_einsum, "conv_1x1", convolution(MAPS, (64, 64))),
    Layer("depthwise, shifted", depthwise_shifted, "depthwise", convolution(MAPS, (64, 3, 3))),
    Layer("depthwise, windows", depthwise_windows, "depthwise", convolution(MAPS, (64, 3, 3))),
    Layer("batch norm", batch_norm, "batch_norm", scaled(64, *MAPS)),
    Layer("layer norm", layer_norm, "layer_norm", scaled(256, 512, 256)),
    Layer("gelu", gelu, "gelu", images(512, 1024)),
    Layer("relu", relu, "relu", images(*MAPS)),
    Layer("max pool, reshape", max_pool, "max_pool", images(*MAPS)),
    Layer("max pool, slices", max_pool_slices, "max_pool", images(*MAPS)),
    Layer("mean pool", mean_pool, "mean_pool", images(*MAPS)),
    Layer("lstm gates", lstm_gates, "lstm_gates", convolution((64, 1024), (64, 256))),
    Layer("matmul", matmul, "matmul", convolution((512, 256), (256, 1024))),
    Layer("adam, 1M", adam_update, "adam", adam_arrays, update=True),
]

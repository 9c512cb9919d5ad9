"""Convolution of images with filters, without padding, plus a bias for each output channel.

out[n, i, j, o] = bias[o] + sum over k, l, c of image[n, i + k, j + l, c] weights[k, l, c, o].
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"images": 2, "height": 9, "width": 8, "channels_in": 3, "channels_out": 4, "k": 3},
    "T": {"images": 3, "height": 7, "width": 10, "channels_in": 2, "channels_out": 5, "k": 2},
    "M": {"images": 4, "height": 40, "width": 40, "channels_in": 3, "channels_out": 16, "k": 3},
    "L": {"images": 16, "height": 96, "width": 96, "channels_in": 3, "channels_out": 16, "k": 5},
}


def initialize(
    images: int, height: int, width: int, channels_in: int, channels_out: int, k: int
) -> dict[str, Any]:
    """image: float32 (images, height, width, channels_in); weights: float32 (k, k, channels_in,
    channels_out); bias: float32 (channels_out,)."""
    rng = np.random.default_rng(42)
    return {
        "image": rng.random((images, height, width, channels_in), dtype=np.float32),
        "weights": rng.random((k, k, channels_in, channels_out), dtype=np.float32) - 0.3,
        "bias": rng.random(channels_out, dtype=np.float32),
    }


def conv2d(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The convolution, float32 (images, height - k + 1, width - k + 1, channels_out)."""
    k = weights.shape[0]
    images, height, width, _ = image.shape
    out = np.empty((images, height - k + 1, width - k + 1, weights.shape[3]), dtype=np.float32)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            window = image[:, i : i + k, j : j + k, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
    return out


def conv2d_bias(image: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Convolution plus bias, float32 (images, height - k + 1, width - k + 1, channels_out)."""
    return conv2d(image, weights) + bias


PROGRAM = Program(
    name="conv2d_bias",
    kernel=conv2d_bias,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
    rtol=1e-5,
)

"""A bottleneck block of a residual network (He et al., 2015): 1x1, 3x3, 1x1, plus its input."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"images": 2, "height": 6, "width": 5, "outer": 8, "inner": 3},
    "T": {"images": 3, "height": 5, "width": 7, "outer": 6, "inner": 4},
    "M": {"images": 8, "height": 20, "width": 20, "outer": 64, "inner": 16},
    "L": {"images": 8, "height": 50, "width": 50, "outer": 128, "inner": 32},
}


def initialize(images: int, height: int, width: int, outer: int, inner: int) -> dict[str, Any]:
    """image: float32 (images, height, width, outer); conv1: float32 (1, 1, outer, inner);
    conv2: float32 (3, 3, inner, inner); conv3: float32 (1, 1, inner, outer)."""
    rng = np.random.default_rng(42)
    shapes = {
        "image": (images, height, width, outer),
        "conv1": (1, 1, outer, inner),
        "conv2": (3, 3, inner, inner),
        "conv3": (1, 1, inner, outer),
    }
    return {name: rng.random(shape, dtype=np.float32) - 0.4 for name, shape in shapes.items()}


def relu(x: np.ndarray) -> np.ndarray:
    """The positive part."""
    return np.maximum(x, 0)


def conv2d(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x, float32 (images, height, width, c), with weights, float32 (k, k, c, d), unpadded."""
    k = weights.shape[0]
    images, height, width, _ = x.shape
    rows, columns = height - k + 1, width - k + 1
    out = np.empty((images, rows, columns, weights.shape[3]), dtype=np.float32)
    for i in range(rows):
        for j in range(columns):
            out[:, i, j, :] = np.sum(
                x[:, i : i + k, j : j + k, :, np.newaxis] * weights[np.newaxis, :, :, :, :],
                axis=(1, 2, 3),
            )
    return out


def batch_norm(x: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """x with mean 0 and variance 1 over the images, at each place and in each channel."""
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std**2 + eps)


def resnet(
    image: np.ndarray, conv1: np.ndarray, conv2: np.ndarray, conv3: np.ndarray
) -> np.ndarray:
    """The block's output, float32 (images, height, width, outer)."""
    images, height, width, _ = image.shape
    padded = np.zeros((images, height + 2, width + 2, conv1.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = relu(batch_norm(conv2d(image, conv1)))
    x = relu(batch_norm(conv2d(padded, conv2)))
    x = batch_norm(conv2d(x, conv3))
    return relu(x + image)


PROGRAM = Program(
    name="resnet", kernel=resnet, initialize=initialize, sizes=SIZES, kind="short loops", rtol=1e-4
)

"""What the demo reads and writes: a photo and a table, real where installed; pictures as PNG files.

The real ones come inside scikit-learn (its photo needs Pillow). Pictures are written by the
standard library alone, so there is one way to write them whether or not the extra is installed.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXTRA = "pip install 'tracejit[demo]'"
CLASSES = 10


def photo() -> tuple[NDArray[np.uint8], str]:
    """A picture `u8[h, w, 3]` and where it is from: scikit-learn's china.jpg, or generated."""
    try:
        from sklearn.datasets import load_sample_image

        return np.array(load_sample_image("china.jpg")), "scikit-learn's photo china.jpg"
    except ImportError:
        return generated_photo(), "a generated picture"


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64], str]:
    """Images of digits as rows of a table in [0, 1], their labels, and where they are from."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        table, labels = generated_table()
        return table, labels, "a generated table"
    found: Any = load_digits()
    return found.data / 16.0, found.target.astype(np.int64), "scikit-learn's table of digits"


def generated_photo(height: int = 427, width: int = 640) -> NDArray[np.uint8]:
    """A dim landscape of waves and discs with some grain: something to sharpen and brighten."""
    random = np.random.default_rng(7)
    row = np.linspace(0.0, 1.0, height)[:, np.newaxis]
    column = np.linspace(0.0, 1.5, width)[np.newaxis, :]
    light = 0.25 + 0.2 * np.sin(9 * column + 5 * np.sin(7 * row)) * row
    for _ in range(12):
        y, x, radius, level = random.uniform((0, 0, 0.03, -0.2), (1, 1.5, 0.15, 0.4))
        light = light + level * ((row - y) ** 2 + (column - x) ** 2 < radius**2)
    tint = np.array([1.0, 0.85, 0.7]) + 0.3 * row[:, :, np.newaxis] * np.array([-1.0, 0.0, 1.0])
    grain = random.normal(0.0, 0.02, (height, width, 1))
    shade: NDArray[np.float64] = np.clip(light[:, :, np.newaxis] * tint + grain, 0, 1)
    return (shade * 255).astype(np.uint8)


def generated_table(
    rows: int = 1797, features: int = 64
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A table in [0, 1] of noisy copies of ten prototypes, in the shape of the real one."""
    random = np.random.default_rng(8)
    labels = random.integers(0, CLASSES, rows)
    prototypes = random.random((CLASSES, features))
    noisy = prototypes[labels] + random.normal(0.0, 0.3, (rows, features))
    return np.clip(noisy, 0.0, 1.0), labels


def write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    """Write `u8[h, w, 3]` as an RGB file (PNG specification, third edition: chunks, filter 0)."""
    height, width, _ = picture.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    # Each line is led by its filter's number; 0 leaves the bytes as they are.
    lines = np.zeros((height, 1 + 3 * width), np.uint8)
    lines[:, 1:] = picture.reshape(height, 3 * width)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in parts:
            file.write(struct.pack(">I", len(data)) + kind + data)
            file.write(struct.pack(">I", zlib.crc32(kind + data)))

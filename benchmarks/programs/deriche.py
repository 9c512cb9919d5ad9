"""Deriche's recursive smoothing of an image (Deriche, 1990), along rows, then along columns.

The filter k (1 + alpha |x|) exp(-alpha |x|) is the sum of a causal and an anticausal recursion of
second order, each with two coefficients on the input and two on its own past.
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"width": 24, "height": 31},
    "T": {"width": 40, "height": 17},
    "M": {"width": 1000, "height": 600},
    "L": {"width": 3400, "height": 2400},
}


def initialize(width: int, height: int) -> dict[str, Any]:
    """alpha: float; image: float64 (width, height)."""
    i, j = np.arange(width)[:, np.newaxis], np.arange(height)
    return {"alpha": 0.25, "image": (313 * i + 991 * j) % 65536 / 65535.0}


def deriche(alpha: float, image: np.ndarray) -> np.ndarray:
    """The smoothed image, float64 (width, height)."""
    decay = np.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - decay**2)
    a1 = k
    a2 = k * decay * (alpha - 1.0)
    a3 = k * decay * (alpha + 1.0)
    a4 = -k * decay**2
    b1 = 2.0 * decay
    b2 = -(decay**2)
    width, height = image.shape
    ahead = np.empty_like(image)
    back = np.empty_like(image)

    ahead[:, 0] = a1 * image[:, 0]
    ahead[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * ahead[:, 0]
    for j in range(2, height):
        ahead[:, j] = (
            a1 * image[:, j] + a2 * image[:, j - 1] + b1 * ahead[:, j - 1] + b2 * ahead[:, j - 2]
        )
    back[:, -1] = 0.0
    back[:, -2] = a3 * image[:, -1]
    for j in range(height - 3, -1, -1):
        back[:, j] = (
            a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * back[:, j + 1] + b2 * back[:, j + 2]
        )
    smooth = ahead + back

    ahead[0, :] = a1 * smooth[0, :]
    ahead[1, :] = a1 * smooth[1, :] + a2 * smooth[0, :] + b1 * ahead[0, :]
    for i in range(2, width):
        ahead[i, :] = (
            a1 * smooth[i, :] + a2 * smooth[i - 1, :] + b1 * ahead[i - 1, :] + b2 * ahead[i - 2, :]
        )
    back[-1, :] = 0.0
    back[-2, :] = a3 * smooth[-1, :]
    for i in range(width - 3, -1, -1):
        back[i, :] = (
            a3 * smooth[i + 1, :]
            + a4 * smooth[i + 2, :]
            + b1 * back[i + 1, :]
            + b2 * back[i + 2, :]
        )
    return ahead + back


PROGRAM = Program(
    name="deriche",
    kernel=deriche,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
    rtol=1e-11,
)

"""The discrete Fourier transform of R^K numbers by Stockham's algorithm, which needs no reordering.

Stage i combines R transforms of length R^i to one of length R^(i + 1): twiddle factors, then the
R x R matrix of the transform of length R, then the combined index moves to the front.
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"R": 2, "K": 6},
    "T": {"R": 3, "K": 4},
    "M": {"R": 4, "K": 9},
    "L": {"R": 4, "K": 11},
}


def initialize(R: int, K: int) -> dict[str, Any]:
    """N, R, K: int, N = R^K; x: complex128 (N,); y: complex128 (N,), changed in place."""
    rng = np.random.default_rng(42)
    x = rng.random(R**K) + 1j * rng.random(R**K)
    return {"N": R**K, "R": R, "K": K, "x": x, "y": np.full(R**K, np.nan, np.complex128)}


def stockham(N: int, R: int, K: int, x: np.ndarray, y: np.ndarray) -> None:
    """Store the transform of x into y, both complex128 (N,)."""
    rows, columns = np.mgrid[0:R, 0:R]
    dft = np.exp(-2.0j * np.pi * rows * columns / R)
    legs, places = np.mgrid[0:R, 0 : N // R]
    y[:] = x
    for i in range(K):
        done, left = R**i, R ** (K - i - 1)
        angles = legs[:, :done] * places[:, :done] / R ** (i + 1)
        turns = np.reshape(np.exp(-2.0j * np.pi * angles), (R, done, 1))
        twiddles = np.repeat(turns, left, axis=2)
        parts = np.reshape(y, (done, R, left))
        turned = np.transpose(parts, (1, 0, 2)) * twiddles
        combined = dft @ np.transpose(turned, (1, 0, 2))
        y[:] = np.reshape(np.transpose(combined, (1, 0, 2)), (N,))


PROGRAM = Program(
    name="stockham",
    kernel=stockham,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
    rtol=1e-11,
)

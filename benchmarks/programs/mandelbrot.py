"""Escape times of z -> z^2 + c from 0 for points c of a grid; points that escaped are dropped."""

from typing import Any

import numpy as np

from .program import Program

# An orbit that escapes late multiplies its rounding errors on the way, NumPy's as much as anyone's:
# after 100 steps by some 1e9. 40 steps leave digits to compare.
SIZES = {
    "S": {"xn": 20, "yn": 24, "maxiter": 20},
    "T": {"xn": 31, "yn": 17, "maxiter": 12},
    "M": {"xn": 400, "yn": 360, "maxiter": 40},
    "L": {"xn": 1800, "yn": 1500, "maxiter": 40},
}


def initialize(xn: int, yn: int, maxiter: int) -> dict[str, Any]:
    """xmin, xmax, ymin, ymax: float; xn, yn, maxiter: int; horizon: float."""
    return {
        "xmin": -2.25,
        "xmax": 0.75,
        "ymin": -1.25,
        "ymax": 1.25,
        "xn": xn,
        "yn": yn,
        "maxiter": maxiter,
        "horizon": 4.0,
    }


def mandelbrot(
    xmin: float,
    xmax: float,
    ymin: float,
    ymax: float,
    xn: int,
    yn: int,
    maxiter: int,
    horizon: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The last z, complex128 (yn, xn), and its iteration, int64 (yn, xn); 0 where none escaped."""
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)[Xi]
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=np.int64)
    Z_ = np.zeros(C.shape, dtype=np.complex128)
    Xi.shape = Yi.shape = C.shape = xn * yn

    Z = np.zeros(C.shape, dtype=np.complex128)
    for i in range(maxiter):
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        inside = abs(Z) < horizon
        escaped = np.logical_not(inside)
        N_[Xi[escaped], Yi[escaped]] = i + 1
        Z_[Xi[escaped], Yi[escaped]] = Z[escaped]
        if not np.any(inside):
            break
        Z = Z[inside]
        Xi, Yi = Xi[inside], Yi[inside]
        C = C[inside]
    return Z_.T, N_.T


PROGRAM = Program(
    name="mandelbrot",
    kernel=mandelbrot,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
    rtol=1e-7,
)

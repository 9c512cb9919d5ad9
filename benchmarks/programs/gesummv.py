"""The sum of two matrix-vector products: alpha A x + beta B x."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {"S": {"n": 40}, "T": {"n": 27}, "M": {"n": 2500}, "L": {"n": 6000}}


def initialize(n: int) -> dict[str, Any]:
    """alpha, beta: float; A, B: float64 (n, n); x: float64 (n,)."""
    rng = np.random.default_rng(42)
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.random((n, n)),
        "B": rng.random((n, n)),
        "x": rng.random(n),
    }


def gesummv(alpha: float, beta: float, A: np.ndarray, B: np.ndarray, x: np.ndarray) -> np.ndarray:
    """alpha A x + beta B x, float64 (n,)."""
    return alpha * A @ x + beta * B @ x


PROGRAM = Program(
    name="gesummv", kernel=gesummv, initialize=initialize, sizes=SIZES, kind="no loop", rtol=1e-11
)

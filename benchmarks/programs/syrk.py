"""The symmetric update of rank k of BLAS: the lower triangle of C becomes alpha A A^T + beta C."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"n": 15, "k": 12},
    "T": {"n": 9, "k": 14},
    "M": {"n": 120, "k": 90},
    "L": {"n": 500, "k": 400},
}


def initialize(n: int, k: int) -> dict[str, Any]:
    """alpha, beta: float; C: float64 (n, n), its lower triangle changed in place; A: float64
    (n, k)."""
    rng = np.random.default_rng(42)
    return {"alpha": 1.5, "beta": 1.2, "C": rng.random((n, n)), "A": rng.random((n, k))}


def syrk(alpha: float, beta: float, C: np.ndarray, A: np.ndarray) -> None:
    """The lower triangle of C, float64 (n, n), in place."""
    n, m = A.shape
    for i in range(n):
        C[i, : i + 1] *= beta
        for k in range(m):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


PROGRAM = Program(name="syrk", kernel=syrk, initialize=initialize, sizes=SIZES, kind="long loops")

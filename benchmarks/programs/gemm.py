"""The general matrix product of BLAS: C becomes alpha A B + beta C."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"rows": 24, "columns": 31, "inner": 17},
    "T": {"rows": 13, "columns": 8, "inner": 29},
    "M": {"rows": 700, "columns": 800, "inner": 900},
    "L": {"rows": 2200, "columns": 2400, "inner": 2600},
}


def initialize(rows: int, columns: int, inner: int) -> dict[str, Any]:
    """alpha, beta: float; C: float64 (rows, columns), changed in place; A: float64 (rows, inner);
    B: float64 (inner, columns)."""
    rng = np.random.default_rng(42)
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": rng.random((rows, columns)),
        "A": rng.random((rows, inner)),
        "B": rng.random((inner, columns)),
    }


def gemm(alpha: float, beta: float, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """C, float64 (rows, columns), in place."""
    C[:] = alpha * A @ B + beta * C


PROGRAM = Program(
    name="gemm", kernel=gemm, initialize=initialize, sizes=SIZES, kind="no loop", rtol=1e-11
)

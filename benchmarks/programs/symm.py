"""The symmetric matrix product of BLAS: C becomes alpha A B + beta C.

Of the symmetric A only the lower triangle is read.
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"rows": 12, "columns": 15},
    "T": {"rows": 17, "columns": 9},
    "M": {"rows": 80, "columns": 100},
    "L": {"rows": 350, "columns": 450},
}


def initialize(rows: int, columns: int) -> dict[str, Any]:
    """alpha, beta: float; C: float64 (rows, columns), changed in place; A: float64 (rows, rows),
    NaN above the diagonal; B: float64 (rows, columns)."""
    rng = np.random.default_rng(42)
    A = rng.random((rows, rows))
    A[np.triu_indices(rows, 1)] = np.nan
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": rng.random((rows, columns)),
        "A": A,
        "B": rng.random((rows, columns)),
    }


def symm(alpha: float, beta: float, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """C, float64 (rows, columns), in place."""
    rows, columns = C.shape
    temp2 = np.empty(columns)
    C *= beta
    for i in range(rows):
        for j in range(columns):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


PROGRAM = Program(
    name="symm", kernel=symm, initialize=initialize, sizes=SIZES, kind="long loops", rtol=1e-11
)

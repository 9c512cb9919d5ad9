"""Cholesky's factor L of a symmetric positive definite matrix A = L L^T, row by row."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {"S": {"n": 24}, "T": {"n": 17}, "M": {"n": 220}, "L": {"n": 900}}


def initialize(n: int) -> dict[str, Any]:
    """A: float64 (n, n), symmetric positive definite, its lower triangle changed in place."""
    rng = np.random.default_rng(42)
    X = rng.random((n, n)) - 0.5
    return {"A": X @ X.T / n + np.eye(n)}


def cholesky(A: np.ndarray) -> None:
    """Replace the lower triangle of A, float64 (n, n), by the factor's."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])


PROGRAM = Program(
    name="cholesky",
    kernel=cholesky,
    initialize=initialize,
    sizes=SIZES,
    kind="long loops",
    rtol=1e-10,
)

"""The factors of A = L U, without pivots, row by row (Doolittle)."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {"S": {"n": 20}, "T": {"n": 15}, "M": {"n": 140}, "L": {"n": 650}}


def initialize(n: int) -> dict[str, Any]:
    """A: float64 (n, n), with a dominant diagonal, changed in place."""
    rng = np.random.default_rng(42)
    return {"A": rng.random((n, n)) + n * np.eye(n)}


def lu(A: np.ndarray) -> None:
    """Replace A, float64 (n, n), by U and, below the diagonal, by L, whose diagonal is 1."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]


PROGRAM = Program(
    name="lu", kernel=lu, initialize=initialize, sizes=SIZES, kind="long loops", rtol=1e-10
)

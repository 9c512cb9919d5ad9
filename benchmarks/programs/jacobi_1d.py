"""Jacobi's iteration in one dimension: each inner point becomes the mean of three, by turns."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"steps": 20, "n": 60},
    "T": {"steps": 13, "n": 37},
    "M": {"steps": 1500, "n": 4000},
    "L": {"steps": 5000, "n": 40_000},
}


def initialize(steps: int, n: int) -> dict[str, Any]:
    """steps: int; A, B: float64 (n,), changed in place."""
    rng = np.random.default_rng(42)
    return {"steps": steps, "A": rng.random(n), "B": rng.random(n)}


def jacobi_1d(steps: int, A: np.ndarray, B: np.ndarray) -> None:
    """`steps` iterations from A to B and back, float64 (n,), in place."""
    for _ in range(steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


PROGRAM = Program(
    name="jacobi_1d", kernel=jacobi_1d, initialize=initialize, sizes=SIZES, kind="short loops"
)

"""Two vectors plus a matrix and its transpose times vectors: x1 + A y1 and x2 + A^T y2."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {"S": {"n": 50}, "T": {"n": 33}, "M": {"n": 4000}, "L": {"n": 8500}}


def initialize(n: int) -> dict[str, Any]:
    """x1, x2: float64 (n,), changed in place; y1, y2: float64 (n,); A: float64 (n, n)."""
    rng = np.random.default_rng(42)
    vectors = {name: rng.random(n) for name in ("x1", "x2", "y1", "y2")}
    return {**vectors, "A": rng.random((n, n))}


def mvt(x1: np.ndarray, x2: np.ndarray, y1: np.ndarray, y2: np.ndarray, A: np.ndarray) -> None:
    """x1 and x2, float64 (n,), in place."""
    x1 += A @ y1
    x2 += y2 @ A


PROGRAM = Program(
    name="mvt", kernel=mvt, initialize=initialize, sizes=SIZES, kind="no loop", rtol=1e-11
)

"""The two products of a biconjugate gradient step: r A and A p (Fletcher, 1976)."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"rows": 60, "columns": 47},
    "T": {"rows": 23, "columns": 31},
    "M": {"rows": 4500, "columns": 4000},
    "L": {"rows": 9000, "columns": 8000},
}


def initialize(rows: int, columns: int) -> dict[str, Any]:
    """A: float64 (rows, columns); p: float64 (columns,); r: float64 (rows,)."""
    rng = np.random.default_rng(42)
    return {"A": rng.random((rows, columns)), "p": rng.random(columns), "r": rng.random(rows)}


def bicg(A: np.ndarray, p: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """r A, float64 (columns,), and A p, float64 (rows,)."""
    return r @ A, A @ p


PROGRAM = Program(
    name="bicg", kernel=bicg, initialize=initialize, sizes=SIZES, kind="no loop", rtol=1e-11
)

"""A sparse matrix, its rows compressed, times a vector."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"rows": 60, "columns": 50, "nonzeros": 300},
    "T": {"rows": 41, "columns": 70, "nonzeros": 200},
    "M": {"rows": 20_000, "columns": 18_000, "nonzeros": 200_000},
    "L": {"rows": 400_000, "columns": 350_000, "nonzeros": 4_000_000},
}


def initialize(rows: int, columns: int, nonzeros: int) -> dict[str, Any]:
    """A_row: uint32 (rows + 1,), where each row starts; A_col: uint32 (nonzeros,); A_val: float64
    (nonzeros,); x: float64 (columns,)."""
    rng = np.random.default_rng(42)
    starts = np.sort(rng.integers(0, nonzeros + 1, rows - 1))
    return {
        "A_row": np.concatenate([[0], starts, [nonzeros]]).astype(np.uint32),
        "A_col": rng.integers(0, columns, nonzeros, dtype=np.uint32),
        "A_val": rng.random(nonzeros),
        "x": rng.random(columns),
    }


def spmv(A_row: np.ndarray, A_col: np.ndarray, A_val: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x, float64 (rows,)."""
    y = np.empty(A_row.size - 1, dtype=A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


PROGRAM = Program(
    name="spmv", kernel=spmv, initialize=initialize, sizes=SIZES, kind="long loops", rtol=1e-12
)

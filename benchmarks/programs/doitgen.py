"""Each vector A[r, q, :] times a matrix, a step of multiresolution analysis, in place.

A[r, q, p] becomes the sum over s of A[r, q, s] C4[s, p].
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"NR": 8, "NQ": 9, "NP": 12},
    "T": {"NR": 6, "NQ": 11, "NP": 7},
    "M": {"NR": 120, "NQ": 110, "NP": 130},
    "L": {"NR": 300, "NQ": 280, "NP": 310},
}


def initialize(NR: int, NQ: int, NP: int) -> dict[str, Any]:
    """NR, NQ, NP: int; A: float64 (NR, NQ, NP), changed in place; C4: float64 (NP, NP)."""
    rng = np.random.default_rng(42)
    return {"NR": NR, "NQ": NQ, "NP": NP, "A": rng.random((NR, NQ, NP)), "C4": rng.random((NP, NP))}


def doitgen(NR: int, NQ: int, NP: int, A: np.ndarray, C4: np.ndarray) -> None:
    """A, float64 (NR, NQ, NP), times C4, float64 (NP, NP), in place."""
    A[:] = np.reshape(np.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


PROGRAM = Program(
    name="doitgen", kernel=doitgen, initialize=initialize, sizes=SIZES, kind="no loop", rtol=1e-11
)

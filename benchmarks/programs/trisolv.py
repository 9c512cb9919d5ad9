"""L x = b for a lower triangular L, by forward substitution."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {"S": {"n": 60}, "T": {"n": 41}, "M": {"n": 5000}, "L": {"n": 8500}}


def initialize(n: int) -> dict[str, Any]:
    """L: float64 (n, n), NaN above the diagonal; x: float64 (n,), changed in place; b: float64
    (n,)."""
    rng = np.random.default_rng(42)
    L = rng.random((n, n))
    L /= n
    for i in range(n):
        L[i, i] += 1.0
        L[i, i + 1 :] = np.nan
    return {"L": L, "x": np.full(n, np.nan), "b": rng.random(n)}


def trisolv(L: np.ndarray, x: np.ndarray, b: np.ndarray) -> None:
    """Store the solution into x, float64 (n,)."""
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


PROGRAM = Program(
    name="trisolv",
    kernel=trisolv,
    initialize=initialize,
    sizes=SIZES,
    kind="long loops",
    rtol=1e-11,
)

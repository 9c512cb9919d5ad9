"""Four matrices multiplied: A B C D."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"ni": 16, "nj": 18, "nk": 20, "nl": 22, "nm": 24},
    "T": {"ni": 9, "nj": 7, "nk": 13, "nl": 11, "nm": 5},
    "M": {"ni": 500, "nj": 550, "nk": 600, "nl": 650, "nm": 700},
    "L": {"ni": 1500, "nj": 1600, "nk": 1700, "nl": 1800, "nm": 1900},
}


def initialize(ni: int, nj: int, nk: int, nl: int, nm: int) -> dict[str, Any]:
    """A: float64 (ni, nk); B: float64 (nk, nj); C: float64 (nj, nm); D: float64 (nm, nl)."""
    rng = np.random.default_rng(42)
    return {
        "A": rng.random((ni, nk)),
        "B": rng.random((nk, nj)),
        "C": rng.random((nj, nm)),
        "D": rng.random((nm, nl)),
    }


def three_products(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> np.ndarray:
    """A B C D, float64 (ni, nl)."""
    return A @ B @ C @ D


PROGRAM = Program(
    name="three_products",
    kernel=three_products,
    initialize=initialize,
    sizes=SIZES,
    kind="no loop",
    rtol=1e-11,
)

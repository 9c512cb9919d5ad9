"""The covariance matrix of variables, one per column, from samples, one per row."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"samples": 40, "variables": 23},
    "T": {"samples": 31, "variables": 12},
    "M": {"samples": 1200, "variables": 800},
    "L": {"samples": 4000, "variables": 2500},
}


def initialize(samples: int, variables: int) -> dict[str, Any]:
    """data: float64 (samples, variables), of correlated columns."""
    rng = np.random.default_rng(42)
    data = rng.normal(1.0, 1.0, (samples, variables))
    return {"data": data + np.linspace(0.0, 2.0, variables) * data[:, :1]}


def covariance(data: np.ndarray) -> np.ndarray:
    """The unbiased covariances, float64 (variables, variables)."""
    return np.cov(np.transpose(data))


PROGRAM = Program(
    name="covariance",
    kernel=covariance,
    initialize=initialize,
    sizes=SIZES,
    kind="no loop",
    rtol=1e-10,
)

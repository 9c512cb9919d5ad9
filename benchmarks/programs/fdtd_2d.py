"""Maxwell's equations in two dimensions by finite differences in the time domain (Yee, 1966)."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"steps": 8, "nx": 20, "ny": 30},
    "T": {"steps": 5, "nx": 17, "ny": 12},
    "M": {"steps": 40, "nx": 250, "ny": 300},
    "L": {"steps": 250, "nx": 600, "ny": 700},
}


def initialize(steps: int, nx: int, ny: int) -> dict[str, Any]:
    """ex, ey, hz: float64 (nx, ny), changed in place; pulse: float64 (steps,)."""
    rng = np.random.default_rng(42)
    fields = {name: rng.random((nx, ny)) for name in ("ex", "ey", "hz")}
    return {"steps": steps, **fields, "pulse": np.sin(0.3 * np.arange(1.0, steps + 1.0))}


def fdtd_2d(steps: int, ex: np.ndarray, ey: np.ndarray, hz: np.ndarray, pulse: np.ndarray) -> None:
    """`steps` steps of the fields ex, ey and hz in place; `pulse` drives the edge of ey."""
    for t in range(steps):
        ey[0, :] = pulse[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


PROGRAM = Program(
    name="fdtd_2d", kernel=fdtd_2d, initialize=initialize, sizes=SIZES, kind="short loops"
)

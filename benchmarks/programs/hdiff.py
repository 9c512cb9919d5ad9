"""Horizontal diffusion of fourth order with limited fluxes, as weather models have it (Xue, 2000).

The Laplacian of the field is differenced to fluxes; a flux that would go up the field's own
gradient is dropped; the divergence of what is left is taken from the field.
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"ni": 10, "nj": 12, "nk": 8},
    "T": {"ni": 7, "nj": 9, "nk": 5},
    "M": {"ni": 120, "nj": 130, "nk": 60},
    "L": {"ni": 320, "nj": 320, "nk": 150},
}


def initialize(ni: int, nj: int, nk: int) -> dict[str, Any]:
    """in_field: float64 (ni + 4, nj + 4, nk); out_field, changed in place, and coeff: float64
    (ni, nj, nk)."""
    rng = np.random.default_rng(42)
    return {
        "in_field": rng.random((ni + 4, nj + 4, nk)),
        "out_field": np.full((ni, nj, nk), np.nan),
        "coeff": 0.025 * rng.random((ni, nj, nk)),
    }


def hdiff(in_field: np.ndarray, out_field: np.ndarray, coeff: np.ndarray) -> None:
    """Store the diffused field into out_field, float64 (ni, nj, nk)."""
    ni, nj, _ = out_field.shape
    lap_field = 4.0 * in_field[1 : ni + 3, 1 : nj + 3, :] - (
        in_field[2 : ni + 4, 1 : nj + 3, :]
        + in_field[0 : ni + 2, 1 : nj + 3, :]
        + in_field[1 : ni + 3, 2 : nj + 4, :]
        + in_field[1 : ni + 3, 0 : nj + 2, :]
    )

    flux = lap_field[1:, 1:-1, :] - lap_field[:-1, 1:-1, :]
    slope = in_field[2 : ni + 3, 2 : nj + 2, :] - in_field[1 : ni + 2, 2 : nj + 2, :]
    flux_x = np.where(flux * slope > 0.0, 0.0, flux)

    flux = lap_field[1:-1, 1:, :] - lap_field[1:-1, :-1, :]
    slope = in_field[2 : ni + 2, 2 : nj + 3, :] - in_field[2 : ni + 2, 1 : nj + 2, :]
    flux_y = np.where(flux * slope > 0.0, 0.0, flux)

    out_field[:] = in_field[2 : ni + 2, 2 : nj + 2, :] - coeff * (
        flux_x[1:, :, :] - flux_x[:-1, :, :] + flux_y[:, 1:, :] - flux_y[:, :-1, :]
    )


PROGRAM = Program(name="hdiff", kernel=hdiff, initialize=initialize, sizes=SIZES, kind="no loop")

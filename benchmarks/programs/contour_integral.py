"""Moments of an inverse matrix polynomial on a ring, for its eigenvalues in there (Beyn, 2012).

P_k is the sum of z^k T(z)^-1 Y over the points of the outer circle minus that of the inner one,
with T(z) = sum of H_m z^(blocks / 2 - m) for m = 0, ..., blocks.
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"rows": 12, "columns": 7, "blocks": 2, "points": 8},
    "T": {"rows": 9, "columns": 5, "blocks": 4, "points": 6},
    "M": {"rows": 150, "columns": 60, "blocks": 2, "points": 24},
    "L": {"rows": 400, "columns": 200, "blocks": 2, "points": 48},
}


def initialize(rows: int, columns: int, blocks: int, points: int) -> dict[str, Any]:
    """blocks: int; H: complex128 (blocks + 1, rows, rows); Y: complex128 (rows, columns).

    z: complex128 (points,), half of them on each circle. T(z) is about 8 rows (z - d) for diagonal
    d on the unit circle: the ring has eigenvalues, without which both circles' sums cancel.
    """
    rng = np.random.default_rng(42)
    shape = (blocks + 1, rows, rows)
    H = rng.random(shape) - 0.5 + 1j * (rng.random(shape) - 0.5)
    H[blocks // 2 - 1] += 8.0 * rows * np.eye(rows)
    H[blocks // 2] -= 8.0 * rows * np.diag(np.exp(2j * np.pi * rng.random(rows)))
    Y = rng.random((rows, columns)) + 1j * rng.random((rows, columns))
    unit = np.exp(2j * np.pi * (np.arange(points // 2) + 0.5) / (points // 2))
    return {"blocks": blocks, "H": H, "z": np.concatenate([1.25 * unit, 0.8 * unit]), "Y": Y}


def contour_integral(
    blocks: int, H: np.ndarray, z: np.ndarray, Y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """P_0 and P_1, complex128 (rows, columns)."""
    P0 = np.zeros(Y.shape, dtype=np.complex128)
    P1 = np.zeros(Y.shape, dtype=np.complex128)
    for point in z:
        T = np.zeros(H.shape[1:], dtype=np.complex128)
        for m in range(blocks + 1):
            T += np.power(point, blocks / 2 - m) * H[m]
        X = np.linalg.solve(T, Y)
        if abs(point) < 1.0:
            X = -X
        P0 += X
        P1 += point * X
    return P0, P1


PROGRAM = Program(
    name="contour_integral",
    kernel=contour_integral,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
    rtol=1e-9,
)

"""Heat equation in a square by alternating directions (Peaceman and Rachford, 1955).

Each time step is two half steps, implicit in one direction and explicit in the other, on the
square's boundary u = 1. Each half step solves tridiagonal systems, all of one direction at once:
elimination forwards, substitution backwards (Thomas's algorithm).
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"steps": 3, "n": 20},
    "T": {"steps": 5, "n": 13},
    "M": {"steps": 20, "n": 100},
    "L": {"steps": 100, "n": 250},
}


def initialize(steps: int, n: int) -> dict[str, Any]:
    """steps, n: int; u: float64 (n, n), changed in place."""
    rng = np.random.default_rng(42)
    return {"steps": steps, "n": n, "u": rng.random((n, n))}


def adi(steps: int, n: int, u: np.ndarray) -> None:
    """`steps` steps over the time 1 of u, float64 (n, n), in place."""
    h, dt = 1.0 / n, 1.0 / steps
    ratio_x, ratio_y = 2.0 * dt / h**2, dt / h**2
    side_x, middle_x = -ratio_x / 2.0, 1.0 + ratio_x
    side_y, middle_y = -ratio_y / 2.0, 1.0 + ratio_y
    v = np.empty_like(u)
    p = np.empty_like(u)
    q = np.empty_like(u)

    for _ in range(steps):
        # implicit along the first axis of v
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            pivot = side_x * p[1:-1, j - 1] + middle_x
            p[1:-1, j] = -side_x / pivot
            known = -side_y * u[j, :-2] + (1.0 + 2.0 * side_y) * u[j, 1:-1] - side_y * u[j, 2:]
            q[1:-1, j] = (known - side_x * q[1:-1, j - 1]) / pivot
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]

        # implicit along the second axis of u
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            pivot = side_y * p[1:-1, j - 1] + middle_y
            p[1:-1, j] = -side_y / pivot
            known = -side_x * v[:-2, j] + (1.0 + 2.0 * side_x) * v[1:-1, j] - side_x * v[2:, j]
            q[1:-1, j] = (known - side_y * q[1:-1, j - 1]) / pivot
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


PROGRAM = Program(name="adi", kernel=adi, initialize=initialize, sizes=SIZES, kind="short loops")

"""Bodies under their own gravity by leapfrog steps, with the energies after each step."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"n": 10, "steps": 8},
    "T": {"n": 7, "steps": 11},
    "M": {"n": 60, "steps": 200},
    "L": {"n": 200, "steps": 600},
}


def initialize(n: int, steps: int) -> dict[str, Any]:
    """mass: float64 (n, 1); pos, vel: float64 (n, 3), changed in place; steps: int; the others
    float."""
    rng = np.random.default_rng(42)
    return {
        "mass": 20.0 * np.ones((n, 1)) / n,
        "pos": rng.normal(0.0, 1.0, (n, 3)),
        "vel": rng.normal(0.0, 1.0, (n, 3)),
        "steps": steps,
        "dt": 0.005,
        "G": 1.0,
        "softening": 0.1,
    }


def acceleration(pos: np.ndarray, mass: np.ndarray, G: float, softening: float) -> np.ndarray:
    """The acceleration of each body, float64 (n, 3)."""
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def energies(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, G: float) -> tuple[Any, Any]:
    """Kinetic and potential energy, float64; each pair of bodies counts once."""
    kinetic = 0.5 * np.sum(mass * vel**2)
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    inv_r = np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + (z.T - z) ** 2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    potential = G * np.sum(np.triu(-(mass * mass.T) * inv_r, 1))
    return kinetic, potential


def nbody(
    mass: np.ndarray,
    pos: np.ndarray,
    vel: np.ndarray,
    steps: int,
    dt: float,
    G: float,
    softening: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energies, float64 (steps + 1,); pos and vel, float64 (n, 3), in place.

    The velocities are taken relative to the centre of mass.
    """
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass, G, softening)
    KE = np.empty(steps + 1)
    PE = np.empty(steps + 1)
    KE[0], PE[0] = energies(pos, vel, mass, G)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
        KE[i + 1], PE[i + 1] = energies(pos, vel, mass, G)
    return KE, PE


PROGRAM = Program(
    name="nbody", kernel=nbody, initialize=initialize, sizes=SIZES, kind="short loops", rtol=1e-8
)

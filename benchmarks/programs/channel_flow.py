"""Flow of an incompressible fluid in a channel, driven by a body force, until it is steady.

The Navier-Stokes equations in two dimensions with periodic ends in x and walls at y = 0 and y = 2:
forward in time, advection upwind, diffusion and pressure central. In each step some sweeps of
Jacobi's iteration are made on Poisson's equation for the pressure.
"""

from typing import Any

import numpy as np

from .program import Program

SIZES = {
    "S": {"ny": 9, "nx": 11, "sweeps": 4, "dt": 0.05, "start": 0.91},
    "T": {"ny": 7, "nx": 8, "sweeps": 3, "dt": 0.08, "start": 0.9},
    "M": {"ny": 31, "nx": 35, "sweeps": 20, "dt": 0.005, "start": 0.5},
    "L": {"ny": 61, "nx": 71, "sweeps": 50, "dt": 0.0015, "start": 0.1},
}


def initialize(ny: int, nx: int, sweeps: int, dt: float, start: float) -> dict[str, Any]:
    """u, v, p: float64 (ny, nx), changed in place; sweeps: int; the others float.

    The flow starts at the share `start` of the steady profile, with a wave across it.
    """
    dx, dy = 2.0 / nx, 2.0 / (ny - 1)
    rho, nu, force = 1.0, 0.1, 1.0
    x, y = np.arange(nx) * dx, np.arange(ny)[:, np.newaxis] * dy
    bump = y * (2.0 - y)
    u = start * force / (2.0 * nu) * bump * np.ones(nx)
    v = 0.05 * bump * np.sin(np.pi * x)
    v[-1] = u[-1] = 0.0
    p = 0.1 * np.cos(np.pi * x) * np.ones((ny, 1))
    return {
        "sweeps": sweeps,
        "u": u,
        "v": v,
        "dt": dt,
        "dx": dx,
        "dy": dy,
        "p": p,
        "rho": rho,
        "nu": nu,
        "force": force,
    }


def source(
    ux: np.ndarray, uy: np.ndarray, vx: np.ndarray, vy: np.ndarray, rho: float, dt: float
) -> np.ndarray:
    """The right side of the pressure's equation from the derivatives of the velocities."""
    return rho * ((ux + vy) / dt - ux**2 - 2.0 * (uy * vx) - vy**2)


def pressure_source(
    b: np.ndarray, u: np.ndarray, v: np.ndarray, rho: float, dt: float, dx: float, dy: float
) -> None:
    """Store the right side of the pressure's equation into b; all arrays float64 (ny, nx)."""
    b[1:-1, 1:-1] = source(
        (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx),
        (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy),
        (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx),
        (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy),
        rho,
        dt,
    )
    # the ends of the channel are each other's neighbours
    b[1:-1, -1] = source(
        (u[1:-1, 0] - u[1:-1, -2]) / (2.0 * dx),
        (u[2:, -1] - u[:-2, -1]) / (2.0 * dy),
        (v[1:-1, 0] - v[1:-1, -2]) / (2.0 * dx),
        (v[2:, -1] - v[:-2, -1]) / (2.0 * dy),
        rho,
        dt,
    )
    b[1:-1, 0] = source(
        (u[1:-1, 1] - u[1:-1, -1]) / (2.0 * dx),
        (u[2:, 0] - u[:-2, 0]) / (2.0 * dy),
        (v[1:-1, 1] - v[1:-1, -1]) / (2.0 * dx),
        (v[2:, 0] - v[:-2, 0]) / (2.0 * dy),
        rho,
        dt,
    )


def balance(
    west: np.ndarray,
    east: np.ndarray,
    south: np.ndarray,
    north: np.ndarray,
    b: np.ndarray,
    dx: float,
    dy: float,
) -> np.ndarray:
    """The pressure that satisfies Poisson's equation given that of the four neighbours."""
    around = (east + west) * dy**2 + (north + south) * dx**2
    return (around - dx**2 * dy**2 * b) / (2.0 * (dx**2 + dy**2))


def sweep_pressure(p: np.ndarray, b: np.ndarray, sweeps: int, dx: float, dy: float) -> None:
    """`sweeps` sweeps of Jacobi's iteration on p, in place; its gradient ends at the walls."""
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = balance(
            old[1:-1, :-2],
            old[1:-1, 2:],
            old[:-2, 1:-1],
            old[2:, 1:-1],
            b[1:-1, 1:-1],
            dx,
            dy,
        )
        p[1:-1, -1] = balance(
            old[1:-1, -2], old[1:-1, 0], old[:-2, -1], old[2:, -1], b[1:-1, -1], dx, dy
        )
        p[1:-1, 0] = balance(
            old[1:-1, -1], old[1:-1, 1], old[:-2, 0], old[2:, 0], b[1:-1, 0], dx, dy
        )
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


def channel_flow(
    sweeps: int,
    u: np.ndarray,
    v: np.ndarray,
    dt: float,
    dx: float,
    dy: float,
    p: np.ndarray,
    rho: float,
    nu: float,
    force: float,
) -> int:
    """The number of steps until u changes by at most 0.001 of itself; u, v and p in place."""
    b = np.zeros_like(u)
    udiff = 1.0
    steps = 0
    while udiff > 0.001:
        un = u.copy()
        vn = v.copy()
        pressure_source(b, un, vn, rho, dt, dx, dy)
        sweep_pressure(p, b, sweeps, dx, dy)

        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2.0 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2.0 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            + force * dt
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2.0 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2.0 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        # the last column: east of it is the first
        u[1:-1, -1] = (
            un[1:-1, -1]
            - un[1:-1, -1] * dt / dx * (un[1:-1, -1] - un[1:-1, -2])
            - vn[1:-1, -1] * dt / dy * (un[1:-1, -1] - un[:-2, -1])
            - dt / (2.0 * rho * dx) * (p[1:-1, 0] - p[1:-1, -2])
            + nu * dt / dx**2 * (un[1:-1, 0] - 2.0 * un[1:-1, -1] + un[1:-1, -2])
            + nu * dt / dy**2 * (un[2:, -1] - 2.0 * un[1:-1, -1] + un[:-2, -1])
            + force * dt
        )
        v[1:-1, -1] = (
            vn[1:-1, -1]
            - un[1:-1, -1] * dt / dx * (vn[1:-1, -1] - vn[1:-1, -2])
            - vn[1:-1, -1] * dt / dy * (vn[1:-1, -1] - vn[:-2, -1])
            - dt / (2.0 * rho * dy) * (p[2:, -1] - p[:-2, -1])
            + nu * dt / dx**2 * (vn[1:-1, 0] - 2.0 * vn[1:-1, -1] + vn[1:-1, -2])
            + nu * dt / dy**2 * (vn[2:, -1] - 2.0 * vn[1:-1, -1] + vn[:-2, -1])
        )
        # the first column: west of it is the last
        u[1:-1, 0] = (
            un[1:-1, 0]
            - un[1:-1, 0] * dt / dx * (un[1:-1, 0] - un[1:-1, -1])
            - vn[1:-1, 0] * dt / dy * (un[1:-1, 0] - un[:-2, 0])
            - dt / (2.0 * rho * dx) * (p[1:-1, 1] - p[1:-1, -1])
            + nu * dt / dx**2 * (un[1:-1, 1] - 2.0 * un[1:-1, 0] + un[1:-1, -1])
            + nu * dt / dy**2 * (un[2:, 0] - 2.0 * un[1:-1, 0] + un[:-2, 0])
            + force * dt
        )
        v[1:-1, 0] = (
            vn[1:-1, 0]
            - un[1:-1, 0] * dt / dx * (vn[1:-1, 0] - vn[1:-1, -1])
            - vn[1:-1, 0] * dt / dy * (vn[1:-1, 0] - vn[:-2, 0])
            - dt / (2.0 * rho * dy) * (p[2:, 0] - p[:-2, 0])
            + nu * dt / dx**2 * (vn[1:-1, 1] - 2.0 * vn[1:-1, 0] + vn[1:-1, -1])
            + nu * dt / dy**2 * (vn[2:, 0] - 2.0 * vn[1:-1, 0] + vn[:-2, 0])
        )
        # nothing moves at the walls
        u[0, :] = 0.0
        u[-1, :] = 0.0
        v[0, :] = 0.0
        v[-1, :] = 0.0

        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return steps


PROGRAM = Program(
    name="channel_flow",
    kernel=channel_flow,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
    rtol=1e-9,
)

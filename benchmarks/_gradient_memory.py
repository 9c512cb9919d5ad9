"""Memory of gradients: what a backward pass keeps of many steps in place, and growth over calls."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit

from ._gradient_losses import differentiable, reason_against
from .harness import Table
from .memory import NOISE, resident
from .programs import PROGRAMS

POINTS = 1000
STEPS = (25, 100, 400, 1600)
#: What a stack takes beyond its records: it doubles, and starts with a kilobyte.
ROOM = 2.0


def linear(u, steps):
    """The sum of squares of a vector after steps in place, each of them linear."""
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def nonlinear(u, steps):
    """The same with an advection that depends on the vector."""
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - 0.05 * u[1:-1] * (u[2:] - u[:-2])
    return np.sum(u**2)


def sweep(u, steps):
    """`steps` steps of `nonlinear` from the vector, which is left as it is."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - 0.05 * u[1:-1] * (u[2:] - u[:-2])
    return u


rematerialised_sweep = tracejit.remat(sweep)


def rematerialised(u, steps):
    """As `nonlinear` for a square number of steps, in as many sweeps as a sweep has steps."""
    root = int(steps**0.5)
    for _ in range(root):
        u = rematerialised_sweep(u, root)
    return np.sum(u**2)


def room(function: Callable[..., Any], steps: int) -> tuple[int, bool]:
    """Bytes that stacks had in a call, and whether it ran as compiled code."""
    compiled = tracejit.value_and_grad(function)
    compiled(np.linspace(0.0, 1.0, POINTS), steps)
    report = compiled.report()
    if report.fallbacks or not report.variants:
        return 0, False
    buffers = report.variants[-1].buffers
    stacks = buffers.stacks if buffers is not None else ()
    return sum(stack.taken_bytes for stack in stacks), True


def kept() -> Table:
    """Bytes that the backward pass keeps of `STEPS` steps, over those of the vector's interior."""
    table = Table(f"memory kept for the backward pass of a stencil on {POINTS} float64, bytes", [])
    interior = 8 * (POINTS - 2)
    worst = {"linear": 0.0, "nonlinear": 0.0, "rematerialised": 0.0}
    for steps in STEPS:
        row: dict[str, Any] = {"": f"{steps} steps", "steps x interior": steps * interior}
        for function in (linear, nonlinear, rematerialised):
            name = function.__name__
            taken, compiled = room(function, steps)
            row[name] = taken if compiled else "eager"
            states = 2 * steps**0.5 if function is rematerialised else steps
            share = taken / (states * interior) if compiled else np.inf
            worst[name] = max(worst[name], share)
        table.rows.append(row)
    small = 1024 / (STEPS[0] * interior)
    table.require("linear: kept over steps x interior", worst["linear"], at_most=small)
    table.require("nonlinear: kept over steps x interior", worst["nonlinear"], at_most=ROOM + small)
    table.require(
        "rematerialised: kept over 2 sqrt(steps) x interior",
        worst["rematerialised"],
        at_most=ROOM + small,
    )
    table.notes.append("the room of the stacks, which doubles when it is full, from a kilobyte on")
    return table


def growth(calls: int) -> Table:
    """Resident memory over many calls of gradients, at size S."""
    table = Table(f"growth of the process over {calls:,} gradients, size S, bytes", [])
    worst = 0
    for program in PROGRAMS:
        if reason_against(program):
            continue
        d = differentiable(program, "S")
        compiled = tracejit.value_and_grad(d.loss)
        before = 0
        for k in range(calls):
            if k == calls // 10:
                before = resident()
            compiled(*d.fresh())
        grown = resident() - before
        table.rows.append({"": program.name, "growth": grown})
        worst = max(worst, grown)
    table.require("the largest growth", float(worst), at_most=NOISE)
    return table

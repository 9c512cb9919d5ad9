"""Gradients: of the 27 programs and of others, against their values, JAX, PyTorch; their memory."""

import statistics
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit

from ._gradient_losses import (
    Differentiable,
    WrongGradient,
    check_gradient,
    differentiable,
    reason_against,
)
from ._gradient_memory import growth, kept
from ._gradient_peers import peers
from ._programs_timing import Runner, first_line, in_turns
from .harness import Table
from .programs import PROGRAMS
from .programs.program import Program


def compiled_gradient(d: Differentiable) -> tuple[Any, dict[str, Any]]:
    """The compiled function that gives value and gradient, and the gradient for a first call."""
    function = tracejit.value_and_grad(d.loss)
    return function, function(*d.fresh())[1]


def check_program(program: Program, size: str = "S") -> None:
    """Check a program's gradient in double precision, and in its own against that.

    Raises WrongGradient.
    """
    double = differentiable(program, size, double=True)
    want = compiled_gradient(double)[1]
    check_gradient(double, want)
    own = differentiable(program, size)
    if any(own.wrt[name].dtype != x.dtype for name, x in double.wrt.items()):
        got = compiled_gradient(own)[1]
        for name, exact in want.items():
            off = np.linalg.norm(got[name] - exact) / np.linalg.norm(exact)
            if got[name].dtype != own.wrt[name].dtype or not off <= 1e-3:
                raise WrongGradient(f"{own.name}: by {name}: off by {off:.2g} in its own precision")


def how_it_ran(name: str, function: Any) -> list[str]:
    """A note for each reason why a compiled function ran eagerly."""
    report = function.report()
    found = [f"{name}: ran eagerly: {x}" for x in report.fallbacks]
    if report.bailouts:
        found.append(f"{name}: calls repeated eagerly: {dict(report.repeats)}")
    return found


def of_programs(programs: Sequence[Program], size: str, rounds: int) -> Table:
    """Value and gradient of each program, the gradient checked at size S."""
    title = f"programs, size {size}: value and gradient over value, CPU time, one thread"
    table = Table(title, [])
    ratios, wrong = [], 0
    for program in programs:
        if reason := reason_against(program):
            table.notes.append(f"{program.name}: not differentiated: {reason}")
            continue
        row: dict[str, Any] = {"": program.name}
        table.rows.append(row)
        try:
            check_program(program)
        except WrongGradient as error:
            wrong += 1
            row["outcome"] = "wrong"
            table.notes.append(str(error))
            continue
        except Exception as error:
            row["outcome"] = "-"
            table.notes.append(f"{program.name}: {first_line(error)}")
            continue
        d = differentiable(program, size)
        value, gradient = tracejit.jit(d.loss), tracejit.value_and_grad(d.loss)
        runners = {"value": Runner(value, d.fresh), "gradient": Runner(gradient, d.fresh)}
        times = in_turns(runners, rounds)
        pairs = zip(times["gradient"], times["value"], strict=True)
        ratio = statistics.median(a / b for a, b in pairs)
        row["value ms"] = statistics.median(times["value"]) * 1e3
        row["value and gradient ms"] = statistics.median(times["gradient"]) * 1e3
        row["ratio"] = ratio
        eager = how_it_ran(program.name, gradient)
        row["outcome"] = "eager" if eager else "compiled"
        table.notes += eager + how_it_ran(f"{program.name}, the value", value)
        ratios.append(ratio)
    mean = statistics.geometric_mean(ratios) if ratios else np.inf
    table.rows.append({"": "geometric mean", "ratio": mean})
    table.require("programs with a right gradient", len(ratios), at_least=20)
    table.require("wrong gradients", wrong, at_most=0)
    table.require("gradient over value, geometric mean", mean, at_most=3.0)
    return table


def run(quick: bool) -> list[Table]:
    size, rounds = ("S", 5) if quick else ("M", 15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            of_programs(PROGRAMS, size, rounds),
            *peers(size, rounds),
            kept(),
            growth(500 if quick else 10_000),
        ]

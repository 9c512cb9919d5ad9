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
from ._programs_timing import Runner, first_line, in_turns, limited
from .harness import Cell, Table
from .programs import PROGRAMS
from .programs.program import Program

Cells = dict[str, Cell]
#: Seconds after which a first call is given up.
LIMIT = 30.0


def compiled_gradient(d: Differentiable) -> tuple[Any, dict[str, Any]]:
    """The compiled function that gives value and gradient, and the gradient for a first call."""
    function = tracejit.value_and_grad(d.loss)
    return function, function(*d.fresh())[1]


def check_program(program: Program) -> list[str]:
    """Check a program's gradient at size S, in double precision and in its own against that.

    Gives notes on what ran eagerly; raises WrongGradient.
    """
    double = differentiable(program, "S", double=True)
    function, want = compiled_gradient(double)
    check_gradient(double, want)
    notes = how_it_ran(program.name, function)
    own = differentiable(program, "S")
    if any(own.wrt[name].dtype != x.dtype for name, x in double.wrt.items()):
        function, got = compiled_gradient(own)
        notes += how_it_ran(program.name, function)
        for name, exact in want.items():
            off = np.linalg.norm(got[name] - exact) / np.linalg.norm(exact)
            if got[name].dtype != own.wrt[name].dtype or not off <= 1e-3:
                raise WrongGradient(f"{own.name}: by {name}: off by {off:.2g} in its own precision")
    return notes


def how_it_ran(name: str, function: Any) -> list[str]:
    """A note for each reason why a compiled function ran eagerly."""
    report = function.report()
    found = [f"{name}: ran eagerly: {x}" for x in report.fallbacks]
    if report.bailouts:
        found.append(f"{name}: calls repeated eagerly: {dict(report.repeats)}")
    return found


def measured(program: Program, size: str, rounds: int, table: Table) -> Cells:
    """Times of one program, and notes in `table`; a first call of LIMIT seconds is stopped."""
    d = differentiable(program, size)
    value, gradient = tracejit.jit(d.loss), tracejit.value_and_grad(d.loss)
    value(*d.fresh())
    runners = {"value": Runner(value, d.fresh)}
    try:
        with limited(LIMIT):
            gradient(*d.fresh())
        runners["gradient"] = Runner(gradient, d.fresh)
    except TimeoutError:
        table.notes.append(f"{program.name}: stopped, and counted as {LIMIT:g} s")
    times = in_turns(runners, rounds)
    seconds = statistics.median(times["value"])
    row: Cells = {"value ms": seconds * 1e3}
    if "gradient" in times:
        pairs = zip(times["gradient"], times["value"], strict=True)
        row["value and gradient ms"] = statistics.median(times["gradient"]) * 1e3
        row["ratio"] = statistics.median(a / b for a, b in pairs)
    else:
        row["value and gradient ms"], row["ratio"] = LIMIT * 1e3, LIMIT / seconds
    eager = how_it_ran(program.name, gradient)
    row["outcome"] = "eager" if eager else "compiled" if "gradient" in times else "stopped"
    table.notes += eager + how_it_ran(f"{program.name}, the value", value)
    return row


def of_programs(programs: Sequence[Program], size: str, rounds: int) -> Table:
    """Value and gradient of each program, the gradient checked at size S."""
    title = f"programs, size {size}: value and gradient over value, CPU time, one thread"
    table = Table(title, [])
    wrong = 0
    for program in programs:
        if reason := reason_against(program):
            table.notes.append(f"{program.name}: not differentiated: {reason}")
            continue
        row: Cells = {"": program.name}
        table.rows.append(row)
        try:
            check_program(program)
            row |= measured(program, size, rounds, table)
        except WrongGradient as error:
            wrong += 1
            row["outcome"] = "wrong"
            table.notes.append(str(error))
        except Exception as error:
            row["outcome"] = "-"
            table.notes.append(f"{program.name}: {first_line(error)}")
    ratios = [float(row["ratio"]) for row in table.rows if "ratio" in row]
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

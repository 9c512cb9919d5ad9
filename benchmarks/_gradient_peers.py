"""Gradients by tracejit, JAX and PyTorch: the same losses, in turns, with compiles left out."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit

from ._gradient_losses import Differentiable, differentiable
from ._gradient_programs import LOOPS, VECTORISED, black_scholes, option_arguments
from ._programs_timing import Runner, first_line, in_turns
from .harness import Cell, Table, absent, peer
from .programs.program import Program

NAMES = ("tracejit", "jax", "torch")


def off_by(got: Sequence[Any], want: Sequence[Any]) -> float:
    """The largest difference of two lists of arrays, relative to the magnitude of each."""
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(got, want, strict=True)]
    return max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs)


class Contest:
    """One row: who computes a gradient how, the first of them tracejit, with which all must agree.

    `numbers` is how many it is taken by, `value` the compiled function without its gradient.
    """

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        fresh: Callable[[], Any],
        numbers: int = 0,
        value: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.numbers = name, numbers
        self.runners = {"tracejit": Runner(call, fresh)}
        self.want = leaves(call(*fresh()))
        single = any(x.dtype == np.float32 for x in self.want)
        self.rtol = 2e-3 if single else 1e-7
        self.notes: list[str] = []
        report = call.report()  # type: ignore[attr-defined]
        self.notes += [f"{name}: tracejit ran eagerly: {x}" for x in report.fallbacks]
        if value is not None:
            self.runners["value"] = Runner(value, fresh)

    def add(self, name: str, make: Callable[[], Callable[[], Any]]) -> None:
        """Let another one take part, if it can and gives the same."""
        try:
            call = make()
            off = off_by(leaves(call()), self.want)
        except Exception as error:
            self.notes.append(f"{self.name}: not for {name}: {first_line(error)}")
            return
        if off <= self.rtol:
            self.runners[name] = Runner(call, tuple)
        else:
            self.notes.append(f"{self.name}: {name} is off by {off:.2g}")

    def row(self, rounds: int) -> dict[str, Cell]:
        """Milliseconds of each, and how many times slower than tracejit the others are.

        Differences would take one value for each number and one more.
        """
        times = in_turns(self.runners, rounds)
        self.runners.clear()
        found: dict[str, Cell] = {"": self.name}
        for name in NAMES:
            found[f"{name} ms"] = statistics.median(times[name]) * 1e3 if name in times else "-"
        differences = (self.numbers + 1) * statistics.median(times.get("value", [np.inf])) * 1e3
        found["differences ms"] = differences if self.numbers else "-"
        for name in NAMES[1:]:
            if name in times:
                pairs = zip(times[name], times["tracejit"], strict=True)
                found[f"{name} / tracejit"] = statistics.median(a / b for a, b in pairs)
        return found


def leaves(tree: Any) -> list[Any]:
    """The arrays and numbers of nested tuples, lists and dicts, dicts by their sorted names."""
    if isinstance(tree, dict):
        return [x for name in sorted(tree) for x in leaves(tree[name])]
    if isinstance(tree, tuple | list):
        return [x for part in tree for x in leaves(part)]
    return [tree.detach().numpy() if hasattr(tree, "detach") else np.asarray(tree)]


def contest(program: Program, size: str, compile_torch: bool) -> Contest:
    """Who computes the gradient of one program's loss."""
    d = differentiable(program, size)
    numbers = sum(x.size for x in d.wrt.values())
    gradient, value = tracejit.value_and_grad(d.loss), tracejit.jit(d.loss)
    found = Contest(program.name, gradient, d.fresh, numbers, value)
    if peer("jax"):
        from . import _gradient_jax

        found.add("jax", lambda: _gradient_jax.value_and_gradient(d, static(d)))
    if peer("torch"):
        from . import _gradient_torch as torch

        compiled = compile_torch and program.name in torch.COMPILED
        found.add("torch", lambda: torch.value_and_gradient(d, compiled))
    return found


def static(d: Differentiable) -> dict[str, int]:
    """The number of iterations of a loop that a program ends by itself, for JAX."""
    return {"tries": d.path(*d.fresh())[0]} if d.name == "pendulum" else {}


def greeks(size: str) -> Contest:
    """Values of options with all their derivatives, those of one option, mapped."""
    options = option_arguments(20 if size == "S" else 100_000)
    mapped = tracejit.vmap(tracejit.value_and_grad(black_scholes, argnums=tuple(range(5))))
    found = Contest("greeks by vmap", mapped, lambda: list(options.values()))
    if peer("jax"):
        from . import _gradient_jax

        found.add("jax", lambda: _gradient_jax.greeks(options))
    if peer("torch"):
        from . import _gradient_torch

        found.add("torch", lambda: _gradient_torch.greeks(options))
    return found


def table_of(title: str, found: Sequence[Contest], rounds: int, target: float) -> Table:
    """The contests' rows, and the ratio of JAX's time that is the target for each."""
    table = Table(title, [contest.row(rounds) for contest in found])
    for contest in found:
        table.notes += contest.notes
    ratios = {str(row[""]): row["jax / tracejit"] for row in table.rows if "jax / tracejit" in row}
    if ratios:
        mean = statistics.geometric_mean(ratios.values())
        table.require("JAX over tracejit, geometric mean", mean, at_least=target)
        worst = min(ratios, key=ratios.__getitem__)
        table.require(f"JAX over tracejit, least ({worst})", ratios[worst], at_least=target)
    table.notes += absent("jax", "torch")
    return table


def peers(size: str, rounds: int) -> list[Table]:
    """Vectorised programs and loops, each against JAX and PyTorch."""
    compile_torch = size != "S"
    tail = f", size {size}: CPU time, one thread"
    vectorised = [contest(program, size, compile_torch) for program in VECTORISED]
    first = table_of(
        f"value and gradient of vectorised programs{tail}",
        [*vectorised, greeks(size)],
        rounds,
        1.0,
    )
    loops = [contest(program, size, False) for program in LOOPS]
    second = table_of(f"value and gradient of loops{tail}", loops, rounds, 10.0)
    first.notes.append("differences: one call of the compiled value for each number, and one more")
    if peer("torch"):
        how = "torch.compile but for nbody" if compile_torch else "eager"
        first.notes.append(f"torch: {how}")
        second.notes.append("torch: eager")
    if peer("jax"):
        second.notes.append("jax: pendulum scans over the number of steps that it takes")
    return [first, second]

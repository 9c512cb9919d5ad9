"""Contenders in, a table of interleaved times out.

A contender is a Python statement and the names in it, so that a call of 100 ns is timed without a
wrapper around it. All contenders of a table take turns, round by round and in alternating order;
the figure is the median round. Each contender's result is compared with the reference's before
anything is timed: a wrong answer has no speed.
"""

import importlib
import statistics
import time
import timeit
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracejit.monitor.bars import bar

Cell = str | float | int


@dataclass(frozen=True)
class Contender:
    """One way to compute the answer: `statement`, an expression over `names`.

    A yardstick (a plain copy, say) is timed beside the others and computes something else.
    """

    name: str
    statement: str
    names: Mapping[str, Any]
    yardstick: bool = False

    def result(self) -> Any:
        return eval(self.statement, dict(self.names))


@dataclass(frozen=True)
class Timing:
    """Median seconds of one call, by the wall clock and by the process's CPU clock."""

    wall: float
    cpu: float


@dataclass
class Table:
    """What a benchmark found: rows of named cells, what was left out, which targets were met."""

    title: str
    rows: list[dict[str, Cell]]
    notes: list[str] = field(default_factory=list)
    targets: list[dict[str, Cell | bool]] = field(default_factory=list)

    def require(
        self, what: str, value: float, *, at_most: float = np.inf, at_least: float = -np.inf
    ) -> None:
        """Record a target and whether `value` meets it; nothing is raised."""
        bound = f"<= {at_most:g}" if np.isfinite(at_most) else f">= {at_least:g}"
        met = bool(at_least <= value <= at_most)
        self.targets.append({"target": what, "bound": bound, "value": float(value), "met": met})

    def __str__(self) -> str:
        lines = [self.title, "-" * len(self.title)]
        if self.rows:
            heads = list(dict.fromkeys(head for row in self.rows for head in row))
            grid = [heads, *([show(row.get(head, "")) for head in heads] for row in self.rows)]
            widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
            for cells in grid:
                padded = [cells[0].ljust(widths[0])]
                padded += [c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)]
                lines.append("  ".join(padded).rstrip())
        for target in self.targets:
            verdict = "met" if target["met"] else "MISSED"
            value = show(target["value"])
            lines.append(f"  {verdict}: {target['target']}: {value} ({target['bound']})")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def show(cell: Cell | bool) -> str:
    """A cell as text: three significant digits for floats."""
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def peer(name: str) -> types.ModuleType | None:
    """The module `name`, or None where it is not installed: peers are optional."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def absent(*names: str) -> list[str]:
    """One note for each peer that is not installed."""
    return [f"{name} is not installed: left out" for name in names if peer(name) is None]


def rebind(function: types.FunctionType, **names: Any) -> types.FunctionType:
    """The same code over other globals: how a NumPy function becomes a JAX one (`np=jnp`)."""
    return types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
    )


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def check(contenders: Sequence[Contender], rtol: float, atol: float) -> None:
    """Every answer against the first contender's; raises AssertionError with the name."""
    want = as_tuple(contenders[0].result())
    for contender in contenders[1:]:
        if contender.yardstick:
            continue
        got = as_tuple(contender.result())
        assert len(got) == len(want), f"{contender.name} returns {len(got)} results"
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(
                np.asarray(a), np.asarray(b), rtol=rtol, atol=atol, err_msg=contender.name
            )


def measure(
    contenders: Sequence[Contender], rounds: int = 15, batch: float = 0.02
) -> dict[str, Timing]:
    """Median time of one call of each contender, over `rounds` turns of about `batch` seconds."""
    timers = {c.name: timeit.Timer(c.statement, globals=dict(c.names)) for c in contenders}
    counts = {}
    for name, timer in timers.items():
        timer.timeit(2)
        count = 1
        while (took := timer.timeit(count)) < batch / 4:
            count *= 4
        counts[name] = max(1, round(count * batch / took))
    walls: dict[str, list[float]] = {name: [] for name in timers}
    cpus: dict[str, list[float]] = {name: [] for name in timers}
    order = list(timers)
    for _ in bar(range(rounds), name="turns"):
        for name in order:
            start = time.process_time()
            walls[name].append(timers[name].timeit(counts[name]) / counts[name])
            cpus[name].append((time.process_time() - start) / counts[name])
        order.reverse()
    return {
        name: Timing(statistics.median(walls[name]), statistics.median(cpus[name]))
        for name in timers
    }


def compare(
    title: str,
    contenders: Sequence[Contender],
    *,
    unit: str = "ms",
    rtol: float = 1e-12,
    atol: float = 0.0,
    rounds: int = 15,
) -> tuple[Table, dict[str, Timing]]:
    """Check, time and tabulate; the first contender is the reference of the ratios.

    `unit` is "ns", "us", "ms" or "s". Ratios are taken of CPU times, which a busy machine disturbs
    less. Raises AssertionError where a contender's answer is outside `rtol` and `atol`.
    """
    check(contenders, rtol, atol)
    timings = measure(contenders, rounds)
    scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    reference = contenders[0].name
    rows: list[dict[str, Cell]] = [
        {
            "": name,
            f"cpu {unit}": timing.cpu * scale,
            f"wall {unit}": timing.wall * scale,
            f"times {reference}": timings[reference].cpu / timing.cpu,
        }
        for name, timing in timings.items()
    ]
    return Table(title, rows), timings

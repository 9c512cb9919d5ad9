"""Calls of tracejit, PyTorch and JAX that give the same: checked, then timed in turns."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._programs_timing import Runner, first_line, in_turns
from ..harness import Cell, Table

Call = Callable[[], Any]
PEERS = ("torch", "torch.compile", "jax")


@dataclass
class Contest:
    """Who does what how: `calls` of each by what they do, the CPU seconds of their first ones."""

    name: str
    calls: dict[str, dict[str, Call]] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, who: str, make: Callable[[], dict[str, Call]]) -> None:
        """Let one take part; `make` gives its calls, once their answers have been checked."""
        start = time.process_time()
        try:
            self.calls[who] = make()
        except Exception as error:
            self.notes.append(f"{self.name}: not for {who}: {first_line(error)}")
        self.first[who] = time.process_time() - start

    def rows(self, what: Sequence[str], rounds: int) -> dict[str, Cell]:
        """Milliseconds of each for every part of `what`, and ours over the others'."""
        row: dict[str, Cell] = {"": self.name}
        for part in what:
            runners = {
                who: Runner(calls[part], tuple)
                for who, calls in self.calls.items()
                if part in calls
            }
            if "tracejit" not in runners:
                continue
            times = in_turns(runners, rounds)
            best = []
            for who in runners:
                row[f"{part} {who} ms"] = statistics.median(times[who]) * 1e3
            for who in (x for x in PEERS if x in times):
                pairs = zip(times["tracejit"], times[who], strict=True)
                row[f"{part} / {who}"] = statistics.median(a / b for a, b in pairs)
                best.append(row[f"{part} / {who}"])
            if best:
                row[f"{part} / better"] = max(best)
        for who, seconds in self.first.items():
            if who in self.calls:
                row[f"first {who} s"] = seconds
        return row


def with_means(table: Table) -> Table:
    """The geometric mean of each column of ratios below them."""
    heads = dict.fromkeys(head for row in table.rows for head in row if " / " in head)
    if not heads:
        return table
    means: dict[str, Cell] = {"": "geometric mean"}
    for head in heads:
        found = [float(row[head]) for row in table.rows if head in row]
        means[head] = statistics.geometric_mean(found)
    table.rows.append(means)
    return table


def how_it_ran(name: str, function: Any) -> list[str]:
    """A note for each reason why a compiled function runs eagerly."""
    report = function.report()
    found = [f"{name}: ran eagerly: {x}" for x in report.fallbacks]
    if report.bailouts:
        found.append(f"{name}: calls repeated eagerly: {dict(report.repeats)}")
    return found


def require_close(got: Any, want: Any, rtol: float, what: str) -> None:
    """Raises AssertionError where arrays differ by more than `rtol` of the wanted one's norm."""
    a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
    off = np.linalg.norm(a - b) / (np.linalg.norm(b) or 1.0)
    if a.shape != b.shape or not off <= rtol:
        raise AssertionError(f"{what} is off by {off:.2g}")

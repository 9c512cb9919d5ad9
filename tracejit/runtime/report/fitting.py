"""A report for reading fits a screen: repeated lines are merged, the rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tracejit.runtime.report.lines import Line

__all__ = ["MOST_LINES", "at_most", "merged", "source_runs"]

#: So many lines a report has at the most.
MOST_LINES = 40
#: Kinds of lines that say nothing but that all is well.
_WELL = frozenset({"compiled", "rolled", "branch", "effect"})


def merged(lines: Iterable[str]) -> list[str]:
    """Equal lines as one, with their number: "3 x temporary of 8 bytes: an array at f.py:2"."""
    return [f"{n} x {text}" if n > 1 else text for text, n in Counter(lines).items()]


def at_most(lines: Sequence[str], most: int, what: str, indent: str = "  ") -> list[str]:
    """The first lines, so many with the one that counts the others."""
    if len(lines) <= most:
        return list(lines)
    shown = max(0, most - 1)
    return [*lines[:shown], f"{indent}... and {len(lines) - shown} more {what}"]


def source_runs(lines: Sequence[Line], most: int) -> list[tuple[Line, int]]:
    """Lines with how many after them they stand for.

    Where there are too many, those in a row that are compiled alike become one, and then those
    with something to see to come first.
    """
    if len(lines) <= most:
        return [(x, 0) for x in lines]
    runs: list[tuple[Line, int]] = []
    for x in lines:
        if runs:
            first, more = runs[-1]
            alike = first.where.file == x.where.file and first.kind == x.kind and not x.why
            if alike and x.kind in _WELL and not first.why:
                runs[-1] = first, more + 1
                continue
        runs.append((x, 0))
    if len(runs) > most:
        runs.sort(key=lambda run: run[0].kind in _WELL)
    return runs


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them, to three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.{3 if seconds * factor < 1000 else 4}g} {unit}"
    return f"{seconds * 1e9:.0f} ns"

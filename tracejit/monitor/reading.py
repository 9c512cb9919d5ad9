"""Scalars of event files become arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tracejit.monitor.events import SUMMARY
from tracejit.monitor.records import messages
from tracejit.monitor.wire import fields

__all__ = ["Scalars", "read"]


class Scalars(NamedTuple):
    """One curve: steps (int64), values (float32 as logged, in float64), and seconds since 1970."""

    steps: Any
    values: Any
    times: Any


def read(logdir: Any) -> dict[str, dict[str, Scalars]]:
    """The scalars of the runs in a folder, by run and by tag: `{".": {"loss": Scalars(...)}}`.

    A run is a folder with event files, "." is `logdir` itself. These are the numbers that
    `SummaryWriter` writes, and others in the same form (`simple_value`). Several files of a run
    follow each other by their names, which begin with their times. Raises FileNotFoundError where
    there are no event files, ValueError for a damaged one; a last record that is cut off is not
    read.
    """
    root = Path(logdir)
    files = sorted(root.rglob("*tfevents*"), key=lambda path: (path.parent, path.name))
    if not files:
        raise FileNotFoundError(f"there are no event files in {root}")
    runs: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for path in files:
        found = runs.setdefault(path.parent.relative_to(root).as_posix(), {})
        try:
            for tag, point in _points(path.read_bytes()):
                found.setdefault(tag, []).append(point)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return {
        run: {tag: _scalars(points) for tag, points in sorted(tags.items())}
        for run, tags in runs.items()
    }


def _scalars(points: list[tuple[int, float, float]]) -> Scalars:
    steps, values, times = zip(*points, strict=True)
    return Scalars(np.array(steps, np.int64), np.array(values), np.array(times))


def _points(data: bytes) -> Any:
    """Pairs of a tag and (step, value, time)."""
    for message in messages(data):
        event = dict(fields(message))
        for _, value in fields(event.get(SUMMARY, b"")):
            parts = dict(fields(value))
            if 2 in parts:
                step = event.get(2, 0)
                step -= (step >> 63) << 64
                yield parts[1].decode(), (step, parts[2], event.get(1, 0.0))

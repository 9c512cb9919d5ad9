"""What each process is at: its steps, in memory that the launcher reads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Board", "table"]


class Board:
    """For each process its steps, when it made the last one, the seconds that one took, and its
    signs of life.
    """

    def __init__(self, file: Path, count: int) -> None:
        mode: Any = "r+" if file.exists() else "w+"
        # Elements of a plain array are read and written without a call of Python.
        self._rows = np.asarray(np.memmap(file, np.float64, mode, shape=(count, 4)))

    def step(self, rank: int) -> None:
        """A process has made a step."""
        row, now = self._rows[rank], time.time()
        row[2] = now - row[1] if row[1] else 0.0
        row[1] = now
        row[0] += 1

    def beat(self, rank: int) -> None:
        """A process gives a sign of life."""
        self._rows[rank, 3] += 1

    def beats(self, rank: int) -> float:
        """How many signs there have been of a process, and of those before it in its place."""
        return float(self._rows[rank, 3])

    def read(self) -> Any:
        """A copy of it: steps, time, seconds, signs of life by process."""
        return np.array(self._rows)


def table(rows: Any, codes: Sequence[int | None]) -> list[str]:
    """A line for each process: its steps, steps a second, and how many it is behind."""
    first = rows[:, 0].max()
    out = ["  rank      step   steps/s    behind  state\n"]
    for rank, ((steps, _, seconds, _), code) in enumerate(zip(rows, codes, strict=True)):
        rate = f"{1 / seconds:.1f}" if seconds else "-"
        state = "runs" if code is None else "ended" if code == 0 else f"failed ({code})"
        out.append(f"  {rank:>4}  {steps:>8.0f}  {rate:>8}  {first - steps:>8.0f}  {state}\n")
    return out

"""The lines of all loops that run, on one display, drawn again when it is time to."""

from __future__ import annotations

import math
import threading
import time
from typing import Any, Protocol

from tracejit.monitor.displays import Display, display_for

__all__ = ["Board", "Line"]


class Line(Protocol):
    """What is shown in a line of its own, while a loop of some thread runs."""

    thread: int

    def text(self, now: float, finished: bool = False) -> str:
        """The line at a time."""


class Board:
    """The lines of the loops that run; the first of them opens the display, the last closes it.

    `due` is the time of the next drawing. What goes wrong while drawing ends the display, and
    nothing else.
    """

    def __init__(self) -> None:
        self.due = math.inf
        self._lines: list[Line] = []
        self._display: Display | None = None
        # Collecting an iterator that was left may remove a line at any point of a drawing.
        self._lock = threading.RLock()

    def add(self, line: Line, file: Any, every: float | None) -> None:
        """A loop begins."""
        with self._lock:
            self._lines.append(line)
            if len(self._lines) == 1:
                try:
                    self._display = display_for(file, every)
                except Exception:
                    self._display = None
                self.due = math.inf
                if self._display is not None:
                    self.due = time.monotonic() + self._display.interval
                    if self._display.at_once:
                        self.draw()

    def draw(self) -> None:
        """Show all lines."""
        self._try(None)

    def remove(self, line: Line) -> None:
        """A loop ends. Its line stays, if it does not run inside another."""
        with self._lock:
            if line in self._lines:
                before = self._lines[: self._lines.index(line)]
                self._lines.remove(line)
                if all(outer.thread != line.thread for outer in before):
                    self._try(line)
                if not self._lines:
                    self._display, self.due = None, math.inf

    def _try(self, finished: Line | None) -> None:
        with self._lock:
            display = self._display
            if display is None:
                return
            now = time.monotonic()
            try:
                lines = [line.text(now) for line in list(self._lines)]
                if finished is None:
                    display.show(lines)
                else:
                    display.keep(finished.text(now, finished=True), lines)
                self.due = time.monotonic() + display.interval
            except Exception:
                self._display, self.due = None, math.inf

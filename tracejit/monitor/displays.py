"""Lines that change become what a terminal, a notebook or a log shows."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol

from tracejit.base.late import imported

__all__ = ["Display", "display_for", "in_notebook"]


class Display(Protocol):
    """Where lines are shown: all `interval` seconds, and the first time before that or not."""

    interval: float
    at_once: bool

    def show(self, lines: list[str]) -> None:
        """Show these lines instead of the last ones."""

    def keep(self, line: str, lines: list[str]) -> None:
        """Show `line`, which stays, and under it `lines`, which change."""


class Terminal:
    """Lines that are drawn over, by the control sequences of ECMA-48."""

    interval = 0.1
    at_once = True

    def __init__(self, file: Any) -> None:
        self._file, self._drawn = file, 0

    def show(self, lines: list[str]) -> None:
        """Go up to the first line, erase, and write."""
        try:
            width = os.get_terminal_size(self._file.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):
            width = 80
        up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
        self._file.write(f"\r{up}\x1b[J" + "\n".join(line[: width - 1] for line in lines))
        self._file.flush()
        self._drawn = len(lines)

    def keep(self, line: str, lines: list[str]) -> None:
        """The line stays above the others."""
        self.show([line, *(lines or [""])])
        self._drawn = len(lines)


class Log:
    """A line every so often, for files."""

    at_once = False

    def __init__(self, file: Any, interval: float) -> None:
        self._file, self.interval = file, interval

    def show(self, lines: list[str]) -> None:
        """Write all of them as one line."""
        self._file.write(" | ".join(lines) + "\n")
        self._file.flush()

    def keep(self, line: str, lines: list[str]) -> None:
        """Write the line alone."""
        self.show([line])


class Notebook:
    """A display of IPython that is updated where it stands."""

    interval = 0.25
    at_once = True

    def __init__(self) -> None:
        self._handle: Any = None
        self._kept: list[str] = []

    def show(self, lines: list[str]) -> None:
        """Update the display, or make it."""
        display = imported("IPython.display").display
        shown = {"text/plain": "\n".join([*self._kept, *lines])}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def keep(self, line: str, lines: list[str]) -> None:
        """The line stays above the others."""
        self._kept.append(line)
        self.show(lines)


def in_notebook() -> bool:
    """Whether this process answers a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def display_for(file: Any, every: float | None) -> Display | None:
    """The display of a program whose lines go to `file`, by default standard error."""
    if file is None:
        if in_notebook():
            return Notebook()
        file = sys.stderr
    if file is None:  # a program without a console
        return None
    if every is None and file.isatty():
        return Terminal(file)
    return Log(file, 30.0 if every is None else every)

"""What the compile of one call may take: time of the processor, and memory.

Whoever compiles asks while it goes on, so that no program takes the machine: one that would is run
eagerly.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.errors import TraceError, Where

__all__ = ["OverBudget", "budgeted", "deadline", "limited", "require", "require_lines"]

#: Seconds of the processor that the trace of one call may take, and the fewest that it is given.
_MOST, _LEAST = 6.0, 0.1
#: What LLVM takes for a line of its text, seconds and bytes: ten times what is usual. It cannot be
#: stopped once it has begun. The fast way, without passes, takes a tenth.
_LINE_SECONDS, _LINE_BYTES = 5e-4, 16_384
#: How many times `require` is called before it looks.
_CALLS = 256


class OverBudget(TraceError):
    """A compile has taken what it may take here and now; elsewhere it may do."""

    def __init__(self, detail: str, where: Where | None = None) -> None:
        super().__init__("TJ032", detail, where)


class _Limit(threading.local):
    seconds = _MOST
    budget: _Budget | None = None


_LIMIT = _Limit()


class _Budget:
    """What is left of one compile's time and memory."""

    def __init__(self, seconds: float, megabytes: float) -> None:
        self._seconds, self._megabytes = seconds, megabytes
        self._start, self._memory = time.thread_time(), _resident()
        self.calls = 0

    def require(self, lines: float = 0) -> None:
        """Raises OverBudget where it is spent, or LLVM would spend it on so many lines."""
        seconds = time.thread_time() - self._start + lines * _LINE_SECONDS
        if seconds > self._seconds:
            what = f"compiles of more than {self._seconds:g} s, the limit"
            raise OverBudget(f"{what} that TRACEJIT_COMPILE_SECONDS sets")
        # What other threads take meanwhile is counted, too: nobody knows whose it is.
        if _resident() - self._memory + lines * _LINE_BYTES > self._megabytes * 2**20:
            what = f"compiles of more than {self._megabytes:g} MB, the limit"
            raise OverBudget(f"{what} that TRACEJIT_COMPILE_MEMORY sets")


def deadline() -> float:
    """When a trace that begins now must end, by the clock of its thread."""
    return time.thread_time() + _LIMIT.seconds


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Traces that begin inside may take so long, as far as that is less than others may."""
    before, _LIMIT.seconds = _LIMIT.seconds, max(_LEAST, min(_MOST, seconds))
    try:
        yield
    finally:
        _LIMIT.seconds = before


@contextmanager
def budgeted(seconds: float, megabytes: float) -> Iterator[None]:
    """The block is one compile, which may take so many seconds and megabytes."""
    before, _LIMIT.budget = _LIMIT.budget, _Budget(seconds, megabytes)
    try:
        yield
    finally:
        _LIMIT.budget = before


def require() -> None:
    """Go on with a compile. Raises TraceError where it has taken what it may."""
    budget = _LIMIT.budget
    if budget is not None:
        budget.calls += 1
        if budget.calls % _CALLS == 0:
            budget.require()


def require_lines(count: int, is_fast: bool) -> None:
    """Let LLVM compile so many lines. Raises TraceError where it would take more than it may."""
    budget = _LIMIT.budget
    if budget is not None:
        budget.require(count / 10 if is_fast else count)


def _resident() -> float:
    """Bytes of memory that the process has now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return 0.0

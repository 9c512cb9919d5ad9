"""A live line for a loop: how far it is, how fast, and how long it will take."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

from tracejit.monitor.board import Board

__all__ = ["progress"]

T = TypeVar("T")
#: Rates are those of about so many seconds.
_MEMORY = 5.0


_BOARD = Board()


class Progress(Generic[T]):
    """What `progress` gives: an iterable that shows how far it is.

    Values to show are set by `p.set(loss=loss, ...)`, or as attributes: `p.loss = loss`. They are
    looked at only when the line is drawn. `step` counts the iterations that are done.
    """

    __slots__ = (
        "__dict__",
        "_every",
        "_file",
        "_items",
        "_iterable",
        "_last",
        "_name",
        "_rate",
        "_start",
        "_weight",
        "step",
        "thread",
        "total",
    )

    def __init__(
        self,
        iterable: Iterable[T],
        total: int | None,
        name: str,
        items: int | None,
        every: float | None,
        file: Any,
    ) -> None:
        if total is None and isinstance(iterable, Sized):
            with contextlib.suppress(TypeError):  # of one whose own data have no length
                total = len(iterable)
        self._iterable, self.total, self.step = iterable, total, 0
        self._name, self._items, self._every, self._file = name, items, every, file

    def set(self, **values: Any) -> None:
        """Show these values beside the step."""
        self.__dict__.update(values)

    def __iter__(self) -> Iterator[T]:
        clock, board = time.monotonic, _BOARD
        self._begin(clock())
        try:
            for item in self._iterable:
                if self._items is None:
                    self._items = _items_of(item)
                yield item
                self.step += 1
                if clock() >= board.due:
                    board.draw()
        finally:
            board.remove(self)

    def _begin(self, now: float) -> None:
        self.step, self.thread = 0, threading.get_ident()
        self._start, self._last = now, (now, 0)
        self._rate = self._weight = 0.0
        _BOARD.add(self, self._file, self._every)

    def text(self, now: float, finished: bool = False) -> str:
        """The line: name, step, values, rates, and times."""
        passed = now - self._start
        rate = self.step / max(passed, 1e-9) if finished else self._rate_at(now)
        parts = [self._name] if self._name else []
        parts.append(f"{self.step}/{self.total}" if self.total else str(self.step))
        parts += [f"{name} {_shown(value)}" for name, value in list(self.__dict__.items())]
        if rate and self._items:
            parts += [f"{_number(rate)} batches/s", f"{_number(rate * self._items)} items/s"]
        elif rate:
            parts.append(f"{_number(rate)}/s")
        parts.append(_clock(passed))
        if self.total and rate and not finished:
            parts.append(f"{_clock(max(self.total - self.step, 0) / rate)} left")
        return "  ".join(parts)

    def _rate_at(self, now: float) -> float:
        """Steps a second: a mean over the time, recent time counting more."""
        then, step = self._last
        if self.step > step and now > then:
            kept = math.exp((then - now) / _MEMORY)
            self._rate = kept * self._rate + (1.0 - kept) * (self.step - step) / (now - then)
            self._weight = kept * self._weight + 1.0 - kept
            self._last = now, self.step
        return self._rate / self._weight if self._weight else 0.0


def progress(
    iterable: Iterable[T],
    total: int | None = None,
    *,
    name: str = "",
    items: int | None = None,
    every: float | None = None,
    file: Any = None,
) -> Progress[T]:
    """Iterate over `iterable`, and show how far it is: step, values, rate, elapsed and left time.

    `total` is the number of iterations, by default `len(iterable)` where there is one; `items` how
    many items a batch has, by default the length of the first array in it, if it is a tuple, list
    or dict. On a terminal (`file`, by default standard error) a line is updated; in a notebook, a
    display; elsewhere, and where `every` is given, a line is written all `every` seconds (30), and
    at the end. Loops inside each other have a line each, that of the inner one goes when it ends.
    An iteration costs less than a microsecond; what goes wrong while drawing ends the drawing only.
    """
    return Progress(iterable, total, name, items, every, file)


def _items_of(batch: Any, inside: bool = False) -> int:
    """The length of the first array in a tuple, list or dict; 0 where there is none."""
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    if isinstance(batch, (tuple, list)):
        return next(filter(None, (_items_of(part, True) for part in batch)), 0)
    shape = getattr(batch, "shape", ())
    return shape[0] if inside and shape else 0


def _shown(value: Any) -> str:
    if getattr(value, "size", 0) == 1:
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:20]


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def _clock(seconds: float) -> str:
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"

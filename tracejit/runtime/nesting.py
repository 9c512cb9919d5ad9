"""Calls inside calls: Python's stack for the compiler, and for functions that call themselves.

Python ends a program that nests its calls too deep, wherever that happens. The compiler nests its
own calls in those of the program that it compiles for: `room` lets it go on to a depth of its own.
And a decorated function that runs eagerly and calls itself is to go as deep as a plain one, which
takes one frame for each call: `EagerRuns` takes the dispatcher out of the way.
"""

from __future__ import annotations

import sys
import threading
from contextlib import ContextDecorator
from typing import Any

from tracejit.locks import short_lock
from tracejit.runtime import native

__all__ = ["EagerRuns", "room"]

#: Frames of Python that a stack of 8 MiB holds with room to spare, whatever C code is in between.
_FRAMES = 8_000
#: Eager runs of a function inside each other before further calls of it run as plain Python.
_DEEP = 8

#: For what is counted of all threads.
_LOCK = short_lock()


class _Room(ContextDecorator):
    """While a thread is inside, calls may nest to at least `_FRAMES` frames."""

    def __init__(self) -> None:
        self._inside = 0
        self._outer = 0

    def __enter__(self) -> None:
        with _LOCK:
            if not self._inside:
                self._outer = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._outer, _FRAMES))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with _LOCK:
            self._inside -= 1
            # The program may have set another limit meanwhile.
            if not self._inside and sys.getrecursionlimit() == max(self._outer, _FRAMES):
                sys.setrecursionlimit(self._outer)


#: `with room:` or `@room`, around what the compiler does.
room = _Room()


class EagerRuns:
    """Eager runs of one decorated function inside each other.

    The first few look for compiled code at each call. Where they go deeper, the function calls
    itself, and all its calls run as plain Python until that run has ended.
    """

    def __init__(self, jitted: Any) -> None:
        self._here = threading.local()
        self._deep = 0
        self._dispatch = jitted._slow

    def enter(self, jitted: Any) -> None:
        """A run begins."""
        depth = getattr(self._here, "depth", 0) + 1
        if depth == _DEEP:
            self._go(jitted, +1)
        self._here.depth = depth

    def leave(self, jitted: Any) -> None:
        """A run ends."""
        depth = self._here.depth
        if depth == _DEEP:
            self._go(jitted, -1)
        self._here.depth = depth - 1

    @room
    def _go(self, jitted: Any, step: int) -> None:
        with _LOCK:
            self._deep += step
            if step > 0:
                native.stand_aside(jitted, jitted.__tracejit__)
            elif not self._deep:
                native.resume(jitted, self._dispatch)

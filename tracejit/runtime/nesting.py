"""Calls inside calls: Python's stack for the compiler, and for functions that call themselves.

Python ends a program that nests its calls too deep, wherever that happens. The compiler nests its
own calls in those of the program that it compiles for: `room` lets it go on to a depth of its own.
And a decorated function that runs eagerly and calls itself is to go as deep as a plain one, which
takes one frame for each call: `EagerRuns` takes the dispatcher out of the way.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from types import CodeType, FrameType
from typing import Any

from tracejit.base.locks import in_child, short_lock
from tracejit.runtime import native

__all__ = ["EagerRuns", "room"]

#: Frames of Python that a stack of 8 MiB holds with room to spare, whatever C code is in between.
_FRAMES = 8_000
#: Eager runs of a function inside each other before further calls of it run as plain Python.
_DEEP = 8

#: For what is known of all threads.
_LOCK = short_lock()


class _Room(ContextDecorator):
    """While a thread is inside, calls may nest to at least `_FRAMES` frames."""

    def __init__(self) -> None:
        #: How often each thread is inside.
        self._inside: dict[int, int] = {}
        self._outer = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        with _LOCK:
            if not self._inside:
                self._outer = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._outer, _FRAMES))
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        self._leave(threading.get_ident())

    def _leave(self, thread: int) -> None:
        with _LOCK:
            self._inside[thread] -= 1
            if not self._inside[thread]:
                del self._inside[thread]
            # The program may have set another limit meanwhile.
            if not self._inside and sys.getrecursionlimit() == max(self._outer, _FRAMES):
                sys.setrecursionlimit(self._outer)

    def forget_others(self) -> None:
        """Take out all threads but this one: in a child, where they do not exist."""
        for thread in [t for t in self._inside if t != threading.get_ident()]:
            self._inside[thread] = 1
            self._leave(thread)


#: `with room:` or `@room`, around what the compiler does.
room = _Room()


class _Depth(threading.local):
    """Eager runs that this thread has begun and not ended."""

    runs = 0


def _is_like(a: CodeType, b: CodeType) -> bool:
    """Whether one may be the other, or made of it."""
    return a is b or (
        a.co_firstlineno == b.co_firstlineno
        and a.co_name == b.co_name
        and a.co_filename == b.co_filename
    )


class EagerRuns:
    """Eager runs of one decorated function inside each other: `with` it, one begins and ends.

    The first few look for compiled code at each call. Where they go deeper, the function calls
    itself, and all its calls run as plain Python until that run has ended: as `function()`.
    """

    def __init__(self, jitted: Any, function: Callable[[], Any]) -> None:
        self._jitted, self._dispatch, self._function = jitted, jitted._slow, function
        self._here = _Depth()
        #: Threads in which runs are deep.
        self._deep: set[int] = set()

    def is_inside(self) -> bool:
        """Whether this thread is in a plain run of the function, whoever has called it."""
        if self._here.runs > 0:
            return True
        code: CodeType | None = getattr(self._function(), "__code__", None)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and code is not None and not _is_like(frame.f_code, code):
            frame = frame.f_back
        return frame is not None and code is not None

    def __enter__(self) -> None:
        self._here.runs += 1
        if self._here.runs == _DEEP:
            self._stand_aside()

    def __exit__(self, *_: object) -> None:
        self._here.runs -= 1
        if self._here.runs == _DEEP - 1:
            self.go_on({threading.get_ident()})

    @room
    def _stand_aside(self) -> None:
        with _LOCK:
            self._deep.add(threading.get_ident())
            _ASIDE.add(self)
            native.stand_aside(self._jitted, self._function())

    @room
    def go_on(self, ended: set[int]) -> None:
        """The deep runs of some threads have ended."""
        with _LOCK:
            self._deep -= ended
            if not self._deep:
                native.resume(self._jitted, self._dispatch)
                _ASIDE.discard(self)


#: Runs that are deep in some thread.
_ASIDE: set[EagerRuns] = set()


@in_child
def _forget_threads() -> None:
    """The other threads have ended with the fork, in the middle of whatever they did."""
    room.forget_others()
    for runs in list(_ASIDE):
        runs.go_on(runs._deep - {threading.get_ident()})

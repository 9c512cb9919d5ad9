"""Compiled calls whose loops copy much, beside plain ones: the faster of the two is kept.

A loop that copies an array at each store takes time by the square of its length, plain Python does
not. Where a program's loops copy arrays, it counts their bytes (`codegen/program/copy_tally.py`),
and its entry tells of a run in which they were many (`entries/answers.py`). From then on a
function of Python stands before the entries, which times calls:

    a call that the entries answer   seconds, bytes, what plain Python would take by an estimate
    the next call of like size       plain Python, if by that estimate it may well be faster
    calls after it                   what was faster, for calls of that size and larger ones

No call runs both ways. What is not told of has native entries that nothing stands before.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import short_lock
from tracejit.errors import TraceError
from tracejit.runtime import native
from tracejit.runtime.entries.answers import TOLD

__all__ = ["compare_calls"]

_LOCK = short_lock()
#: Bytes that no loop copies faster in a second.
_RATE = 16e9
#: Seconds of a call that are worth looking at, and the part of them that copies must explain.
_LEAST, _PART = 0.02, 1 / 8
#: How sizes of like calls differ, and how far what was found for one size holds for larger ones.
_LIKE, _FAR = 2.0, 4.0
#: The part of a compiled call's time that a plain one must not exceed to be kept.
_GAIN = 0.8

_NUMBERS = (int, float, complex, bool)
#: Arguments that say nothing of how long a call takes.
_SIZELESS = (type(None), bool, float, complex, str, np.generic)


@dataclass(frozen=True)
class _Call:
    """A call that compiled code has answered: its size, and seconds."""

    size: float
    seconds: float


class _Kind:
    """What is known of calls with arguments of these types."""

    def __init__(self) -> None:
        #: Calls from this size on run plainly; up to that one compiled code is known to be faster.
        self.plain_from, self.compiled_to = math.inf, 0.0
        self.slow: _Call | None = None


def compare_calls(jitted: Any) -> None:
    """Compare calls of a function with plain ones from now on, unless none may run plainly."""
    with _LOCK:
        if jitted._copying is None and not jitted._plain_calls.is_off:
            jitted._copying = _CopyingCalls(jitted)


class _CopyingCalls:
    """What stands before the entries of one function."""

    def __init__(self, jitted: Any) -> None:
        self._jitted = jitted
        self._kinds: defaultdict[Any, _Kind] = defaultdict(_Kind)
        #: No smaller call is compared with plain ones.
        self._least = math.inf
        self._fallback: Any = None
        native.put_before_entries(jitted, self.answer)

    def answer(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of a call that the gate lets through."""
        size = _size(args, kwargs)
        if size >= self._least and not self._jitted._plain_calls.is_off:
            kind = self._kinds[_kind(args, kwargs)]
            if size >= kind.plain_from:
                # Where a warning is made an error, nothing has run yet.
                self._jitted._fallbacks.tell(self._fallback)
                return self._plain(args, kwargs)
            slow = kind.slow
            if slow is not None and slow.size / _LIKE <= size <= slow.size * _LIKE:
                kind.slow = None
                return self._tried(kind, slow, size, args, kwargs)
        TOLD.found = None
        start = time.perf_counter()
        result = self._compiled(args, kwargs)
        if size > 0 and TOLD.found is not None:
            self._told(time.perf_counter() - start, *TOLD.found, size, _kind(args, kwargs))
        return result

    def _told(self, seconds: float, copied: int, plain: int, size: float, key: Any) -> None:
        """A compiled call has copied so many bytes, where plain Python takes some `plain` ns."""
        kind = self._kinds[key]
        explained = copied / _RATE >= seconds * _PART
        if seconds >= _LEAST and explained and plain * 1e-9 < seconds and size > kind.compiled_to:
            kind.slow = _Call(size, seconds)
            self._least = min(self._least, size / _LIKE)

    def _tried(self, kind: _Kind, slow: _Call, size: float, args: Any, kwargs: Any) -> Any:
        """A plain call, which is compared with a compiled one of like size."""
        start = time.perf_counter()
        result = self._plain(args, kwargs)
        seconds = time.perf_counter() - start
        ratio = size / slow.size
        # What compiled code takes at least: by the square for less, in proportion for more.
        if seconds < _GAIN * slow.seconds * (ratio if ratio > 1 else ratio**2):
            self._give_up(seconds, slow)
            kind.plain_from = size
        else:
            kind.compiled_to = size * _FAR
        return result

    def _compiled(self, args: Any, kwargs: Any) -> Any:
        jitted = self._jitted
        result = jitted._shown.run(*args, **kwargs)
        return jitted._slow(*args, **kwargs) if result is native.MISS else result

    def _plain(self, args: Any, kwargs: Any) -> Any:
        with self._jitted._eager_runs:
            return self._jitted.__tracejit__(*args, **kwargs)

    def _give_up(self, plain: float, slow: _Call) -> None:
        if self._fallback is None:
            jitted = self._jitted
            copies = [c for v in jitted._report.variants if v.buffers for c in v.buffers.copies]
            where = next((c.where for c in copies if c.repeated), None)
            what = f"{slow.seconds * 1e3:.0f} ms, and {plain * 1e3:.0f} ms as plain Python"
            error = TraceError("TJ036", what, where)
            self._fallback = jitted._fallbacks.add(jitted._fallbacks.of(error))


def _size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """A measure of the sizes of arguments, 0 where they have none that is known."""
    size = 0
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind is np.ndarray:
            size += x.size
        elif kind is int:
            size += abs(x)
        elif kind is list and x and type(x[0]) in _NUMBERS:
            size += len(x)
        elif not isinstance(x, _SIZELESS):
            return 0
    return size


def _kind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What calls share that are compared: the types of their arguments."""
    given = (*enumerate(args), *sorted(kwargs.items()))
    return tuple(
        (
            name,
            type(x),
            x.dtype.char if isinstance(x, np.ndarray) else "",
            x.ndim if isinstance(x, np.ndarray) else 0,
        )
        for name, x in given
    )

"""When the trace of a call must end, by the clock of its thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deadline", "limited"]

#: Seconds of the processor that the trace of one call may take, and the fewest that it is given.
_MOST, _LEAST = 6.0, 0.1


class _Limit(threading.local):
    seconds = _MOST


_LIMIT = _Limit()


def deadline() -> float:
    """When a trace that begins now must end."""
    return time.thread_time() + _LIMIT.seconds


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Traces that begin inside may take so long, as far as that is less than others may."""
    before, _LIMIT.seconds = _LIMIT.seconds, max(_LEAST, min(_MOST, seconds))
    try:
        yield
    finally:
        _LIMIT.seconds = before

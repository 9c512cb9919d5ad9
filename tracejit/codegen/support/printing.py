"""What compiled programs print, from texts to streams, and what a run that cannot end leaves of it.

A run's texts wait until it ends or an exception leaves it, and in a long run until some time has
passed. A run that bails out drops those that wait: it is repeated eagerly, and then prints itself.
What had been written before is skipped in that repetition.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracejit.link.pending_exception import take_pending

__all__ = ["Output", "leave_run", "note_left", "skipping"]

#: Seconds after which a run writes what it has printed.
_DELAY = 0.05


class Output:
    """What one run of a program has printed: texts that wait, and how much has been written."""

    def __init__(self) -> None:
        #: (stream, text, flush) in order.
        self.waiting: list[tuple[Any, str, bool]] = []
        #: id -> (stream, characters written).
        self.written: dict[int, tuple[Any, int]] = {}
        self.last = time.monotonic()

    def add(self, stream: Any, text: str, flush: bool) -> None:
        """Print to a stream; None takes nothing. Raises what writing raises."""
        if stream is None:
            return
        self.waiting.append((stream, text, flush))
        if flush or time.monotonic() - self.last > _DELAY:
            # An eager repetition could not be kept from printing to any other stream again.
            if all(s in (sys.stdout, sys.stderr) for s, _, _ in self.waiting):
                self.write()

    def write(self) -> None:
        """Write what waits. Raises what writing raises."""
        texts, self.waiting = self.waiting, []
        while texts:
            stream, _, flush = texts[0]
            count = 1
            while not flush and count < len(texts) and texts[count][0] is stream:
                flush = texts[count][2]
                count += 1
            text = "".join([t for _, t, _ in texts[:count]])
            del texts[:count]
            stream.write(text)
            before = self.written.get(id(stream), (stream, 0))[1]
            self.written[id(stream)] = stream, before + len(text)
            if flush:
                stream.flush()
        self.last = time.monotonic()


class _Left(threading.local):
    """The output of the run that this thread has left before its end."""

    output: Output | None = None


_LEFT = _Left()


def note_left(output: Output) -> None:
    """Keep the output of a run that is being left."""
    _LEFT.output = output


def leave_run() -> Output | None:
    """What the run that this thread has just left has printed, if it must be repeated eagerly.

    Raises the exception that it was left by, after its output has been written.
    """
    exception = take_pending()
    output, _LEFT.output = _LEFT.output, None
    if exception is None:
        return output
    if output is not None:
        output.write()
    raise exception


class _Skipping:
    """A stream that drops the next characters that one thread writes."""

    def __init__(self, stream: Any, count: int) -> None:
        self._stream, self._count = stream, count
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """Write what is left of a text."""
        if threading.get_ident() == self._thread and self._count:
            dropped = min(self._count, len(text))
            self._count -= dropped
            if dropped < len(text):
                self._stream.write(text[dropped:])
        else:
            self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def skipping(output: Output | None) -> Iterator[None]:
    """What a run had written is not written again inside."""
    written = {} if output is None else output.written
    replaced: list[tuple[str, Any, _Skipping]] = []
    for name in ("stdout", "stderr"):
        stream, count = written.get(id(getattr(sys, name)), (None, 0))
        if count:
            proxy = next((p for _, s, p in replaced if s is stream), _Skipping(stream, count))
            replaced.append((name, stream, proxy))
            setattr(sys, name, proxy)
    try:
        yield
    finally:
        for name, stream, proxy in replaced:
            if getattr(sys, name) is proxy:
                setattr(sys, name, stream)

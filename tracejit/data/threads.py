"""Batches made in the consumer's process: by threads, ahead of it, or by itself when it asks."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
import traceback
from typing import Any

from tracejit.data.batches import LoaderError, fill, new_arrays
from tracejit.data.sources import Reader, Stream

__all__ = ["GRACE", "Inline", "Threads"]

#: Seconds that workers have to end what they are at, when they are no longer needed.
GRACE = 5.0


class Inline:
    """Each batch is made when it is taken."""

    ahead = 0

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.progress = [-1]

    def start(self, epoch: int, order: Any, position: int, state: Any) -> None:
        """Begin a pass."""
        self.made_by = self.reader.started(epoch, order, position, state)

    def ask(self, k: int) -> None:
        """Nothing is made ahead."""

    def take(self, k: int) -> tuple[bool, Any, Any]:
        """Whether the epoch has ended, else batch k; the source's state."""
        return _made(self.made_by, k, self.progress)

    def close(self) -> None:
        """Nothing is left behind."""


class Threads:
    """Threads that live as long as a pass, and share the source."""

    def __init__(self, reader: Reader, threads: int, prefetch: int, timeout: float | None) -> None:
        self.reader, self.count, self.timeout = reader, threads, timeout
        self.ahead = prefetch * threads
        self.threads: list[_Thread] = []

    def start(self, epoch: int, order: Any, position: int, state: Any) -> None:
        """Begin a pass. Only one may read a stream: waits for the thread of the one before."""
        if isinstance(self.reader.source, Stream):
            self.close()
            if self.threads:
                raise LoaderError("a thread of the loop before is still waiting for the stream")
        made_by = self.reader.started(epoch, order, position, state)
        self.asked: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.answered: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.answers: dict[int, Any] = {}
        self.threads = [_Thread(made_by, self.asked, self.answered) for _ in range(self.count)]
        for thread in self.threads:
            thread.start()

    def ask(self, k: int) -> None:
        """Have batch k made."""
        self.asked.put(k)

    def take(self, k: int) -> tuple[bool, Any, Any]:
        """Whether the epoch has ended, else batch k; the source's state. Waits for it."""
        until = None if self.timeout is None else time.monotonic() + self.timeout
        while k not in self.answers:
            left = None if until is None else max(0.0, until - time.monotonic())
            try:
                made, answer = self.answered.get(timeout=left)
            except queue.Empty:
                raise self._hung(k) from None
            self.answers[made] = answer
        answer = self.answers.pop(k)
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Let the threads end, each after the batch that it is at."""
        with contextlib.suppress(queue.Empty):
            while self.threads:
                self.asked.get_nowait()
        for _ in self.threads:
            self.asked.put(None)

    def close(self) -> None:
        """Let the threads end, and wait for that, but not for those that hang."""
        self.stop()
        until = time.monotonic() + GRACE
        for thread in self.threads:
            thread.join(0.0 if thread.hung else max(0.0, until - time.monotonic()))
        self.threads = [thread for thread in self.threads if thread.is_alive()]

    def _hung(self, k: int) -> LoaderError:
        thread = next((x for x in self.threads if x.k == k), self.threads[0])
        thread.hung = True
        index = thread.progress[0]
        frame = sys._current_frames().get(thread.ident or 0)
        trace = "".join(traceback.format_stack(frame)) if frame is not None else ""
        at = f", at sample {index}" if index >= 0 else ""
        text = f"{thread.name} has not made batch {k} in {self.timeout:g} s{at}\n\n{trace}"
        return LoaderError(text, index if index >= 0 else None)


class _Thread(threading.Thread):
    def __init__(self, made_by: Any, asked: Any, answered: Any) -> None:
        # One that hangs must not keep the process from ending.
        super().__init__(daemon=True)
        self.made_by, self.asked, self.answered = made_by, asked, answered
        self.progress = [-1]
        self.k: int | None = None
        self.hung = False

    def run(self) -> None:
        while (k := self.asked.get()) is not None:
            self.k = k
            try:
                answer: Any = _made(self.made_by, k, self.progress)
            except BaseException as error:
                answer = error
            self.answered.put((k, answer))
            del answer


def _made(made_by: Any, k: int, progress: Any) -> tuple[bool, Any, Any]:
    skeleton, arrays, state = made_by.batch(k, new_arrays, progress)
    return skeleton is None, fill(skeleton, arrays) if skeleton is not None else None, state

"""A thread that does one thing after another, for who goes on meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Pending", "Worker"]


class Pending:
    """What another thread does, or has done."""

    def __init__(self, do: Callable[[], Any]) -> None:
        self._do: Callable[[], Any] | None = do
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, in this thread."""
        assert self._do is not None
        try:
            self._result = self._do()
        except BaseException as e:
            self._error = e
        # What it was done with is needed no more.
        self._do = None
        self._done.set()

    def done(self) -> bool:
        """Whether it is done."""
        return self._done.is_set()

    def wait(self) -> Any:
        """The result, each time the same. Raises what doing it raises."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result


class Worker:
    """The thread. It ends with the process, whatever it waits for then."""

    def __init__(self, name: str) -> None:
        self._waiting: queue.SimpleQueue[Pending | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, do: Callable[[], Any]) -> Pending:
        """Do this after all that was submitted before."""
        pending = Pending(do)
        self._waiting.put(pending)
        return pending

    def close(self) -> None:
        """It ends when it has done all."""
        self._waiting.put(None)

    def _run(self) -> None:
        while (pending := self._waiting.get()) is not None:
            pending.run()
            # Not until the next one comes: results may be large.
            del pending

"""The file of a run: messages are kept for a while, and appended as records by a thread."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from pathlib import Path

from tracejit.monitor.events import VERSION, event
from tracejit.monitor.records import framed

__all__ = ["EventFile"]

_COUNT = itertools.count()
#: What is kept is written earlier where it is longer than this.
_MOST = 1 << 22


class EventFile:
    """A new file `events.out.tfevents.TIME.HOST.PROCESS.NUMBER` in a folder, which is made.

    Whole records are appended, after `flush_secs` at the latest: where a process dies, at most the
    last record is cut off, and what came in since then is lost. A process that was forked from
    this one leaves the file alone.
    """

    def __init__(self, folder: Path, flush_secs: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        place = f"{socket.gethostname()}.{os.getpid()}.{next(_COUNT)}"
        self.path = folder / f"events.out.tfevents.{int(now):010d}.{place}"
        self._file = self.path.open("xb", buffering=0)
        self._process = os.getpid()
        self._pending: list[bytes] = []
        self._size = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.add(event(now, None, VERSION, "brain.Event:2"))
        self.flush()
        self._thread = threading.Thread(
            target=self._flush_again, args=(flush_secs,), name="monitor", daemon=True
        )
        self._thread.start()

    def add(self, message: bytes) -> None:
        """Append a message. Raises ValueError for a closed file, and in a forked process."""
        record = framed(message)
        if os.getpid() != self._process:
            raise ValueError(f"{self.path} is written to by another process")
        with self._lock:
            if self._closed.is_set():
                raise ValueError(f"{self.path} is closed")
            self._pending.append(record)
            self._size += len(record)
            full = self._size > _MOST
        if full:
            self.flush()

    def flush(self) -> None:
        """Hand all that has been added to the operating system. Raises OSError where it takes only
        a part; the rest is kept for the next time.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            data = memoryview(b"".join(self._pending))
            try:
                while data:
                    data = data[self._file.write(data) :]
            finally:
                self._pending, self._size = [bytes(data)], len(data)

    def close(self) -> None:
        """Write what is left, and close the file; again: nothing. Raises as `flush`."""
        if os.getpid() != self._process or self._closed.is_set():
            return
        with self._lock:
            self._closed.set()
        self._thread.join()
        try:
            self.flush()
        finally:
            self._file.close()

    def _flush_again(self, flush_secs: float) -> None:
        while not self._closed.wait(flush_secs):
            with contextlib.suppress(OSError):
                self.flush()

"""Links between threads of one process, for tests and simulations."""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from typing import Any

from tracejit.dist.transport.link import PeerLost

__all__ = ["ThreadLink", "thread_links"]


class _Shared:
    def __init__(self, size: int) -> None:
        self.changed = threading.Condition()
        self.waiting: dict[tuple[int, int, str], deque[Any]] = {}
        self.closed: set[int] = set()
        self.size = size


class ThreadLink:
    """One of the ends."""

    def __init__(self, shared: _Shared, rank: int) -> None:
        self._shared, self.rank, self.size = shared, rank, shared.size

    def send(self, to: int, key: str, value: Any) -> None:
        """Send a copy."""
        if not 0 <= to < self.size:
            raise ValueError(f"there is no process {to} among {self.size}")
        value, shared = copy.deepcopy(value), self._shared
        with shared.changed:
            if to in shared.closed:
                raise PeerLost(to)
            shared.waiting.setdefault((to, self.rank, key), deque()).append(value)
            shared.changed.notify_all()

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        """Wait for a message. Raises PeerLost, TimeoutError."""
        shared, place = self._shared, (self.rank, source, key)
        end = None if timeout is None else time.monotonic() + timeout
        with shared.changed:
            while not shared.waiting.get(place):
                if source in shared.closed:
                    raise PeerLost(source)
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"no {key!r} from process {source} in {timeout} s")
                shared.changed.wait(left)
            found = shared.waiting[place].popleft()
            if not shared.waiting[place]:
                del shared.waiting[place]
            return found

    def close(self) -> None:
        """Nothing comes from here any more."""
        with self._shared.changed:
            self._shared.closed.add(self.rank)
            self._shared.changed.notify_all()


def thread_links(size: int) -> list[ThreadLink]:
    """The ends of `size` threads, each of which takes one."""
    shared = _Shared(size)
    return [ThreadLink(shared, rank) for rank in range(size)]

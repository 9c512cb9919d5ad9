"""Links by Ray: messages go through an actor that keeps a mailbox for each process.

Needs the package ray: `pip install 'tracejit[ray]'`. Ray moves the messages, by its own pickles.
"""

from __future__ import annotations

import asyncio
import importlib
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.dist.transport.link import DistError, PeerLost
from tracejit.dist.transport.wire import pack, unpack

__all__ = ["BOX", "Mailboxes", "RayLink", "import_ray"]

#: The name of the actor.
BOX = "tracejit mailboxes"


def import_ray() -> Any:
    """The package. Raises DistError where it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError as e:
        raise DistError(f"Ray is not there: {e}; pip install 'tracejit[ray]'") from None


class Mailboxes:
    """The actor: what has been sent and not been taken, and who has come and gone."""

    def __init__(self, size: int) -> None:
        self._waiting: dict[tuple[int, int, str], deque[Any]] = {}
        self._changed = asyncio.Condition()
        self._lost: set[int] = set()
        #: By process: what it has not been told of others.
        self._news: list[deque[int]] = [deque() for _ in range(size)]

    async def put(self, to: int, source: int, key: str, message: Any) -> None:
        """A message from one process to another."""
        async with self._changed:
            self._waiting.setdefault((to, source, key), deque()).append(message)
            self._changed.notify_all()

    async def take(self, to: int, source: int, key: str, timeout: float | None) -> Any:
        """The next message with a key, or why there is none: "lost", "late"."""
        place = to, source, key

        def there() -> bool:
            return bool(self._waiting.get(place)) or source in self._lost

        if not await self._until(there, timeout):
            return "late"
        found = self._waiting.get(place)
        return found.popleft() if found else "lost"

    async def take_any(self, to: int, key: str, timeout: float | None) -> Any:
        """The next message with a key from any process, with that; or who has come or gone."""

        def sources() -> list[int]:
            return [
                s for (t, s, k), found in self._waiting.items() if found and (t, k) == (to, key)
            ]

        if not await self._until(lambda: bool(sources() or self._news[to]), timeout):
            return "late"
        ready = sources()
        if ready:
            return ready[0], self._waiting[to, ready[0], key].popleft()
        return self._news[to].popleft(), None

    async def _until(self, there: Any, timeout: float | None) -> bool:
        async with self._changed:
            try:
                await asyncio.wait_for(self._changed.wait_for(there), timeout)
            except TimeoutError:
                return False
        return True

    async def set_lost(self, rank: int, lost: bool) -> None:
        """A process has gone, or another has come in its place."""
        async with self._changed:
            (self._lost.add if lost else self._lost.discard)(rank)
            if not lost:
                for place in [p for p in self._waiting if p[1] == rank]:
                    del self._waiting[place]
            for other, news in enumerate(self._news):
                if other != rank:
                    news.append(rank)
            self._changed.notify_all()

    async def lost(self) -> list[int]:
        """The processes that have gone."""
        return sorted(self._lost)


class RayLink:
    """One process among `size` that use the mailboxes of a namespace."""

    def __init__(self, rank: int, size: int, namespace: str) -> None:
        self.rank, self.size = rank, size
        self._ray = import_ray()
        if not self._ray.is_initialized():
            self._ray.init(address="auto", namespace=namespace, log_to_driver=False)
        self._box = self._ray.get_actor(BOX, namespace)

    def send(self, to: int, key: str, value: Any) -> None:
        """Send a message."""
        if not 0 <= to < self.size:
            raise ValueError(f"there is no process {to} among {self.size}")
        text, arrays = pack(value)
        self._box.put.remote(to, self.rank, key, (text, [np.array(a) for a in arrays]))

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        """The next message with a key. Raises PeerLost, TimeoutError."""
        found = self._ray.get(self._box.take.remote(self.rank, source, key, timeout))
        if found == "lost":
            raise PeerLost(source)
        if found == "late":
            raise TimeoutError(f"no {key!r} from process {source} in {timeout} s")
        return _read(found)

    def receive_any(self, key: str, timeout: float | None = None) -> tuple[int, Any]:
        """The next message with a key from any process; None where one has come or gone."""
        found = self._ray.get(self._box.take_any.remote(self.rank, key, timeout))
        if found == "late":
            raise TimeoutError(f"no {key!r} in {timeout} s")
        source, message = found
        return source, None if message is None else _read(message)

    def lost(self) -> Iterable[int]:
        """The processes that have ended."""
        found: list[int] = self._ray.get(self._box.lost.remote())
        return found

    def close(self) -> None:
        """Ray ends with the process."""


def _read(message: Any) -> Any:
    text, arrays = message
    return unpack(
        text,
        lambda k, dtype, shape: np.array(arrays[k]).reshape(-1).view(dtype).reshape(shape),
    )

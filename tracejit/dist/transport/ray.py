"""Links by Ray: messages go through an actor that keeps a mailbox for each process.

Needs the package ray: `pip install 'tracejit[ray]'`. Ray moves the messages, by its own pickles.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.dist.transport.link import DistError, PeerLost
from tracejit.dist.transport.wire import pack, unpack

__all__ = ["BOX", "Mailboxes", "RayLink", "import_ray"]

#: The name of the actor.
BOX = "tracejit mailboxes"


def import_ray() -> Any:
    """The package. Raises DistError where it is not installed."""
    try:
        return imported("ray")
    except ImportError as e:
        raise DistError(f"Ray is not there: {e}; pip install 'tracejit[ray]'") from None


class Mailboxes:
    """The actor: what has been sent and not been taken, and who has come and gone."""

    def __init__(self, size: int) -> None:
        self._waiting: dict[tuple[int, int, str], deque[Any]] = {}
        self._changed = asyncio.Condition()
        self._lost: set[int] = set()
        #: By process: how many have been lost before it, in whose place it is. Those may be cut
        #: off, and not know that they are lost: they get and give nothing any more.
        self._lives = [0] * size
        #: By process: the machine it runs on, as Ray calls it.
        self._places: dict[int, str] = {}
        #: By process: what it has not been told of others.
        self._news: list[deque[int]] = [deque() for _ in range(size)]

    async def put(self, to: int, source: int, life: int, key: str, message: Any) -> None:
        """A message from one process to another."""
        async with self._changed:
            if life != self._lives[source]:
                return
            self._waiting.setdefault((to, source, key), deque()).append(message)
            self._changed.notify_all()

    async def take(self, to: int, life: int, source: int, key: str, timeout: float | None) -> Any:
        """The next message with a key, or why there is none: "lost", "late", "gone"."""
        place = to, source, key

        def there() -> bool:
            gone = life != self._lives[to]
            return gone or bool(self._waiting.get(place)) or source in self._lost

        if not await self._until(there, timeout):
            return "late"
        if life != self._lives[to]:
            return "gone"
        found = self._waiting.get(place)
        return found.popleft() if found else "lost"

    async def take_any(self, to: int, life: int, key: str, timeout: float | None) -> Any:
        """The next message with a key from any process, with that; or who has come or gone."""

        def sources() -> list[int]:
            return [
                s for (t, s, k), found in self._waiting.items() if found and (t, k) == (to, key)
            ]

        def there() -> bool:
            return life != self._lives[to] or bool(sources() or self._news[to])

        if not await self._until(there, timeout):
            return "late"
        if life != self._lives[to]:
            return "gone"
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
            self._lives[rank] += lost
            self._places.pop(rank, None)
            if not lost:
                for place in [p for p in self._waiting if p[1] == rank]:
                    del self._waiting[place]
            for other, news in enumerate(self._news):
                if other != rank:
                    news.append(rank)
            self._changed.notify_all()

    async def runs_on(self, rank: int, node: str) -> None:
        """A process is about to run on a machine."""
        self._places[rank] = node

    async def places(self) -> dict[int, str]:
        """The machines of processes that have said where they are."""
        return self._places

    async def lost(self) -> list[int]:
        """The processes that have gone."""
        return sorted(self._lost)


class RayLink:
    """One process among `size` that use the mailboxes of a namespace; `life` processes of its
    number have been lost before it.
    """

    def __init__(self, rank: int, size: int, namespace: str, life: int = 0) -> None:
        self.rank, self.size, self._life = rank, size, life
        self._ray = import_ray()
        if not self._ray.is_initialized():
            self._ray.init(address="auto", namespace=namespace, log_to_driver=False)
        self._box = self._ray.get_actor(BOX, namespace)

    def send(self, to: int, key: str, value: Any) -> None:
        """Send a message."""
        if not 0 <= to < self.size:
            raise ValueError(f"there is no process {to} among {self.size}")
        text, arrays = pack(value)
        self._box.put.remote(to, self.rank, self._life, key, (text, [np.array(a) for a in arrays]))

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        """The next message with a key. Raises PeerLost, TimeoutError."""
        found = self._asked("take", source, key, timeout)
        if found == "lost":
            raise PeerLost(source)
        if found == "late":
            raise TimeoutError(f"no {key!r} from process {source} in {timeout} s")
        return _read(found)

    def receive_any(self, key: str, timeout: float | None = None) -> tuple[int, Any]:
        """The next message with a key from any process; None where one has come or gone."""
        found = self._asked("take_any", key, timeout)
        if found == "late":
            raise TimeoutError(f"no {key!r} in {timeout} s")
        source, message = found
        return source, None if message is None else _read(message)

    def _asked(self, method: str, *args: Any) -> Any:
        """What the mailboxes give this process. Raises DistError where another is in its place."""
        call = getattr(self._box, method)
        found = self._ray.get(call.remote(self.rank, self._life, *args))
        if found == "gone":
            raise DistError(f"another process has taken the place of process {self.rank}")
        return found

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

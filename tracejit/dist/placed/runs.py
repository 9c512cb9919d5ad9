"""One run of a program that is cut: where its parts meet, and how it ends on all devices.

All messages of a run have its key. What two devices send each other is told apart by the edge.
Where a part cannot go on, it tells all others, whom nothing else would wake.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.dist.transport.link import DistError, Link
from tracejit.errors import Bailout
from tracejit.ops.host.transfer import meeting
from tracejit.runtime.compile.graph_call import CompiledGraph

__all__ = ["LinkMeeting", "RunLeft", "run_part"]

_DONE, _LEFT = "done", "left"


class RunLeft(Exception):
    """Another part of the run has not been able to go on."""


class LinkMeeting:
    """The ends of a link as a rendezvous; `ranks` are those of the devices."""

    def __init__(self, link: Link, run: int, ranks: Mapping[str, int]) -> None:
        self.run, self._link, self._key, self._ranks = run, link, f"r{run}", ranks
        self._early: dict[tuple[str, str], deque[Any]] = {}
        #: What has ended a receive, which native code does not raise itself.
        self.error: BaseException | None = None

    def send(self, key: str, to: str, value: Any) -> None:
        """Send a value. Raises PeerLost."""
        try:
            self._link.send(self._ranks[to], self._key, [key, value])
        except BaseException as e:
            self.error = self.error or e
            raise

    def receive(self, key: str, source: str) -> Any:
        """The next value of an edge. Raises RunLeft, PeerLost."""
        try:
            return self._receive(key, source)
        except BaseException as e:
            self.error = self.error or e
            raise

    def _receive(self, key: str, source: str) -> Any:
        waiting = self._early.get((source, key))
        if waiting:
            return waiting.popleft()
        while True:
            found, value = self._link.receive(self._ranks[source], self._key)
            if found == key:
                return value
            if found == _LEFT:
                raise RunLeft(value)
            self._early.setdefault((source, found), deque()).append(value)

    def done(self, to: str) -> None:
        """This part has ended well."""
        self._link.send(self._ranks[to], self._key, [_DONE, None])

    def wait(self, source: str) -> None:
        """Until another part has ended well. Raises RunLeft, PeerLost."""
        self.receive(_DONE, source)

    def leave(self, why: str) -> None:
        """Tell all others that this part cannot go on."""
        for rank in self._ranks.values():
            if rank != self._link.rank:
                try:
                    self._link.send(rank, self._key, [_LEFT, why])
                except DistError:
                    continue


def run_part(program: CompiledGraph, inputs: Sequence[Any], meet: LinkMeeting) -> tuple[Any, ...]:
    """The outputs of this device's part.

    Raises Bailout where the call is to be repeated eagerly, PeerLost where a device is lost; the
    other devices are told.
    """
    try:
        with meeting(meet):
            return program(inputs)
    except Bailout as e:
        meet.leave(str(e))
        if isinstance(meet.error, (DistError, KeyboardInterrupt)):
            raise meet.error from None
        raise
    except BaseException as e:
        meet.leave(f"{type(e).__name__}: {e}")
        raise

"""What processes that work together have of each other: numbered ends that messages go between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

__all__ = ["DistError", "Elastic", "Link", "PeerLost", "TrainingOver"]


class DistError(RuntimeError):
    """Processes cannot work together: they do not find, understand or reach each other."""


class TrainingOver(DistError):
    """What this process would take part in has ended."""


class PeerLost(DistError):
    """The process `rank` has ended, or cannot be reached any more."""

    def __init__(self, rank: int, detail: str = "") -> None:
        super().__init__(f"process {rank} is lost" + (f": {detail}" if detail else ""))
        self.rank = rank


class Link(Protocol):
    """One process among `size`: `rank` is its number.

    A message is None, a bool, int, float, complex, str or bytes, a NumPy array or scalar, or a
    list, tuple or dict with str keys of such. Messages of one sender with one key arrive in their
    order.
    """

    rank: int
    size: int

    def send(self, to: int, key: str, value: Any) -> None:
        """Send a message; on return `value` may change. Raises PeerLost."""

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        """The next message with a key; its arrays are the caller's own.

        Raises PeerLost where it cannot come any more, TimeoutError after `timeout` seconds.
        """

    def close(self) -> None:
        """End this end; the others lose it."""


@runtime_checkable
class Elastic(Link, Protocol):
    """A link whose processes may come and go."""

    def receive_any(self, key: str, timeout: float | None = None) -> tuple[int, Any]:
        """The next message with a key from any process, and which one that is.

        Where one has come or gone since the last call, its number, and None as the message: whether
        it is there, `lost` says. Raises TimeoutError.
        """

    def lost(self) -> Iterable[int]:
        """The processes that have ended."""

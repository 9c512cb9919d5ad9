"""Signs of life: a process that is there and gives none, as one that is stopped, counts as failed.

Nobody hears that from its sockets: they stay open, and what is sent to it waits. So each process
counts up a number that its launcher reads, and the launcher kills one whose number stands still:
then its sockets are closed, and it has ended for all others, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from tracejit.dist.board import Board

__all__ = ["EACH", "SILENCE", "Watch", "give_signs"]

#: Seconds between two signs, and without one until a process counts as failed.
EACH, SILENCE = 0.5, 60.0


def give_signs(board: Board, rank: int) -> None:
    """Give signs of life as long as this process runs, by a thread."""

    def run() -> None:
        while True:
            board.beat(rank)
            time.sleep(EACH)

    threading.Thread(target=run, name="tracejit pulse", daemon=True).start()


class Watch:
    """Who looks for the signs of all processes; one is watched from its first sign on."""

    def __init__(self, board: Board, limit: float) -> None:
        self._board, self.limit = board, limit
        #: By process: how many signs there were, and the seconds since the last one, None before
        #: the first.
        self._seen: dict[int, tuple[float, float | None]] = {}
        self._last = time.monotonic()

    def begin(self, rank: int) -> None:
        """Another process has this number now."""
        self._seen[rank] = self._board.beats(rank), None

    def silent(self, ranks: Sequence[int]) -> list[int]:
        """Those of these processes that have given no sign for longer than the limit.

        A long time between two looks counts as two signs: where this process itself was stopped,
        the others may have been, too.
        """
        now = time.monotonic()
        passed, self._last = min(now - self._last, 2 * EACH), now
        for rank in ranks:
            number, seconds = self._seen[rank]
            beats = self._board.beats(rank)
            if beats != number:
                self._seen[rank] = beats, 0.0
            elif seconds is not None:
                self._seen[rank] = number, seconds + passed
        return [rank for rank in ranks if (self._seen[rank][1] or 0.0) > self.limit]

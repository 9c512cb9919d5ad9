"""Which rows of an array have changed since a version, so that these alone need be sent."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

__all__ = ["Changes"]


class Changes:
    """The rows that each step has changed, of an array of `length` rows.

    It knows of the last steps, of as many rows together as the array has: to send more than those
    costs no less than to send all.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        #: Steps above this version are known: their versions and rows; how many rows these are.
        self._after = 0
        self._steps: deque[tuple[int, Any]] = deque()
        self._count = 0

    def add(self, version: int, rows: Any) -> None:
        """The step to a version has changed rows, where a row may come twice; None: any of them."""
        if rows is None:
            self._after = version
            self._steps.clear()
            self._count = 0
            return
        self._steps.append((version, rows))
        self._count += len(rows)
        while self._count > self.length:
            self._after, dropped = self._steps.popleft()
            self._count -= len(dropped)

    def since(self, version: int) -> Any:
        """The rows that may differ from those of a version, each once, in rising order; all of them
        where that is not known, as for a version below 0.
        """
        if version < self._after:
            return np.arange(self.length)
        found = [np.zeros(0, np.int64)]
        for step, rows in reversed(self._steps):
            if step <= version:
                break
            found.append(rows)
        return np.unique(np.concatenate(found))

"""Bounded queues between threads, as TensorFlow's: first in first out, shuffling, by priority.

Calls that have to wait are served in the order in which they came, puts and gets each, also those
of many items: none is starved.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import numbers
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["Closed", "PriorityQueue", "Queue", "ShuffleQueue"]


class Closed(Exception):
    """The queue is closed: nothing can be put, or there is nothing left to get."""


class Queue:
    """First in, first out; at most `capacity` items, which are any objects.

    A full queue blocks who puts, an empty one who gets. Calls with `timeout`, in seconds, raise
    TimeoutError when it has passed; None waits for ever. May be used from any number of threads.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = operator.index(capacity)
        if self.capacity < 1:
            raise ValueError(f"a queue holds at least one item, not {capacity}")
        self._lock = threading.Lock()
        #: Who waits, in the order in which they came; only the first may act.
        self._puts: deque[threading.Condition] = deque()
        self._gets: deque[threading.Condition] = deque()
        self._closed = self._cancelled = False
        self._items: Any = deque()

    def put(self, item: Any, timeout: float | None = None) -> None:
        """Add an item, when there is room. Raises Closed."""
        self.put_many([item], timeout)

    def put_many(self, items: Iterable[Any], timeout: float | None = None) -> None:
        """Add items one after the other, as there is room; none of another call comes in between.

        Raises Closed. Where it raises, those that had found room stay in the queue.
        """
        left = deque(map(self._checked, items))
        until = _until(timeout)
        with self._lock:
            if self._closed:
                raise Closed("the queue is closed")
            with self._in_line(self._puts, until) as wait_for:
                while left:
                    wait_for(lambda: self._cancelled or len(self._items) < self.capacity)
                    if self._cancelled:
                        raise Closed(f"the queue was closed; {len(left)} items had to wait")
                    while left and len(self._items) < self.capacity:
                        self._add(left.popleft())
                    self._wake()

    def get(self, timeout: float | None = None) -> Any:
        """Take an item out, when there is one. Raises Closed where there will be none."""
        return self._get(1, 1, timeout)[0]

    def get_many(self, n: int, timeout: float | None = None) -> list[Any]:
        """Take n items out, when there are as many. Raises Closed where there will not be.

        Raises ValueError where n is more than the queue ever has to give. Where it raises, none has
        been taken.
        """
        return self._get(n, n, timeout)

    def get_up_to(self, n: int, timeout: float | None = None) -> list[Any]:
        """As `get_many`, but from a closed queue the last items, at least one, if they are less."""
        return self._get(n, 1, timeout)

    def close(self, cancel_pending: bool = False) -> None:
        """Let nothing more be put. What is in the queue can still be got.

        Puts that are waiting go on to wait for room, or fail at once with `cancel_pending`.
        """
        with self._lock:
            self._closed = True
            self._cancelled = self._cancelled or cancel_pending
            self._wake()

    @property
    def closed(self) -> bool:
        """Whether `close` has been called. There may be items left."""
        return self._closed

    def __len__(self) -> int:
        """The number of items in it."""
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        """Items as `get` gives them, until the queue is closed and empty."""
        while True:
            try:
                item = self.get()
            except Closed:
                return
            yield item

    def _get(self, n: int, least: int, timeout: float | None) -> list[Any]:
        if n < 1:
            raise ValueError(f"at least one item is got, not {n}")
        with self._lock:
            if n > self.capacity - self._kept() and not self._closed:
                raise ValueError(f"the queue never has {n} items to give")
            with self._in_line(self._gets, _until(timeout)) as wait_for:
                wait_for(lambda: self._at_hand() >= n or (self._closed and not self._puts))
                n = min(n, self._at_hand())
                if n < least:
                    raise Closed(f"the queue is closed, and {n} items are left")
                return [self._remove() for _ in range(n)]

    @contextlib.contextmanager
    def _in_line(self, line: deque[threading.Condition], until: float) -> Iterator[Any]:
        """Line up. What it gives waits for the turn, and for something to be so."""
        turn = threading.Condition(self._lock)

        def wait_for(ready: Callable[[], bool]) -> None:
            while line[0] is not turn or not ready():
                left = None if until == math.inf else until - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"{len(self._items)} items in a queue of {self.capacity}")
                turn.wait(left)

        line.append(turn)
        try:
            yield wait_for
        finally:
            line.remove(turn)
            self._wake()

    def _at_hand(self) -> int:
        return len(self._items) - self._kept()

    def _wake(self) -> None:
        for line in (self._puts, self._gets):
            if line:
                line[0].notify()

    def _checked(self, item: Any) -> Any:
        """An item as it is given. Raises TypeError for one that the queue cannot hold."""
        return item

    def _kept(self) -> int:
        """So many items have to stay."""
        return 0

    def _add(self, item: Any) -> None:
        self._items.append(item)

    def _remove(self) -> Any:
        return self._items.popleft()


class ShuffleQueue(Queue):
    """Gives its items in random order.

    While it is open, `min_after_get` items stay behind a get, for the order to be random. `seed` is
    a NumPy generator or what `numpy.random.default_rng` takes.
    """

    def __init__(self, capacity: int, min_after_get: int = 0, seed: Any = None) -> None:
        super().__init__(capacity)
        if not 0 <= min_after_get < self.capacity:
            raise ValueError(f"min_after_get is from 0 to {self.capacity - 1}, not {min_after_get}")
        self.min_after_get = min_after_get
        self._rng = np.random.default_rng(seed)
        self._items = []

    def _kept(self) -> int:
        return 0 if self._closed else self.min_after_get

    def _remove(self) -> Any:
        place = int(self._rng.integers(len(self._items)))
        self._items[place], self._items[-1] = self._items[-1], self._items[place]
        return self._items.pop()


class PriorityQueue(Queue):
    """Gives the item of the lowest priority first, of equal ones the one that came first.

    Items are tuples, whose first entry is the priority.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._items = []
        self._count = itertools.count()

    def _checked(self, item: Any) -> Any:
        if not isinstance(item, tuple) or not item or not isinstance(item[0], numbers.Real):
            raise TypeError("an item of a PriorityQueue is a tuple that begins with its priority")
        if math.isnan(item[0]):
            raise ValueError("nan is no priority")
        return item

    def _add(self, item: Any) -> None:
        heapq.heappush(self._items, (item[0], next(self._count), item))

    def _remove(self) -> Any:
        return heapq.heappop(self._items)[2]


def _until(timeout: float | None) -> float:
    return math.inf if timeout is None else time.monotonic() + timeout

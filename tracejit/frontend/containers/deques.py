"""Deques as two lists that grow outwards from the middle; their methods are traced.

deque = reversed(front[front_start:]) + back[back_start:]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.containers.grown_lists import holds_or_raises
from tracejit.frontend.containers.traced import direct, traced
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import user_line

__all__ = ["DEQUE_CALLS", "TracedDeque", "make_deque"]

#: Up to so many elements that have left a list stay in its memory, however few are left.
_LEFT = 16


class TracedDeque(StandIn):
    """A deque that the program has made."""

    stands_for = deque

    def __init__(self, interpreter: Interpreter, maxlen: Any) -> None:
        self.home = lambda: interpreter
        self.front: Any = interpreter.allocate([])
        self.back: Any = interpreter.allocate([])
        self.front_start: Any = 0
        self.back_start: Any = 0
        self.maxlen = maxlen

    def iterated(self) -> Any:
        return _DequeItems(self)

    def listed(self) -> Any:
        return self.interpreter.call(list, self)

    def result(self) -> Any:
        return _deque_of, (self.front, self.front_start, self.back, self.back_start, self.maxlen)

    @traced
    def __len__(self) -> Any:
        return len(self.front) - self.front_start + len(self.back) - self.back_start

    @traced
    def append(self, x: Any) -> None:
        if self.maxlen is not None and len(self) >= self.maxlen:
            if self.maxlen == 0:
                return
            self.popleft()
        self.back.append(x)

    @traced
    def appendleft(self, x: Any) -> None:
        if self.maxlen is not None and len(self) >= self.maxlen:
            if self.maxlen == 0:
                return
            self.pop()
        self.front.append(x)

    @traced
    def popleft(self) -> Any:
        if len(self.front) > self.front_start:
            return self.front.pop()
        holds_or_raises(len(self.back) > self.back_start, "pop from an empty deque")
        x = self.back[self.back_start]
        self.back_start += 1
        if self.back_start > _LEFT and 2 * self.back_start > len(self.back):
            del self.back[: self.back_start]
            self.back_start = 0
        return x

    @traced
    def pop(self) -> Any:
        if len(self.back) > self.back_start:
            return self.back.pop()
        holds_or_raises(len(self.front) > self.front_start, "pop from an empty deque")
        x = self.front[self.front_start]
        self.front_start += 1
        if self.front_start > _LEFT and 2 * self.front_start > len(self.front):
            del self.front[: self.front_start]
            self.front_start = 0
        return x

    @traced
    def extend(self, values: Any) -> None:
        for x in values:
            self.append(x)

    @traced
    def extendleft(self, values: Any) -> None:
        for x in values:
            self.appendleft(x)

    @traced
    def clear(self) -> None:
        self.front.clear()
        self.back.clear()
        self.front_start = 0
        self.back_start = 0

    @traced
    def copy(self: Any) -> Any:
        return deque(self, self.maxlen)

    @traced
    def rotate(self, n: Any = 1) -> None:
        if len(self) > 1:
            _turn(self)
            for _ in range(n % len(self)):
                self.appendleft(self.pop())

    @traced
    def count(self: Any, x: Any) -> Any:
        return sum((v,) == (x,) for v in self)

    @traced
    def __contains__(self: Any, x: Any) -> Any:
        for v in self:
            if (v,) == (x,):
                return True
        return False

    @traced
    def __getitem__(self, k: Any) -> Any:
        if k < 0:
            k += len(self)
        holds_or_raises(k >= 0, "deque index out of range")
        holds_or_raises(k < len(self), "deque index out of range")
        return self.at(k)

    @traced
    def __setitem__(self, k: Any, x: Any) -> None:
        if k < 0:
            k += len(self)
        holds_or_raises(k >= 0, "deque index out of range")
        holds_or_raises(k < len(self), "deque index out of range")
        before = len(self.front) - self.front_start
        if len(self.front) > 0 and k < before:
            self.front[len(self.front) - 1 - k] = x
        else:
            self.back[self.back_start + k - before] = x

    @traced
    def at(self, k: Any) -> Any:
        """The element number `k`, of which there is one."""
        before = len(self.front) - self.front_start
        if len(self.front) > 0 and k < before:
            return self.front[len(self.front) - 1 - k]
        return self.back[self.back_start + k - before]


@direct
def _turn(x: TracedDeque) -> None:
    """Note a change, even where the elements come to stand as before."""
    x.interpreter.will_remove(x.back)


class _DequeItems(Items):
    once = False

    def __init__(self, x: TracedDeque) -> None:
        self.deque, self.interpreter = x, x.interpreter
        self.length = self._size()
        self.seen = self._state()

    def _size(self) -> Any:
        return self.interpreter.call(self.deque.attribute("__len__"))

    def _state(self) -> tuple[Any, ...]:
        """What changes with any append and pop."""
        x = self.deque
        lists = x.front, x.back
        sizes = (self.interpreter.call(len, v) for v in lists)
        removals = (self.interpreter.removals.get(id(v), 0) for v in lists)
        return *sizes, *removals, x.front_start, x.back_start

    def item(self, k: Any) -> Any:
        self.seen = self._state()
        return self.interpreter.call(self.deque.attribute("at"), k)

    def check(self) -> None:
        if any(a is not b and a != b for a, b in zip(self.seen, self._state(), strict=True)):
            raise TraceError("TJ029", "a deque that changes in a loop over it", user_line())


def make_deque(interpreter: Interpreter, iterable: Any = (), maxlen: Any = None) -> Any:
    """`deque(iterable, maxlen)`."""
    if maxlen is not None and type(maxlen) is not int:
        raise TraceError("TJ001", "the greatest length of a deque", user_line())
    if maxlen is not None and maxlen < 0:
        raise ValueError("maxlen must be non-negative")
    new = interpreter.allocate(TracedDeque(interpreter, maxlen))
    interpreter.call(new.attribute("extend"), iterable)
    return new


def _deque_of(front: Any, front_start: Any, back: Any, back_start: Any, maxlen: Any) -> Any:
    return deque([*reversed(front[front_start:]), *back[back_start:]], maxlen)


#: Class -> what a call of it does.
DEQUE_CALLS: dict[Any, Callable[..., Any]] = {deque: make_deque}

"""When parts are worth a compile: what their runs take, and what compiles may take"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tracejit.base.deadlines import limited

__all__ = ["Allowance", "Effort", "Spent", "compiled_for", "now"]

#: Seconds that all compiles of the parts of one function may take.
_EFFORT = 1.0
#: Seconds of plain runs after which a part is compiled; for one inside a part that may be compiled
#: itself, so many times as long.
_WORTH, _NESTED = 0.005, 4
#: A run shorter than this gains nothing, once so many of them were seen.
_SHORT, _SEEN = 5e-6, 64
#: Calls that compiled code has not answered, before it is asked whether it answers any; what such
#: a call costs.
_MISSES, _MISS = 16, 200e-6
#: Runs of compiled code that are compared with plain ones, and how long they may take beside them.
_TRIALS, _GAIN = 12, 0.9
#: Compiles of a function that do not count, where they end well.
_FREE = 16
#: Seconds of compiling for a second of plain runs, from a part's second compile on; the same when
#: all that compiles may take is spent, and what the first compile of a part is taken to need.
_RATE, _PAID, _FIRST = 15, 1, 0.1


class _Compiling(threading.local):
    """Seconds that this thread has compiled parts."""

    seconds = 0.0


_COMPILING = _Compiling()


def now() -> float:
    """Seconds that this thread has run, without those of compiles."""
    return time.thread_time() - _COMPILING.seconds


def compiled_for(seconds: float) -> None:
    """This thread has compiled a part."""
    _COMPILING.seconds += seconds


class Effort:
    """What may be spent on the parts of one function: what is left by compiles of the whole."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance, self.spent = allowance, 0.0

    def left(self, spent: Spent) -> float:
        """Seconds that one more compile of a part may take, as far as that can be kept."""
        free = _EFFORT - self._allowance.lost - self.spent
        return max(free, _PAID * spent.seconds - spent.compiling)

    def is_left(self, spent: Spent) -> bool:
        """Whether it is enough for one more compile of a part."""
        return self.left(spent) > (spent.last / 2 or _FIRST)


class Allowance:
    """CPU seconds that compiles of one function may take before plain runs have to pay for them.

    What counts are compiles that fail, those after the first few kinds of calls, and those of calls
    that the function makes of itself while it runs plainly: a search may come in countless kinds.
    """

    def __init__(self) -> None:
        self._compiles, self._counted, self._plain, self._is_running = 0, 0.0, 0.0, False
        self._last = self._in_vain = 0.0
        #: Seconds of compiles that have failed, or have made code of no use.
        self.lost = 0.0

    def is_left(self, is_inside: Callable[[], bool] = bool) -> bool:
        """Whether another kind of call may be compiled now; `is_inside` asks for plain runs.

        Inside of one, a compile is taken to last as long as the one before.
        """
        left = self._left()
        return left - self._in_vain >= self._last or left >= 0 and not is_inside()

    def _left(self) -> float:
        return max(_EFFORT, _RATE * self._plain) - self._counted

    @contextmanager
    def compiling(self, is_inside: bool) -> Iterator[list[bool]]:
        """Counts the block as a compile, `is_inside` a plain run of the function or not.

        The block appends to the list where it has ended well.
        """
        start, ended = time.thread_time(), list[bool]()
        try:
            with limited(self._left() if is_inside else math.inf):
                yield ended
        finally:
            self._last = time.thread_time() - start
            self._compiles += 1
            if not ended or is_inside or self._compiles > _FREE:
                self._counted += self._last
            if not ended:
                self.lost += self._last

    def left_at_once(self) -> None:
        """The first run of the only code that there is has been left.

        Compiles inside plain runs, and those of parts, have that much less.
        """
        self._in_vain += self._last
        self.lost += self._last

    def run(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Runs a call plainly, which pays for later compiles where these have taken too long."""
        if self._is_running or self.is_left():
            return f(*args, **kwargs)
        self._is_running, start = True, now()
        try:
            return f(*args, **kwargs)
        finally:
            self._plain += now() - start
            self._is_running = False


class Spent:
    """What the runs of one part have taken: plain, compiled and compiling."""

    def __init__(self) -> None:
        self.runs, self.seconds = 0, 0.0
        #: Of its compiles, and of the last one.
        self.compiling = self.last = 0.0
        self._tried, self._trying = 0, 0.0
        self._missed, self._since = 0, 0.0

    def add(self, seconds: float) -> None:
        """One more plain run."""
        self.runs += 1
        self.seconds += seconds

    def add_compile(self, seconds: float) -> None:
        """One more compile: what there is now is to be compared with plain runs."""
        self.compiling += seconds
        self.last = seconds
        self._tried, self._trying = 0, 0.0

    def is_much(self, depth: int) -> bool:
        """Whether a compile is worth it, inside `depth` parts that may be compiled as a whole."""
        return self.seconds >= _WORTH * _NESTED**depth and not self._is_short()

    def is_little(self) -> bool:
        """Whether it is known that a compile is not worth it."""
        return self.runs >= _SEEN and self._is_short()

    def _is_short(self) -> bool:
        return self.seconds < self.runs * _SHORT

    def is_due(self) -> bool:
        """Whether plain runs have taken long enough for one more compile."""
        return self.compiling <= _RATE * self.seconds

    def has_gained(self, seconds: float) -> bool | None:
        """One more compiled run; whether such are quicker than plain ones, once that is known."""
        self._tried += 1
        self._trying += seconds
        if self._tried < _TRIALS:
            return None
        return self._trying / self._tried < _GAIN * self.seconds / self.runs

    def misses(self) -> bool:
        """One call that compiled code has not answered; whether most calls are such."""
        if not self._missed % _MISSES:
            self._missed, self._since = 0, now()
        self._missed += 1
        if self._missed < _MISSES or not self.runs:
            return False
        usual = self.seconds / self.runs + _MISS
        return now() - self._since < 2 * _MISSES * usual

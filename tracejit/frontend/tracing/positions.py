"""What stands for an iterator in a trace: an object that holds nothing but a position."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.trace import user_line

__all__ = ["LEFT", "Position"]


class _Left:
    def __repr__(self) -> str:
        return "left where the run says"


#: The position of an iterator that a loop has left where the run says, or is in the middle of.
LEFT = _Left()


class Position:
    """An iterator. `draw(k)` gives item number k, or raises StopIteration."""

    #: The position of an iterator that has ended.
    ENDED = -1
    #: Whether an iterator that has ended is not asked again.
    stays_ended = True

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        self.position: Any = 0
        #: Where it stands when it has ended.
        self.ended: Any = self.ENDED

    def draw(self, k: int) -> Any:
        """Item number `k`, the next one. Raises StopIteration where there is none."""
        raise NotImplementedError

    def remaining(self) -> Any:
        """The items that are left, by number; None where they are drawn one by one."""
        return None

    def put(self, position: Any) -> None:
        """Stands at another position from now on."""
        self.interpreter.require_mutable(self)
        self.position = position

    def __iter__(self) -> Position:
        return self

    def __next__(self) -> Any:
        k = self.position
        if type(k) is not int:
            raise TraceError("TJ029", "an iterator that was left where the run says", user_line())
        if k == self.ENDED:
            raise StopIteration
        self.interpreter.drawing += 1
        try:
            found = self.draw(k)
        except StopIteration:
            if self.stays_ended:
                self.put(self.ended)
            raise
        finally:
            self.interpreter.drawing -= 1
        self.put(k + 1)
        return found

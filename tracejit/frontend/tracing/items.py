"""What a loop runs over, by number."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import Tracer

__all__ = ["Items", "is_range_or_view"]


class Items:
    """`length` items (an int, a size or a traced int); `item(k)` is the one of number k."""

    length: Any
    #: Whether it is used up by one loop, as Python's iterators are.
    once = True
    used = False

    def item(self, k: Any) -> Any:
        """The item of a number that is in range."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise TraceError where the program has changed how many items there are, since the last
        one was asked for.
        """

    def taken(self) -> Items:
        """The items, for a loop over them. Raises TraceError for an iterator that is used up."""
        if self.used:
            raise TraceError("TJ008", "an iterator that is used twice", user_line())
        self.used = self.once
        self.check()
        return self

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.length, Tracer):
            raise TraceError("TJ001", "the number of iterations", user_line())
        return _walked(self.taken())


def _walked(items: Items) -> Iterator[Any]:
    for k in range(operator.index(items.length)):
        items.check()
        yield items.item(k)
    items.check()


def is_range_or_view(x: Any) -> bool:
    """Whether `x` stands for what has a length, and is equal to what has the same in it."""
    return isinstance(x, Items) and not x.once

"""What control flow means where the values that decide are known: the hooks of compound statements.

A block is a function that returns its outcome: None where control runs off its end, BREAK,
CONTINUE, or a Returned. `rest` is the block of the statements that follow; its outcome is that of
the compound statement together with them. The loops call nothing recursively.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Jump", "PlainFlow", "Returned"]

_Block = Callable[[], Any]


class Jump(enum.Enum):
    """Where a block's control goes, if not to its end."""

    BREAK = enum.auto()
    CONTINUE = enum.auto()


@dataclass(frozen=True, eq=False)
class Returned:
    """The outcome of a block that returns from the user's function."""

    value: Any


class PlainFlow:
    """Compound statements and conditions on values that Python can test."""

    BREAK = Jump.BREAK
    CONTINUE = Jump.CONTINUE
    returned = Returned
    truth: Callable[[Any], Any]
    iterate: Callable[[Any], Iterator[Any]]

    def function_result(self, outcome: Any) -> Any:
        """The value of a call of the user's function, from the outcome of its statements."""
        return outcome.value if isinstance(outcome, Returned) else None

    def if_(
        self,
        test: Any,
        then: _Block,
        orelse: _Block | None,
        rest: _Block | None,
        names: tuple[str, ...],
        info: tuple[Any, ...],
    ) -> Any:
        """`if test: then; else: orelse`, then `rest`."""
        return _continued(_run(then if self.truth(test) else orelse), rest)

    def while_(
        self,
        test: _Block,
        body: _Block,
        orelse: _Block | None,
        rest: _Block | None,
        names: tuple[str, ...],
        info: tuple[Any, ...],
    ) -> Any:
        """`while test: body; else: orelse`, then `rest`."""
        while self.truth(test()):
            outcome = body()
            if isinstance(outcome, Returned):
                return outcome
            if outcome is Jump.BREAK:
                return _run(rest)
        return _continued(_run(orelse), rest)

    def for_(
        self,
        items: Any,
        assign: Callable[[Any], None],
        body: _Block,
        orelse: _Block | None,
        rest: _Block | None,
        names: tuple[str, ...],
        info: tuple[Any, ...],
    ) -> Any:
        """`for <assign> in items: body; else: orelse`, then `rest`."""
        for item in self.iterate(items):
            assign(item)
            outcome = body()
            if isinstance(outcome, Returned):
                return outcome
            if outcome is Jump.BREAK:
                return _run(rest)
        return _continued(_run(orelse), rest)

    def assert_(self, test: Any, message: _Block | None) -> None:
        """`assert test, message`."""
        if not self.truth(test):
            raise AssertionError(*([] if message is None else [message()]))

    def raise_(self, error: Any, *cause: Any) -> None:
        """`raise error` or `raise error from cause`."""
        if cause:
            raise error from cause[0]
        raise error

    def ternary(self, test: Any, first: _Block, second: _Block) -> Any:
        """`first if test else second`."""
        return first() if self.truth(test) else second()

    def and_(self, x: Any, *later: _Block) -> Any:
        """`x and ...`."""
        for operand in later:
            if not self.truth(x):
                return x
            x = operand()
        return x

    def or_(self, x: Any, *later: _Block) -> Any:
        """`x or ...`."""
        for operand in later:
            if self.truth(x):
                return x
            x = operand()
        return x

    def not_(self, x: Any) -> bool:
        """`not x`."""
        return not self.truth(x)


def _run(block: _Block | None) -> Any:
    return None if block is None else block()


def _continued(outcome: Any, rest: _Block | None) -> Any:
    return _run(rest) if outcome is None else outcome

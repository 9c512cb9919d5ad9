"""Generators of the program: each `yield` runs the body of the loop that takes its items.

    for v in items(x): A        ->    the code of items, with A in place of each `yield v`

What leaves the loop from inside A leaves the generator's own loops as `Passed`. The names that A
binds belong to another function: the regions of the generator know them by `Names`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tracejit.errors import TraceError
from tracejit.frontend.control.branches import names_in, then_rest
from tracejit.frontend.control.exceptions import has_raised, is_raised
from tracejit.frontend.control.growth import outermost
from tracejit.frontend.control.regions import Names
from tracejit.frontend.control.unions import Returned
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.union import Union

__all__ = ["Generators"]


class Passed(NamedTuple):
    """An outcome of what takes a generator's items, on its way through the generator."""

    outcome: Any


class Generators:
    """The hooks of generators; part of the interpreter."""

    #: What takes the items of the generators that run, innermost last: gives an outcome.
    consumers: list[Callable[[Any], Any]]
    #: How many blocks of generators that wait end when an exception leaves the program.
    suspended: int

    def generator(self: Any, f: Any) -> Any:
        """`f`, a generator function that the program has just made."""
        self.local_generators[id(f)] = f
        return self.allocate(f)

    def yield_(
        self: Any, value: Any, rest: Callable[[], Any] | None, stored: Any, info: Any
    ) -> Any:
        """`yield value` and the statements after it; gives the outcome of both."""
        self.step()
        return then_rest(self, self._given(value), rest, names_in(rest))

    def yield_from(
        self: Any, items: Any, rest: Callable[[], Any] | None, stored: Any, info: Any
    ) -> Any:
        """`yield from items` and the statements after it; gives the outcome of both."""
        item: Any = None

        def assign(value: Any) -> None:
            nonlocal item
            item = value

        def body() -> Any:
            return self._given(item)

        outcome = self.for_(items, assign, body, None, None, ("item",), (0, (), ()))
        return then_rest(self, outcome, rest, names_in(rest))

    def _given(self: Any, value: Any) -> Any:
        consumer = self.consumers.pop()
        outside = here().root.takers.pop()
        try:
            return consumer(value)
        finally:
            self.consumers.append(consumer)
            here().root.takers.append(outside)

    def generated(self: Any, g: GeneratorCall, run: Callable[[Any], Any], names: Names) -> Any:
        """The outcome of `run(item)`, which binds `names`, for each item until one leaves."""
        tries, handling = len(self.tries), len(self.handling)

        def consume(value: Any) -> Any:
            # What is around in the generator is not around what takes its items.
            hidden = self.tries[tries:], self.handling[handling:]
            del self.tries[tries:], self.handling[handling:]
            self.suspended += len(hidden[0])
            try:
                outcome = run(value)
            finally:
                self.suspended -= len(hidden[0])
                self.tries += hidden[0]
                self.handling += hidden[1]
            if outcome is not None and hidden[0]:
                raise TraceError(
                    "TJ023", "a generator that is left inside try or with", user_line()
                )
            return _mapped(outcome, lambda o: None if o is None else Passed(o))

        return _mapped(self._run_generator(g, consume, names), _received)

    def within_generator(
        self: Any, g: GeneratorCall, run: Callable[[Any], Any], names: Names
    ) -> Any:
        """The outcome of `run(item)` for the one item of a context manager that is a generator."""
        ended: list[Any] = []
        place = here()

        def consume(value: Any) -> Any:
            if ended or here() is not place:
                raise TraceError("TJ023", "a context that yields under a condition", user_line())
            outcome = self.bounded(lambda: run(value), names)
            ended.append(_mapped(outcome, lambda o: None if is_raised(o) else o))
            # The generator goes on after any other end of the block.
            return _mapped(outcome, lambda o: o if is_raised(o) else None)

        outcome = _mapped(self._run_generator(g, consume, names), _received)
        if not ended:
            raise TraceError("TJ023", "a context that does not yield", user_line())
        if not has_raised(outcome):
            return ended[0]
        return then_rest(self, outcome, lambda: ended[0])

    def _run_generator(
        self: Any, g: GeneratorCall, consume: Callable[[Any], Any], names: Names
    ) -> Any:
        if g.is_started:
            raise TraceError("TJ023", "a generator that has been started", user_line())
        if outermost(self, g) is not None:
            raise TraceError("TJ023", "a generator that a loop takes items of again", user_line())
        g.is_started = True
        root = here().root
        self.consumers.append(consume)
        root.takers.append(names)
        try:
            return g.run()
        except StopIteration:
            raise TraceError("TJ023", "StopIteration in a generator", user_line()) from None
        finally:
            self.consumers.pop()
            root.takers.pop()

    def collected(self: Any, g: GeneratorCall) -> list[Any]:
        """All items of a generator. Raises TraceError where their number is traced."""
        items: list[Any] = []
        place = here()

        def take(value: Any) -> None:
            if here() is not place:
                raise TraceError("TJ017", "a generator's items are collected", user_line())
            items.append(value)

        outcome = self.generated(g, take, Names((), ()))
        self.settled(outcome)
        return items


def _received(o: Any) -> Any:
    """What an outcome of a generator means for the loop that takes its items."""
    if isinstance(o, Passed):
        return o.outcome
    return None if isinstance(o, Returned) else o


def _mapped(x: Any, f: Callable[[Any], Any]) -> Any:
    """An outcome with `f(o)` in place of each alternative."""
    if not isinstance(x, Union):
        return f(x)
    first, second = _mapped(x.first, f), _mapped(x.second, f)
    return first if first is second else Union(x.predicate, first, second)

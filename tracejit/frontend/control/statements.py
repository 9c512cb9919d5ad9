"""The hooks of compound statements and conditions: what `rewrite` makes of `if`, `for`, `while`.

A condition that is known while tracing is followed, as in Python; a traced one becomes a branch or
a loop of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.branches import (
    Operand,
    branch,
    branch_and_rest,
    names_in,
    names_of_operands,
    predicate,
    then_rest,
)
from tracejit.frontend.control.growth import Grows, packed_items, rolled
from tracejit.frontend.control.iteration import items_of
from tracejit.frontend.control.loop_carried import Unlike
from tracejit.frontend.control.loop_state import Once
from tracejit.frontend.control.loops import RangeLoop, StaticLoop, TestedLoop
from tracejit.frontend.control.regions import Names
from tracejit.frontend.control.unions import (
    BREAK,
    CONTINUE,
    Returned,
    negation,
    renamed,
)
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.positions import LEFT, Position
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedScalar
from tracejit.frontend.tracing.union import Signal, Union
from tracejit.ir.types import PYBOOL

__all__ = ["Flow"]

_LEFT = Signal("left")
#: Codes of sides that cannot be joined, and how often what follows is traced for each of them.
_UNLIKE, _DUPLICATED = ("TJ011", "TJ022"), 4
#: How many iterations may stand before a rolled loop, until the types in it repeat.
_PEELED = 3
#: How many iterations a loop that cannot be rolled may have.
_UNROLLED = 2_000
#: How many operations the copies of its body may make.
_COPIED = 7_000
#: Codes of what no copy of a body does better: an unknown function, a program that is too long.
_FINAL = ("TJ002", "TJ007", "TJ009", "TJ032")
#: How many iterations a loop on known numbers may run while tracing.
_STATIC = 10_000


class Flow:
    """The hooks of branches; what `rewrite` makes of `if`, ternaries, `and`, `or` and `not`."""

    BREAK, CONTINUE = BREAK, CONTINUE

    def function_result(self: Any, outcome: Any) -> Any:
        """The value of a function whose last statement had `outcome`."""
        if isinstance(outcome, Union):
            outcome = outcome.known()
        outcome = self.settled(outcome)
        if not isinstance(outcome, Union):
            return _result(outcome)
        first, second = map(self.function_result, (outcome.first, outcome.second))
        return first if first is second else Union(outcome.predicate, first, second)

    def if_(
        self: Any,
        test: Any,
        then: Callable[[], Any],
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """An `if` and the statements after it; gives the outcome of both."""
        self.step()
        p = predicate(self, test)
        if isinstance(p, bool):
            side = then if p else orelse
            outcome = side() if side is not None else None
            if outcome is None:
                return rest() if rest is not None else None
            return then_rest(self, outcome, rest, names_in(rest))
        if rest is None:
            return branch(self, p, then, orelse or _nothing, Names(stored, (then, orelse)))
        both = list(dict.fromkeys((*stored, *names_in(rest))))
        names = Names(both, (then, orelse, rest))
        try:
            outcome, done = branch_and_rest(self, p, then, orelse or _nothing, names, rest)
        except TraceError as e:
            if e.code not in _UNLIKE or here().root.duplicated >= _DUPLICATED:
                raise
            # What the sides leave cannot be joined: what follows is traced after each of them.
            here().root.duplicated += 1
            here().note("duplicated", e.detail)
            first, second = (self._followed(f, rest) for f in (then, orelse or _nothing))
            return branch(self, p, first, second, names)
        return outcome if done else then_rest(self, outcome, rest, names_in(rest))

    def _followed(self: Any, f: Callable[[], Any], rest: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: then_rest(self, f(), rest, names_in(rest))

    def ternary(self: Any, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """`then if test else orelse`."""
        p = predicate(self, test)
        if isinstance(p, bool):
            return then() if p else orelse()
        names = names_of_operands((then, orelse))
        outcome = branch(self, p, _as_value(then), _as_value(orelse), names)
        return self.settled(outcome).value

    def and_(self: Any, x: Any, *later: Callable[[], Any]) -> Any:
        """`x and y and ...`, which gives an operand."""
        return self._operands(True, x, later, names_of_operands(later))

    def or_(self: Any, x: Any, *later: Callable[[], Any]) -> Any:
        """`x or y or ...`, which gives an operand."""
        return self._operands(False, x, later, names_of_operands(later))

    def chain(self: Any, x: Any, following: Callable[[], Any], names: Names) -> Any:
        """`x and following()`, which may bind `names`."""
        return self._operands(True, x, (following,), names)

    def _operands(
        self: Any, goes_on: bool, x: Any, later: Sequence[Callable[[], Any]], names: Names
    ) -> Any:
        for k, operand in enumerate(later):
            p = predicate(self, x)
            if isinstance(p, bool):
                if p is not goes_on:
                    return x
                x = operand()
                continue
            return self._branch_of_operands(goes_on, p, x, (operand, later[k + 1 :]), names)
        return x

    def _branch_of_operands(
        self: Any,
        goes_on: bool,
        p: TracedScalar,
        x: Any,
        later: tuple[Callable[[], Any], Sequence[Callable[[], Any]]],
        names: Names,
    ) -> Any:
        def others() -> Any:
            return self._operands(goes_on, later[0](), later[1], names)

        sides = (others, lambda: x) if goes_on else (lambda: x, others)
        out = self.settled(branch(self, p, _as_value(sides[0]), _as_value(sides[1]), names)).value
        if isinstance(out, TracedScalar) and out.type == PYBOOL:
            here().follows(out.own, goes_on, p.own, goes_on)
        return out

    def not_(self: Any, x: Any) -> Any:
        """`not x`."""
        p = predicate(self, x)
        return not p if isinstance(p, bool) else negation(p)

    # Loops --------------------------------------------------------------------------------------

    def for_(
        self: Any,
        iterable: Any,
        assign: Callable[[Any], None],
        body: Callable[[], Any],
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """A `for` loop and the statements after it; gives the outcome of both."""
        self.step()
        names = Names(stored, (assign, body, orelse))
        x = self.iterable(iterable)
        walked = x if isinstance(x, Position) else None
        items = items_of(x) or packed_items(self, x) if walked is None else walked.remaining()
        if walked is not None and items is not None:
            walked.put(LEFT)

        def step(item: Any) -> Any:
            assign(item)
            outcome = body()
            if items is not None:
                items.check()
            return outcome

        def run(item: Any) -> Any:
            return renamed(self.bounded(lambda: step(item), names), CONTINUE, None)

        if isinstance(x, GeneratorCall):
            outcome = self.generated(x, run, names)
        elif items is None:
            here().note("unrolled", f"over a {type(x).__name__}")
            outcome = self._each(iter(self.iterate(x)), run, names)
        else:
            taken = items.taken()
            outcome = self._counted(taken, lambda k: run(taken.item(k)), names, info, 0)
            if walked is not None and outcome is None:
                walked.put(walked.ENDED)
        return self._ended(outcome, orelse, rest)

    def _ended(
        self: Any,
        outcome: Any,
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
    ) -> Any:
        """What a loop ends in, with its `else` and the statements after it."""
        outcome = renamed(outcome, BREAK, _LEFT)
        outcome = then_rest(self, outcome, orelse, names_in(orelse))
        return then_rest(self, renamed(outcome, _LEFT, None), rest, names_in(rest))

    def _each(self: Any, items: Any, run: Callable[[Any], Any], names: Names) -> Any:
        """Every item in turn, as long as the body runs to its end."""
        start = here().counter[0]
        for item in items:
            self.step()
            outcome = run(item)
            _require_short(start)
            if outcome is not None:
                return then_rest(self, outcome, lambda: self._each(items, run, names), names)
        return None

    def _counted(
        self: Any,
        items: Items,
        run: Callable[[Any], Any],
        names: Names,
        info: Any,
        first: int,
    ) -> Any:
        """The items from number `first` on: rolled if that is possible."""
        length = items.length
        known = isinstance(length, int)
        if known and length - first <= 1:
            return run(first) if length > first else None
        before = names.all()
        loop: Any = None

        def make() -> Any:
            nonlocal loop
            loop = RangeLoop(self, names, info, items, run, first)
            return loop

        try:
            return rolled(self, make, known and first == 0 and length <= _STATIC)
        except StaticLoop:
            return self._each(iter(range(first, length)), run, names)
        except Unlike as e:
            error: TraceError = e
        except Grows as e:
            if e.loop is not loop:
                raise
            error = e
        except Once:
            names.put(before)
            return self._peeled(
                predicate(self, length > first), lambda: run(first), _unended, names
            )
        except TraceError as e:
            if e.code in _FINAL or not known or length - first > _UNROLLED:
                raise _too_long(e, length - first if known else None) from e
            error = e
        names.put(before)
        if isinstance(error, Unlike) and first < _PEELED:
            here().note("peeled", error.detail)
            return self._peeled(
                predicate(self, length > first),
                lambda: loop.by_itself(lambda: run(first)),
                lambda: self._counted(items, run, names, info, first + 1),
                names,
            )
        if not known or length - first > _UNROLLED:
            raise error
        here().note("unrolled", f"{length - first} iterations: {error.detail or error.code}")
        return self._each(iter(range(first, length)), run, names)

    def _peeled(
        self: Any,
        holds: bool | TracedScalar,
        run: Callable[[], Any],
        more: Callable[[], Any],
        names: Names,
    ) -> Any:
        """One iteration by itself, and the loop after it."""

        def both() -> Any:
            return then_rest(self, run(), more, names)

        if isinstance(holds, bool):
            return both() if holds else None
        return branch(self, holds, both, _nothing, names)

    def while_(
        self: Any,
        test: Callable[[], Any],
        body: Callable[[], Any],
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """A `while` loop and the statements after it; gives the outcome of both."""
        self.step()
        names = Names(stored, (test, body, orelse))

        def run() -> Any:
            return renamed(self.bounded(body, names), CONTINUE, None)

        return self._ended(self._tested(test, run, names, info, 0), orelse, rest)

    def _tested(
        self: Any,
        test: Callable[[], Any],
        run: Callable[[], Any],
        names: Names,
        info: Any,
        peeled: int,
        holds: bool | TracedScalar | None = None,
    ) -> Any:
        # A test that has been made is not made again: it may change something.
        if holds is None:
            holds = predicate(self, test())
        if holds is False:
            return None
        before = names.all()
        loop: Any = None

        def make() -> Any:
            nonlocal loop
            loop = TestedLoop(self, names, info, test, run, holds, peeled)
            return loop

        try:
            return rolled(self, make, peeled == 0)
        except StaticLoop:
            return self._static(test, run, names, info)
        except Once:
            names.put(before)
            return self._peeled(holds, run, _unended, names)
        except TraceError as e:
            if isinstance(e, Grows) and e.loop is not loop:
                raise
            error = e
        names.put(before)
        if isinstance(error, Unlike) and peeled < _PEELED:
            here().note("peeled", error.detail)
            return self._peeled(
                holds,
                lambda: loop.by_itself(run),
                lambda: self._tested(test, run, names, info, peeled + 1),
                names,
            )
        if holds is not True or error.code in _FINAL:
            raise error
        return self._unrolled(test, run, names, info, error)

    def _static(
        self: Any, test: Callable[[], Any], run: Callable[[], Any], names: Names, info: Any
    ) -> Any:
        """A loop on numbers known while tracing; rolled after all where it takes too long."""
        holds: bool | TracedScalar = True
        for _ in range(_STATIC):
            outcome = run()
            if outcome is not None:
                more = lambda: self._tested(test, run, names, info, 1)  # noqa: E731
                return then_rest(self, outcome, more, names)
            holds = predicate(self, test())
            if holds is False:
                return None
            if holds is not True:
                break
        return self._tested(test, run, names, info, 1, holds)

    def _unrolled(
        self: Any,
        test: Callable[[], Any],
        run: Callable[[], Any],
        names: Names,
        info: Any,
        error: TraceError,
    ) -> Any:
        """A loop that cannot be rolled, as long as its test is known while tracing."""
        place, start = user_line(), here().counter[0]
        for k in range(_UNROLLED):
            outcome = run()
            _require_short(start)
            if outcome is not None:
                more = lambda: self._tested(test, run, names, info, _PEELED)  # noqa: E731
                return then_rest(self, outcome, more, names)
            holds = predicate(self, test())
            if holds is False:
                count = f"{k + 1} iterations: {error.detail or error.code}"
                here().note("unrolled", count, place)
                return None
            if holds is not True:
                return self._tested(test, run, names, info, _PEELED, holds)
        raise error


def _require_short(start: int) -> None:
    """Raise TraceError where copies of a loop's body, from operation `start` on, are too many."""
    if here().counter[0] - start > _COPIED:
        what = f"more than {_COPIED} operations in copies of a loop's body"
        raise TraceError("TJ032", what, user_line())


def _too_long(e: TraceError, count: int | None) -> TraceError:
    """The error of a loop that can be neither rolled, since `e`, nor unrolled."""
    if e.code not in ("TJ001", "TJ015"):
        return e
    times = "an unknown number of" if count is None else str(count)
    return TraceError("TJ018", f"{times} iterations; needed is {e.detail}", e.where)


def _nothing() -> None:
    return None


def _unended() -> None:
    """What follows a first iteration that, traced for any of them, never ended, and does end."""
    raise TraceError("TJ008", "a loop whose body mostly raises", user_line())


def _as_value(f: Callable[[], Any]) -> Callable[[], Operand]:
    return lambda: Operand(f())


def _result(outcome: Any) -> Any:
    if outcome is None:
        return None
    assert isinstance(outcome, Returned), outcome
    return outcome.value

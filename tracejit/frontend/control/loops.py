"""Loops on traced values: the body is traced until what it carries settles, and becomes a region.

A `for` loop counts by a size symbol, so that shapes and indices in its body can depend on it. A
loop that only computes numbers known while tracing runs while tracing; one that cannot be rolled is
unrolled where the number of its iterations is known.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from tracejit.frontend.control.branches import branch, predicate, then_rest
from tracejit.frontend.control.loop_carried import SAME
from tracejit.frontend.control.loop_parts import parts_in
from tracejit.frontend.control.loop_state import Loop, StaticLoop
from tracejit.frontend.control.regions import Names, Side, entered
from tracejit.frontend.control.unions import choose, without
from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.symint import as_dim, unwrap
from tracejit.frontend.tracing.trace import Trace
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    lift,
    number_of,
    wrap,
)
from tracejit.frontend.tracing.union import Union
from tracejit.ir.dims import Dim, floordiv, symbol
from tracejit.ir.graph import Value

__all__ = ["RangeLoop", "StaticLoop", "TestedLoop"]

_MAX_PERIOD = 4


class RangeLoop(Loop):
    """`for k in range(first, items.length): run(k)`."""

    def __init__(
        self,
        interpreter: Interpreter,
        names: Names,
        info: Any,
        items: Items,
        run: Callable[[Any], Any],
        first: int,
    ) -> None:
        super().__init__(interpreter, names, info, first)
        self.run, self.from_ = run, first
        self.length: Any = items.length
        name = self.parent.fresh_size()
        self.grown.counters, self.k = (name,), symbol(name)
        #: Iterations in one round of the rolled loop.
        self.copies = self.nested.copies
        self._count()

    def _count(self) -> None:
        """The number of rounds, which limits the counter."""
        env = self.parent.env
        if isinstance(self.length, Tracer):
            traced: Any = self.length
            traced = traced - self.from_ if self.from_ else traced
            self.rounds: Any = traced // self.copies if self.copies > 1 else traced
            env.count(self.grown.counters[0], None)
            self.iterations = traced
        else:
            left: Dim = env.maximum(as_dim(self.length) - self.from_, 0)
            self.iterations = unwrap(left, env)
            rounds = floordiv(left, self.copies)
            self.rounds = unwrap(rounds, env)
            env.count(self.grown.counters[0], rounds - 1)

    def number(self, j: Any) -> Any:
        """The number of the iteration that is `j`-th from the first."""
        return j + self.from_ if self.from_ else j

    def iteration(self) -> tuple[Any, Any]:
        k = unwrap(self.k, self.parent.env)
        outcome = None
        for j in range(self.copies):
            number = self.number(k if self.copies == 1 else k * self.copies + j)
            step = functools.partial(self.run, number)
            outcome = then_rest(self.interpreter, outcome, step, self.names)
        return outcome, choose(outcome, lambda o: o is None)

    def widen(self, side: Side) -> bool:
        period = self._period(side) if self.copies == 1 else 1
        if period > 1:
            self.copies = self.nested.copies = period
            self._count()
            return True
        return super().widen(side)

    def _period(self, side: Side) -> int:
        """After how many iterations names that the body swaps hold the same arrays again."""
        start = {n: x for n, x in self.start.items() if n in self.at_head}
        if self.carries != dict.fromkeys(self.carries, SAME):
            return 1
        seen = [id(x) for x in start.values()]
        owner = {id(x): n for n, x in start.items() if seen.count(id(x)) == 1}
        swapped = {n: owner.get(id(side.names[n])) for n in start}
        moved = {n: other for n, other in swapped.items() if other not in (n, None)}
        arrays = any(isinstance(start[n], TracedArray) for n in moved)
        if not arrays or set(moved) != set(moved.values()):
            return 1
        now, period = dict(moved), 1
        while any(n != other for n, other in now.items()):
            now = {n: moved[other] for n, other in now.items()}
            period += 1
        return period if period <= _MAX_PERIOD else 1

    def roll(self, probe: bool) -> Any:
        """Record the loop; gives its outcome. Raises as `settle` does."""
        side = self.settle(probe)
        parent, interpreter = self.parent, self.interpreter

        def test(region: Trace, values: list[Value]) -> Any:
            holds = binary_operator(operator.lt, number_of(region, self.k), lift(self.rounds))
            if side.goes_on is True:
                return holds
            return binary_operator(operator.and_, wrap(region, values[-1]), holds)

        ran = self.has(0)
        outs, flag, outcome = self.record(side, test, True, (0,), (self.k + 1,))
        parent.note("rolled")
        self.after_loop(outs, ran)
        if flag is not None:
            outcome = Union(flag, None, without(outcome, lambda o: o is None))
        if self.copies == 1:
            return outcome
        return then_rest(interpreter, outcome, lambda: self._remainder(0), self.names)

    def has(self, j: int) -> bool | TracedScalar:
        """Whether there is a `j`-th round."""
        return predicate(self.interpreter, self.rounds > j)

    def _remainder(self, j: int) -> Any:
        """The iterations that do not fill a round."""
        if j == self.copies - 1:
            return None
        number = self.number(self.rounds * self.copies + j)

        def run() -> Any:
            return then_rest(
                self.interpreter, self.run(number), lambda: self._remainder(j + 1), self.names
            )

        p = predicate(self.interpreter, number < self.length)
        if isinstance(p, bool):
            return run() if p else None
        return branch(self.interpreter, p, run, lambda: None, self.names)


class TestedLoop(Loop):
    """`while test(): run()`, where `test()` has just given `holds`."""

    def __init__(
        self,
        interpreter: Interpreter,
        names: Names,
        info: Any,
        test: Callable[[], Any],
        run: Callable[[], Any],
        holds: bool | TracedScalar,
        peeled: int,
    ) -> None:
        super().__init__(interpreter, names, info, peeled)
        self.test, self.run, self.holds = test, run, holds
        # The body begins after the test, and may read what that binds.
        self.at_head |= set(names) & set(test.__code__.co_freevars)
        #: Whether the test stands at the end of the body: what it changes is carried, too.
        self.rotated = False

    def iteration(self) -> tuple[Any, Any]:
        outcome = self.run()
        if not self.rotated:
            return outcome, outcome is None
        goes_on = choose(outcome, lambda o: o is None)
        if goes_on is True:
            return outcome, predicate(self.interpreter, self.test())
        if goes_on is False:
            return outcome, False
        tested = branch(
            self.interpreter,
            goes_on,
            lambda: predicate(self.interpreter, self.test()),
            lambda: False,
            self.names,
        )
        return outcome, tested

    def roll(self, probe: bool) -> Any:
        """Record the loop; gives its outcome. Raises as `settle` does."""
        if not self.nested.rotated:
            side = self.settle(probe and self.holds is True)
            self.nested.rotated = side.goes_on is not True or not self._test_is_pure()
        if self.nested.rotated:
            self.rotated = True
            side = self.settle(False)
            if side.goes_on is True:
                side.goes_on = lift(True)
        test = self._flag if self.rotated else self._tested
        outs, _, outcome = self.record(side, test, self.holds)
        self.parent.note("rolled")
        self.after_loop(outs, self.holds)
        if outcome is None or self.holds is True:
            return outcome
        return Union(self.holds, outcome, None)  # type: ignore[arg-type]

    def _flag(self, region: Trace, values: list[Value]) -> Any:
        return wrap(region, values[-1])

    def _tested(self, region: Trace, values: list[Value]) -> Any:
        """The test in its own region. It has been seen to change nothing."""
        before = self.names.all()
        self.bind(region, iter(values))
        try:
            return predicate(self.interpreter, self.test())
        finally:
            self._unbind(region, before)

    def _unbind(self, region: Trace, before: dict[str, Any]) -> None:
        self.names.put(before)
        for storage, state in region.stored.items():
            storage.restore(state)
        for x, contents in region.changed.values():
            put_contents(x, contents)

    def _test_is_pure(self) -> bool:
        """Whether the test changes no name, memory or container."""
        region = Trace("condition", self.parent.env, self.parent)
        inputs = [region.builder.input(t) for t in self.types()]
        with entered(region, self.names) as side:
            self.bind(region, iter(inputs))
            bound = self.names.all()
            versions = {storage: storage.version for storage in region.stored}
            contents = {key: parts_in(contents_of(x)) for key, (x, _) in region.changed.items()}
            predicate(self.interpreter, self.test())
            after = {storage: storage.version for storage in region.stored}
        if after != versions or set(side.changed) != set(contents):
            return False
        for key, (_, now) in side.changed.items():
            if any(a is not b for a, b in zip(parts_in(now), contents[key], strict=True)):
                return False
        return all(side.names[name] is x for name, x in bound.items())

"""Numbers that a program itself changes are inputs from its first compile on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.frontend.tracing import trace

steps = 0


def count_globally(x: Any) -> Any:
    global steps
    steps += 1
    return x * steps


class Counter:
    def __init__(self) -> None:
        self.count, self.total, self.state, self.seen = 0, 0.5, {"step": 3}, [1, 2]
        self.inner = SimpleNamespace(rare=0)

    def step(self, x: Any) -> Any:
        self.count += 1
        self.total = self.total * 0.5 + 1
        self.state["step"] += 1
        self.seen[1] += 2
        if self.count % 3 == 0:
            self.inner.rare += 1
        return x * self.count + self.total + self.state["step"] + self.seen[1] + self.inner.rare


def test_one_compile_for_all_counts() -> None:
    jitted = tracejit.jit(Counter.step, strict=True)
    ours, plain = Counter(), Counter()
    for k in range(7):
        x = np.array([k, 0.5])
        np.testing.assert_array_equal(jitted(ours, x), plain.step(x))
    assert vars(ours) == vars(plain)
    assert len(jitted.report().compiles) == 1


def test_globals_and_cells() -> None:
    calls = 0

    def count(x: Any) -> Any:
        nonlocal calls
        calls += 2
        return x * calls

    for f, factors in ((count_globally, (1, 2, 3)), (count, (2, 4, 6))):
        jitted = tracejit.jit(f, strict=True)
        assert [jitted(np.array(1.0)) for _ in range(3)] == list(factors)
        assert len(jitted.report().compiles) == 1


def test_what_must_be_known_stays_a_constant() -> None:
    """A number that says which text it is: as an input it would not do."""

    class Stage:
        def __init__(self) -> None:
            self.stage, self.names = 0, ("a", "b", "c")

        def step(self, x: Any) -> Any:
            name = self.names[self.stage]
            self.stage = (self.stage + 1) % 3
            return {name: x + 1}

    jitted = tracejit.jit(Stage.step)
    ours, plain = Stage(), Stage()
    assert jitted(ours, np.array(1.0)) == plain.step(np.array(1.0))
    assert len(jitted.report().compiles) == 1
    with pytest.warns(tracejit.FallbackWarning, match="a key of class Union"):
        assert jitted(ours, np.array(1.0)) == plain.step(np.array(1.0))
    assert jitted(ours, np.array(1.0)) == plain.step(np.array(1.0))


def test_a_long_program_is_traced_again_with_its_counter_as_an_input(monkeypatch) -> None:
    """What the first attempt recorded does not count for the second, which has fewer constants."""
    monkeypatch.setattr(trace, "_LIMIT", 22)

    @tracejit.jit
    def step(state, x):
        state.count += 1
        for _ in range(40):
            state.total += x * state.count

    state, expected = (SimpleNamespace(count=0, total=np.zeros(3)) for _ in range(2))
    for _ in range(3):
        step(state, np.arange(3.0))
        step.__wrapped__(expected, np.arange(3.0))
    assert np.array_equal(state.total, expected.total)
    assert len(step.report().variants) == 1 and not step.report().fallbacks

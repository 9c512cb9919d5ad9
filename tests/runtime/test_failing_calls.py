"""Calls that raise: what stopped one trace is remembered, and does not stop later ones."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime import failing_samples
from tracejit.runtime.compile import specialize

X = np.ones(3)
SAMPLES = [f for name, f in vars(failing_samples).items() if name.startswith("fail_")]


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that were traced."""
    found: list[Any] = []
    trace_call = specialize.trace_call

    def counted(function: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(function)
        return trace_call(function, *args, **kwargs)

    monkeypatch.setattr(specialize, "trace_call", counted)
    return found


def outcome(f: Any, *args: Any) -> Any:
    try:
        return "gives", repr(f(*args))
    except Exception as e:
        return type(e), str(e)


@pytest.mark.compiles
@pytest.mark.parametrize("f", SAMPLES, ids=lambda f: f.__name__)
def test_an_exception_is_traced_once(f: Any, traces: list[Any]) -> None:
    compiled = tracejit.jit(f)
    expected = outcome(f, X, 7)
    assert isinstance(expected[0], type)
    assert outcome(compiled, X, 7) == expected
    first = len(traces)
    for _ in range(5):
        assert outcome(compiled, X, 7) == expected
    assert len(traces) == first <= 2
    report = compiled.report()
    counted = report.errors.total() + report.bailouts
    # Some are compiled up to the line that raises.
    assert counted == 6 or report.fallbacks or report.variants
    if report.errors:
        assert f"  raised    {counted} calls without a compile: 6 {expected[0].__name__}" in str(
            report
        )


def test_what_raises_no_longer_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tracejit.jit(failing_samples.fail_key)
    for _ in range(3):
        assert outcome(f, X, 7)[0] is KeyError
    monkeypatch.setitem(failing_samples.D, "b", 3.0)
    for _ in range(3):
        assert np.array_equal(f(X, 7), X * 3)
    assert len(f.report().variants) == 1
    monkeypatch.delitem(failing_samples.D, "b")
    for _ in range(3):
        assert outcome(f, X, 7)[0] is KeyError
    assert f.report().fallbacks == []


def test_new_numbers_that_raise_are_not_traced_for_ever(traces: list[Any]) -> None:
    f = tracejit.jit(failing_samples.fail_index_error)
    for k in range(3, 60):
        assert outcome(f, X, k) == outcome(failing_samples.fail_index_error, X, k)
    assert len(traces) < 20
    for _ in range(3):
        for k in range(-3, 3):
            assert f(X, k) == 2.0
    assert f.report().variants
    assert outcome(f, X, 3)[0] is IndexError
    before = len(traces)
    for _ in range(3):
        for k in range(-3, 3):
            assert f(X, k) == 2.0
    assert len(traces) == before


def test_effects_happen_once() -> None:
    f = tracejit.jit(failing_samples.append_and_fail)
    for n in range(1, 5):
        seen: list[Any] = []
        with pytest.raises(ZeroDivisionError):
            f(X, seen)
        assert len(seen) == 1, n


def test_strict_functions_raise_the_same() -> None:
    f = tracejit.jit(failing_samples.fail_broadcast, strict=True)
    for _ in range(3):
        assert outcome(f, X, 7) == outcome(failing_samples.fail_broadcast, X, 7)


def test_calls_that_pass_are_compiled_however_many_have_raised() -> None:
    f = tracejit.jit(failing_samples.times_shape)
    for k in range(12):
        assert outcome(f, np.ones(4), 2.5 + k) == outcome(f.__wrapped__, np.ones(4), 2.5 + k)
    for k in range(4):
        assert np.array_equal(f(X, 0.5 + k), X * (0.5 + k))
    assert f.report().variants and not f.report().fallbacks


@pytest.mark.parametrize("how", ["strict", "mode"])
def test_no_call_runs_eagerly_where_that_is_an_error(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "mode":
        monkeypatch.setenv("TRACEJIT_FALLBACK", "error")
    f = tracejit.jit(failing_samples.fail_key, strict=how == "strict")
    assert outcome(f, X, 7)[0] is KeyError
    monkeypatch.setitem(failing_samples.D, "b", 3.0)
    assert np.array_equal(f(X, 7), X * 3)
    assert len(f.report().variants) == 1


def test_a_deep_recursion_that_raises() -> None:
    for depth in (370, 371, 371, 370):
        assert outcome(failing_samples.compiled_sinks, X, depth) == (KeyError, "'b'")
    assert not failing_samples.compiled_sinks.report().fallbacks


@pytest.mark.parametrize("strict", [False, True])
def test_odd_objects_that_a_function_names_are_let_alone(strict: bool) -> None:
    f = tracejit.jit(failing_samples.names_odd_objects, strict=strict)
    for k in (1, 2, 5, 1, 9, -9):
        assert outcome(f, X, k) == outcome(failing_samples.names_odd_objects, X, k), k


def test_an_argument_that_shows_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_FALLBACK", "ignore")
    f = tracejit.jit(failing_samples.takes_anything)
    for _ in range(3):
        assert np.array_equal(f(X, failing_samples.HIDDEN), X * 2)


class Meeting:
    """A lock that lets threads go on together when each of them has traced inside it."""

    def __init__(self, lock: Any, traces: list[Any], count: int) -> None:
        self._lock, self._traces = lock, traces
        self._met = threading.Barrier(count)
        self._entered: list[int] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        self._entered.append(len(self._traces))

    def __exit__(self, *_: object) -> None:
        traced = len(self._traces) > self._entered.pop() and not self._entered
        self._lock.release()
        if traced:
            self._met.wait(20)


def test_threads_that_fail_at_once(traces: list[Any]) -> None:
    for _ in range(5):
        f: Any = tracejit.jit(failing_samples.fail_broadcast)
        f._lock = Meeting(f._lock, traces, 3)
        found: list[Any] = []

        def call(f: Any = f, found: Any = found) -> None:
            found.append(outcome(f, X, 7))

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert found == [outcome(failing_samples.fail_broadcast, X, 7)] * 3

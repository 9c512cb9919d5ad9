"""Calls that go straight to the plain function: kinds known to run eagerly, and very short ones."""

import gc
import time
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.errors import FallbackError
from tracejit.runtime import native

pytestmark = [
    pytest.mark.plain_calls,
    pytest.mark.compiles,
    pytest.mark.skipif(not native.available(), reason=native.why_not()),
    pytest.mark.skipif(not native.tables_work(), reason="no versions of dicts"),
]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Meter:
    def __init__(self) -> None:
        self.value, self.steps = 0.0, 0

    @tracejit.jit
    def add(self, x: Any) -> Any:
        self.value += x
        self.steps += 1
        return self

    @tracejit.jit(strict=True)
    def strictly(self, x: Any) -> None:
        self.value = x


def seen(f: Any) -> list[Any]:
    """What the dispatcher is asked from now on."""
    calls: list[Any] = []
    slow = f._slow

    def noted(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return slow(*args, **kwargs)

    f._slow = noted
    return calls


def unknown(x: Any, *, scale: Any = 1, **more: Any) -> Any:
    time.monotonic()
    return x, scale, more


def test_a_kind_that_runs_eagerly_is_not_looked_at_at_each_call() -> None:
    f = tracejit.jit(unknown)
    for k in range(12):
        assert f(k, scale=2.0) == (k, 2.0, {})
    calls = seen(f)
    for k in range(200):
        assert f(k, scale=3.0) == (k, 3.0, {})
    assert calls == []
    # Other types and names are other kinds.
    others: list[Any] = [((1.0,), {"scale": 2.0}), ((1,), {"scale": 2}), ((1, 2.0), {})]
    others += [((1,), {"scales": 2.0}), ((None,), {"scale": 2.0}), ((), {"x": 1, "scale": 2.0})]
    for args, kwargs in others:
        del calls[:]
        try:
            expected = unknown(*args, **kwargs)
        except TypeError:
            with pytest.raises(TypeError):
                f(*args, **kwargs)
        else:
            assert f(*args, **kwargs) == expected
        assert len(calls) == 1
    assert len(f.report().fallbacks) == 1


def test_which_of_true_false_and_none_it_is_counts_and_so_do_dtypes_and_axes() -> None:
    def chosen(x: Any, flag: Any) -> Any:
        if flag is True:
            time.monotonic()
        return x + 1

    f = tracejit.jit(chosen)
    x = np.arange(3.0)
    for _ in range(20):
        assert np.array_equal(f(x, True), x + 1)
    assert len(f.report().compiles) == 0
    for flag in (False, None):
        assert np.array_equal(f(x, flag), x + 1)
    assert len(f.report().compiles) == 2
    calls = seen(f)
    f(x, True), f(x.astype(np.float32), True), f(np.ones((2, 2)), True)
    assert len(calls) == 2


def test_now_and_then_the_dispatcher_looks_again() -> None:
    def total(values: Any) -> Any:
        if len(values) == 2:
            time.monotonic()
        return values[0] * np.ones(2)

    f = tracejit.jit(total)
    for _ in range(12):
        f([1.0, 2.0])
    calls = seen(f)
    for _ in range(2000):
        assert f([1.0])[0] == 1.0
    assert len(calls) == 1 and len(f.report().compiles) == 1
    for _ in range(12):
        f([1.0, 2.0])
    del calls[:]
    for _ in range(100):
        assert f([1.0])[0] == 1.0 and f([1.0, 2.0])[0] == 1.0
    assert calls == []


@pytest.mark.parametrize("by_variable", [False, True])
def test_settings_are_obeyed_at_once(by_variable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f = tracejit.jit(unknown)
    for _ in range(20):
        f(1)
    calls = seen(f)
    assert f(1)[0] == 1 and calls == []
    with monkeypatch.context() as m:
        if by_variable:
            m.setenv("TRACEJIT_FALLBACK", "error")
        else:
            m.setattr(tracejit.config, "fallback", "error")
        for _ in range(3):
            with pytest.raises(FallbackError):
                f(1)
    for _ in range(3):
        assert f(1)[0] == 1
    assert len(calls) == 4


def test_a_call_shorter_than_its_checks_is_plain() -> None:
    meter = Meter()
    assert meter.add(1.0) is meter
    calls = seen(Meter.add)
    for _ in range(100):
        assert meter.add(0.5) is meter
    assert (meter.value, meter.steps) == (51.0, 101) and calls == []
    report = Meter.add.report()  # type: ignore[attr-defined]
    assert [c.worthwhile for c in report.variants] == [False]
    assert "plain: Python costs less" in str(report)
    assert not report.fallbacks
    # What is worth it is compiled, whatever was of its kind before.
    meter.value = np.zeros(1000)
    for _ in range(2000):
        meter.add(1.0)
    assert report.variants[-1].worthwhile and np.all(meter.value == 2000.0)
    del calls[:]
    for _ in range(100):
        meter.add(1.0)
    assert calls == [] and meter.steps == 2201


def test_strict_functions_keep_their_entries() -> None:
    meter = Meter()
    for _ in range(20):
        meter.strictly(1.0)
    report = Meter.strictly.report()  # type: ignore[attr-defined]
    assert [c.worthwhile for c in report.variants] == [True]
    assert Meter.strictly._kinds is None  # type: ignore[attr-defined]


def test_derivatives_and_objects_are_never_taken_for_short() -> None:
    def square(x: Any) -> Any:
        return x * x

    slope = tracejit.jit(tracejit.grad(square))
    assert [slope(float(k)) for k in range(20)] == [2.0 * k for k in range(20)]
    assert all(c.worthwhile for c in slope.report().variants)


def test_a_function_that_calls_itself_goes_as_deep_as_a_plain_one() -> None:
    def depth(n: Any) -> Any:
        time.monotonic()
        return 0 if n == 0 else 1 + f(n - 1)

    f = tracejit.jit(depth)
    assert [f(k) for k in (1, 2, 30, 400)] == [1, 2, 30, 400]
    with pytest.raises(RecursionError):
        f(100_000)
    assert f(300) == 300


def test_objects_that_are_new_at_each_call_are_not_compiled_for_again_and_again() -> None:
    def first(x: Any, queue: Any) -> Any:
        return x * 2

    f = tracejit.jit(first)
    x = np.ones(3)
    for k in range(50):
        assert np.array_equal(f(x, deque()), x * 2)
        if k < 10:
            gc.collect()  # What a compile leaves behind holds its arguments until then.
    assert len(f.report().compiles) <= 6
    # One that lives is compiled for, whatever becomes of it.
    g, queue = tracejit.jit(first), deque([1])
    for _ in range(50):
        assert np.array_equal(g(x, queue), x * 2)
    assert len(g.report().compiles) == 1

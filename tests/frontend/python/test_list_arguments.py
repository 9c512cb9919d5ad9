"""Lists of numbers from outside: arrays in compiled code, so that all lengths share that."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs.list_arguments import ANY_LENGTH, APART, floats, ints, numbered, rows
from tests.support.compare import assert_same

LENGTHS = (20, 33, 100, 17)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call gives or raises, and what its arguments are then."""
    try:
        return f(*args), args
    except Exception as e:
        return (type(e), str(e)), args


def same_classes(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            same_classes(x, y)


def check(f: Callable[..., Any], jitted: Any, *args: Any) -> None:
    given = copy.deepcopy(args)
    expected, got = outcome(f, *args), outcome(jitted, *given)
    assert_same(expected, got, parity="ulp", ulp=64)
    same_classes(expected, got)
    assert (expected[0] is args[0]) == (got[0] is given[0])


@pytest.mark.sampled(18)
@pytest.mark.parametrize(
    ("f", "make"), ANY_LENGTH, ids=[f"{f.__name__}-{m.__name__}" for f, m in ANY_LENGTH]
)
def test_all_lengths_run_the_same_code(f: Callable[..., Any], make: Callable[[int], Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (*LENGTHS, 3, 1, 25):
        check(f, jitted, make(n))
    report = jitted.report()
    assert report.fallbacks == [], str(report)
    # One for the first length, one for any other; short lists are taken one by one.
    assert len(report.variants) <= 4, str(report)


@pytest.mark.parametrize(("f", "make"), APART, ids=[f.__name__ for f, _ in APART])
def test_lists_that_are_taken_apart(f: Callable[..., Any], make: Callable[[int], Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (*LENGTHS, 20):
        check(f, jitted, make(n))
    assert jitted.report().fallbacks == [], str(jitted.report())


def total(xs: Any) -> Any:
    out = 0
    for x in xs:
        out = out + x
    return out


def test_elements_of_other_classes_are_seen() -> None:
    jitted = tracejit.jit(total)
    for make in (floats, ints, lambda n: [*floats(n), 1], lambda n: [*ints(n), 2**70]):
        for n in (20, 30):
            check(total, jitted, make(n))
    big = [2**62] * 20
    check(total, jitted, big)


def test_one_list_in_two_places() -> None:
    def both(xs: Any, ys: Any) -> Any:
        ys.append(1.0)
        return len(xs)

    jitted = tracejit.jit(both)
    for _ in range(2):
        assert jitted(floats(20), floats(20)) == 20
        xs = floats(20)
        with pytest.warns(tracejit.FallbackWarning) if _ == 0 else nullcontext():
            assert jitted(xs, xs) == 21


def test_a_list_inside_another_that_changes() -> None:
    def f(a: Any, row: Any) -> Any:
        row[0] = 5.0
        return a[0][0]

    jitted = tracejit.jit(f)
    for _ in range(2):
        a = rows(20)
        assert jitted(a, [1.0, 2.0]) == a[0][0]
        assert jitted(a, a[0]) == 5.0


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a[0],
        lambda a: (1, [a[1], a[2]]),
        lambda a: [r for r in a if r[0] > 0],
        lambda a: {"row": a[0] if a[1][0] > 0 else a[1]},
    ],
)
def test_rows_that_come_out_are_the_rows(f: Any) -> None:
    jitted = tracejit.jit(f)
    for n in (9, 9, 12):
        a = rows(n)
        places = {id(row): k for k, row in enumerate(a)}

        def identities(x: Any, places: dict[int, int] = places) -> Any:
            if id(x) in places:
                return places[id(x)]
            if isinstance(x, dict):
                return {k: identities(v) for k, v in x.items()}
            return [identities(v) for v in x] if isinstance(x, (list, tuple)) else x

        assert identities(jitted(a)) == identities(f(a))


OUTSIDE = floats(30)
NUMBERED = numbered(30)


class Window:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def push(self, x: float) -> float:
        self.values.append(x)
        if len(self.values) > 40:
            self.values.pop(0)
        return sum(self.values) / len(self.values)

    def scale(self, a: float) -> None:
        for i in range(len(self.values)):
            self.values[i] *= a

    def first(self, other: list[float]) -> float:
        self.values[0] = 9.0
        return other[0]


def test_lists_of_objects() -> None:
    push, scale = tracejit.jit(Window.push), tracejit.jit(Window.scale)
    plain, compiled = Window(floats(20)), Window(floats(20))
    held = compiled.values
    for k in range(60):
        assert push(compiled, float(k)) == pytest.approx(Window.push(plain, float(k)), rel=1e-14)
        if k % 5 == 0:
            scale(compiled, 0.5)
            plain.scale(0.5)
        if k == 30:
            plain.values[3] = compiled.values[3] = 7
        assert plain.values == pytest.approx(compiled.values, rel=1e-14)
        assert [*map(type, plain.values)] == [*map(type, compiled.values)]
        if k == 33:
            plain.values[2] = compiled.values[2] = 7.0
    assert compiled.values is held
    assert push.report().fallbacks == scale.report().fallbacks == []


@pytest.mark.compiles
def test_short_lists_of_objects_that_grow() -> None:
    push = tracejit.jit(Window.push)
    window = Window([])
    for k in range(60):
        push(window, float(k))
    assert len(push.report().variants) <= 8, str(push.report())


@pytest.mark.parametrize("n", [2, 30])
def test_a_list_of_an_object_that_is_an_argument_too(n: int) -> None:
    first = tracejit.jit(Window.first)
    for _ in range(2):
        window = Window(floats(n))
        assert first(window, floats(n)) == floats(n)[0]
        window = Window(floats(n))
        assert first(window, window.values) == 9.0


@pytest.mark.parametrize("n", [2, 30])
def test_a_list_of_the_module_that_is_an_argument_too(n: int) -> None:
    def lengthened(xs: Any) -> Any:
        OUTSIDE.append(1.0)
        return len(xs)

    jitted = tracejit.jit(lengthened)
    OUTSIDE[:] = floats(n)
    assert [jitted(OUTSIDE), jitted(OUTSIDE), jitted(floats(n)), jitted(OUTSIDE)] == [
        n + 1,
        n + 2,
        n,
        n + 4,
    ]


def test_lists_of_the_module() -> None:
    def f(k: Any) -> Any:
        OUTSIDE[k] += 1.0
        return sum([i * x for i, x in NUMBERED]) + OUTSIDE[k]

    jitted = tracejit.jit(f)
    OUTSIDE[:] = floats(30)
    for k in range(8):
        if k == 4:
            NUMBERED.append((30, 2.0))
        before = list(OUTSIDE)
        expected = f(k)
        OUTSIDE[:] = before
        assert jitted(k) == pytest.approx(expected, rel=1e-13)
        assert OUTSIDE[k] == before[k] + 1.0
    assert jitted.report().fallbacks == []


def test_gradients_by_lists() -> None:
    def f(xs: Any) -> Any:
        return tracejit.grad(lambda v: sum([t * t for t in v]))(xs)

    xs = floats(20)
    assert tracejit.jit(f)(xs) == pytest.approx([2 * x for x in xs])

    def g(w: Any, xs: Any) -> Any:
        return tracejit.value_and_grad(lambda w, xs: sum([w * t for t in xs]))(w, xs)

    value, slope = tracejit.jit(g)(2.0, xs)
    assert value == pytest.approx(2 * sum(xs))
    assert slope == pytest.approx(sum(xs))


def test_an_exception_leaves_the_list_as_python_does() -> None:
    def f(xs: Any) -> Any:
        xs[0] = 7.0
        return xs[100000]

    for n in (20, 20, 30):
        check(f, tracejit.jit(f), floats(n))


def test_a_list_that_changes_size_while_a_finalizer_runs() -> None:
    jitted = tracejit.jit(total)
    xs = floats(50)
    jitted(xs)

    class Cleared:
        def __del__(self) -> None:
            xs.clear()

    made = Cleared()
    del made
    assert jitted(xs) == 0


@pytest.mark.compiles
def test_code_for_a_very_long_list_is_as_short() -> None:
    jitted = tracejit.jit(total)
    for n in (50_000, 40_000, 1000):
        assert np.isclose(jitted(floats(n)), total(floats(n)))
    assert len(jitted.report().variants) == 2

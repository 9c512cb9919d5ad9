"""Lists that grow with data: loops and comprehensions that append roll, whatever the length."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import list_programs
from tests.support.compare import assert_same

#: The first is compiled for its length, the second for any; those after it may be special.
LENGTHS = (17, 40, 0, 1, 2, 9, 99)


def _array(n: int) -> Any:
    return np.random.default_rng(n).standard_normal(n)


@pytest.mark.compiles
@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", list_programs.PROGRAMS)
def test_program(name: str) -> None:
    f = list_programs.PROGRAMS[name]
    jitted = tracejit.jit(f)
    for n in LENGTHS:
        if n == 0 and name in list_programs.FAILS_ON_EMPTY:
            continue
        expected, got = f(_array(n)), jitted(_array(n))
        assert_same(expected, got, parity="ulp", ulp=64)
        _same_classes(expected, got)
        if n == 40:
            after = len(jitted.report().compiles)
    report = jitted.report()
    assert report.fallbacks == [], str(report)
    assert after <= 2, str(report)
    # 99 and 9 elements run the code for 40: only 0, 1 and 2 may have code of their own.
    assert len(report.compiles) <= after + 3, str(report)
    lines = [line for made in report.variants[:after] for line in made.lines]
    unrolled = {line.why for line in lines if line.kind == "unrolled"}
    assert unrolled <= {"over a tuple", "over a list"}, str(report)


def _same_classes(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            _same_classes(x, y)
    elif isinstance(a, dict):
        for key in a:
            _same_classes(a[key], b[key])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", list_programs.SHARING)
def test_elements_that_others_hold(name: str) -> None:
    f = list_programs.SHARING[name]
    jitted = tracejit.jit(f)
    for n in (20, 33):
        given, own = _array(n), _array(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tracejit.FallbackWarning)
            expected, got = f(given), jitted(own)
        assert_same([expected, given], [got, own], parity="ulp", ulp=4)
        _same_classes(expected, got)
        assert _aliases(expected, given) == _aliases(got, own)


def _aliases(x: Any, given: Any) -> list[list[bool]]:
    """Which arrays of a result, and the argument, share memory."""
    arrays = [given, *_arrays(x)]
    return [[np.shares_memory(a, b) for a in arrays] for b in arrays]


def _arrays(x: Any) -> list[Any]:
    if isinstance(x, np.ndarray):
        return [x]
    return [a for v in x for a in _arrays(v)] if isinstance(x, (list, tuple)) else []


def test_errors_are_those_of_python() -> None:
    for f in (list_programs.pops_too_often, list_programs.reads_too_far):
        jitted = tracejit.jit(f)
        for n in (17, 40):
            with pytest.raises(IndexError) as expected:
                f(_array(n))
            with pytest.raises(IndexError) as got:
                jitted(_array(n))
            assert str(expected.value) == str(got.value)


def test_state_of_objects() -> None:
    for f in (list_programs.appends_to_a_list, list_programs.notes):
        jitted = tracejit.jit(f)
        for n in (17, 40, 9):
            mine, theirs = list_programs.Log(), list_programs.Log()
            mine.values, theirs.values = [1.0, 2.0], [1.0, 2.0]
            held = theirs.values
            assert f(_array(n), mine) == jitted(_array(n), theirs)
            assert theirs.values is held and held == mine.values
            assert list(map(type, held)) == list(map(type, mine.values))
            assert mine.count == theirs.count
        assert jitted.report().fallbacks == []
        assert len(jitted.report().compiles) <= 2


def test_gradient() -> None:
    x = _array(12)
    for name in ("comprehension", "path", "mathematics", "two_appends", "nested_loops"):
        f = list_programs.PROGRAMS[name]

        def loss(x: Any, f: Any = f) -> Any:
            out = f(x)
            return np.sum(np.sin(out[0] if isinstance(out, tuple) else out))

        gradient = tracejit.grad(loss)
        steps = 1e-6 * np.eye(len(x))
        expected = [(loss(x + h) - loss(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-7)
        assert gradient.report().fallbacks == [], name


def test_long_lists_as_arguments() -> None:
    for f in (list_programs.adds_up, list_programs.changes_while_it_runs):
        jitted = tracejit.jit(f)
        for n in (20, 33):
            given, own = _array(n).tolist(), _array(n).tolist()
            expected, got = f(given), jitted(own)
            assert_same([expected, given], [got, own], parity="ulp", ulp=4)
            _same_classes([expected, given], [got, own])
        assert jitted.report().fallbacks == []

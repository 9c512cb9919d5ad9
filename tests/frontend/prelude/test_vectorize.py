"""Calls of what `np.vectorize` makes: without the compiler, and compiled, they give NumPy's."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.prelude import vectorize_samples as s
from tests.support.check_grads import check_grads
from tests.support.sampling import sampled
from tracejit.frontend.prelude.intrinsics import Refused
from tracejit.frontend.prelude.vectorize import call
from tracejit.runtime.compile import worth

X = np.linspace(-1, 1, 6)
GIVEN = [
    *(X, np.arange(4), np.arange(-2, 3, dtype="i1"), np.arange(3, dtype="f4"), X[::2], X[:0]),
    *(np.array([True, False]), np.array([1j, 2]), np.array(2.5), 1.5, 2, True, np.float32(3)),
    *([1, 2, 3], [1, 2.5], (True, False), [], [[1, 2], [3, 4]], X.reshape(2, 3), "abc", None),
    *(
        X.reshape(2, 3).T,
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
        np.array([250, 1], "u1"),
    ),
    *(np.arange(12.0).reshape(3, 4)[:, ::2], np.array([0.0, np.nan, np.inf]), X.astype("g")),
]
CASES = [
    *((name, (x,), {}) for name in s.MADE for x in GIVEN),
    *((name, (x, y), {}) for name in s.MADE if "step" in name for x in GIVEN for y in GIVEN),
    *((name, (x,), {"c": X, "b": 2}) for name in s.MADE if "ed" in name for x in GIVEN),
    *((name, (), {"a": x}) for name in s.MADE for x in GIVEN),
    *((name, (), {}) for name in s.MADE),
]
ROWS = [
    *(
        np.arange(24.0).reshape(2, 3, 4),
        np.eye(3),
        X,
        X[:0],
        3.0,
        [1, 2],
        np.arange(3),
        np.eye(4)[:0],
    )
]
CASES_OF_ARRAYS = [
    *((name, (x,), {}) for name in s.OF_ARRAYS for x in ROWS),
    *((name, (x, y), {}) for name in s.OF_ARRAYS for x in ROWS for y in ROWS),
]
EVERY = [
    *((s.MADE[name], args, kwargs) for name, args, kwargs in CASES),
    *((s.OF_ARRAYS[name], args, kwargs) for name, args, kwargs in CASES_OF_ARRAYS),
]


@pytest.fixture(autouse=True)
def compiles(monkeypatch: Any) -> None:
    monkeypatch.setattr(worth, "_OPERATION", float("inf"))


def outcome(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What a call gives or raises, in a form in which it can be compared."""
    try:
        found = f(*args, **kwargs)
    except Refused:
        raise
    except Exception as e:
        return type(e), str(e)
    return shown(found)


def shown(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(shown, x))
    if isinstance(x, np.ndarray) and x.dtype.char not in "OgG":
        return x.dtype, x.shape, x.strides if x.size else (), x.tobytes(), x.flags.writeable
    return type(x), repr(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_without_the_compiler_are_those_of_numpy() -> None:
    covered = 0
    for f, args, kwargs in EVERY:
        try:
            actual = outcome(call, f, *args, **kwargs)
        except Refused:
            continue
        covered += 1
        assert actual == outcome(f, *args, **kwargs), (f.pyfunc, args, kwargs)
    assert covered > 0.6 * len(EVERY)


@pytest.mark.filterwarnings("ignore")
def test_compiled_results_are_those_of_numpy() -> None:
    for f, args, kwargs in sampled(EVERY, 60):
        compiled = tracejit.jit(lambda *given, f=f: s.called(f, *given))
        for _ in range(2):
            actual = outcome(compiled, args, kwargs)
            assert actual == outcome(f, *args, **kwargs), (f.pyfunc, args, kwargs)


@pytest.mark.parametrize("program", s.PROGRAMS)
def test_programs_are_compiled(program: Any) -> None:
    compiled = tracejit.jit(program, strict=True)
    for x in (X, -X, X[:3], np.arange(5)):
        assert outcome(compiled, x) == outcome(program, x)


@pytest.mark.parametrize("x", [X, -X, np.arange(1, 4)])
def test_the_first_element_decides_on_the_dtype(x: Any) -> None:
    compiled = tracejit.jit(s.given, strict=True)
    assert outcome(compiled, s.positive_or_int, x) == outcome(s.given, s.positive_or_int, x)


@pytest.mark.compiles
def test_objects_are_known_by_what_they_have() -> None:
    compiled = tracejit.jit(s.given, strict=True)
    for f in (s.relu, np.vectorize(s.relu.pyfunc), np.vectorize(s.half), np.vectorize(s.half)):
        assert outcome(compiled, f, X) == outcome(s.given, f, X)
    assert len(compiled.report().compiles) == 2
    f = np.vectorize(s.step, excluded={"c"})
    program = tracejit.jit(lambda x: f(x, c=2.0), strict=True)
    expected = []
    for change in (
        *(lambda: None, lambda: f.excluded.clear(), lambda: f.excluded.add(1)),
        *(lambda: setattr(f, "otypes", "f"), lambda: setattr(f, "pyfunc", lambda x, c: x * c)),
    ):
        change()
        expected.append(outcome(f, X, c=2.0))
        assert outcome(program, X) == expected[-1]
    assert len({*map(str, expected)}) > 2


def test_a_method_in_the_place_of_numpys_is_called(monkeypatch: Any) -> None:
    compiled = tracejit.jit(s.given)
    compiled(s.relu, X)
    monkeypatch.setattr(np.vectorize, "__call__", lambda self, x: x * 0)
    with pytest.warns(tracejit.FallbackWarning):
        assert outcome(compiled, s.relu, X) == outcome(s.given, s.relu, X)


@pytest.mark.parametrize("f", [s.counted, s.counted_once])
def test_the_function_is_called_as_often_as_by_numpy(f: Any, capsys: Any) -> None:
    compiled = tracejit.jit(s.given, strict=True)
    seen = []
    for program in (s.given, compiled, compiled):
        s.SEEN.clear()
        program(f, X)
        seen.append(([*map(type, s.SEEN)], [*s.SEEN], capsys.readouterr().out))
    assert seen[0] == seen[1] == seen[2] and len(s.SEEN) == len(X) + (f is s.counted)


def test_loops_and_exceptions_inside_the_function() -> None:
    n = np.arange(1, 40)
    assert outcome(tracejit.jit(s.given, strict=True), s.collatz, n) == outcome(
        s.given, s.collatz, n
    )
    compiled = tracejit.jit(s.given)
    for x in (X, X + 2, X):
        assert outcome(compiled, s.limited, x) == outcome(s.given, s.limited, x)


@pytest.mark.parametrize(
    "f", [s.relu, s.positive_or_int, s.MADE["step"], s.OF_ARRAYS["norm"], s.MADE["two results"]]
)
def test_gradients(f: Any) -> None:
    def total(x: Any) -> Any:
        found = f(x)
        return (found[0] if isinstance(found, tuple) else found) * x.sum()

    x = np.array([0.7, -1.3, 2.1, 0.2])
    check_grads(tracejit.jit(total).trace(x), [x], order=1)


def test_objects_as_results() -> None:
    with pytest.warns(tracejit.FallbackWarning, match="TJ003"):
        assert type(tracejit.jit(lambda x: np.vectorize(s.half))(X)) is np.vectorize
    found = tracejit.jit(lambda x: (s.relu, s.relu(x)), strict=True)(X)
    assert operator.is_(found[0], s.relu)


@pytest.mark.filterwarnings("ignore::tracejit.FallbackWarning")
def test_options_are_checked_by_numpy() -> None:
    def of_options(x: Any, options: Any) -> Any:
        return np.vectorize(s.half, **options)(x)

    wrong = [{"otypes": 3}, {"otypes": "zz"}, {"signature": "x"}, {"nonsense": 1}, {"otypes": ""}]
    for options in itertools.chain(wrong, [{"doc": "text"}, {"otypes": "dd"}, {"otypes": [str]}]):
        program = tracejit.jit(lambda x, options=options: of_options(x, options))
        assert outcome(program, X) == outcome(of_options, X, options)

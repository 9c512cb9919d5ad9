"""Methods of `np.poly1d`, without the compiler and compiled, give what NumPy's give."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.prelude import polynomial_samples as s
from tests.frontend.prelude.test_vectorize import outcome, shown
from tests.support.check_grads import check_grads
from tracejit.frontend.prelude.intrinsics import Refused
from tracejit.frontend.prelude.polynomials import METHODS, coefficients
from tracejit.runtime.compile import worth

X = np.array([0.7, -1.3, 2.1])
NUMBERS = [2, 2.5, True, 1j, np.float64(2), np.float32(2), np.int8(3), 0, -1, -0.0, 9, 1.5]
SEQUENCES = [[1, 2], (1.5,), [0, 1], [], X, np.array(2.0), np.ones((2, 3)), np.arange(3)]
OPERANDS = [(x,) for x in (*s.POLYNOMIALS, *NUMBERS, *SEQUENCES, "a", None)]
#: Method -> the arguments that it is called with.
ARGUMENTS: dict[str, list[Any]] = {
    **dict.fromkeys(("__neg__", "__pos__", "__len__"), [()]),
    "deriv": [(), (0,), (1,), (2,), (4,), (-1,), (1.5,)],
    "integ": [(), (0,), (2,), (-1,), (2, [1, 2]), (2, 3.0), (2, [1])],
    "__setitem__": [(k, v) for k in (0, 1, 5, -1) for v in (1, 2.5, 1j)],
}


@pytest.fixture(autouse=True)
def compiles(monkeypatch: Any) -> None:
    monkeypatch.setattr(worth, "_OPERATION", float("inf"))


def plain(x: Any) -> Any:
    """A result with coefficients in the place of a polynomial."""
    return (shown(x.coeffs), x.variable) if isinstance(x, np.poly1d) else x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_methods_without_the_compiler(name: str) -> None:
    covered = 0
    for p in s.POLYNOMIALS:
        for args in ARGUMENTS.get(name, OPERANDS):
            a, b = copy.deepcopy(p), copy.deepcopy(p)
            try:
                actual = outcome(lambda *x: plain(METHODS[name](*x)), a, *args)
            except Refused:
                continue
            covered += 1
            expected = outcome(lambda *x: plain(getattr(np.poly1d, name)(*x)), b, *args)
            assert (actual, shown(a.coeffs)) == (expected, shown(b.coeffs)), (p, args)
    assert covered > 5


@pytest.mark.parametrize("c", [*NUMBERS, *SEQUENCES])
def test_coefficients_of_what_is_given(c: Any) -> None:
    for r in (False, True):
        try:
            actual = outcome(coefficients, c, r)
        except Refused:
            continue
        assert actual == outcome(lambda c, r: np.poly1d(c, r).coeffs, c, r)


@pytest.mark.parametrize("program", s.PROGRAMS)
def test_programs_are_compiled(program: Any) -> None:
    compiled = tracejit.jit(program)
    for x in (X, -X, X[:3] * 2, np.arange(1, 5), X.astype("f4")):
        assert str(outcome(compiled, x)) == str(outcome(program, x))
    assert not compiled.report().fallbacks


def test_gradients() -> None:
    check_grads(tracejit.jit(s.smooth).trace(X), [X], order=2)


def test_coefficients_that_cancel_are_left_to_python() -> None:
    compiled = tracejit.jit(s.cancelling)
    for x in (X, X[:2], X):
        assert outcome(compiled, x) == outcome(s.cancelling, x)


@pytest.mark.compiles
def test_objects_are_known_by_what_they_have() -> None:
    compiled = tracejit.jit(s.given, strict=True)
    for p in (s.P, np.poly1d([5.0, 1.0, 0.0]), np.poly1d([1.0, 2.0]), np.poly1d([3.0, 3.0])):
        assert outcome(compiled, p, X) == outcome(s.given, p, X)
        p = copy.deepcopy(p)
        p[1], p.coeffs[0] = 3.0, 0.0
        assert outcome(compiled, p, X) == outcome(s.given, p, X)
    assert len(compiled.report().compiles) == 2


def test_what_is_stored_is_in_the_object() -> None:
    compiled = tracejit.jit(s.stored, strict=True)
    for x in (X, X + 1):
        a, b = np.poly1d([1.0, 2.0, 3.0]), np.poly1d([1.0, 2.0, 3.0])
        held = a.coeffs
        assert outcome(compiled, a, x) == outcome(s.stored, b, x)
        assert a.coeffs is held and shown(held) == shown(b.coeffs)


def test_a_method_in_the_place_of_numpys_is_called(monkeypatch: Any) -> None:
    compiled = tracejit.jit(s.given)
    compiled(s.P, X)
    monkeypatch.setattr(np.poly1d, "__call__", lambda self, x: x * 0)
    with pytest.warns(tracejit.FallbackWarning):
        assert outcome(compiled, s.P, X) == outcome(s.given, s.P, X)


@pytest.mark.parametrize("made", [lambda: np.poly1d([1.0, 2.0]), lambda: np.vectorize(abs)])
def test_objects_are_told_apart_at_each_call(made: Any) -> None:
    compiled = tracejit.jit(s.are_one)
    a, b = made(), made()
    assert not compiled([a, b], X)[0]
    with pytest.warns(tracejit.FallbackWarning, match="given twice"):
        assert compiled([a, a], X)[0]
    assert not compiled([b, a], X)[0]


def test_one_coefficient_lies_where_it_was_given() -> None:
    compiled = tracejit.jit(s.of_one_coefficient)
    for start in (X, X + 1, X * 0):
        a, b = start.copy(), start.copy()
        assert outcome(compiled, a) == outcome(s.of_one_coefficient, b)
        assert shown(a) == shown(b)


def test_rows_that_begin_with_zero_run_one_by_one() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    found = tracejit.vmap(s.of_row)(rows)
    assert shown(found) == shown(np.stack([s.of_row(row) for row in rows]))


@pytest.mark.parametrize(
    "program",
    [
        *(s.composed, s.times_array, s.added_by_function, s.printed),
        *(s.assigned, s.scaled_in_place, s.deleted),
    ],
)
def test_what_is_left_to_numpy(program: Any) -> None:
    with pytest.warns(tracejit.FallbackWarning):
        assert str(outcome(tracejit.jit(program), X)) == str(outcome(program, X))

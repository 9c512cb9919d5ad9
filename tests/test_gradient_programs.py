"""Derivatives of whole functions through control flow and stores: against central differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tracejit
from tests import gradient_algorithms, gradient_store_programs  # noqa: F401 - register programs
from tests.capturing import Compiled
from tests.gradient_checks import differences, leaves_of, places_of
from tests.gradient_programs import PROGRAMS, Program

ALL = pytest.mark.parametrize("program", [pytest.param(p, id=n) for n, p in PROGRAMS.items()])


def _apart(args: Any) -> Any:
    return copy.deepcopy(args)


def _called(f: Callable[..., Any], args: Any) -> tuple[float, Any]:
    """What plain Python gives, and the arguments as it leaves them."""
    given = _apart(args)
    with np.errstate(all="ignore"):
        return f(*given), given


@cache
def _expected(name: str, number: int) -> list[list[Any]]:
    """For each argument with derivatives the gradient, leaf by leaf."""
    program = PROGRAMS[name]
    args = program.calls[number]
    with np.errstate(all="ignore"):
        return [differences(program.function, args, k) for k in places_of(args)]


def _agree(program: Program, found: Any, expected: list[Any], what: str) -> None:
    leaves = leaves_of(found)
    assert len(leaves) == len(expected), what
    for x, y in zip(leaves, expected, strict=True):
        assert np.shape(x) == np.shape(y), what
        size = np.max(np.abs(y), initial=1.0)
        np.testing.assert_allclose(x, y, rtol=0, atol=program.tolerance * size, err_msg=what)


def _same_state(given: Any, expected: Any, what: str) -> None:
    for x, y in zip(leaves_of(given), leaves_of(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-12, err_msg=f"{what}: an argument")


def _check(program: Program, gradient: Callable[..., Any], what: str, stores: bool = True) -> None:
    """Hold value, gradient and stores of value_and_grad's result against plain Python."""
    f = program.function
    for number, args in enumerate(program.calls):
        value, after = _called(f, args)
        given = _apart(args)
        got, found = gradient(*given)
        np.testing.assert_allclose(got, value, rtol=1e-5 if program.tolerance > 1e-4 else 1e-12)
        if stores:
            _same_state(given, after, what)
        for k, g, y in zip(places_of(args), found, _expected(f.__name__, number), strict=True):
            _agree(program, g, y, f"{what}, call {number}, argument {k}")
            for a, b in zip(leaves_of(g), leaves_of(args[k]), strict=True):
                assert np.asarray(a).dtype == np.asarray(b).dtype, what


@ALL
def test_the_gradient_by_evaluation(program: Program) -> None:
    places = places_of(program.calls[0])
    gradient = tracejit.value_and_grad(program.function, argnums=places)
    _check(program, Compiled(lambda *args: gradient(*args)), "evaluated", stores=False)


@ALL
def test_the_gradient_operation_by_operation(program: Program) -> None:
    places = places_of(program.calls[0])
    with tracejit.eager():
        _check(program, tracejit.value_and_grad(program.function, argnums=places), "eager")

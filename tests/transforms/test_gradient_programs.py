"""Derivatives of whole functions through control flow and stores: against central differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.capturing import Compiled
from tests.transforms import (
    gradient_algorithms,  # noqa: F401 - register programs
    gradient_store_programs,  # noqa: F401 - register programs
)
from tests.transforms.gradient_checks import (
    differences,
    dot,
    leaves_of,
    places_of,
    random_like,
    slopes_along,
)
from tests.transforms.gradient_programs import PROGRAMS, Program

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


@pytest.mark.sampled(12)
@ALL
def test_the_gradient_by_evaluation(program: Program) -> None:
    places = places_of(program.calls[0])
    gradient = tracejit.value_and_grad(program.function, argnums=places)
    _check(program, Compiled(lambda *args: gradient(*args)), "evaluated", stores=False)


@pytest.mark.sampled(48)
@ALL
def test_the_compiled_gradient(program: Program) -> None:
    places = places_of(program.calls[0])
    gradient = tracejit.value_and_grad(program.function, argnums=places)
    _check(program, gradient, "compiled")
    reasons = [x.code for x in gradient.report().fallbacks]
    assert reasons == [program.eager] * bool(program.eager), gradient.report()


@pytest.mark.sampled(12)
@ALL
def test_the_gradient_op_by_op(program: Program) -> None:
    places = places_of(program.calls[0])
    gradient = tracejit.value_and_grad(program.function, argnums=places)
    with tracejit.eager():
        _check(program, gradient, "op by op")


@pytest.mark.sampled(24)
@ALL
def test_tangents_and_cotangents_agree(program: Program) -> None:
    places = places_of(program.calls[0])
    gradient = tracejit.grad(program.function, argnums=places)
    pushed = Compiled(lambda args, along: tracejit.jvp(program.function, args, along))
    pulled = Compiled(lambda *args: gradient(*args))
    rng = np.random.default_rng(0)
    for args in program.calls:
        along = tuple(random_like(a, rng) if k in places else None for k, a in enumerate(args))
        value, tangent = pushed(_apart(args), along)
        found = pulled(*_apart(args))
        terms = [
            np.sum(np.real(g * t))
            for k, part in zip(places, found, strict=True)
            for g, t in zip(leaves_of(part), leaves_of(along[k]), strict=True)
        ]
        size = 1 + np.sum(np.abs(terms)) + abs(float(value))
        eps = 1e-4 if program.tolerance > 1e-4 else 1e-11
        assert abs(float(tangent) - np.sum(terms)) <= eps * size


@pytest.mark.sampled(40)
@ALL
def test_second_derivatives(program: Program) -> None:
    """Forward over reverse and reverse over reverse mode give what differences of gradients do."""
    places, rng = places_of(program.calls[0]), np.random.default_rng(1)
    if not program.second:
        pytest.skip("no second derivatives")
    gradient = tracejit.grad(program.function, argnums=places)
    first = Compiled(lambda *args: gradient(*args))
    forward = Compiled(lambda args, along: tracejit.jvp(gradient, args, along))

    def slope(along: Any, *args: Any) -> Any:
        return dot(gradient(*args), along)

    again = tracejit.grad(slope, argnums=tuple(k + 1 for k in places))
    reverse = Compiled(lambda along, *args: again(along, *args))
    for number, args in enumerate(program.calls):
        along = tuple(random_like(a, rng) if k in places else None for k, a in enumerate(args))
        expected = slopes_along(lambda *xs: first(*_apart(xs)), args, along)
        _, pushed = forward(_apart(args), along)
        chosen = tuple(along[k] for k in places)
        pulled = reverse(chosen, *_apart(args))
        _agree(program, pushed, expected, f"forward over reverse, call {number}")
        _agree(program, pulled, expected, f"reverse over reverse, call {number}")

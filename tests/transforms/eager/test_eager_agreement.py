"""What compiles is not refused elsewhere: under `eager()`, and where NumPy's errors raise."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.transforms import (
    gradient_algorithms,  # noqa: F401 - register programs
    gradient_store_programs,  # noqa: F401 - register programs
)
from tests.transforms.eager.eager_samples import EAGER, OF_AN_ORDER, ORDERS, PROGRAMS, X
from tests.transforms.gradient_checks import leaves_of, places_of
from tests.transforms.gradient_programs import PROGRAMS as OTHERS

CONTEXTS: tuple[Callable[[], Any], ...] = (tracejit.eager, lambda: np.errstate(all="raise"))


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", [*PROGRAMS, *EAGER])
def test_runs_operation_by_operation_know_what_is_compiled(name: str) -> None:
    f = (PROGRAMS | EAGER)[name]
    steps = 1e-6 * np.eye(len(X))
    expected = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
    gradient = tracejit.grad(f)
    np.testing.assert_allclose(gradient(X), expected, rtol=1e-7, atol=1e-8)
    assert bool(gradient.report().fallbacks) == (name in EAGER), gradient.report()
    for context in CONTEXTS:
        with context():
            np.testing.assert_allclose(tracejit.grad(f)(X), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("k", range(len(OF_AN_ORDER)))
def test_orders_that_are_not_differentiated_by(k: int) -> None:
    f = OF_AN_ORDER[k]
    for order in ORDERS:
        compiled = tracejit.hvp(f, argnums=1)
        expected = compiled(order, X, X)
        assert compiled.report().fallbacks == [], compiled.report()
        with tracejit.eager():
            np.testing.assert_allclose(compiled(order, X, X), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list(OTHERS)[::4])
def test_gradients_of_programs_compile_whatever_is_ignored(name: str) -> None:
    program = OTHERS[name]
    args = program.calls[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with np.errstate(all="ignore"):
            gradient = tracejit.grad(program.function, argnums=places_of(args))
            found = gradient(*copy.deepcopy(args))
    codes = [x.code for x in gradient.report().fallbacks]
    assert codes == [program.eager] * bool(program.eager)
    for x, y in zip(leaves_of(found), leaves_of(gradient(*copy.deepcopy(args))), strict=True):
        np.testing.assert_array_equal(x, y)

"""Functions with assertions in a module that pytest rewrites, as it does this one, are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit


def positive(x: Any) -> Any:
    assert (x > 0).all(), f"{x.min()} is not positive"
    return np.sqrt(x)


@tracejit.jit(strict=True)
def first_above(x: Any, limit: float) -> Any:
    assert x.ndim == 1
    for i in range(len(x)):
        assert x[i] == x[i]
        if x[i] > limit:
            return positive(x[i:]).sum()
    return 0.0


def test_their_own_source_is_compiled() -> None:
    x = np.arange(1.0, 6.0)
    assert first_above(x, 2.5) == first_above.__wrapped__(x, 2.5)
    report = first_above.report()
    assert report.compiles and not report.fallbacks


def test_a_failing_assertion_says_what_pytest_says() -> None:
    x = np.array([1.0, 3.0, -1.0])
    said = []
    for f in (first_above.__wrapped__, first_above, first_above):
        with pytest.raises(AssertionError) as info:
            f(x, 2.5)
        said.append(str(info.value).splitlines()[:2])
        assert info.traceback[-1].name == "positive"
    assert said[0][0] == "-1.0 is not positive" and said[1] == said[2] == said[0]
    assert "assert" in said[0][1]


def test_one_inside_another_function() -> None:
    y = np.ones(3)

    @tracejit.jit(strict=True)
    def outer(x: Any) -> Any:
        def check(v: Any) -> Any:
            assert v.shape == y.shape
            return v + y

        return check(x) * 2

    np.testing.assert_array_equal(outer(y), outer.__wrapped__(y))


def test_handlers_see_the_message() -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        try:
            assert x[0] > 0
        except AssertionError as e:
            return str(e)
        return "fine"

    for x in (np.ones(2), -np.ones(2)):
        assert f(x) == f.__wrapped__(x)


def test_gradients() -> None:
    def loss(x: Any) -> Any:
        assert x.ndim == 1
        return (positive(x) ** 2).sum()

    np.testing.assert_allclose(tracejit.grad(loss)(np.ones(3)), np.ones(3))
    with pytest.raises(AssertionError, match="is not positive"):
        tracejit.grad(loss)(-np.ones(3))

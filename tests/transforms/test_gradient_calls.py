"""Gradients in whole programs: what is called, stored, captured and called again."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit
from tests.transforms.gradient_checks import differences

X = np.array([0.3, 0.9, 1.4, 0.7])


def _in_place(x, t):
    x[1:] *= x[:-1] * t
    return (x * x).sum()


def test_the_caller_sees_the_stores_of_a_plain_call() -> None:
    expected, given = X.copy(), X.copy()
    _in_place(expected, 0.5)
    gradient = tracejit.grad(_in_place)(given, 0.5)
    np.testing.assert_array_equal(given, expected)
    np.testing.assert_allclose(gradient, differences(_in_place, (X, 0.5), 0)[0], rtol=1e-8)


def _through_a_view(x):
    column = x[:, 1]
    column *= x[:, 0]
    return (x**3).sum()


def test_stores_through_views_of_arguments_in_any_layout() -> None:
    x = np.linspace(0.2, 1.7, 6).reshape(3, 2)
    expected = differences(_through_a_view, (x,), 0)[0]
    gradient = tracejit.grad(_through_a_view)
    for given in (
        x.copy(),
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        x[::-1].copy()[::-1],
    ):
        np.testing.assert_allclose(gradient(given), expected, rtol=1e-8)
    assert not gradient.report().fallbacks


def test_a_pullback_is_of_the_arguments_at_its_call() -> None:
    x = X.copy()
    value, pullback = tracejit.vjp(lambda x: np.sin(x) * x, x)
    x[:] = 0.0
    expected = np.cos(X) * X + np.sin(X)
    for factor in (1.0, 2.0):
        (found,) = pullback(np.full(4, factor))
        np.testing.assert_allclose(found, factor * expected, rtol=1e-14)
    np.testing.assert_allclose(value, np.sin(X) * X, rtol=1e-15)


@tracejit.jit
def _pulled_after_a_change(x):
    value, pullback = tracejit.vjp(_steps, x)
    x[:] = 0.0
    (first,) = pullback(np.ones(4))
    (second,) = pullback(np.arange(4.0))
    return value, first, second


def _steps(x):
    y = x.copy()
    for i in range(1, 4):
        y[i] = y[i] * y[i - 1]
    return y


def test_a_compiled_pullback_is_of_the_arguments_at_its_call() -> None:
    x = X.copy()
    value, first, second = _pulled_after_a_change(x)
    np.testing.assert_allclose(value, _steps(X), rtol=1e-15)
    assert not x.any()
    for found, weights in ((first, np.ones(4)), (second, np.arange(4.0))):
        expected = differences(lambda z, w=weights: (_steps(z) * w).sum(), (X,), 0)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert not _pulled_after_a_change.report().fallbacks


@tracejit.jit
def _jitted(x, n):
    for _ in range(n):
        x = x * np.sin(x)
    return x


def _calls_jitted(x, n):
    return (_jitted(x, n) * x).sum()


def test_jitted_callees_are_differentiated_as_plain_ones() -> None:
    expected = differences(lambda x: _calls_jitted(x, 3), (X,), 0)[0]
    np.testing.assert_allclose(tracejit.grad(_calls_jitted)(X, 3), expected, rtol=1e-8)
    jitted = tracejit.jit(lambda x: tracejit.grad(_calls_jitted)(x, 3))
    np.testing.assert_allclose(jitted(X), expected, rtol=1e-8)
    assert not jitted.report().fallbacks


def test_counts_and_sizes_that_change_from_call_to_call() -> None:
    gradient = tracejit.grad(_calls_jitted)
    for n in (1, 3, 0, 2, 5):
        x = np.linspace(0.4, 1.3, n + 2)
        expected = differences(lambda x, n=n: _calls_jitted(x, n), (x,), 0)[0]
        np.testing.assert_allclose(gradient(x, n), expected, rtol=1e-7, atol=1e-10)
    report = gradient.report()
    assert not report.fallbacks
    assert len(report.variants) <= 4, report


_FACTOR = np.array([1.0, 2.0, 3.0, 4.0])


def _uses_a_global(x):
    s = 0.0
    for a, b in zip(x, _FACTOR, strict=True):
        s += a * a * b
    return s


def test_captured_arrays_are_read_at_each_call() -> None:
    gradient = tracejit.grad(_uses_a_global)
    np.testing.assert_allclose(gradient(X), 2 * X * _FACTOR, rtol=1e-15)
    _FACTOR[:] *= 2
    np.testing.assert_allclose(gradient(X), 2 * X * _FACTOR, rtol=1e-15)


def _raises(x, limit):
    s = 0.0
    for a in x:
        s += a * a
        if s > limit:
            raise ValueError(f"more than {limit}")
    return s


def test_exceptions_are_those_of_a_plain_call() -> None:
    gradient = tracejit.grad(_raises)
    np.testing.assert_allclose(gradient(X, 100.0), 2 * X)
    try:
        gradient(X, 1.0)
    except ValueError as e:
        assert str(e) == "more than 1.0"
    else:
        raise AssertionError("no exception")


def _integers_first(x):
    s = 0
    for a in x:
        if a > 0.5:
            s = s + a * a
    return s


def test_a_result_that_may_be_an_int_or_a_float() -> None:
    """An empty sum is the int 0, whose gradient is zero."""
    value_and_grad = tracejit.value_and_grad(_integers_first)
    for x in (X, X * 0.1):
        value, gradient = value_and_grad(x)
        assert type(value) is type(_integers_first(x))
        assert value == _integers_first(x)
        np.testing.assert_allclose(gradient, np.where(x > 0.5, 2 * x, 0.0))
    assert not value_and_grad.report().fallbacks


def _pair_of_kinds(x, t):
    y = x.sum() if t > 0 else 1.0
    return {"y": y, "z": x * t}


def test_products_with_a_result_of_several_kinds() -> None:
    for t in (0.5, -0.5):
        along = np.arange(4.0)
        value, tangent = tracejit.jvp(_pair_of_kinds, (X, t), (along, 0.0))
        assert type(value["y"]) is type(_pair_of_kinds(X, t)["y"])
        np.testing.assert_allclose(float(tangent["y"]), 6.0 if t > 0 else 0.0)
        np.testing.assert_allclose(tangent["z"], along * t)


@tracejit.jit
def _second(x):
    return tracejit.grad(lambda z: (tracejit.grad(_through_time)(z) * np.arange(4.0)).sum())(x)


def _through_time(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] * u[:-2] + 0.1 * u[2:]
    return (u * u).sum()


def test_compiled_second_derivatives() -> None:
    first = tracejit.grad(_through_time)
    expected = differences(lambda x: (first(x) * np.arange(4.0)).sum(), (X,), 0)[0]
    np.testing.assert_allclose(_second(X), expected, rtol=1e-6)
    assert not _second.report().fallbacks
    product = tracejit.hvp(_through_time)
    np.testing.assert_allclose(product(X, np.arange(4.0)), expected, rtol=1e-6)
    assert not product.report().fallbacks
    hessian = tracejit.hessian(_through_time)
    found: Any = hessian(X)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found @ np.arange(4.0), expected, rtol=1e-6)
    assert not hessian.report().fallbacks


def _bound_in_nested_loops(z, t):
    x = z.copy()
    whole = x
    a = x.copy()
    for k in range(len(x)):
        for _ in range(k % 3, 5, 2):
            if t < k:
                x = np.sin(a)
    np.multiply(x, a[0], out=x, where=a > 0.5)
    return x.sum() + (whole * whole).sum()


def test_a_store_through_a_name_that_nested_loops_may_have_bound_anew() -> None:
    jitted, gradient = tracejit.jit(_bound_in_nested_loops), tracejit.grad(_bound_in_nested_loops)
    for t in (5.0, -5.0):
        np.testing.assert_allclose(jitted(X, t), _bound_in_nested_loops(X, t), rtol=1e-14)
        expected = differences(_bound_in_nested_loops, (X, t), 0)[0]
        np.testing.assert_allclose(gradient(X, t), expected, rtol=1e-8)

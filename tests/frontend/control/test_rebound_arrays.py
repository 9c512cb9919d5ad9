"""Loops that store into an array under a name, and then bind the name to another array.

What such a loop stores is in the array that the name held before it, whoever reads that.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import tracejit
from tracejit.frontend.tracing.memory.storage import Storage

VECTOR = np.array([1.0, 2.0, 3.0])
MATRIX = np.array([[1.2, 0.3, 0.1], [0.0, 1.1, 0.4], [0.2, 0.1, 1.3]])


def advanced(y: Any, m: Any, q: Any) -> Any:
    t = 0.0
    while t < q:
        t += 1.0
        y[0] += 5.0
        y = m @ y
    return y.sum()


def in_a_branch(y: Any, m: Any, q: Any) -> Any:
    return advanced(y, m, q) if m.sum() > 1.0 else 0.0


def through_a_view(y: Any, m: Any, q: Any) -> Any:
    return advanced(y[::-1], m, q) if m.sum() > 1.0 else 0.0


def in_a_loop(y: Any, m: Any, q: Any) -> Any:
    s = k = 0.0
    while k < q:
        s += y[0]
        k += 1.0
        s += advanced(y, m, q)
    return s


def in_a_loop_of_its_own(y: Any, m: Any, q: Any) -> Any:
    s = k = 0.0
    while k < q:
        k += 1.0
        t = 0.0
        while t < q:
            t += 1.0
            y[0] += 2.0
            y = m @ y
        if s < 3.0:
            y = m @ y
        s += y[1]
    return s


def in_a_test(y: Any, m: Any, q: Any) -> Any:
    def step(y: Any) -> Any:
        y[0] += 1.0
        return y[0]

    while step(y) < q:
        y = m @ y
    return y.sum()


def of_a_batch(y: Any, m: Any, q: Any) -> Any:
    batch = np.stack([y, y + 1.0])
    return tracejit.vmap(lambda a: advanced(a, m, q))(batch).sum() + (batch**2).sum()


def beside_a_batch(y: Any, m: Any, q: Any) -> Any:
    return tracejit.vmap(lambda a: advanced(y, m, q) * a)(y.copy()).sum()


def computed_again(y: Any, m: Any, q: Any) -> Any:
    return tracejit.remat(lambda q: advanced(y, m, q))(q)


def in_a_gradient(y: Any, m: Any, q: Any) -> Any:
    return (tracejit.grad(advanced)(y, m, q) * y).sum()


def beside_a_gradient(y: Any, m: Any, q: Any) -> Any:
    return tracejit.grad(lambda q: advanced(y, m, q) * q)(q)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "f",
    [
        *(in_a_branch, through_a_view, in_a_loop, in_a_loop_of_its_own, in_a_test, of_a_batch),
        *(beside_a_batch, computed_again, in_a_gradient, beside_a_gradient),
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("q", [2.5, -1.0])
def test_what_such_a_loop_stores_is_read(f: Callable[..., Any], q: float) -> None:
    def whole(y: Any, m: Any, q: Any) -> Any:
        return f(y, m, q) + (y * np.array([1.0, 10.0, 100.0])).sum()

    def copied(y: Any, m: Any, q: Any) -> Any:
        return whole(y * 1.0, m * 1.0, q)

    for function in (whole, copied):
        plain = VECTOR.copy()
        expected = function(plain, MATRIX, q)
        for run in (tracejit.jit(function), tracejit.value_and_grad(function)):
            given = VECTOR.copy()
            found = run(given, MATRIX, q)
            value = found[0] if isinstance(found, tuple) else found
            np.testing.assert_allclose(value, expected, rtol=1e-12)
            np.testing.assert_allclose(given, plain, rtol=1e-12)


def best_part(x: Any, order: Any) -> Any:
    best = x[:2]
    for k in order:
        if x[k] > best[0]:
            best = x[k : k + 2]
    return best


def store_into_the_best(x: Any, order: Any) -> Any:
    best = best_part(x, order)
    best[0] = 5.0
    return x.sum()


def store_beside_the_best(x: Any, order: Any) -> Any:
    best = best_part(x, order)
    x *= 0.5
    return best.sum()


def store_into_one_of_two(x: Any, order: Any) -> Any:
    first, second = x[:4], x[4:]
    best = first
    for k in order:
        best = second if k > 2 else best
    best[0] = 5.0
    return x.sum()


def read_the_best(x: Any, order: Any) -> Any:
    return best_part(x, order).sum()


@pytest.mark.parametrize(
    "f",
    [best_part, store_into_the_best, store_beside_the_best, store_into_one_of_two, read_the_best],
)
def test_a_loop_leaves_one_of_two_views_of_an_array(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    order = np.array([1, 3, 2, 5])
    for seed in range(3):
        x, y = (np.random.default_rng(seed).random(8) for _ in range(2))
        expected, found = f(x, order), jitted(y, order)
        np.testing.assert_allclose(found, expected)
        np.testing.assert_allclose(y, x)
        if f is best_part:
            assert np.shares_memory(found, y)
    assert f is not read_the_best or not jitted.report().fallbacks


def test_memory_that_may_be_other_memory_on_many_ways() -> None:
    value: Any = SimpleNamespace(type=None)
    storages = [Storage(cast(Any, None), value) for _ in range(64)]
    for k, storage in enumerate(storages[2:]):
        storage.may_alias = tuple((other, other.version) for other in storages[k : k + 2])
    assert storages[-1].roots() == set(storages)

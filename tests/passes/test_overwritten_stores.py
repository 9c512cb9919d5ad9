"""Stores that later ones at the same place overwrite go, whatever is stored elsewhere between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit


def twice(x: Any, k: int) -> Any:
    x[k] = 1.0
    x[k + 1] = x[k - 1] * 2.0
    x[k] = x[k + 1] + 3.0
    return x


def at_overlapping_places(x: Any, k: int) -> Any:
    x[k : k + 3] = 1.0
    x[k + 1 : k + 4] = 2.0
    x[k : k + 3] = x[k + 3] + x[0]
    return x


def in_parts(x: Any, k: int) -> Any:
    x[k : k + 3] = 1.0
    x[k + 1] = 5.0
    x[k : k + 2] = 7.0
    return x


def read_between(x: Any, k: int) -> Any:
    x[k] = x[k + 1]
    y = x * 2.0
    x[k + 1] = y[k]
    x[k] = 4.0
    return x, y


def by_itself(x: Any, k: int) -> Any:
    x[k:] = x[k:] * 2.0
    x[: k + 2] = x[1 : k + 3] + 1.0
    x[k:] = x[k:] * 3.0
    return x


def backwards(x: Any, k: int) -> Any:
    x[k + 4 : k : -1] = x[:4]
    x[2] = -1.0
    x[k + 4 : k : -1] = x[1:5]
    x[k + 1 : k + 5] = x[:4] * x[2]
    return x


def added_between(x: Any, k: int) -> Any:
    x[k] = 2.0
    np.add.at(x, np.array([k, 0]), 3.0)
    y = x[k] * 1.0
    x[k] = y
    return x


def in_a_loop(x: Any, k: int) -> Any:
    y = np.zeros_like(x)
    for i in range(1, len(x) - k):
        y[i] = x[i] - x[i - 1]
        x[i - 1] = y[i] * y[i - 1]
        y[i] = 0.5 * x[i]
        if i == 5:
            break
        y[i - 1] = 1.0
        y[i] = x[i] + y[i - 1]
    return x + y


PROGRAMS = [
    twice,
    at_overlapping_places,
    in_parts,
    read_between,
    by_itself,
    backwards,
    added_between,
    in_a_loop,
]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("shape", [(12,), (12, 5)])
def test_values(f: Callable[..., Any], shape: tuple[int, ...]) -> None:
    jitted = tracejit.jit(f)
    for k in (2, 1, 6, 0, -1):
        x = np.random.default_rng(6).random(shape)
        x[3] = np.nan
        given, plain = x.copy(), x.copy()
        try:
            want = f(plain, k)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                jitted(given, k)
        else:
            np.testing.assert_array_equal(jitted(given, k), want)
        np.testing.assert_array_equal(given, plain)


def test_a_store_between_others() -> None:
    x = np.random.default_rng(7).random((12, 30))
    assert tracejit.jit(twice).lower(x, 2).text("fuse").count("update_slice(") == 2


def test_adjoints_that_are_cleared_are_not_stored_before() -> None:
    def sweep(x: Any, c: Any) -> Any:
        for k in range(1, x.shape[1]):
            x[:, k] = np.sin(x[:, k] - c[:, k] * x[:, k - 1])
            x[:, k] = x[:, k] * c[:, k]
        return np.sum(x)

    rng = np.random.default_rng(8)
    x, c, d = rng.random((3, 6, 9))
    gradient = tracejit.grad(sweep)
    found = gradient(x.copy(), c)
    slope = (sweep(x + 1e-6 * d, c) - sweep(x - 1e-6 * d, c)) / 2e-6
    np.testing.assert_allclose(np.sum(found * d), slope, rtol=1e-7)
    text = gradient.lower(x.copy(), c).text("fuse")
    # One forwards; backwards what was there before, and the adjoints of this and the last column.
    assert text.count("update_slice(") == 4

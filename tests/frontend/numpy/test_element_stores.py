"""Arrays with axes as elements: stores that NumPy refuses, and those that look alike."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity

KEYS: list[tuple[Any, Any]] = [
    (1, np.zeros(3)),
    (np.int64(-1), np.zeros(3)),
    (np.array(1), np.zeros(3)),
    ((0, 2), np.zeros((2, 3))),
    ((), np.zeros(())),
    ((1, ...), np.zeros(3)),
    (..., np.zeros(())),
    (1, np.zeros((2, 1))),
    (slice(1, 2), np.zeros(3)),
    ([1], np.zeros(3)),
]


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "?"])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (0,), ()])
def test_an_array_as_an_element(shape: tuple[int, ...], dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, x in KEYS:

            def store(x: Any, v: Any, key: Any = key) -> None:
                x[key] = v

            assert_parity(store, x.astype(dtype), np.ones(shape, dtype))


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
@pytest.mark.parametrize("shape", [(1,), (2,), (0,), ()])
def test_an_array_as_an_element_of_flat(shape: tuple[int, ...], dtype: str) -> None:
    def store(x: Any, v: Any) -> None:
        x.flat[2] = v

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_parity(store, np.zeros((2, 3), dtype), np.ones(shape, dtype))


def test_a_sum_with_an_array_is_no_element() -> None:
    def add(x: Any, k: Any, v: Any) -> None:
        for i in range(k):
            x[i] += v

    for size in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_parity(add, np.zeros(3), np.int64(2), np.ones(size))
    assert tracejit.jit(add)(np.zeros(3), np.int64(2), 1.0) is None

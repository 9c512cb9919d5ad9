"""One compiled function called from several threads at once."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import pieces
from tests.support.compare import assert_same

pytestmark = pytest.mark.llvm_anew


def together(work: Callable[[int], Any], workers: int = 8) -> list[Any]:
    """Results of `work(i)` in threads that start at the same moment."""
    gate = threading.Barrier(workers)

    def wait(i: int) -> Any:
        gate.wait()
        return work(i)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(wait, range(workers)))


def test_first_calls_from_several_threads() -> None:
    f = tracejit.jit(pieces.chain)
    arrays = [np.linspace(-i, i + 1, 50 + i) for i in range(8)]
    results = together(lambda i: f(arrays[i], arrays[i]))
    for x, result in zip(arrays, results, strict=True):
        assert_same(pieces.chain(x, x), result, "order", ulp=4)
    assert f.report().fallbacks == []


def test_many_calls_of_many_types_from_several_threads() -> None:
    f = tracejit.jit(pieces.add)
    dtypes = [np.float64, np.float32, np.int32, np.complex128, np.uint8, bool]

    def work(i: int) -> None:
        for repeat in range(60):
            dtype = dtypes[(i + repeat) % len(dtypes)]
            x = np.arange(i + repeat % 7).astype(dtype)
            assert_same(f(x, x), x + x)

    together(work)


def test_one_function_from_several_threads_on_large_arrays() -> None:
    f = tracejit.jit(pieces.add)
    arrays = [np.full(300_000, float(i)) for i in range(4)]
    for _ in range(5):
        for i, result in enumerate(together(lambda i: f(arrays[i], arrays[i]), 4)):
            assert_same(result, arrays[i] * 2)

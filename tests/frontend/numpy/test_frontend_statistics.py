"""Selections, norms of the array API and moments without NaNs on tracers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.tracing import check, wave

F = Callable[..., Any]

EXACT: list[F] = [
    lambda x, y: np.select([x > 1, x < -1], [x, y]),
    lambda x, y: np.select([x > 1, x > 0, y > 0], [x, 2.5, y * y], default=7),
    lambda x, y: np.select([x[0] > 1, y > 0], [x, y[0]], np.float32(1)),
    lambda x, y: np.select([x > 1], [1], 2),
    lambda x, y: np.select([x[0, 0] > 1], [x[0, 0]], 2),
    lambda x, y: np.select([True, False], [x, y]),
]
ORDER: list[F] = [
    *(
        lambda x, y, f=f: (f(x), f(x, axis=0), f(x, axis=(0, 1), keepdims=True), f(y))
        for f in (np.nanmean, np.nanvar, np.nanstd)
    ),
    lambda x, y: np.nanvar(x, axis=1, ddof=2),
    lambda x, y: np.nanstd(x[:1], axis=0, ddof=1),
    lambda x, y: np.nanmean(y[0].astype(int)),
    lambda x, y: np.linalg.matrix_norm(y),
    lambda x, y: np.linalg.matrix_norm(y, ord=1, keepdims=True),
    lambda x, y: np.linalg.vector_norm(y),
    lambda x, y: np.linalg.vector_norm(y, axis=0, ord=1, keepdims=True),
    lambda x, y: np.linalg.vector_norm(y, axis=(1, 0), keepdims=True),
    lambda x, y: np.linalg.vector_norm(y, keepdims=True),
]


def arguments(dtype: Any) -> list[Any]:
    x = wave(4, 5, dtype=dtype)
    x[1, 2] = x[3, 0] = np.nan
    return [x, wave(4, 5, dtype=dtype)[::-1].copy()]


@pytest.mark.parametrize("k", range(len(EXACT)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selections(k: int, dtype: Any) -> None:
    check(EXACT[k], arguments(dtype))


@pytest.mark.parametrize("k", range(len(ORDER)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty")
def test_moments_and_norms(k: int, dtype: Any) -> None:
    if k == 5 and np.dtype(dtype).kind == "c":
        pytest.skip("a complex number is no index")
    check(ORDER[k], arguments(dtype), parity="order", ulp=16)

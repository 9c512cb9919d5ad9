"""Kernels that do the same to other arrays are one function of the program."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit
from tests.support.compare import assert_parity


def layers(x: list[Any], y: list[Any], s: float) -> Any:
    for a, b in zip(x, y, strict=True):
        a -= s * np.exp(b)
    return x[0].mean()


def signs(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Of `a` and `b` other zeros, of `c` another number, of `d` and `e` another dtype."""
    zero = np.float32(0.0)
    return a * 0.0 + 1.0, b * -0.0 + 1.0, c * 2.0 + 1.0, d * zero + zero, e * -zero + zero


def test_arrays_of_one_shape_share_code() -> None:
    def arrays() -> Any:
        return [np.arange(6.0), np.arange(6.0) + 1, np.arange(6.0) + 2, np.arange(5.0)]

    assert_parity(layers, arrays(), arrays(), 0.5, parity="order")
    text = tracejit.jit(layers).lower(arrays(), arrays(), 0.5).text("kernel")
    # One that sums, too, one that two could be, and one of another size.
    assert text.count("def k") == 3


def test_what_differs_stays_apart() -> None:
    x = np.array([1.0, -2.0, 3.0])
    given = x, x + 1, x + 2, x.astype(np.float32), x.astype(np.float32) + 1
    assert_parity(signs, *given, parity="exact")
    assert tracejit.jit(signs).lower(*given).text("kernel").count("def k") == 5


def test_parts_by_threads() -> None:
    """A long kernel that threads share is one function, too."""

    def f(x: list[Any]) -> Any:
        return [np.exp(np.sin(a)) for a in x]

    x = [np.full(300_000, k / 10) for k in range(3)]
    jitted = tracejit.jit(f, strict=True)
    for got, a in zip(jitted(x), x, strict=True):
        np.testing.assert_allclose(got[[0, -1]], np.exp(np.sin(a[[0, -1]])), rtol=1e-15)
    assert jitted.lower(x).text("llvm").count(".part(ptr %context, i64 %lo") == 1

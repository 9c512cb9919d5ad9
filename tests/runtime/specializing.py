"""Functions called with many kinds of arguments, and how often they are compiled for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tests.support.compare import assert_same


def block(*shape: int) -> np.ndarray:
    """An array of distinct numbers, none of them 0."""
    return np.arange(1.0, np.prod(shape, dtype=int) + 1).reshape(shape)


X = block(3)


def compiles(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[int]:
    """How many compiles there were after each call; results are compared with NumPy's.

    No call may run eagerly.
    """
    jitted = tracejit.jit(function, strict=True)
    counts = []
    for args in calls:
        assert_same(function(*args), jitted(*args))
        counts.append(len(jitted.report().compiles))
    assert jitted.report().fallbacks == []
    return counts


def increment(x: Any) -> Any:
    return x + 1


def times(x: Any, n: Any) -> Any:
    return x * n


def ends(x: Any, y: Any) -> Any:
    """A result that needs no relation between the sizes."""
    return x[-1] * 2 + y[0] + x.shape[0] * 100 + y.shape[0]

"""Grids of as many points as an int says that varies: one compile serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit

GRIDS: dict[str, Callable[..., Any]] = {
    "one axis": lambda a, b, n: np.mgrid[a : b : n * 1j],
    "two axes": lambda a, b, n: np.mgrid[a : b : n * 1j, 0 : 3 : 1j * n],
    "open": lambda a, b, n: np.ogrid[a : b : n * -1j, 0 : 1 : n * 1j],
    "row": lambda a, b, n: np.r_[a : b : n * 1j],
    "one more": lambda a, b, n: np.mgrid[a : b : (n + 1) * 1j],
    "below zero": lambda a, b, n: np.r_[a : b : -n * 1j],
    "no start": lambda a, b, n: np.mgrid[: b : n * 1j],
}


@pytest.mark.parametrize("name", GRIDS)
def test_points_counted_by_an_int(name: str) -> None:
    f = GRIDS[name]
    jitted = tracejit.jit(f)
    for n in (3, 4, 2, 5, 1, 0, 7, 8, 9, 10, 11, 12, 40):
        for a, b in ((0.0, 1.0), (-1, 2)):
            expected, found = f(a, b, n), jitted(a, b, n)
            assert type(found) is type(expected) and len(found) == len(expected)
            for x, y in zip(expected, found, strict=True):
                assert np.array_equal(x, y) and x.dtype == y.dtype
    report = jitted.report()
    assert not report.fallbacks and len(report.variants) <= 8, report


def test_a_step_below_zero_counts_as_many() -> None:
    jitted = tracejit.jit(lambda n: np.mgrid[0.0 : 1.0 : (n - 6) * 1j])
    for n in (10, 11, 12, 3, 4, 7, 6):
        assert np.array_equal(jitted(n), np.mgrid[0.0 : 1.0 : (n - 6) * 1j])
    assert not jitted.report().fallbacks, jitted.report()

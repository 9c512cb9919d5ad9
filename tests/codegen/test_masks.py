"""What masks pick: of every dtype, layout and length, whatever share of the elements it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tests.support.layouts import LAYOUTS
from tracejit.ir.types import DTYPES


def picked(x: Any, mask: Any) -> Any:
    return x[mask]


def both(x: Any, mask: Any) -> Any:
    return x[mask], np.flatnonzero(mask), np.extract(mask, x)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [picked, both])
def test_shares_and_lengths(f: Any, dtype: str) -> None:
    random = np.random.default_rng(4)
    jitted = tracejit.jit(f)
    for n in (0, 1, 5, 63, 64, 65, 130, 1000):
        for share in (0.0, 0.02, 0.5, 0.97, 1.0):
            x, mask = random.integers(-99, 99, n), random.random(n) < share
            x = x > 0 if dtype == "b1" else x.astype(DTYPES[dtype])
            assert_same(f(x, mask), jitted(x, mask))


@pytest.mark.parametrize("layout", [n for n in LAYOUTS if n not in ("swapped", "unaligned")])
def test_layouts(layout: str) -> None:
    random = np.random.default_rng(5)
    lay = LAYOUTS[layout]
    x, mask = random.random((7, 20)), random.random((7, 20)) < 0.5
    jitted = tracejit.jit(both)
    for given in ((lay(x), mask), (x, lay(mask)), (lay(x), lay(mask)), (x.T, mask.T)):
        assert_same(both(*given), jitted(*given))


def test_elements_are_those_before_a_store() -> None:
    def f(x: Any, mask: Any) -> Any:
        before = x[mask]
        x[mask] = 0
        flat = x.reshape(-1)
        return before, flat[mask.reshape(-1)], np.sort(flat), x

    x = np.arange(40.0).reshape(5, 8)
    given = x.copy(), x.copy()
    assert_same(f(given[0], x % 3 > 0), tracejit.jit(f, strict=True)(given[1], x % 3 > 0))
    assert_same(*given)

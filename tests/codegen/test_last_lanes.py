"""Elements that are left over when vectors are full: their stores end with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit


def forwards(x: Any, out: Any) -> None:
    out[3 : 3 + len(x)] = x


def backwards(x: Any, out: Any) -> None:
    out[2 + len(x) : 2 : -1] = x


@pytest.mark.sampled(18, kind=lambda narrow, **_: narrow)
@pytest.mark.parametrize("store", [forwards, backwards])
@pytest.mark.parametrize("narrow", ["i4", "i2", "i1", "f4", "f2", "?"])
@pytest.mark.parametrize("wide", ["i8", "f8", "i4"])
def test_one_narrowed_element_left_over(wide: str, narrow: str, store: Any) -> None:
    for n in (1, 5, 9, 17, 33):
        x, plain = np.arange(1, n + 1).astype(wide), np.full(n + 20, 7).astype(narrow)
        compiled = plain.copy()
        store(x, plain)
        tracejit.jit(store)(x, compiled)
        np.testing.assert_array_equal(compiled, plain)

"""Sorts of a few elements each are exchanges of pairs, and medians only those that they need."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit
from tracejit.passes.simplify.sorting_networks import _exchanges


@pytest.mark.parametrize("n", range(2, 17))
def test_the_network_sorts_all_sequences_of_zeros_and_ones(n):
    """Which is enough for all others (Knuth, volume 3, theorem 5.3.4Z)."""
    lines = [(np.arange(2**n) >> k & 1).astype(np.int8) for k in range(n)]
    for i, j in _exchanges(n):
        lines[i], lines[j] = np.minimum(lines[i], lines[j]), np.maximum(lines[i], lines[j])
    assert (np.diff(lines, axis=0) >= 0).all()


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "f4", "f8"])
def test_short_sorts(dtype):
    rng = np.random.default_rng(1)
    rows, columns = (tracejit.jit(lambda x, a=a: np.sort(x, axis=a), strict=True) for a in (-1, 0))
    for n in (2, 5, 8):
        x = (rng.random((40, n)) * 3 - (dtype[0] in "if")).astype(dtype)
        if dtype[0] == "f":
            x[rng.random(x.shape) < 0.2] = np.nan
            x[0] = [(-np.inf, np.inf)[k % 2] for k in range(n)]
        np.testing.assert_array_equal(rows(x), np.sort(x, axis=-1))
        np.testing.assert_array_equal(columns(x.T), np.sort(x.T, axis=0))
    assert "minimum" in rows.lower(x).text("cse") or "f" in dtype or dtype == "?"
    assert " sort(" not in rows.lower(x).text("cse")


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_medians_of_windows_sort_nothing(dtype):
    def median(x):
        return np.median(
            np.stack([x[i : i + 20, j : j + 20] for i in range(3) for j in range(3)]), 0
        )

    x = (np.random.default_rng(2).random((22, 22)) * 255).astype(dtype)
    if dtype != "u1":
        x[3, 4] = np.nan
    jitted = tracejit.jit(median, strict=True)
    np.testing.assert_array_equal(jitted(x), median(x))
    graph = jitted.lower(x).graphs["fuse"]
    assert {n.op.name for n in graph.nodes} <= {"fusion", "reshape", "constant"}


def test_long_lines_and_few_are_left_to_the_routine():
    for shape in ((3, 5), (100, 40)):
        x = np.random.default_rng(3).random(shape)
        jitted = tracejit.jit(lambda x: np.sort(x, axis=-1))
        np.testing.assert_array_equal(jitted(x), np.sort(x, axis=-1))
        assert " sort(" in jitted.lower(x).text("fuse")

"""Indices are checked before stores into arguments: nothing is copied to undo these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity
from tracejit.passes.fusion.early_checks import early_checks


def two_tables(a: Any, b: Any, i: Any, j: Any) -> Any:
    x, y = a[i], b[j]
    d = (x * y).sum(1) + 1.0
    a[i] -= 0.1 * d[:, None] * y
    b[j] -= 0.1 * d[:, None] * x
    return d.mean()


def added_at(a: Any, b: Any, i: Any, j: Any) -> Any:
    x, y = a[i], b[j]
    d = (x * y).sum(1) + 1.0
    np.add.at(a, i, -0.1 * d[:, None] * y)
    np.add.at(b, j, -0.1 * d[:, None] * x)
    return d.mean()


def one_reads_another(a: Any, b: Any, i: Any, j: Any) -> Any:
    a[i] += np.sin(b[j]) * 2


def a_slice_first(a: Any, b: Any, i: Any, j: Any) -> Any:
    a[1:3] = 0.5
    b[j] *= 2
    a[i] = b[j]
    return a.sum()


def computed_indices(a: Any, b: Any, i: Any, j: Any) -> Any:
    a[i] = 1.0
    b[a[:2, 0].astype(int)] = 2.0
    b[j + 1] = 3.0


PROGRAMS = [two_tables, added_at, one_reads_another, a_slice_first, computed_indices]
#: Indices into tables of 9 and 7 rows: of any sign, twice the same, none, and some outside.
INDICES = [
    ([0, 3, 3, -1], [2, -7, 1, 5]),
    ([0, 3, 3, -1], [2, -8, 1, 5]),
    ([0, 9, 3, -1], [2, 0, 1, 5]),
    ([8, 1], [7, 0]),
    ([], []),
]


def arguments(i: list[int], j: list[int]) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    found = (np.array(k, dtype=np.int64) for k in (i, j))
    return rng.random((9, 3)), rng.random((7, 3)), *found


@pytest.mark.parametrize("f", PROGRAMS)
def test_as_numpy(f: Any) -> None:
    """Results, arguments and exceptions are NumPy's, whichever index is outside."""
    calls = [arguments(*given) for given in INDICES]
    for also in (calls[1:], calls[:0:-1]):
        assert_parity(f, *calls[0], also=also, parity="order")


@pytest.mark.parametrize("f", PROGRAMS[:4])
def test_nothing_is_copied(f: Any) -> None:
    jitted = tracejit.jit(f, strict=True)
    jitted(*arguments(*INDICES[0]))
    assert "undone" not in str(jitted.report())


def test_indices_that_cost_more_than_a_copy() -> None:
    def counted(a: Any, b: Any, i: Any, j: Any) -> Any:
        np.add.at(a, i, 1.0)
        np.add.at(b, j, 1.0)

    i = np.zeros(1000, dtype=np.int64)
    given = (np.zeros(3), np.zeros(3), i, i)
    assert_parity(counted, *given)
    lowered = tracejit.jit(counted).lower(*given)
    graph = lowered.graphs["trace"]
    assert early_checks(graph) is graph


def test_alone_an_update_checks_itself() -> None:
    def f(a: Any, i: Any) -> Any:
        a[i] = 1.0

    graph = tracejit.jit(f).lower(np.zeros(9), np.arange(3)).graphs["trace"]
    assert early_checks(graph) is graph

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


def picked_by_a_mask(a: Any, b: Any, i: Any, j: Any) -> Any:
    np.add.at(b, j, np.sin(a[i[i >= 0]])[j % 3])


def rows_of_two_masks(a: Any, b: Any, i: Any, j: Any) -> Any:
    a[i[i >= 0]] *= 2.0
    k = np.unique(j[j > 0])
    b[k] += np.sin(b[k]) + a[i].sum()


def behind_an_exception(a: Any, b: Any, i: Any, j: Any) -> Any:
    a[0] = 1.0
    if (j > 5).any():
        raise ValueError("far")
    b[i[i < 6]] += 1.0
    np.add.at(b, j[j >= 0], 1.0)


PROGRAMS = [
    two_tables,
    added_at,
    one_reads_another,
    a_slice_first,
    picked_by_a_mask,
    rows_of_two_masks,
    behind_an_exception,
    computed_indices,
]
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


@pytest.mark.parametrize("f", PROGRAMS[:6])
def test_nothing_is_copied(f: Any) -> None:
    jitted = tracejit.jit(f, strict=True)
    jitted(*arguments(*INDICES[0]))
    assert "undone" not in str(jitted.report())


def test_what_is_behind_an_exception_is_checked_there() -> None:
    jitted = tracejit.jit(behind_an_exception, strict=True)
    jitted(*arguments(*INDICES[0]))
    assert "argument a" in str(jitted.report()) and "argument b" not in str(jitted.report())


class Averages:
    """Averages of what it has seen, which are stored before what else a call does may fail."""

    def __init__(self) -> None:
        self.mean, self.square, self.count = np.zeros(3), np.zeros(3), 0

    def __call__(self, x: Any, picked: Any) -> Any:
        self.count += 1
        self.mean += 0.1 * (x.mean(0) - self.mean)
        self.square += 0.1 * ((x * x).mean(0) - self.square)
        return (x - self.mean)[np.arange(len(x)), picked] * (1.0 / (1 - 0.9**self.count))


def test_whole_arrays_are_stored_behind_checks() -> None:
    jitted, x = tracejit.jit(Averages.__call__, strict=True), np.arange(12.0).reshape(4, 3)
    ours, plain = Averages(), Averages()
    for picked in ([0, 2, 1, -1], [1, 1, 1, 1], [0, 0, 0, 2]):
        np.testing.assert_allclose(jitted(ours, x, np.array(picked)), plain(x, picked), rtol=1e-14)
    assert "undone" not in str(jitted.report())
    for averages, f in ((ours, tracejit.jit(Averages.__call__)), (plain, Averages.__call__)):
        with pytest.raises(IndexError):
            f(averages, x, np.array([0, 3, 0, 0]))
    averages = Averages(), Averages()
    for each, f in zip(averages, (tracejit.jit(Averages.__call__), Averages.__call__), strict=True):
        each.count = -1
        with pytest.raises(ZeroDivisionError):
            f(each, x, np.array([0, 1, 0, 0]))
    for a, b in ((ours, plain), averages):
        np.testing.assert_array_equal(a.mean, b.mean)
        np.testing.assert_array_equal(a.square, b.square)
        assert a.count == b.count


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


class Log:
    """Rows kept in memory made once, of which each call looks at those so far."""

    def __init__(self, room: int) -> None:
        self.rows, self.length = np.zeros((room, 3)), 0

    def __call__(self, row: Any, first: int) -> Any:
        self.rows[self.length] = row
        self.length += 1
        return (self.rows[first : self.length] - row).max(axis=0)


def test_sizes_that_count_what_is_stored_are_checked_first() -> None:
    """And where a check fails, here of an axis that is empty, nothing has been stored."""
    jitted, rng = tracejit.jit(Log.__call__, strict=True), np.random.default_rng(0)
    for room in (8, 9):
        ours, plain = Log(room), Log(room)
        for k in range(6):
            row = rng.random(3)
            np.testing.assert_array_equal(jitted(ours, row, k // 2), plain(row, k // 2))
    assert "undone" not in str(jitted.report())
    for log, f in ((ours, tracejit.jit(Log.__call__)), (plain, Log.__call__)):
        f(log, row, 2)
        with pytest.raises(ValueError, match="zero-size"):
            f(log, row, 9)
    np.testing.assert_array_equal(ours.rows, plain.rows)
    assert ours.length == plain.length

"""Loops that take sums along columns, or update them, of arrays that they store into or not.

Each takes a matrix `a` (m, n), a vector `x` (m,), a result `y` (n,) and limits of the loop; beside
it stands how much of what it does can be done in front of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CASES", "UPDATES"]


def columns(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[:, j] @ x


def backwards(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(end - 1, begin - 1, -1):
        y[j] -= a[:, j] @ x


def row_by_columns(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[begin, j] -= a[begin, :begin] @ a[:begin, j]


def lower_and_upper(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for i in range(end):
        for j in range(begin, i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j] + 50.5
        for j in range(i, end):
            a[i, j] -= a[i, :i] @ a[:i, j]


def own_column(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1, j] = a[:, j] @ x


def column_of_before(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin + 1, end):
        a[1, j] = a[:, j - 1] @ x


def column_of_behind(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end - 1):
        a[1, j] = a[:, j + 1] @ x


def mirrored_column(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1, j] = a[:, end - 1 - j] @ x


def stored_elsewhere(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[:, j] @ x
        a[0, end - 1] = y[j]


def row_that_is_stored(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[:, j] @ x
        x[begin] = x[begin] + 1.0


def column_that_is_stored(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[2:, j] @ x[2:]
        a[2:, j] = y[j]


def rows_beside_it(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[2:, j] @ x[2:]
        a[:2, 0] = y[j]


def rows_that_overlap(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[2:, j] @ x[2:]
        a[1:3, end - 1] = y[j]


def shorter_and_shorter(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[: end - j, j] @ x[: end - j]


def other_columns(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end // 2):
        y[j] = a[:, 2 * j] @ x


def until_it_is_large(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[:, j] @ x
        if y[j] > 5.0:
            break


def of_several(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = (a[::-1, j] * x - a[:, j] * 2.0).sum() + (a[:, j] * a[:, 0]).sum()


def rank_one(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] += x * y[j]


def scaled_backwards(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(end - 1, begin - 1, -1):
        a[:, j] *= y[j]


def read_before(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[0, j]
        a[:, j] += x * 2.0


def read_after(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] += x * 2.0
        y[j] = a[0, j]


def next_is_read(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end - 1):
        a[:, j] += x * 2.0
        y[j] = a[0, j + 1]


def last_is_read(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin + 1, end):
        a[:, j] += x * 2.0
        y[j] = a[0, j - 1]


def changing_addend(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] += x
        x[begin] += 1.0


def of_the_column_before(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin + 1, end):
        a[:, j] += a[:, j - 1]


def of_the_mirrored_column(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] += a[:, end - 1 - j]


def of_another_column(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[3:, j] -= a[3:, 0] * a[0, j]


def stored_and_added_to(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] = x * 2.0
        a[:, j] += x


def of_its_own_sum(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[:, j] @ x
        a[:, j] += y[j] * x


def below_the_diagonal(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[j:, j] += x[j:]


def beside_other_stores(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[0, j] = 1.0
        a[2:, j] -= (y[j] * 0.5) * x[2:]
        a[1, end - 1] = a[0, begin]


def across_other_stores(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[2:, j] -= (y[j] * 0.5) * x[2:]
        a[2, end - 1] = y[j]


def into_the_next(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end - 1):
        a[:, j] += x
        a[1, j + 1] = 7.0


def of_an_earlier_state(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        v = a[:, j] * 1.0
        a[1, j] = 5.0
        a[:, j] += v


def store_into_the_next(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end - 1):
        a[:, j] = x * y[j]
        a[1, j + 1] = 7.0


def store_behind_a_store(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1:3, j] = x[1:3]
        a[2:, j] = x[2:] * y[j]


def store_into_one_column(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1, end - 1] = y[j]
        a[:, j] = x * 2.0


def sum_behind_a_store(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1, j] = y[j] + 5.0
        y[j] = a[:, j] @ x


def sum_beside_a_store(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1, j] = y[j] + 5.0
        y[j] = a[2:, j] @ x[2:]


def of_joined_parts(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] = np.concatenate((x[3:], a[:3, j])) * 2.0


def behind_its_element(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[begin, j] = a[begin, j] - y[j]
        a[: begin + 1, j] += x[: begin + 1] * y[j]


def behind_the_next_element(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end - 1):
        a[begin, j + 1] = a[begin, j + 1] - y[j]
        a[: begin + 1, j] += x[: begin + 1] * y[j]


def behind_the_last_element(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin + 1, end):
        a[begin, j - 1] = a[begin, j - 1] - y[j]
        a[: begin + 1, j] += x[: begin + 1] * y[j]


def behind_an_element_of_before(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin + 1, end):
        a[begin, j] = a[begin, j - 1] - y[j]
        a[: begin + 1, j] += x[: begin + 1] * y[j]


def behind_an_element_that_is_read(a: Any, x: Any, y: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        y[j] = a[begin, j] % 3.0
        a[begin, j] = y[j] - 1.0
        a[: begin + 1, j] += x[: begin + 1]


Function = Callable[..., None]
#: How many updates of columns are made in front; None where no loop is left by then.
UPDATES: list[tuple[Function, int | None]] = [
    (rank_one, None),
    (scaled_backwards, None),
    (read_before, 0),
    (read_after, 1),
    (next_is_read, 0),
    (last_is_read, 1),
    (changing_addend, 0),
    (of_the_column_before, 0),
    (of_the_mirrored_column, 0),
    (of_another_column, None),
    (stored_and_added_to, None),
    (of_its_own_sum, None),
    (below_the_diagonal, 0),
    (beside_other_stores, 1),
    (across_other_stores, 0),
    (into_the_next, 0),
    (of_an_earlier_state, 0),
    (store_into_the_next, 0),
    (store_behind_a_store, 0),
    (store_into_one_column, 0),
    (of_joined_parts, 0),
    (behind_its_element, 1),
    (behind_the_next_element, 1),
    (behind_the_last_element, 1),
    (behind_an_element_of_before, 0),
    (behind_an_element_that_is_read, 0),
]
#: How many sums are.
CASES: list[tuple[Function, int | None]] = [
    (columns, None),
    (backwards, None),
    (row_by_columns, None),
    (lower_and_upper, 0),
    (own_column, 1),
    (column_of_before, 0),
    (column_of_behind, 1),
    (mirrored_column, 0),
    (stored_elsewhere, 0),
    (row_that_is_stored, 0),
    (column_that_is_stored, None),
    (rows_beside_it, 1),
    (rows_that_overlap, 0),
    (shorter_and_shorter, 0),
    (other_columns, 0),
    (until_it_is_large, 0),
    (of_several, 2),
    (sum_behind_a_store, 0),
    (sum_beside_a_store, None),
]

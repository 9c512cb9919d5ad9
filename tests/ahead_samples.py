"""Loops that take sums along columns, of arrays that they store into or not.

Each takes a matrix `a` (m, n), a vector `x` (m,), a result `y` (n,) and limits of the loop; beside
it stands how many of its sums can be computed in front of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CASES"]


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


Function = Callable[..., None]
CASES: list[tuple[Function, int]] = [
    (columns, 1),
    (backwards, 1),
    (row_by_columns, 1),
    (lower_and_upper, 1),
    (own_column, 1),
    (column_of_before, 0),
    (column_of_behind, 1),
    (mirrored_column, 0),
    (stored_elsewhere, 0),
    (row_that_is_stored, 0),
    (column_that_is_stored, 1),
    (rows_beside_it, 1),
    (rows_that_overlap, 0),
    (shorter_and_shorter, 0),
    (other_columns, 0),
    (until_it_is_large, 0),
    (of_several, 2),
]

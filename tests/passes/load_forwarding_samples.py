"""Loops that read what they have stored, or look as if they did, and limits to call them with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CASES", "FAILING"]

X = np.array([1.5, -0.0, 2.0, np.nan, -1.0, 0.25, 3.0, -2.5])
Y = np.linspace(-1.0, 2.0, 8)


def forwards(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i] = y[i] - 0.5 * x[i - 1]
    return x


def backwards(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(end - 1, begin - 1, -1):
        x[i] -= y[i] * x[i + 1]
    return x


def two_back(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i] = x[i - 1] + x[i - 2]
    return x


def by_twos(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end, 2):
        x[i] = x[i - 2] * 0.5 + x[i - 1]
    return x


def stored_twice(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i] = x[i - 1] + 1.0
        x[i] = x[i] * y[i]
    return x


def read_behind_a_store(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i - 1] = y[i]
        x[i] = x[i - 1] + 1.0
    return x


def stored_on(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end - 1):
        v = x[i]
        x[i + 1] = v * 0.5
        x[i] = y[i]
    return x


def overwritten(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end - 1):
        v = x[i]
        x[i + 1] = v * 0.5
        x[i + 1] = y[i]
    return x


def other_place(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i] = x[i - 1] + 1.0
        x[end - 1] = y[i]
    return x


def first_place(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[0] = y[i] + x[0]
    return x


def in_a_branch(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        if y[i] > 0.0:
            x[i] = x[i - 1] + 1.0
    return x


def value_in_a_branch(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        if y[i] > 0.0:
            v = x[i - 1] + 1.0
        else:
            v = -y[i]
        x[i] = v
    return x


def broken_off(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        v = x[i - 1]
        if v > 2.5:
            break
        x[i] = v + 1.0
    return x


def broken_off_behind(x: Any, y: Any, begin: int, end: int) -> Any:
    i = begin
    while i < end:
        x[i] = x[i - 1] + y[i]
        if x[i] > 2.5:
            break
        i += 1
    return x, i


def exchanged(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i] = y[i - 1] + 1.0
        x, y = y, x
    return x, y


def both(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i], y[i] = y[i - 1] + x[i - 1], x[i - 1] - 1.0
    return x, y


def from_the_end(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[-1 - i] = x[-i] * 0.5 + y[i]
    return x


def through_views(x: Any, y: Any, begin: int, end: int) -> Any:
    v, w = x[::-1], x[1:]
    for i in range(begin, end - 1):
        v[i] = 0.5 * v[i - 1]
        w[i] = w[i - 1] + y[i]
    return x


def rounded(x: Any, y: Any, begin: int, end: int) -> Any:
    a = np.zeros(len(x), np.float32)
    k = np.zeros(len(x), np.int16)
    for i in range(begin, end):
        a[i] = a[i - 1] * 1.1 + y[i]
        k[i] = k[i - 1] * 3 + 1
    return a, k


def of_complex(x: Any, y: Any, begin: int, end: int) -> Any:
    z = x + 1j * y
    b = np.zeros(len(x), bool)
    for i in range(begin, end):
        z[i] = z[i - 1] * (0.5 - 0.25j)
        b[i] = not b[i - 1]
    return z, b


def along_rows(x: Any, y: Any, begin: int, end: int) -> Any:
    a = np.outer(x, y)
    for i in range(begin, end):
        for j in range(begin, i):
            a[i, j] += 0.5 * a[i, j - 1]
    return a


def down_columns(x: Any, y: Any, begin: int, end: int) -> Any:
    a = np.outer(x, y)
    for i in range(begin, end):
        for j in range(begin, i):
            a[i, j] += 0.5 * a[i - 1, j]
    return a


def untouched(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(begin, end):
        x[i] = x[i - 1]
        y[i] = y[begin]
    return x, y


def with_data(x: Any, y: Any, begin: int, end: int) -> Any:
    order = np.argsort(y)
    for i in range(begin, end):
        x[order[i]] = x[i - 1] + 1.0
    return x


def beyond(x: Any, y: Any, begin: int, end: int) -> Any:
    for i in range(8, end):
        x[i + 1] = x[i] * 0.5
    return x


Limits = list[tuple[int, int]]
_USUAL = [(1, 8), (2, 7), (3, 4), (3, 3), (5, 2)]

#: Function, limits of calls, and how many reads are left out, of both versions of its loop.
CASES: list[tuple[Callable[..., Any], Limits, int]] = [
    (forwards, _USUAL, 1),
    (backwards, [(0, 7), (2, 5), (3, 4), (3, 3), (5, 2)], 1),
    (two_back, [(2, 8), (4, 5), (4, 4), (5, 2)], 1),
    (by_twos, [(2, 8), (2, 7), (3, 4), (4, 4), (5, 2)], 1),
    (stored_twice, _USUAL, 1),
    (read_behind_a_store, _USUAL, 0),
    (stored_on, _USUAL, 1),
    (overwritten, _USUAL, 0),
    (other_place, _USUAL, 0),
    (first_place, _USUAL, 2),
    (in_a_branch, _USUAL, 0),
    (value_in_a_branch, _USUAL, 0),
    (broken_off, _USUAL, 0),
    (broken_off_behind, _USUAL, 0),
    (exchanged, _USUAL, 1),
    (both, _USUAL, 2),
    (from_the_end, _USUAL, 1),
    (through_views, _USUAL, 0),
    (rounded, _USUAL, 2),
    (of_complex, _USUAL, 2),
    (along_rows, _USUAL, 1),
    (down_columns, _USUAL, 0),
    (untouched, _USUAL, 1),
    (with_data, _USUAL, 0),
    (beyond, [(1, 8), (1, 3)], 1),
]

#: Limits of calls that leave by an exception, or count from the end where the loop begins.
FAILING: list[tuple[Callable[..., Any], Limits]] = [
    (forwards, [(0, 8), (1, 9), (-9, 3), (8, 9), (-3, 3)]),
    (backwards, [(0, 8), (-1, 5), (-9, 7), (7, 8)]),
    (two_back, [(0, 8), (1, 9), (-7, 2)]),
    (stored_twice, [(0, 3), (4, 12)]),
    (broken_off_behind, [(0, 9), (5, 9)]),
    (along_rows, [(0, 8), (1, 9), (-2, 3)]),
    (first_place, [(0, 9), (-9, 1)]),
    (beyond, [(1, 8), (1, 9)]),
]

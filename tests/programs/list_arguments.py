"""Programs of lists of numbers that the caller gives, or that objects and modules hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def floats(n: int) -> list[float]:
    return [float(v) for v in np.random.default_rng(n).normal(size=n)]


def ints(n: int) -> list[int]:
    return [int(v) for v in np.random.default_rng(n).integers(0, 9, size=n)]


def pairs(n: int) -> list[tuple[float, float]]:
    return list(zip(floats(n), floats(n + 1), strict=False))


def numbered(n: int) -> list[tuple[int, float]]:
    return list(enumerate(floats(n)))


def rows(n: int) -> list[list[float]]:
    return np.random.default_rng(n).normal(size=(n, 4)).tolist()  # type: ignore[no-any-return]


def scalars(n: int) -> list[Any]:
    return list(np.random.default_rng(n).normal(size=n))


def truths(n: int) -> list[bool]:
    return [v > 4 for v in ints(n)]


def complexes(n: int) -> list[complex]:
    return [complex(v, 1) for v in floats(n)]


#: (function, what makes each of its arguments from a length): each length runs the same code.
ANY_LENGTH: list[tuple[Callable[..., Any], Callable[[int], Any]]] = []
#: Those that Python's own lists are needed for, taken apart.
APART: list[tuple[Callable[..., Any], Callable[[int], Any]]] = []


def _takes(*makers: Callable[[int], Any], apart: bool = False) -> Any:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        for make in makers:
            (APART if apart else ANY_LENGTH).append((f, make))
        return f

    return add


# Reading -----------------------------------------------------------------------------------------


@_takes(floats, ints, scalars, complexes)
def mean(xs):
    total = 0.0
    for x in xs:
        total += x
    return total / len(xs)


@_takes(floats, ints, truths, scalars)
def as_array(xs):
    a = np.array(xs)
    a[0] = 1
    return a, xs[0]


@_takes(floats, ints)
def ends(xs):
    return xs[0], xs[-1], xs[len(xs) // 2], len(xs)


@_takes(floats, ints)
@_takes(pairs, apart=True)
def slices(xs):
    return xs[2:5], xs[::-1], xs[-3:]


@_takes(floats, ints)
def positive(xs):
    return [(i, x) for i, x in enumerate(xs) if x > 0]


@_takes(floats)
def summary(xs):
    return max(xs), min(xs), sorted(xs, reverse=True)[:2], any(xs), all(x < 9 for x in xs)


@_takes(pairs)
def path_length(points):
    d = 0.0
    for (x0, y0), (x1, y1) in zip(points, points[1:]):  # noqa: B905
        d += ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    return d


@_takes(numbered)
def weighted(pairs):
    total = 0.0
    for k, x in pairs:
        total += k * x
    return total


@_takes(rows)
def trace_of_product(a):
    total = 0.0
    for i in range(len(a)):
        for j in range(len(a[0])):
            total += a[i][j] * a[i][-1 - j]
    return total


@_takes(ints)
def is_in(xs):
    return 7 in xs, 3 in xs


@_takes(floats, ints)
def kinds(xs):
    return type(xs) is list, isinstance(xs[0], float), type(xs[0]) is int


# Changing ----------------------------------------------------------------------------------------


@_takes(floats, ints)
def doubled_in_place(xs):
    for i in range(len(xs)):
        xs[i] = xs[i] * 2


@_takes(floats, ints, scalars)
def running_sums(xs):
    for i in range(1, len(xs)):
        xs[i] += xs[i - 1]
    return xs[-1]


@_takes(floats, ints)
def bubble_sort(xs):
    n = len(xs)
    for i in range(n):
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


@_takes(floats, ints)
def sorted_in_place(xs):
    xs.sort()
    return xs


@_takes(floats, pairs)
def reversed_in_place(xs):
    xs.reverse()


@_takes(floats)
def extended(xs):
    xs.append(1.0)
    xs += [2.0, 3.0]
    return len(xs)


@_takes(floats)
def consumed(xs):
    total = 0.0
    while xs:
        total = total / 2 + xs.pop()
    return total


@_takes(pairs, apart=True)
def swapped(xs):
    xs[0], xs[1] = xs[1], xs[0]
    return xs[0]


@_takes(floats)
def copied(xs):
    ys = list(xs)
    ys.append(1.0)
    zs = xs.copy()
    zs[0] = 3.0
    return ys, zs, xs[0]


@_takes(floats)
def handled(xs):
    xs.append(7.0)
    try:
        return xs[100000]
    except IndexError:
        xs.append(8.0)
        return -1.0


# What needs Python's own elements ----------------------------------------------------------------


@_takes(ints, apart=True)
def by_each_value(xs):
    return [np.zeros(n + 1).shape for n in xs[:3]]


@_takes(floats, apart=True)
def other_kinds(xs):
    xs[3] = "a"
    xs.append(None)
    return len(xs)


@_takes(rows, apart=True)
def row_stored(a):
    for i in range(len(a)):
        a[i][0] = 0.0

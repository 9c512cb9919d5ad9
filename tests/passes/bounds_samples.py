"""Functions with indices that are only known at run time, and calls of them in range and out of it.

Numbers that come out of an integer array are numbers of the run, of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CASES"]


def shifted(x: Any, limits: Any) -> Any:
    a, b, k = int(limits[0]), int(limits[1]), int(limits[2])
    s = 0.0
    for i in range(a, b):
        s += x[i] * x[i + k]
    return s


def scaled(x: Any, limits: Any) -> Any:
    b, k = int(limits[0]), int(limits[1])
    y = np.zeros(x.size)
    for i in range(b):
        y[2 * i + 1] = x[3 * i - k] + 1.0
    return y


def downwards(x: Any, limits: Any) -> Any:
    a, b = int(limits[0]), int(limits[1])
    for i in range(b, a, -1):
        x[i] += x[b - i]
    return x.sum()


def with_step(x: Any, limits: Any) -> Any:
    a, b, c = int(limits[0]), int(limits[1]), int(limits[2])
    for i in range(a, b, c):
        x[i] += 1.0
    return x


def counted(x: Any, limits: Any) -> Any:
    n, i, s = int(limits[0]), 0, 0.0
    while i < n:
        s += x[i]
        i += 2
    return s


def stencil(u: Any, v: Any, limits: Any) -> Any:
    h, w = int(limits[0]), int(limits[1])
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            v[i, j] += u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
    return v


def triangle(a: Any, limits: Any) -> Any:
    n, k = int(limits[0]), int(limits[1])
    for i in range(n):
        for j in range(i + 1):
            a[i - j + k, j] += a[j, i]
    return a


def flattened(x: Any, limits: Any) -> Any:
    n, m = int(limits[0]), int(limits[1])
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += x[i * m + j]
    return s


def rows(data: Any, starts: Any) -> Any:
    out = np.zeros(starts.size - 1)
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            out[i] += data[k]
    return out


def until(x: Any, limits: Any) -> Any:
    n, s = int(limits[0]), 0.0
    for i in range(n):
        if x[i + 1] > 3.0:
            break
        s += x[i]
    return s


def only_sometimes(x: Any, limits: Any) -> Any:
    n, k, s = int(limits[0]), int(limits[1]), 0.0
    for i in range(n):
        if i < k:
            s += x[i]
    return s


def beside_data(x: Any, index: Any, limits: Any) -> Any:
    n, k = int(limits[0]), int(limits[1])
    for i in range(n):
        x[index[i + k]] += 1.0
    return x


def printing(x: Any, limits: Any) -> Any:
    n = int(limits[0])
    for i in range(n):
        print("at", i)
        x[i] *= 2.0
        x[i + 1] += 1.0
    return x


def twice(x: Any, limits: Any) -> Any:
    n, m = int(limits[0]), int(limits[1])
    for i in range(n):
        x[i] += 1.0
    for i in range(m):
        x[i] *= 2.0
    return x


def _of(*numbers: int) -> Any:
    return np.array(numbers)


X = np.arange(1.0, 9.0)
A = np.arange(20.0).reshape(4, 5)
FAR = 2**62

#: Functions with argument lists: some of the calls fail, at once, late or never.
CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (
        shifted,
        [
            (X, _of(*at))
            for at in ((0, 8, 0), (0, 5, 3), (0, 6, 3), (-3, 5, 0), (-9, 2, 0), (5, 2, 100))
            + ((3, 8, -3), (2, 8, -3), (0, 3, FAR), (-FAR, 2, 1), (0, FAR, 0), (FAR, FAR + 1, 5))
        ],
    ),
    (scaled, [(X, _of(*at)) for at in ((2, 0), (3, 0), (4, 9), (4, 1), (5, 0), (0, 50), (3, -2))]),
    (downwards, [(X, _of(*at)) for at in ((-1, 7), (0, 7), (-1, 8), (-4, 3), (3, 3), (2, 9))]),
    (
        with_step,
        [(X, _of(*at)) for at in ((0, 8, 3), (7, -1, -2), (0, 9, 4), (0, 10, 3), (-9, 8, 2))],
    ),
    (counted, [(X, _of(n)) for n in (0, 1, 7, 8, 9, 10, -5)]),
    (
        stencil,
        [(A, A + 1, _of(*at)) for at in ((4, 5), (3, 3), (5, 5), (4, 6), (2, 99), (99, 2), (9, 9))],
    ),
    (triangle, [(A, _of(*at)) for at in ((4, 0), (4, 1), (5, 0), (3, -1), (0, 9), (4, -2))]),
    (flattened, [(X, _of(*at)) for at in ((2, 4), (3, 3), (4, 2), (8, 1), (0, 9), (9, 0))]),
    (rows, [(X, _of(*at)) for at in ((0, 3, 8), (0, 3, 9), (2, 2, 5, 4), (-1, 2))]),
    (until, [(x, _of(n)) for x in (X, X * 0) for n in (3, 7, 8, 20)]),
    (only_sometimes, [(X, _of(*at)) for at in ((8, 8), (99, 8), (99, 9), (99, 0))]),
    (
        beside_data,
        [(X, _of(1, 1, 0, 7, -8), _of(*at)) for at in ((5, 0), (4, 1), (4, 2), (0, 9), (2, -1))]
        + [(X, _of(1, 1, 8), _of(3, 0)), (X, _of(1, -9, 2), _of(3, 0))],
    ),
    (printing, [(X, _of(n)) for n in (0, 3, 7, 8, 9)]),
    (twice, [(X, _of(*at)) for at in ((8, 8), (8, 9), (9, 8), (3, 9))]),
]


def stored_behind(x, index, n):
    v = x[index]
    v[n:] = 0
    return v


def stored_behind_and_read(x, index, n):
    v = x[index] * 2
    v[n:] = 0
    return v[:-1]


#: Elements that nobody reads are NumPy's error where they are out of range, too.
UNREAD = (stored_behind, stored_behind_and_read)

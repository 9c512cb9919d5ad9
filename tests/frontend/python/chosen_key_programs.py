"""Programs whose index is one of several values, None among them, each a function of (x, k)."""

from __future__ import annotations

import numpy as np


def last_above(x, k):
    j = None
    for i in range(3):
        if x[i, 0] > k:
            j = i
    return x[:, j], x[j, 1]


def counts_down(x, k):
    n = 3
    for i in range(3):
        if x[i, i] <= k:
            x[i, n] += 1
            n -= np.int64(1)
    return x, n


def bounds_or_none(x, k):
    a, b = 0, None
    if x[0, 0] > k:
        a, b = np.int64(1), np.int64(2)
    x[a, 1] = 5
    return x[a:b, 1], x[a:b]


def limit_or_none(x, k):
    limit = None
    for i in range(3):
        if x[i, 0] > k:
            limit = x[i, 0]
    return x < limit, 2.0 < limit


def item_of_none(x, k):
    table = None
    for i in range(3):
        if x[i, 0] > k and table is None:
            table = np.zeros(4)
    table[1] = k
    return table


PROGRAMS = [last_above, counts_down, bounds_or_none, limit_or_none, item_of_none]

"""Programs whose index or element is one of several, None among them: functions of (x, k)."""

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


def constant_of_several(x, k):
    names = ["a", "b", None, 2.5]
    return names[int(k) % 4], names[-1 - int(k) % 4]


def steps_by_texts(x, k):
    total = 0.0
    for i in range(3):
        direction = ("up", 1.0, "down")[int(x[i, 0]) % 3]
        if direction == "up":
            total += 1
        elif direction == "down":
            total -= k
        else:
            total += direction * 10
    return total


def function_of_several(x, k):
    return [np.sin, np.cos, lambda v: v * 2][int(k) % 3](x)


def array_of_several(x, k):
    rows = [x[0] * 1, x[1] * 2, x[2].copy()]
    row = rows[int(k) % 4]
    row[0] = 99.0
    rows[int(k) % 3][1] = 7.0
    return rows[0], rows[2], row


def method_of_several(x, k):
    counters = [Counter(), Counter()]
    for i in range(3):
        counters[int(x[i, 1] > k)].add(i + 1.0)
    return counters[0].total, counters[1].total, counters[1].calls


class Counter:
    def __init__(self):
        self.calls, self.total = 0, 0.0

    def add(self, x):
        self.calls += 1
        self.total += x


PROGRAMS = [
    last_above,
    counts_down,
    bounds_or_none,
    limit_or_none,
    item_of_none,
    constant_of_several,
    steps_by_texts,
    function_of_several,
    array_of_several,
    method_of_several,
]

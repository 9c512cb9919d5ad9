"""Loops that may not run at all: what was defined before them stays what it was."""

# ruff: noqa: B905

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("zero_trip")


def keeps_start(x, n):
    y = x
    for i in range(n):
        y = y + i
    return y


programs.add(keeps_start, (ramp(4), 2), (ramp(4), 0), (ramp(9), 0), (ramp(9), 3), (ramp(9), -1))


def int_stays_int(x, n):
    s = 0
    for i in range(n):
        s += x * i
    return s, n


programs.add(int_stays_int, (1.5, 3), (1.5, 0), (np.float64(2.0), 0), (np.float64(2.0), 4))


def while_never(x):
    y = x
    n = 0
    while y.min() > 0:
        y = y - 1
        n += 1
    return y, n


programs.add(while_never, (ramp(4),), (ramp(4, 1, 2),), (ramp(11),), (ramp(11, 5, 7),))


def empty_array(x):
    m = 0.0
    for v in x:
        m = max(m, v)
    return m


programs.add(empty_array, (np.zeros(0),), (mixed(5),), (mixed(18),))


def empty_rows(m):
    s = np.zeros(m.shape[1])
    for row in m:
        s = s + row
    return s


programs.add(empty_rows, (np.zeros((0, 3)),), (table(2, 3),), (table(9, 4),), (np.zeros((2, 0)),))


def inner_never(n, x):
    s = 0.0
    for i in range(n):
        for j in range(i, 2):
            s += x[j]
    return s


programs.add(inner_never, (1, ramp(4)), (5, ramp(4)), (0, ramp(4)), (9, ramp(11)))


def argument_not_written(x, n):
    for i in range(n):
        x[i] = -1.0
    return x


programs.add(argument_not_written, (ramp(4), 0), (ramp(4), 2), (ramp(12), 0), (ramp(12), 12))


def zip_of_empty(x, y):
    s = 1
    for a, b in zip(x, y):
        s = a * b
    return s


programs.add(
    zip_of_empty,
    (ramp(3), np.zeros(0)),
    (ramp(3), ramp(3)),
    (np.zeros(0), ramp(5)),
    (mixed(9), ramp(7)),
)


def division_not_reached(n, d):
    q = 0
    for i in range(n):
        q += (i + 7) // d
    return q


programs.add(division_not_reached, (3, 2), (0, 0), (0, 5), (4, 0))


def index_not_reached(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


programs.add(
    index_not_reached, (ramp(3), 2), (ramp(3), 0), (ramp(3), 5), (np.zeros(0), 0), (mixed(9), 9)
)

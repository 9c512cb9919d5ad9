"""`else` after `for` and `while`."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("loop_else")


def find_or_default(x, value):
    for i in range(len(x)):
        if x[i] == value:
            found = i
            break
    else:
        found = -1
    return found


X, Y = np.arange(6.0), np.arange(25.0)
programs.add(find_or_default, (X, 3.0), (X, 0.5), (X, 0.0), (Y, 24.0), (Y, 99.0))


def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            break
        d += 1
    else:
        return True
    return False


programs.add(is_prime, (2,), (9,), (97,), (1,), (91,), (7919,))


def else_without_break(x):
    s = 0.0
    for v in x:
        s += v
    else:
        s = s * 2
    return s


programs.add(else_without_break, (ramp(5),), (mixed(18),), (np.zeros(0),))


def while_else(x, limit):
    n = 0
    while x < limit:
        x = x * 2 + 1
        n += 1
        if n > 5:
            break
    else:
        n = -n
    return x, n


programs.add(while_else, (1.0, 10.0), (0.0, 1e9), (5.0, 1.0), (-1.0, 4.0))


def else_of_nested(m, value):
    hits = 0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > value:
                break
        else:
            hits += 1
    return hits


programs.add(else_of_nested, (table(4, 2), 1.0), (table(4, 2), 9.0), (table(7, 3), 0.0))


def return_in_else(x):
    for v in x:
        if v > 1:
            x = x + v
            break
    else:
        return x * 0
    return x


programs.add(return_in_else, (ramp(4),), (ramp(4, -2, 0),), (mixed(17),), (ramp(17, -5, 0),))


def continue_and_else(x):
    n = 0
    for v in x:
        if v < 0:
            continue
        if v > 3.5:
            break
        n += 1
    else:
        n += 1000
    return n


programs.add(continue_and_else, (ramp(5),), (ramp(5, 0, 4),), (mixed(40),), (np.zeros(0),))


def break_of_outer_in_else(m):
    total = 0.0
    for row in m:
        for v in row:
            total += v
            if v < 0:
                break
        else:
            break
        total = total * 0.5
    return total


programs.add(
    break_of_outer_in_else, (table(4, 2),), (np.abs(table(4, 2)),), (-1 - np.abs(table(9, 3)),)
)

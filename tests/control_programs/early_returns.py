"""`return` before the end: from branches, from loops, from loops in loops."""

# ruff: noqa: B905

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("early_returns")


def guard_clauses(x, y):
    if y == 0:
        return 0.0
    if x < 0:
        return -1.0
    if x > 100:
        return 1e6
    return x / y


programs.add(guard_clauses, (1.0, 2.0), (1.0, 0.0), (-3.0, 2.0), (200.0, 2.0), (7.0, -4.0))


def first_negative(x):
    for i in range(len(x)):
        if x[i] < 0:
            return i
    return -1


programs.add(
    first_negative, (ramp(5, 1, -1),), (ramp(5, 1, 2),), (-ramp(9, 1, 2),), (ramp(9, 9, -1),)
)


def find_in_table(m, value):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] == value:
                return i, j
    return -1, -1


M = np.arange(12.0).reshape(3, 4)
N = np.arange(35.0).reshape(5, 7)
programs.add(
    find_in_table, (M, 6.0), (M, 0.0), (M, 11.0), (M, 50.0), (N, 34.0), (N, 2.0), (N, -1.0)
)


def return_in_else(x):
    if x > 0:
        y = x * 2
    else:
        return x
    y = y + 1
    return y


programs.add(return_in_else, (2.0,), (-2.0,), (0.0,), (np.float64(5.0),), (np.float64(-5.0),))


def return_from_both(x):
    if x[0] > 0:
        return x * 2
    else:
        return x - 1


programs.add(return_from_both, (ramp(4),), (-ramp(4),), (ramp(11, 2, 3),), (ramp(11),))


def return_arrays_late(x):
    """Work after the return that did not happen."""
    y = x * 2
    if y[0] > 0:
        return y
    y = y + 1
    if y[1] > 0:
        y = y * 3
        return y
    for i in range(3):
        y = y - i
    return y


programs.add(
    return_arrays_late,
    (np.array([1.0, 2.0]),),
    (np.array([-1.0, 2.0]),),
    (np.array([-1.0, -2.0]),),
    (np.array([-1.0, -2.0, 5.0]),),
)


def return_from_while(x, limit):
    total = 0.0
    i = 0
    while i < len(x):
        total += x[i]
        if total > limit:
            return total, i
        i += 1
    return total, -1


programs.add(return_from_while, (ramp(6), 1.0), (ramp(6), 100.0), (ramp(20), 0.0), (ramp(20), -9.0))


def return_from_while_true(n):
    steps = 0
    while True:
        if n == 1:
            return steps
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1


programs.add(return_from_while_true, (1,), (6,), (27,), (97,), (2,))


def deep_return(a, target):
    count = 0
    for i in range(len(a)):
        for j in range(i, len(a)):
            k = j
            while k < len(a):
                count += 1
                if a[i] + a[j] + a[k] == target:
                    return i, j, k, count
                if count > 300:
                    return -2, -2, -2, count
                k += 1
    return -1, -1, -1, count


programs.add(
    deep_return,
    (np.array([1, 4, 7, 9]), 20),
    (np.array([1, 4, 7, 9]), 5),
    (np.arange(12), 33),
    (np.arange(14) * 2, 1),
)


def return_between_loops(x):
    s = 0.0
    for v in x:
        s += v
    if s > 10:
        return s
    for v in x:
        s -= 2 * v
        if s < -10:
            return s
    return s * 100


programs.add(
    return_between_loops, (ramp(5),), (ramp(8, 1, 3),), (ramp(5, -9, -8),), (ramp(8, 1, 1.125),)
)


def bare_return(x):
    if x[0] < 0:
        return
    x[0] = 7.0


programs.add(bare_return, (ramp(4),), (ramp(4, 1, 2),), (ramp(9, 1, 2),), (ramp(9),))


def return_after_store(x, out):
    """What was stored before the return stays."""
    for i in range(len(x)):
        out[i] = x[i] * 2
        if x[i] > 1:
            return i
    out[0] = -1.0
    return len(x)


programs.add(
    return_after_store,
    (ramp(5), np.zeros(5)),
    (ramp(5, 0, 1), np.zeros(5)),
    (ramp(12), np.ones(12)),
    (ramp(12, 2, 3), np.ones(12)),
)


def is_sorted(x):
    for a, b in zip(x[:-1], x[1:]):
        if a > b:
            return False
    return True


programs.add(
    is_sorted, (ramp(5),), (mixed(5),), (np.array([3.0]),), (np.array([]),), (ramp(14, 2, 0),)
)


def is_symmetric(m):
    n = m.shape[0]
    for i in range(n):
        for j in range(i):
            if m[i, j] != m[j, i]:
                return False
    return True


S = table(4, 4)
programs.add(is_symmetric, (S,), (S + S.T,), (table(7, 7),), (np.eye(7),), (np.eye(2)[::-1],))


def return_nested_tuple(k, x):
    if k > 0:
        return (x, (k, 1.5)), [x + 1]
    return (-x, (k - 1, 2.5)), [x - 1]


programs.add(return_nested_tuple, (1, ramp(3)), (-1, ramp(3)), (5, ramp(8)), (0, ramp(8)))


def majority(votes):
    """Boyer and Moore's vote, then a count that may refute it."""
    candidate, count = votes[0], 0
    for v in votes:
        if count == 0:
            candidate = v
        count += 1 if v == candidate else -1
    n = 0
    for v in votes:
        if v == candidate:
            n += 1
            if n > len(votes) // 2:
                return candidate
    return None


programs.add(
    majority,
    (np.array([1, 2, 1, 1, 3, 1]),),
    (np.array([1, 2, 3, 4, 2, 3]),),
    (whole(15, 0, 2),),
    (whole(15, 0, 5),),
)

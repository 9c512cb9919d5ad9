"""`break`, `continue` and `else` on loops, nested too."""

# ruff: noqa: B007

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("breaks")


def sum_until_negative(x):
    s = 0.0
    for v in x:
        if v < 0:
            break
        s += v
    return s


programs.add(
    sum_until_negative, (ramp(6, 2, -1),), (ramp(6, 1, 2),), (mixed(25),), (-ramp(4, 1, 2),)
)


def sum_of_positives(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] <= 0:
            continue
        s += x[i] * i
    return s


programs.add(sum_of_positives, (ramp(6),), (mixed(25),), (-ramp(6, 1, 2),))


def both(x, low, high):
    taken = 0
    s = 0.0
    for v in x:
        if v < low:
            continue
        if v > high:
            break
        taken += 1
        s += v
    return s, taken


programs.add(
    both, (mixed(8), -1.0, 3.0), (mixed(8), 9.0, 9.0), (mixed(40), 0.0, 3.5), (ramp(40), -9.0, 9.0)
)


def continue_in_while(n):
    i = 0
    s = 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        if i % 7 == 0:
            s -= 1
            continue
        s += i
    return s


programs.add(continue_in_while, (5,), (20,), (0,), (3,))


def break_in_inner(m):
    counts = np.zeros(m.shape[0], dtype=np.int64)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > 2:
                break
            counts[i] += 1
    return counts


programs.add(break_in_inner, (table(3, 4),), (table(6, 9),), (table(3, 4) - 9,))


def break_out_of_both(m, limit):
    s = 0.0
    stop = False
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j]
            if s > limit:
                stop = True
                break
        if stop:
            break
    return s, i, j


programs.add(
    break_out_of_both, (np.abs(table(3, 4)), 5.0), (table(3, 4), 99.0), (np.abs(table(6, 7)), 31.0)
)


def continue_outer(m):
    """Rows with a negative number are left out, by `else` on the inner loop."""
    s = 0.0
    for row in m:
        for v in row:
            if v < 0:
                break
        else:
            s += row.max()
            continue
        s -= 1
    return s


programs.add(
    continue_outer, (table(4, 2),), (np.abs(table(3, 5)),), (table(8, 3, 2),), (table(9, 1),)
)


def while_true_two_breaks(x, n):
    i = 0
    while True:
        if i >= n:
            reason = 1
            break
        x = x * 2 - 1
        if x > 50:
            reason = 2
            break
        i += 1
    return x, i, reason


programs.add(while_true_two_breaks, (2.0, 10), (1.0, 10), (0.5, 4), (60.0, 0), (3.0, 2))


def break_keeps_stores(x, limit):
    out = np.zeros_like(x)
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
        if s > limit:
            out[i] = limit
            break
        out[-1] = -1.0
    return out, s


programs.add(
    break_keeps_stores, (ramp(6, 1, 2), 3.0), (ramp(6), 99.0), (mixed(21), 2.0), (mixed(21), 50.0)
)


def break_after_work(x):
    """The break lies between two changes of the same array."""
    y = x
    for k in range(6):
        y = y * 0.5
        if y.max() < 0.25:
            break
        y = y + 0.125
    return y, k


programs.add(break_after_work, (ramp(5),), (ramp(5, 0, 0.25),), (ramp(14, 5, 9),))


def unreachable_after_continue(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
            continue
        elif v == 0:
            n += 10
        else:
            n += 100
            continue
        n += 1000
    return n


programs.add(unreachable_after_continue, (np.array([1.0, 0.0, -1.0]),), (whole(20, -2, 3) * 1.0,))


def first_prime_from(n):
    while True:
        d = 2
        prime = n > 1
        while d * d <= n:
            if n % d == 0:
                prime = False
                break
            d += 1
        if prime:
            break
        n += 1
    return n


programs.add(first_prime_from, (8,), (1,), (13,), (90,), (-5,))


def break_with_pending_swap(n):
    a, b = 1.0, 2.0
    for i in range(n):
        a, b = b, a * 1.5
        if b > 5:
            break
        a, b = b, a
    return a, b


programs.add(break_with_pending_swap, (3,), (20,), (0,), (6,), (9,))


def continue_skips_update(x):
    previous = 0.0
    total = 0.0
    for v in x:
        if v == previous:
            continue
        total += abs(v - previous)
        previous = v
    return total


programs.add(
    continue_skips_update,
    (np.array([1.0, 1.0, 2.0, 2.0, 0.0]),),
    (np.round(mixed(40)),),
    (np.zeros(3),),
)

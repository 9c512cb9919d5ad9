"""`if`, `elif`, `else` and conditional expressions on numbers, elements and arrays."""

import math

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("branches")


def absolute(x):
    if x < 0:
        x = -x
    return x


programs.add(absolute, (2.5,), (-2.5,), (np.float64(-1.0),), (np.float64(3.0),), (-7,), (7,))


def textbook(x, y, z):
    return x + z if x < y else y**2


programs.add(textbook, (1.0, 2.0, 5.0), (3.0, 2.0, 5.0), (1, 2, 3), (2, 1, 3))
programs.add(textbook, (np.float32(1.0), np.float32(2.0), np.float32(0.5)), (np.float32(3), 2.0, 1))


def sign_by_elif(x):
    if x > 0:
        s = 1
    elif x < 0:
        s = -1
    else:
        s = 0
    return s


programs.add(sign_by_elif, (3.0,), (-0.5,), (0.0,), (np.float64(-4.0),), (math.nan,), (-0.0,))


def tax(income):
    if income <= 10_000:
        rate, base = 0.0, 0.0
    elif income <= 40_000:
        rate, base = 0.2, -2_000.0
    elif income <= 100_000:
        rate, base = 0.4, -10_000.0
    else:
        rate, base = 0.45, -15_000.0
    return rate * income + base, rate


programs.add(tax, (5_000.0,), (20_000.0,), (40_000.0,), (80_000.0,), (250_000.0,))


def quadrant(x, y):
    if x >= 0:
        if y >= 0:
            q = 1
        else:
            q = 4
    else:
        if y >= 0:
            q = 2
        else:
            q = 3
    return q * 10 + (1 if x * y > 1 else 0)


programs.add(quadrant, (1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0), (0.0, -0.0))


def scale_if_large(x):
    if x.max() > 2:
        x = x / x.max()
    else:
        x = x + 0.0
    return x


programs.add(scale_if_large, (ramp(8),), (ramp(8, 0, 4),), (ramp(21, 0, 8),), (ramp(21),))


def center_or_clip(x, mode):
    if mode == 0:
        y = x - x.max()
    elif mode == 1:
        y = np.clip(x, -1.0, 1.0)
    else:
        y = np.zeros_like(x)
    return y * 2


X, Y = mixed(7), mixed(30)
programs.add(center_or_clip, (X, 0), (X, 1), (X, 2), (Y, 0), (Y, 1), (Y, -5))


def flip_by_first(x):
    if x[0] > x[-1]:
        x = x[::-1]
    return x


programs.add(flip_by_first, (ramp(6),), (ramp(6)[::-1],), (ramp(15),), (ramp(15, 3, -3),))


def swap_names(a, b):
    if a.sum() < b.sum():
        a, b = b, a
    return a - b, a


programs.add(
    swap_names,
    (ramp(5), ramp(5, 3, 4)),
    (ramp(5, 3, 4), ramp(5)),
    (ramp(12, 3, 4), ramp(12)),
)


def nested_ternaries(x):
    return (x * 2 if x < 5 else x - 1) if x > 0 else (-x if x > -5 else 0.5)


programs.add(nested_ternaries, (2.0,), (8.0,), (-2.0,), (-8.0,), (0.0,), (math.inf,))


def clamp(x, low, high):
    return low if x < low else high if x > high else x


programs.add(clamp, (0.5, 0.0, 1.0), (-3.0, 0.0, 1.0), (4.0, 0.0, 1.0), (4, 1, 3), (-1, 1, 3))


def truth_of_number(n, x):
    if n:
        x = x / 2
    if not x:
        n = n + 100
    return n, x


programs.add(truth_of_number, (3, 1.5), (0, 1.5), (0, 0.0), (7, 0.0), (-1, math.nan))


def truth_of_array(flag, x):
    if flag:
        return x[0]
    return x[-1]


programs.add(
    truth_of_array,
    (np.array(True), ramp(4)),
    (np.array(False), ramp(4)),
    (np.array([2.0]), ramp(9)),
    (np.array([0.0]), ramp(9)),
)


def any_and_all(x):
    if (x > 0).all():
        return "no text", np.sqrt(x)
    if (x > 0).any():
        x = np.where(x > 0, x, 1.0)
    return "no text", -x


programs.add(any_and_all, (ramp(6, 1, 2),), (ramp(6),), (-ramp(6, 1, 2),), (ramp(17),))


def membership(x, n):
    if n in (1, 3, 5):
        return x * n
    if n not in [2, 4]:
        return x + n
    return x - n


programs.add(membership, (X, 1), (X, 2), (X, 9), (Y, 3), (Y, 4), (Y, 0), (X, 6), (X, 5))


def condition_on_size(x):
    if len(x) % 2:
        x = x[1:]
    half = len(x) // 2
    if half > 4:
        return x[:half] + x[half:]
    return x[:half] - x[half:]


programs.add(condition_on_size, (ramp(6),), (ramp(7),), (ramp(16),), (ramp(21),))


def identity_and_none(x, y=None):
    if y is None:
        y = 1.5
    if x is y:
        return x * 0.5
    return x * y


A = ramp(5)
programs.add(
    identity_and_none,
    (A,),
    (A, A),
    (A, 3.0),
    (ramp(11),),
    (ramp(11), ramp(11)),
    eager="whether two arguments are one object",
)


def conditional_assignments(x):
    """Several names, only some of them changed."""
    a, b, c = x[0], x[1], 0.0
    if a > b:
        c = a
        a = b
    if c:
        b = c
    d = a if a > 0 else b
    return a, b, c, d


programs.add(
    conditional_assignments,
    (np.array([1.0, 2.0]),),
    (np.array([2.0, 1.0]),),
    (np.array([0.0, -1.0, 4.0]),),
    (np.array([-2.0, -1.0, 4.0]),),
)


def int_or_bool_test(k, x):
    if k & 1:
        x = x + 1
    if k & 2:
        x = x * 3
    if k >> 2:
        x = x - 5
    return x


programs.add(int_or_bool_test, *[(k, whole(5)) for k in range(5)], (7, whole(12)))


def branch_on_row_sums(m):
    rows = m.sum(axis=1)
    if rows[0] > rows[1]:
        best = m[0]
    else:
        best = m[1]
    return best * 2


programs.add(
    branch_on_row_sums,
    (table(2, 3),),
    (table(2, 3)[::-1],),
    (table(3, 8),),
    (table(4, 5, 1)[::-1],),
)


def pass_on_one_side(x):
    if x.min() < 0:
        pass
    else:
        x = x * 10
    return x + 1


programs.add(pass_on_one_side, (ramp(5),), (ramp(5, 1, 2),), (ramp(13),), (ramp(13, 0, 2),))


def bool_results(x, y):
    if x > y:
        return x > 0
    return not x


programs.add(bool_results, (2.0, 1.0), (-2.0, -3.0), (1.0, 2.0), (0.0, 2.0), (-4.0, -4.0))

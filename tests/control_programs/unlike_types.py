"""Sides of a branch that leave different types, dtypes, shapes or containers."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("unlike_types")


def int_or_float(x):
    if x > 0:
        y = 1
    else:
        y = 2.5
    return y


programs.add(int_or_float, (1.0,), (-1.0,), (np.float64(1.0),), (np.float64(-1.0),))


def int_or_float_used(x):
    y = 3 if x > 0 else 0.5
    return y * 2, x + y


programs.add(int_or_float_used, (1.0,), (-1.0,), (np.float64(1.0),), (np.float64(-1.0),))


def division_depends_on_type(x, n):
    k = n if x > 0 else n * 1.0
    return k // 2, k / 2, k * k


programs.add(division_depends_on_type, (1.0, 7), (-1.0, 7), (1.0, 8), (-1.0, 9))


def bool_or_int(x):
    flag = x > 1
    if x < 0:
        flag = 5
    return flag, flag + 1


programs.add(bool_or_int, (2.0,), (0.5,), (-1.0,), (np.float64(2.0),), (np.float64(-2.0),))


def python_or_numpy_scalar(x):
    y = x[0] if x[0] > 0 else 0.0
    return y


programs.add(python_or_numpy_scalar, (ramp(4),), (ramp(4, 1, 2),), (ramp(9),), (ramp(9, 2, 3),))


def dtype_differs(x):
    if x[0] > 0:
        y = x > 1
    else:
        y = x + 1
    return y


programs.add(dtype_differs, (ramp(4),), (ramp(4, 1, 2),), (ramp(11),), (ramp(11, 1, 2),))


def dtype_differs_then_used(x, k):
    y = k if x[0] > 0 else x
    return y * 2 + 1, y.sum() > 3


programs.add(
    dtype_differs_then_used,
    (ramp(4), np.arange(4)),
    (ramp(4, 1, 2), np.arange(4)),
    (ramp(9), np.arange(9)),
    (ramp(9, 1, 2), np.arange(9)),
)


def float32_or_float64(x):
    y = x.astype(np.float32) if x.max() > 2 else x
    return y / 3


programs.add(float32_or_float64, (ramp(5),), (ramp(5, 0, 9),), (mixed(14),), (mixed(14) / 8,))


def shape_differs(x):
    if x[0] > 0:
        y = x[1:]
    else:
        y = x
    return y * 2


programs.add(shape_differs, (ramp(4),), (ramp(4, 1, 2),), (ramp(13),), (ramp(13, 1, 2),))


def rank_differs(m):
    if m[0, 0] > 0:
        r = m.max(axis=0)
    else:
        r = m
    return r + 1


programs.add(rank_differs, (table(2, 3),), (-table(2, 3),), (table(5, 4),), (-table(5, 4),))


def scalar_or_array(x):
    y = 0 if x.max() < 3 else x
    return x - y


programs.add(scalar_or_array, (ramp(5),), (ramp(5, 0, 9),), (ramp(12),), (ramp(12, 0, 9),))


def tuples_of_two_lengths(x):
    if x > 0:
        parts = (x, x + 1)
    else:
        parts = (x,)
    return parts


programs.add(tuples_of_two_lengths, (1.0,), (-1.0,), (np.float64(2.0),), (np.float64(-2.0),))


def dict_or_tuple(x):
    if x[0] > 0:
        return {"x": x * 2}
    return x, 1


programs.add(dict_or_tuple, (ramp(4),), (ramp(4, 1, 2),), (ramp(9),), (ramp(9, 1, 2),))


def strings(x):
    if x > 0:
        name = "positive"
    elif x < 0:
        name = "negative"
    else:
        name = "zero"
    return name


programs.add(strings, (1.0,), (-1.0,), (0.0,), (np.float64(5.0),))


def string_decides(x):
    mode = "high" if x.max() > 2 else "low"
    if mode == "high":
        return x / 2
    return x * 2, mode


programs.add(string_decides, (ramp(4),), (ramp(4, 0, 9),), (mixed(12),), (mixed(12) / 8,))


def view_or_copy(x):
    """On one side the argument itself, on the other a view, on the third a new array."""
    if x[0] > 2:
        y = x
    elif x[0] > 0:
        y = x[::-1]
    else:
        y = x + 1
    return y


programs.add(
    view_or_copy, (ramp(4),), (ramp(4, 1, 2),), (ramp(4, 3, 4),), (ramp(9),), (ramp(9, 3, 4),)
)


def one_of_two_arguments(x, y):
    return x if x.max() > y.max() else y


programs.add(
    one_of_two_arguments, (ramp(4), ramp(4, 0, 1)), (ramp(4), ramp(4, 5, 6)), (mixed(9), mixed(12))
)


def complex_roots(a, b, c):
    d = b * b - 4 * a * c
    if d >= 0:
        root = d**0.5
    else:
        root = complex(0.0, (-d) ** 0.5)
    return (-b + root) / (2 * a), (-b - root) / (2 * a)


programs.add(complex_roots, (1.0, -3.0, 2.0), (1.0, 2.0, 5.0), (2.0, 4.0, 2.0), parity="ulp", ulp=2)


def several_joins(x, y):
    """Two joins of unlike types in a row: four combinations."""
    a = 1 if x > 0 else 0.5
    b = 2 if y > 0 else 0.25
    return a + b, a * b


programs.add(several_joins, (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))


def unlike_in_a_loop(x):
    """Each iteration has a number of another type; the sum is what NumPy makes of it."""
    s = 0.0
    for v in x:
        k = 1 if v > 0 else 0.25
        s += k * v
    return s


programs.add(unlike_in_a_loop, (ramp(5),), (mixed(22),), (np.zeros(3),))


def unlike_results_of_helper(x):
    def classify(v):
        if v > 1:
            return True
        if v > 0:
            return 7
        return -0.5

    return classify(x), classify(x - 1)


programs.add(unlike_results_of_helper, (2.5,), (1.5,), (0.5,), (-1.0,))


def arrays_of_unlike_numbers(x, n):
    a = 0 if x[0] > 0 else 1.5
    b = x[1] if x[1] > 0 else 2
    c = True if x[2] > 0 else n
    return np.array([a, b, c]), np.array([c, 3]), np.mean([a, c]), np.max((b, c)), np.cumsum([c, a])


programs.add(
    arrays_of_unlike_numbers,
    (np.array([1.0, 1.0, 1.0]), 4),
    (np.array([1.0, -1.0, 1.0]), 4),
    (np.array([1.0, -1.0, -1.0]), 4),
    (np.array([-1.0, 1.0, -1.0]), 2),
)


def arrays_of_chosen_rows(x, m):
    rows = [x[k] if x[k].sum() > 0 else m[k] for k in range(3)]
    made = np.array(rows), np.stack(rows, axis=1), np.concatenate(rows)
    rows[0][:] = 7.0
    return (*made, np.vstack(rows), np.linalg.norm(rows, axis=1))


programs.add(arrays_of_chosen_rows, (table(3, 2), -table(3, 2)), (table(3, 2) - 2, table(3, 2)))

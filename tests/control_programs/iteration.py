"""Iteration over arrays, rows, `zip`, `enumerate`, `reversed` and nested tuples of them."""

# ruff: noqa: B905

import itertools

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("iteration")


def over_elements(x):
    s = 0.0
    for v in x:
        s = s * 0.5 + v
    return s


programs.add(over_elements, (ramp(5),), (mixed(30),), (ramp(5).astype("f4"),), (ramp(10)[::2],))


def over_rows(m):
    s = np.zeros(m.shape[1])
    for row in m:
        if row[0] > 0:
            s = s + row
    return s


programs.add(over_rows, (table(3, 4),), (table(10, 2),), (table(4, 7).T,))


def over_matrices(t):
    p = np.eye(t.shape[1])
    for m in t:
        p = p * m.T + m
    return p


programs.add(over_matrices, (table(3, 4).reshape(3, 2, 2),), (table(5, 9).reshape(5, 3, 3),))


def over_zip(x, y):
    s = 0.0
    for a, b in zip(x, y):
        if a > b:
            s += a - b
        else:
            s += 2 * (b - a)
    return s


programs.add(over_zip, (ramp(5), mixed(5)), (mixed(20), mixed(30)), (ramp(4), ramp(2)))


def zip_strict(x, y):
    s = 0.0
    for a, b in zip(x, y, strict=True):
        s += a * b
    return s


programs.add(
    zip_strict, (ramp(5), mixed(5)), (mixed(20), ramp(20)), (ramp(4), ramp(2)), (ramp(2), ramp(3))
)


def over_enumerate(x):
    s = 0.0
    last = -1
    for i, v in enumerate(x):
        s += i * v
        if v > 0:
            last = i
    return s, last


programs.add(over_enumerate, (ramp(5),), (mixed(24),), (np.zeros(0),))


def enumerate_from(x, start):
    s = 0.0
    for i, v in enumerate(x, start):
        s += v / i
    return s


programs.add(enumerate_from, (ramp(5), 1), (ramp(5), 10), (mixed(14), 3))


def over_reversed(x):
    s = 0.0
    for v in reversed(x):
        s = s * 2 - v
    return s


programs.add(over_reversed, (ramp(5),), (mixed(18),), (np.zeros(0),))


def reversed_range(n, x):
    s = 0.0
    for i in reversed(range(n)):
        s = s / 2 + x[i]
    return s


programs.add(reversed_range, (4, ramp(5)), (0, ramp(5)), (16, mixed(16)))


def nested_targets(x, y, z):
    s = 0.0
    for i, (a, (b, c)) in enumerate(zip(x, zip(y, z))):
        s += i * (a - b) * c
    return s


programs.add(nested_targets, (ramp(4), mixed(4), ramp(4)), (mixed(15), ramp(15), mixed(16)))


def rows_unpacked(points):
    inside = 0
    for x, y in points:
        if x * x + y * y < 4:
            inside += 1
    return inside


programs.add(rows_unpacked, (table(4, 2),), (table(25, 2) / 2,))


def zip_of_rows(a, b):
    s = 0.0
    for r, q in zip(a, b):
        s = max(s, (r * q).max())
    return s


programs.add(zip_of_rows, (table(3, 4), table(3, 4, 1)), (table(9, 2), table(7, 2, 1)))


def over_tuple_of_arrays(x, y):
    best = x
    for a in (x, y, x + y):
        if a.max() > best.max():
            best = a
    return best


programs.add(
    over_tuple_of_arrays, (ramp(4), -ramp(4)), (-ramp(4), ramp(4)), (mixed(11), mixed(11, 1))
)


def over_dict(parameters, x):
    for name, value in parameters.items():
        if value > 1:
            x = x + value
        elif name == "b":
            x = x * value
    return x


programs.add(
    over_dict,
    ({"a": 2.0, "b": 0.5}, ramp(4)),
    ({"a": 0.0, "b": 3.0}, ramp(4)),
    ({"a": 0.0, "b": -1.0}, ramp(9)),
)


def row_reused_after_loop(m):
    for row in m:
        if row[0] > 3:
            break
    return row * 2


programs.add(row_reused_after_loop, (table(4, 3),), (table(9, 2, 3),), (table(4, 3) - 9,))


def over_slices(x):
    s = 0.0
    for a, b, c in zip(x[:-2], x[1:-1], x[2:]):
        if a < b > c:
            s += b
    return s


programs.add(over_slices, (mixed(8),), (mixed(40),), (ramp(3),))


def over_columns(m):
    worst = 0.0
    for column in m.T:
        worst = max(worst, column.max() - column.min())
    return worst


programs.add(over_columns, (table(3, 4),), (table(9, 2),))


def changed_while_iterated(x):
    """The iteration reads the array as it is by then."""
    x = x.copy()
    s = 0.0
    for v in x:
        s += v
        x[-1] = s
    return s, x


programs.add(changed_while_iterated, (ramp(5),), (mixed(17),), (ramp(1),))


def over_flat(m):
    s = 0.0
    for v in m.ravel():
        s = s * 0.5 + v
    return s


programs.add(over_flat, (table(2, 3),), (table(6, 5),))


def over_product(n, x):
    s = 0.0
    for i, j in itertools.product(range(2), range(3)):
        if x[i] > x[j]:
            s += n
    return s


programs.add(over_product, (1.5, ramp(3)), (2.0, -ramp(3)), (0.5, mixed(8)))


def over_dtypes(x):
    n = 0
    for v in x:
        n = n + v * v
    return n


programs.add(
    over_dtypes, (whole(6, -3, 4).astype("i1"),), (whole(9).astype("i4"),), (ramp(7).astype("f2"),)
)


def iterate_a_number(x):
    for v in x:
        return v
    return -1.0


programs.add(iterate_a_number, (ramp(3),), (np.float64(2.0),), (np.array(3.0),), (np.zeros(0),))

"""Stores that the caller sees: into arguments and captured arrays, in loops and branches."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("stores_into_arguments")

SHARED = "an argument that is stored into shares memory with another"


def into_argument(x):
    for i in range(len(x)):
        if x[i] < 0:
            x[i] = 0.0


programs.add(into_argument, (ramp(5),), (mixed(21),), (mixed(20)[::2],), (mixed(21)[::-1],))


def element_of_argument(x, i, v):
    x[i] = v
    return x.max()


programs.add(
    element_of_argument,
    (ramp(5), 2, 9.0),
    (ramp(5), -1, 9.0),
    (ramp(12), 0, -3.0),
    (ramp(12), 40, 1.0),
    (ramp(5), -6, 1.0),
)


def argument_returned(x):
    """The result is the argument itself."""
    x[0] = 5.0
    return x


programs.add(argument_returned, (ramp(4),), (mixed(15),))


def augmented(x, y):
    x += y
    x[0] *= 3
    x[1:] -= 1
    return x


programs.add(augmented, (ramp(4), mixed(4)), (mixed(13), ramp(13)), (ramp(4), 2.0))


def augmented_elements(counts, indices):
    for k in indices:
        counts[k] += 1
    return counts


programs.add(
    augmented_elements,
    (np.zeros(4), np.array([0, 2, 2, 3])),
    (np.ones(9), whole(40, -9, 9)),
    (np.zeros(4), np.array([1, 7, 2])),
)


def rows_of_table(m):
    for i in range(1, m.shape[0]):
        m[i] = m[i] - m[0] * m[i, 0]
    return m


programs.add(rows_of_table, (table(3, 3),), (table(6, 2),), (table(4, 6).T,))


def columns_of_table(m):
    for j in range(m.shape[1]):
        if m[:, j].max() > 3:
            m[:, j] = m[:, j] / 2
        else:
            m[:, j] = 1.0


programs.add(columns_of_table, (table(3, 4),), (table(7, 5),), (table(3, 4, 2) * 0.5,))


def swap_with_arguments(A, B, T):
    """The caller's arrays are stored into in turn; which one is returned depends on T."""
    for _t in range(T):
        B[1:-1] = A[:-2] * 0.5 + A[2:] * 0.25
        A, B = B, A
    return A


programs.add(
    swap_with_arguments,
    (ramp(6), ramp(6), 1),
    (ramp(6), ramp(6), 2),
    (ramp(6), ramp(6), 0),
    (mixed(25), mixed(25), 6),
    (mixed(25), mixed(25), 7),
)


def rotate_three(a, b, c, steps):
    for k in range(steps):
        c[0] = a[0] + b[-1] + k
        a, b, c = b, c, a
    return a, b, c


programs.add(
    rotate_three,
    (ramp(3), ramp(3), ramp(3), 2),
    (ramp(3), ramp(3), ramp(3), 3),
    (ramp(8), mixed(8), ramp(8), 10),
)


def swap_in_branch(x, y):
    if x.max() > y.max():
        x, y = y, x
    x[0] = -100.0
    return y


programs.add(
    swap_in_branch, (ramp(4), ramp(4) * 2), (ramp(4) * 2, ramp(4)), (mixed(11), mixed(11, 1))
)


def swap_when_larger(x, y, n):
    """Names swapped in some iterations only."""
    for i in range(n):
        x[i] += 1.0
        if x[i] > y[i]:
            x, y = y, x
    return x, y


programs.add(
    swap_when_larger,
    (ramp(5), ramp(5), 4),
    (ramp(5), mixed(5), 5),
    (mixed(16), mixed(16, 1), 16),
    eager="stores through names that data swap",
)


def shift_in_place(x):
    """Overlapping slices of one array."""
    x[1:] = x[:-1]
    for _ in range(2):
        x[:-1] = x[1:] + x[:-1]
    return x


programs.add(shift_in_place, (ramp(5),), (mixed(18),))


def reverse_in_place(x):
    n = len(x)
    for i in range(n // 2):
        x[i], x[n - 1 - i] = x[n - 1 - i], x[i]


programs.add(reverse_in_place, (ramp(5),), (ramp(6),), (mixed(19),), (np.zeros(0),))


def partial_stores_before_error(x, k):
    """What was stored before the IndexError stays stored."""
    for i in range(k):
        x[i] = -x[i]
    return x


programs.add(
    partial_stores_before_error, (ramp(4), 3), (ramp(4), 6), (mixed(13), 14), (mixed(13), 13)
)


def same_array_twice(x, y):
    """Arguments that may be one array."""
    for i in range(len(x) - 1):
        x[i + 1] = y[i] * 0.5 + 1
    return x.sum()


X, Y = ramp(5), mixed(12)
programs.add(
    same_array_twice,
    (ramp(5), mixed(5)),
    (X, X),
    (Y, Y),
    (Y, ramp(12)),
    parity="order",
    ulp=8,
    eager=SHARED,
)


def overlapping_views(x, y):
    for i in range(len(x)):
        y[i] = x[i] + 1
    return y


programs.add(
    overlapping_views,
    (ramp(5), mixed(5)),
    (X[:-1], X[1:]),
    (X[1:], X[:-1]),
    (Y[:-3], Y[3:]),
    (Y, Y),
    eager=SHARED,
)


def scalars_and_lists(x):
    x[:] = 0
    x[0] = 1
    x[1:3] = [2, 3]
    x[-1] = True
    return x


programs.add(scalars_and_lists, (ramp(5),), (ramp(9).astype("f4"),), (whole(8),))


def while_with_stores(x, limit):
    i = 0
    while i < len(x) and x[i] < limit:
        x[i] = limit
        i += 2
    return i


programs.add(while_with_stores, (ramp(6), 1.0), (ramp(6), 9.0), (mixed(21), 3.0), (mixed(21), -9.0))


def two_outputs(x, low, high):
    """Elements of one array go to one of two others."""
    i = j = 0
    for v in x:
        if v < 0:
            low[i] = v
            i += 1
        else:
            high[j] = v
            j += 1
    return i, j


programs.add(
    two_outputs,
    (mixed(6), np.zeros(6), np.zeros(6)),
    (mixed(23), np.zeros(23), np.zeros(23)),
    (-ramp(5, 1, 2), np.zeros(2), np.zeros(5)),
)


def chosen_target(a, b, x):
    """The array to store into is chosen at run time."""
    out = a if x > 0 else b
    out[0] = x
    return out


programs.add(
    chosen_target,
    (ramp(3), ramp(3), 2.0),
    (ramp(3), ramp(3), -2.0),
    (ramp(8), mixed(8), 0.5),
    (ramp(8), mixed(8), -0.5),
)


GLOBAL_LOG = np.zeros(4)


def into_global(x):
    GLOBAL_LOG[:] = 0.0
    for i in range(4):
        if x[i] > 0:
            GLOBAL_LOG[i] += x[i]
    return GLOBAL_LOG.max()


programs.add(into_global, (ramp(4),), (mixed(9),), (-ramp(4),))


def read_only(x):
    x[0] = 1.0
    return x


R = ramp(4)
R.flags.writeable = False
programs.add(read_only, (ramp(4),), (R,), (ramp(9),), (ramp(9),))


def negative_indices(x):
    for i in range(1, len(x) + 1):
        x[-i] += i
        x[-i : len(x)] *= 0.5
    return x


programs.add(negative_indices, (ramp(4),), (mixed(12),))


def ellipsis_and_newaxis(m, n):
    for i in range(n):
        m[..., i] = m[..., i] + m[:, :1][..., 0]
        m[i, ...] *= 0.5
    return m[:, None]


programs.add(ellipsis_and_newaxis, (table(3, 3), 2), (table(6, 7), 6), (table(3, 3), 0))


def store_after_loop_rebinds(x, y, n):
    """The name is the argument only where the loop does not run."""
    for _ in range(n):
        x = y - 1.0
    x[0] = 50.0
    return x


programs.add(
    store_after_loop_rebinds,
    (ramp(3), mixed(3), 1),
    (ramp(3), mixed(3), 0),
    (ramp(8), mixed(8), 3),
    (ramp(8), mixed(8), 0),
)


def swap_after_while_rebinds(x, y, t):
    while t < 1.0:
        t += 0.5
        x = y * t
    x[1], x[0] = x[0], x[1]
    x, y = y, x
    return y


programs.add(
    swap_after_while_rebinds,
    (ramp(3), mixed(3), 0.0),
    (ramp(3), mixed(3), 2.0),
    (ramp(8), mixed(8), 0.75),
    (ramp(8), mixed(8), 1.0),
)

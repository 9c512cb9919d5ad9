"""`range` with start, stop and step: negative, traced, zero."""

# ruff: noqa: B007

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, whole

programs = Programs("ranges")


def down(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = s / 2 + x[i]
    return s


programs.add(down, (ramp(5),), (mixed(21),), (np.zeros(0),), (ramp(1),))


def every_other(x):
    s = 0.0
    for i in range(0, len(x), 2):
        s += x[i]
    return s


programs.add(every_other, (ramp(5),), (ramp(6),), (mixed(23),), (np.zeros(0),))


def any_range(start, stop, step):
    s = 0
    last = -100
    for i in range(start, stop, step):
        s = s * 3 % 1009 + i
        last = i
    return s, last


programs.add(
    any_range,
    (0, 10, 3),
    (10, 0, -3),
    (0, 10, -1),
    (5, 5, 1),
    (-4, 9, 4),
    (7, -8, -5),
    (0, 3, 0),
    (0, 12, 3),
    (3, 0, 0),
)


def zero_step_not_reached(x, step):
    if x > 0:
        for i in range(0, 4, step):
            x = x + i
    return x


programs.add(zero_step_not_reached, (1.5, 2), (-1.5, 0), (1.5, 0), (2.5, -1), (-2.5, 7))


def stop_from_array(x, n):
    s = 0.0
    for i in range(int(n[0])):
        s += x[i % len(x)]
    return s


programs.add(
    stop_from_array,
    (ramp(4), np.array([3])),
    (ramp(4), np.array([0])),
    (ramp(9), np.array([30, 1])),
)


def stop_is_a_numpy_int(x, counts):
    """Each row has its own count."""
    s = 0
    for i in range(len(counts)):
        for j in range(counts[i]):
            s += x[j] * (i + 1)
    return s


programs.add(stop_is_a_numpy_int, (whole(6), np.array([1, 0, 4])), (whole(15), whole(9, 0, 15)))


def stop_changes_inside(n):
    """`range` reads its stop once."""
    s = 0
    for i in range(n):
        n = n - 1
        s += n * i
    return s, n


programs.add(stop_changes_inside, (3,), (0,), (10,))


def variable_changed_inside(n):
    """Assigning to the loop's variable does not change the next iteration."""
    s = 0
    for i in range(n):
        i = i * 2
        s += i
        i = -1
    return s, i


programs.add(variable_changed_inside, (3,), (8,), (1,))


def triangular_steps(n):
    s = 0
    for i in range(1, n):
        for j in range(i, n, i):
            s += j
        for j in range(n, 0, -i):
            s -= 1
    return s


programs.add(triangular_steps, (2,), (5,), (14,), (1,))


def range_of_expression(a, b):
    s = 0
    for i in range(min(a, b), max(a, b) + 1):
        s += i * i
    return s


programs.add(range_of_expression, (1, 4), (4, 1), (-3, 3), (10, 10))


def range_of_zero_step_stores(x, step):
    """The store before the ValueError stays."""
    x[0] = 50.0
    for i in range(0, len(x), step):
        x[i] = x[i] + 1
    return x.max()


programs.add(range_of_zero_step_stores, (ramp(5), 2), (ramp(5), 0), (ramp(14), 3), (ramp(14), 0))


def range_objects(n):
    r = range(2, n, 3)
    s = len(r)
    for i in r:
        s += i
    for i in reversed(r):
        s = s * 2 - i
    return s


programs.add(range_objects, (9,), (20,), (0,))


def huge_bounds(n):
    """Few iterations between numbers near the ends of 64 bits."""
    s = 0
    for i in range(2**62, 2**62 + n):
        s ^= i
    return s


programs.add(huge_bounds, (3,), (0,), (6,), repeats="sums of bounds near the end of 64 bits")


def bounds_beyond_64_bits(n):
    s = 0
    for i in range(2**70, 2**70 + n):
        s += i - 2**70
    return s


programs.add(bounds_beyond_64_bits, (3,), (0,), eager="ints of more than 64 bits")


def float_stop(x):
    s = 0
    for i in range(x):
        s += i  # never
    return s  # never


programs.add(float_stop, (2.5,), (np.float64(3.0),))

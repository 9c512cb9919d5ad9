"""`while` on traced conditions."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, whole

programs = Programs("while_loops")


def halvings(x):
    n = 0
    while x > 1:
        x = x / 2
        n += 1
    return n, x


programs.add(halvings, (10.0,), (0.5,), (1e6,), (np.float64(3.0),))


def newton_sqrt(a):
    x = a
    while abs(x * x - a) > 1e-10 * a:
        x = (x + a / x) / 2
    return x


programs.add(newton_sqrt, (2.0,), (1.0,), (1e8,), (0.25,))


def until_small(x, tolerance):
    steps = 0
    while np.abs(x).max() > tolerance:
        x = x * 0.5
        steps += 1
    return x, steps


programs.add(until_small, (ramp(6), 0.1), (ramp(6), 50.0), (mixed(25), 1e-3), (mixed(25), 0.5))


def shrink_to_fixed_point(x):
    old = x + 1
    n = 0
    while (old != x).any():
        old = x
        x = np.floor(x / 2)
        n += 1
    return x, n


programs.add(shrink_to_fixed_point, (ramp(5, 0, 9),), (mixed(20),), (np.zeros(3),))


def digits(n):
    total = 0
    while n:
        n, d = divmod(n, 10)
        total += d
    return total


programs.add(digits, (7,), (12345,), (0,), (999999999999,))


def two_conditions(x, n):
    i = 0
    s = 0.0
    while i < n and s < 5:
        s += x[i]
        i += 1
    return s, i


programs.add(
    two_conditions, (ramp(6, 1, 2), 6), (ramp(6, 1, 2), 2), (ramp(20, 3, 4), 20), (ramp(20), 0)
)


def scan_until_zero(x):
    i = 0
    while i < len(x) and x[i] != 0:
        i += 1
    return i


programs.add(
    scan_until_zero,
    (np.array([3, 1, 0, 2]),),
    (np.array([3, 1, 2]),),
    (whole(30),),
    (np.array([0, 1]),),
)


def two_pointers(x, target):
    """A sorted array searched from both ends."""
    i, j = 0, len(x) - 1
    while i < j:
        s = x[i] + x[j]
        if s == target:
            break
        if s < target:
            i += 1
        else:
            j -= 1
    return i, j


programs.add(
    two_pointers,
    (np.arange(8), 9),
    (np.arange(8), 40),
    (np.arange(8), -3),
    (np.arange(25) ** 2, 100),
)


def nested_whiles(n):
    total = 0
    i = 0
    while i < n:
        j = i
        while j * j < 50:
            total += j
            j += 2
        i += 1
    return total


programs.add(nested_whiles, (2,), (5,), (12,), (0,))


def while_over_array_state(x, y):
    n = 0
    while x.sum() > y.sum():
        x, y = x - 0.5, y + 0.25
        n += 1
    return x, y, n


programs.add(
    while_over_array_state,
    (ramp(4, 3, 4), ramp(4)),
    (ramp(4), ramp(4)),
    (ramp(11, 6, 7), mixed(11)),
)


def while_true_break(x):
    n = 0
    while True:
        x = x * 1.5
        if x > 100:
            break
        n += 1
    return x, n


programs.add(while_true_break, (1.0,), (200.0,), (np.float64(7.0),))


def one_as_condition(n):
    k = 0
    while 1:
        k += n
        if k > 20:
            return k
        if k < -20:
            return -k


programs.add(one_as_condition, (3,), (-4,), (21,), (7,))


def negated_condition(x):
    n = 0
    while not x > 4:
        x += 1.5
        n += 1
    return x, n


programs.add(negated_condition, (0.0,), (5.0,), (-10.0,))


def float_counter(stop):
    t, n = 0.0, 0
    while t < stop:
        t += 0.1
        n += 1
    return t, n


programs.add(float_counter, (1.0,), (0.0,), (7.5,), (-2.0,))


def walrus(x):
    n = 0
    while (gap := x - 1.0) > 0.01:
        x = 1.0 + gap / 4
        n += 1
    return x, gap, n


programs.add(walrus, (3.0,), (1.0,), (50.0,), (-2.0,))


def interval_search(low, high):
    """The largest x of a grid with x**3 <= 20, by bisection."""
    while high - low > 1e-6:
        middle = (low + high) / 2
        if middle**3 <= 20:
            low = middle
        else:
            high = middle
    return low


programs.add(interval_search, (0.0, 5.0), (2.0, 3.0), (1.0, 1.0))


def consume_bits(n):
    bits = 0
    position = 0
    highest = -1
    while n > 0:
        if n & 1:
            bits += 1
            highest = position
        n >>= 1
        position += 1
    return bits, highest


programs.add(consume_bits, (5,), (0,), (255,), (1 << 40,), (-3,))

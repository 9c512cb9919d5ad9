"""`for` over ranges with accumulators, indices as numbers, nested loops."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("loops")

BEYOND = "ints of more than 64 bits"


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


programs.add(total, (ramp(5),), (mixed(40),), (ramp(1),), (np.zeros(0),))


def weighted(x, n):
    s = 0.0
    for i in range(n):
        s = s + i * x[i % len(x)]
    return s


programs.add(weighted, (ramp(5), 4), (ramp(5), 17), (mixed(13), 0), (mixed(13), 100))


def powers_of_two(n):
    p = 1
    for _ in range(n):
        p = p * 2
    return p


programs.add(powers_of_two, (3,), (10,), (62,), (0,), (-4,))


def powers_beyond_64_bits(n):
    p = 1
    for _ in range(n):
        p *= 3
    return p


programs.add(powers_beyond_64_bits, (5,), (20,), (60,), repeats=BEYOND)


def smooth_many_times(x, n):
    for _ in range(n):
        x = (x + np.roll(x, 1)) / 2
    return x


programs.add(smooth_many_times, (ramp(6), 3), (ramp(6), 5), (mixed(30), 0), (mixed(30), 20))


def pairwise_distances(p):
    n = p.shape[0]
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            dx = p[i, 0] - p[j, 0]
            dy = p[i, 1] - p[j, 1]
            d[i, j] = np.sqrt(dx * dx + dy * dy)
    return d


programs.add(pairwise_distances, (table(3, 2),), (table(7, 2),), (table(12, 2, 1),))


def triangle_sum(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(i + 1):
            s += m[i, j]
    return s


programs.add(triangle_sum, (table(4, 4),), (table(9, 9),), (table(3, 6),))


def matmul_by_hand(a, b):
    n, m, p = a.shape[0], a.shape[1], b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            acc = 0.0
            for k in range(m):
                acc += a[i, k] * b[k, j]
            c[i, j] = acc
    return c


programs.add(
    matmul_by_hand,
    (table(2, 3), table(3, 4)),
    (table(6, 5), table(5, 7)),
    (table(9, 2), table(2, 9)),
)


def horner(coefficients, x):
    result = 0.0 * x
    for c in coefficients:
        result = result * x + c
    return result


programs.add(
    horner,
    (np.array([1.0, -2.0, 3.0]), 0.5),
    (np.array([1.0, -2.0, 3.0]), -2.0),
    (mixed(8), np.array([0.25, -0.5, 1.0])),
    (mixed(3), np.array([0.25, -0.5, 1.0])),
)


def running_extremes(x):
    low = high = x[0]
    where_low = where_high = 0
    for i in range(1, len(x)):
        if x[i] < low:
            low, where_low = x[i], i
        elif x[i] > high:
            high, where_high = x[i], i
    return low, where_low, high, where_high


programs.add(running_extremes, (mixed(6),), (mixed(35),), (ramp(9, 1, -1),), (ramp(3),))


def index_arithmetic(n, x):
    s = 0
    for i in range(n):
        k = (7 * i + 3) % len(x)
        s += int(x[k]) * (i // 2) - (i << 1)
    return s


programs.add(index_arithmetic, (4, whole(5)), (9, whole(5)), (0, whole(16)), (50, whole(16)))


def index_as_float(n):
    s = 0.0
    for i in range(1, n + 1):
        s += 1.0 / i - i * 0.25
    return s


programs.add(index_as_float, (3,), (10,), (100,), (0,))


def loop_variable_survives(x):
    for i in range(len(x)):
        v = x[i] + i
    return i, v


programs.add(loop_variable_survives, (ramp(4),), (ramp(11),), (ramp(1),))


def slices_by_index(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i:].max() + x[: i + 1].min()
    return s


programs.add(slices_by_index, (mixed(5),), (mixed(18),), (mixed(2),))


def neighbours(x, k):
    n = len(x)
    s = 0.0
    for i in range(k, n - k):
        s += x[i - k] + x[i + k] - 2 * x[i]
    return s


programs.add(neighbours, (mixed(9), 1), (mixed(9), 2), (mixed(25), 3), (mixed(25), 13))


def fibonacci_pair(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


programs.add(fibonacci_pair, (1,), (10,), (50,), (0,), (90,))


def many_carried(x, n):
    a, b, c, d = x[0], x[1], 1, 2.5
    for i in range(n):
        a, b = b, a
        c += i
        d = d * 0.5 + c
        if d > 10:
            d, c = d - 10, c - 7
    return a, b, c, d


programs.add(many_carried, (ramp(3), 3), (ramp(3), 8), (ramp(7), 0), (ramp(7), 31))


def large_trip_count(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1_000_003
    return s


programs.add(large_trip_count, (10,), (500,), (1,))


def three_small_updates(x, y, n):
    for _ in range(n):
        x = x * 0.5 + y
        y = y - x * 0.25
        x = np.maximum(x, -1.0)
    return x, y


programs.add(
    three_small_updates, (ramp(8), mixed(8), 3), (ramp(8), mixed(8), 40), (ramp(64), mixed(64), 25)
)


def float32_stays(x, n):
    s = np.float32(0)
    for i in range(n):
        s = s * np.float32(0.5) + x[i]
    return s


programs.add(
    float32_stays,
    (ramp(5).astype("f4"), 3),
    (ramp(5).astype("f4"), 5),
    (mixed(19).astype("f4"), 19),
)


def small_ints_wrap(x):
    h = np.uint8(7)
    for v in x:
        h = h * np.uint8(31) + v
    return h


programs.add(small_ints_wrap, (np.arange(5, dtype="u1"),), (np.arange(200, dtype="u1"),))


def bool_carried(x):
    seen = False
    count = 0
    for v in x:
        if v > 1:
            seen = not seen
        if seen:
            count += 1
    return seen, count


programs.add(bool_carried, (ramp(6),), (mixed(30),), (ramp(9, -2, 0),))

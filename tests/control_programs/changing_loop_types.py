"""Loop variables whose type, dtype or kind is another after the first iterations."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("changing_loop_types")


def int_becomes_float(x):
    s = 0
    for v in x:
        s += v
    return s


programs.add(int_becomes_float, (ramp(5),), (mixed(30),), (np.zeros(0),), (ramp(1),))


def int_becomes_array(m):
    s = 0
    for row in m:
        s = s + row
    return s


programs.add(int_becomes_array, (table(3, 4),), (table(8, 2),), (np.zeros((0, 3)),))


def int_becomes_python_float(n):
    s = 0
    for i in range(n):
        s = s + i / 2
    return s


programs.add(int_becomes_python_float, (4,), (0,), (15,), (1,))


def factorial_float(n):
    p = 1
    for i in range(1, n + 1):
        p = p * (i * 0.5)
    return p


programs.add(factorial_float, (3,), (0,), (12,))


def integer_sum_of_numpy_ints(x):
    s = 0
    for v in x:
        s = s + v
    return s


programs.add(integer_sum_of_numpy_ints, (whole(5),), (whole(40),), (np.zeros(0, dtype=np.int64),))


def small_ints_widen(x):
    """The Python 0 takes the dtype of what is added to it, which then wraps."""
    s = 0
    for v in x:
        s = s + v
    return s


programs.add(
    small_ints_widen,
    (np.arange(5, dtype=np.int8),),
    (np.full(40, 9, dtype=np.int8),),
    (np.zeros(0, dtype=np.int8),),
)


def float32_becomes_float64(x, n):
    y = x
    for i in range(n):
        y = y * np.float64(0.5) + i
    return y


programs.add(
    float32_becomes_float64,
    (ramp(4).astype("f4"), 3),
    (ramp(4).astype("f4"), 0),
    (ramp(12).astype("f4"), 9),
)


def scalar_becomes_array_late(x, n):
    """An int, then a float, then an array."""
    s = 1
    for i in range(n):
        if i < 1:
            s = s + 0.5
        else:
            s = s + x * i
    return s


programs.add(
    scalar_becomes_array_late, (ramp(3), 1), (ramp(3), 2), (ramp(3), 5), (ramp(9), 0), (ramp(9), 6)
)


def zero_d_then_scalar(x):
    s = np.array(0.0)
    for v in x:
        s = s + v
    return s


programs.add(zero_d_then_scalar, (ramp(4),), (np.zeros(0),), (mixed(19),))


def bool_becomes_int(x):
    count = False
    for v in x:
        count = count + (v > 0)
    return count


programs.add(bool_becomes_int, (ramp(4),), (np.zeros(0),), (mixed(25),))


def real_becomes_complex(n):
    z = 0.5
    for _ in range(n):
        z = z * z + (0.1 + 0.2j)
    return z


programs.add(real_becomes_complex, (1,), (0,), (7,), parity="ulp", ulp=16)


def condition_becomes_traced(x):
    """`stop` is Python's False before the loop and traced after the first iteration."""
    stop = False
    n = 0
    while not stop:
        x = x * 2
        stop = x.max() > 50
        n += 1
    return x, n


programs.add(condition_becomes_traced, (ramp(4),), (ramp(4, 60, 70),), (mixed(12),))


def error_becomes_traced(x):
    error = 1.0
    steps = 0
    while error > 1e-3:
        y = (x + 2 / x) / 2
        error = abs(y - x)
        x = y
        steps += 1
    return x, steps


programs.add(error_becomes_traced, (1.0,), (100.0,), (np.float64(1.5),))


def limit_becomes_traced(x, n):
    """The number of iterations is known for the first decision only."""
    i, stop = 0, n
    while i < stop:
        i += 1
        stop = min(stop, int(x[i % len(x)]) + 5)
    return i, stop


programs.add(limit_becomes_traced, (whole(5), 3), (whole(5), 30), (whole(16), 9), (whole(16), 0))


def while_type_changes(x):
    s = 0
    i = 0
    while i < len(x) and s < 10:
        s = s + x[i]
        i = i + 1
    return s, i


programs.add(while_type_changes, (ramp(5),), (np.zeros(0),), (ramp(20, 3, 4),), (mixed(20),))


def roles_rotate(x, n):
    """Three names of two types that take turns."""
    a, b, c = x, x * 2, 1.0
    for _ in range(n):
        a, b, c = b, c, a
    return a, b, c


programs.add(roles_rotate, (ramp(3), 1), (ramp(3), 2), (ramp(3), 3), (ramp(8), 0), (ramp(8), 7))


def tuple_state(x, n):
    state = (0, 0)
    for i in range(n):
        state = (state[1] + 1, state[0] + x[i % len(x)])
    return state


programs.add(tuple_state, (ramp(3), 1), (ramp(3), 4), (mixed(7), 0), (mixed(7), 13))


def broadcasts_up(x, m, n):
    """A vector that becomes a matrix in the first iteration."""
    y = x
    for _ in range(n):
        y = y * 0.5 + m
    return y


programs.add(
    broadcasts_up,
    (ramp(3), table(2, 3), 2),
    (ramp(3), table(2, 3), 0),
    (ramp(5), table(6, 5), 4),
)


def exact_ints_beyond_floats(n, x):
    """A start value that a float could not hold exactly."""
    s = 2**53 + 1
    for i in range(n):
        s = s + x * i
    return s


programs.add(exact_ints_beyond_floats, (2, 0.5), (0, 0.5), (5, 1.0))

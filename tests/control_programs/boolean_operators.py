"""`and`, `or`, `not` and chained comparisons, as conditions and for their operands."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, whole

programs = Programs("boolean_operators")


def in_unit_square(x, y):
    if 0 <= x and x <= 1 and 0 <= y and y <= 1:
        return True
    return False


programs.add(
    in_unit_square, (0.5, 0.5), (-1.0, 0.5), (2.0, 0.5), (0.5, -1.0), (0.5, 2.0), (1.0, 0.0)
)


def outside(x):
    return 1 if x < -1 or x > 1 else 0


programs.add(outside, (0.0,), (-2.0,), (2.0,), (np.float64(1.0),), (np.float64(1.5),))


def or_gives_operand(x, y):
    return x or y


programs.add(or_gives_operand, (1.5, 2.5), (0.0, 2.5), (0.0, 0.0), (-0.0, 0.0), (3, 4), (0, 4))


def and_gives_operand(x, y):
    return x and y


programs.add(and_gives_operand, (1.5, 2.5), (0.0, 2.5), (1.5, 0.0), (-0.0, 2.0), (3, 4), (0, 4))


def mixed_kinds_of_operands(x, n):
    return (n and x) or -1.0


programs.add(mixed_kinds_of_operands, (2.5, 1), (2.5, 0), (0.0, 3), (0.0, 0))


def default_by_or(n, x):
    n = n or 3
    return x * n


programs.add(default_by_or, (2, ramp(4)), (0, ramp(4)), (5, ramp(9)), (0, ramp(9)))


def short_circuit_guards_division(a, b):
    if b != 0 and a / b > 2:
        return a / b
    return 0.0


programs.add(short_circuit_guards_division, (6.0, 2.0), (6.0, 0.0), (1.0, 2.0), (5, 0), (9, 2))


def short_circuit_guards_index(x, i):
    if i < len(x) and x[i] > 0:
        return x[i]
    return -1.0


programs.add(
    short_circuit_guards_index,
    (ramp(4), 3),
    (ramp(4), 9),
    (ramp(4), 0),
    (ramp(12), 11),
    (ramp(12), 12),
)


def not_in_conditions(x, y):
    if not (x > 0 or y > 0):
        return "neither"[:0] or 0
    if not x > 0:
        return 1
    if not not y > 0:
        return 2
    return 3


programs.add(not_in_conditions, (-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0))


def chained(x):
    return 0 < x < 1


programs.add(chained, (0.5,), (0.0,), (1.0,), (-3.0,), (np.float64(0.25),), (np.float64(4.0),))


def chained_three(a, b, c, d):
    return a < b <= c != d


programs.add(
    chained_three, (1, 2, 2, 3), (2, 1, 2, 3), (1, 2, 1, 3), (1, 2, 3, 3), (1.0, 2.0, 2.0, 3.0)
)


def chained_calls_once(x):
    """The middle operand is computed once."""
    count = np.zeros(2, dtype=np.int64)

    def middle():
        count[0] += 1
        return x * 2

    inside = -1 < middle() < 4
    return inside, count


programs.add(chained_calls_once, (1.0,), (-3.0,), (8.0,), (np.float64(0.5),))


def chained_in_loop(x, low, high):
    n = 0
    for v in x:
        if low < v < high:
            n += 1
        elif high <= v == 4:
            n += 100
    return n


programs.add(
    chained_in_loop, (np.arange(6.0), 1.0, 4.0), (np.arange(6.0), 9.0, 9.0), (mixed(30), -1.0, 1.0)
)


def with_arrays_of_one_decision(x, y):
    if (x > 0).all() and (y > 0).all():
        return x + y
    if (x > 0).any() or (y > 0).any():
        return x - y
    return x * y


P = ramp(4, 1, 2)
programs.add(
    with_arrays_of_one_decision, (P, P), (P, -P), (-P, -P), (ramp(9), ramp(9)), (-P * 2, P)
)


def and_in_while(x, tolerance, most):
    n = 0
    while abs(x) > tolerance and n < most:
        x = -x / 2
        n += 1
    return x, n


programs.add(and_in_while, (8.0, 0.5, 100), (8.0, 0.5, 2), (0.1, 0.5, 10), (8.0, 1e-9, 0))


def or_of_array_elements(x):
    y = x[0] or x[1] or x[2]
    return y * 2


programs.add(
    or_of_array_elements,
    (np.array([1.0, 2.0, 3.0]),),
    (np.array([0.0, 2.0, 3.0]),),
    (np.array([0.0, 0.0, 3.0]),),
    (whole(5, 0, 1) * 1.0,),
)


def flags_as_values(x, y):
    positive = x > 0
    both = positive and y > 0
    either = positive or y > 0
    return both, either, not both, positive & (y > 0), positive ^ (y > 0)


programs.add(
    flags_as_values, (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (np.float64(2), 1.0)
)


def bit_tricks(n):
    power = n > 0 and n & (n - 1) == 0
    return power, n and n & -n


programs.add(bit_tricks, (8,), (12,), (0,), (-4,), (1,))

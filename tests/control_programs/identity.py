"""`is` between arrays: those from outside, and those that the program makes."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("identity")


def of_new_arrays(x):
    y = x + 0
    rows = [x, y * 2]
    out = np.add(x, x, out=y)
    return y is x, out is y, rows[0] is x, rows[1] is x, rows[1] is not y


programs.add(of_new_arrays, (ramp(4),), (mixed(9),))


def of_a_choice(x):
    y = x * 2
    chosen = {"a": y}
    if x[0] > 0:
        chosen["a"] = y + 1
    return chosen["a"] is y


programs.add(of_a_choice, (ramp(4),), (-ramp(4),))


def in_a_loop(x):
    first = current = np.zeros(3)
    n = 0
    for k in range(len(x)):
        if current is first:
            n += 1
        if x[k] > 1:
            current = current + x[k]
    return n, current is first


programs.add(
    in_a_loop, (ramp(9),), (mixed(30),), (-np.ones(4),), eager="an array that a loop carries"
)


def of_swapped_arrays(x):
    a = first = np.zeros(2)
    b = np.ones(2)
    for _ in range(len(x)):
        a, b = b, a
    return a is first, b is first, a is b


programs.add(of_swapped_arrays, (ramp(4),), (ramp(5),))


def skipped(x):
    y = x * 2
    s = 0.0
    for z in (y, x, y * 2):
        if z is y:
            continue
        s += z.sum()
    return s


programs.add(skipped, (ramp(4),), (mixed(9),), parity="order")


def of_arguments(x, y):
    return 2 * x if x is y else 3 * x


SAME = ramp(4)
programs.add(of_arguments, (SAME, SAME), (ramp(4), mixed(4)), eager="nobody knows while tracing")

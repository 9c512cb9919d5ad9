"""`None` on one side of a branch; names that only some paths define."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("missing_names")


def none_unless_positive(x):
    result = None
    if x > 0:
        result = x * 2
    return result


programs.add(none_unless_positive, (1.5,), (-1.5,), (np.float64(2.0),), (np.float64(-2.0),))


def none_by_return(x):
    if x[0] > 0:
        return x * 2


programs.add(none_by_return, (ramp(4),), (ramp(4, 1, 2),), (ramp(11),), (ramp(11, 2, 3),))


def is_none_afterwards(x):
    best = None
    if x[0] > 1:
        best = x[0]
    if best is None:
        best = -1.0
    return best


programs.add(is_none_afterwards, (ramp(4),), (ramp(4, 2, 3),), (ramp(9),), (ramp(9, 2, 5),))


def best_of(x):
    """`None` until the first iteration."""
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best


programs.add(best_of, (mixed(5),), (mixed(26),), (np.zeros(0),), (np.array([-3.0]),))


def best_positive(x):
    """`None` for as many iterations as the numbers are negative."""
    best = None
    where = None
    for i, v in enumerate(x):
        if v > 0 and (best is None or v < best):
            best = v
            where = i
    return best, where


programs.add(best_positive, (mixed(5),), (mixed(26),), (-ramp(4, 1, 2),), (np.zeros(0),))


def found_or_none(m, value):
    found = None
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] == value:
                found = (i, j)
    return found


M = np.arange(6.0).reshape(2, 3)
programs.add(
    found_or_none, (M, 4.0), (M, 9.0), (table(5, 6), 0.5), (np.arange(40.0).reshape(5, 8), 39.0)
)


def defined_in_branch(x):
    """Read only where it is defined."""
    if x > 0:
        y = x * 3
    z = 1.0
    if x > 0:
        z = y + 1
    return z


programs.add(defined_in_branch, (1.0,), (-1.0,), (np.float64(2.5),), (0.0,))


def unbound_on_one_side(x):
    if x > 0:
        y = x * 3
    return y


programs.add(unbound_on_one_side, (1.0,), (-1.0,), (2.0,), (np.float64(-2.0),))


def unbound_after_zero_trips(n):
    for i in range(n):
        last = i * 2
    return last


programs.add(unbound_after_zero_trips, (3,), (0,), (7,), (-2,))


def loop_variable_unbound(x, n):
    for i in range(n):
        x = x + i
    return x, i


programs.add(loop_variable_unbound, (1.5, 4), (1.5, 0), (2.5, 9))


def defined_in_while(x):
    while x > 4:
        step = x / 2
        x = x - step
    return step


programs.add(defined_in_while, (9.0,), (1.0,), (100.0,))


def deleted_on_one_side(x):
    y = x * 2
    if x > 0:
        del y
    return y


programs.add(deleted_on_one_side, (-1.0,), (1.0,), (np.float64(-4.0),), (np.float64(4.0),))


def defined_before_break(x):
    for v in x:
        if v > 1:
            found = v
            break
    else:
        found = None
    return found


programs.add(defined_before_break, (ramp(5),), (ramp(5, -2, 0),), (mixed(17),), (np.zeros(0),))


def optional_argument(x, scale=None, shift=None):
    if scale is not None:
        x = x * scale
    if shift is not None and x[0] > 0:
        x = x + shift
    return x


programs.add(
    optional_argument,
    (ramp(4),),
    (ramp(4), 2.0),
    (ramp(4, 1, 2), 2.0, 1.0),
    (ramp(9), None, 1.0),
)


def none_in_a_tuple(x):
    pair = (x, None) if x > 0 else (None, x)
    return pair


programs.add(none_in_a_tuple, (1.0,), (-1.0,), (np.float64(2.0),), (np.float64(-2.0),))


def none_or_array(x, limit):
    y = x * 2 if x.max() < limit else None
    return y


programs.add(none_or_array, (ramp(4), 5.0), (ramp(4), 0.0), (mixed(12), 5.0), (mixed(12), 0.0))


def previous_value(x):
    """The state of the first iteration differs from that of all others."""
    previous = None
    ups = 0
    for v in x:
        if previous is not None and v > previous:
            ups += 1
        previous = v
    return ups, previous


programs.add(previous_value, (ramp(5),), (mixed(33),), (whole(8) * 1.0,), (np.array([2.0]),))


def defined_with_another_type(x):
    """One side never defines it, the other sides with two types."""
    if x > 2:
        y = 1
    elif x > 0:
        y = 1.5
    try_it = x > 0
    return y if try_it else None


programs.add(defined_with_another_type, (3.0,), (1.0,), (-1.0,), (np.float64(1.5),))


def deleted_in_each_iteration(x, n):
    for v in range(n):
        last = v * x
    for _ in range(n):
        del last
    return x


programs.add(deleted_in_each_iteration, (1.5, 0), (1.5, 1), (2.5, 3), (2.5, 30))


def deleted_on_one_side(x):
    if x > 1:
        k = x
    del k
    return x


programs.add(deleted_on_one_side, (1.5,), (0.5,), (2.5,))

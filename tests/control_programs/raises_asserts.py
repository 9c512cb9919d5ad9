"""`raise` and `assert` on traced conditions, and NumPy's and Python's own exceptions."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("raises_asserts")


class ModelError(Exception):
    """An exception class of the user's."""

    def __init__(self, message, code=0):
        super().__init__(message)
        self.code = code


def raise_in_branch(x):
    if x < 0:
        raise ValueError("x must not be negative")
    return x**0.5


programs.add(raise_in_branch, (4.0,), (-4.0,), (np.float64(2.0),), (np.float64(-2.0),))


def message_with_values(x, limit):
    if x.max() > limit:
        raise ValueError(f"max {x.max()} is above {limit} in {len(x)} values")
    return x / limit


programs.add(
    message_with_values, (ramp(4), 3.0), (ramp(4), 1.0), (mixed(12), 9.0), (mixed(12), 0.5)
)


def user_exception(x):
    if x > 10:
        raise ModelError("too large", code=3)
    if x < -10:
        raise ModelError("too small")
    return x


programs.add(user_exception, (1.0,), (20.0,), (-20.0,), (np.float64(11.0),))


def plain_assert(x):
    assert x > 0
    return x * 2


programs.add(plain_assert, (1.0,), (-1.0,), (np.float64(2.0),), (0.0,))


def assert_with_message(x, n):
    for i in range(n):
        x = x - 1
        assert x > -3, f"x fell to {x} in step {i}"
    return x


programs.add(assert_with_message, (5.0, 3), (1.0, 9), (np.float64(2.0), 2), (-3.0, 1))


def raise_in_loop(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative at", i, x[i])
        s += x[i]
    return s


programs.add(raise_in_loop, (ramp(4, 0, 1),), (ramp(4, 1, -1),), (mixed(19),), (np.abs(mixed(19)),))


def state_after_raise(x, limit):
    """The stores of the iterations before the exception stay."""
    total = 0.0
    for i in range(len(x)):
        x[i] = x[i] * 2
        total += x[i]
        if total > limit:
            raise OverflowError(f"total {total}")
        x[0] = total
    return total


programs.add(
    state_after_raise, (ramp(5), 99.0), (ramp(5, 1, 2), 7.0), (mixed(16), 4.0), (mixed(16), 999.0)
)


def state_after_assert(x, y):
    y[0] = x.max()
    if x[0] > 0:
        y[1] = 50.0
        assert x[1] > 0, "second"
        y[2] = 60.0
    return y.max()


programs.add(
    state_after_assert,
    (ramp(4), np.zeros(4)),
    (ramp(4, 1, 2), np.zeros(4)),
    (ramp(4, 1, -3), np.zeros(4)),
    (ramp(9, 1, -30), np.ones(9)),
)


def not_converged(a, most):
    x = 1.0
    for _ in range(most):
        y = (x + a / x) / 2
        if abs(y - x) < 1e-9:
            return y
        x = y
    raise RuntimeError(f"no convergence after {most} steps: {x}")


programs.add(not_converged, (2.0, 20), (2.0, 2), (1e6, 5), (1e6, 50))


def check_arguments(x, y):
    if x.shape != y.shape:
        raise ValueError(f"shapes {x.shape} and {y.shape}")
    if not np.isfinite(x).all():
        raise FloatingPointError("x is not finite")
    return x + y


programs.add(
    check_arguments,
    (ramp(4), ramp(4)),
    (ramp(4), ramp(5)),
    (np.array([1.0, np.inf, 2.0, 3.0]), ramp(4)),
    (mixed(12), ramp(12)),
)


def raise_from_helper(x):
    def checked(v):
        if v == 0:
            raise ZeroDivisionError("checked: zero")
        return 1 / v

    return checked(x) + checked(x - 1)


programs.add(raise_from_helper, (2.0,), (0.0,), (1.0,), (np.float64(4.0),))


def out_of_bounds(x, i):
    y = x * 2
    return y[i]


programs.add(
    out_of_bounds, (ramp(4), 2), (ramp(4), -4), (ramp(4), 4), (ramp(12), 11), (ramp(12), -13)
)


def python_division(a, b):
    return a / b, a // b, a % b


programs.add(python_division, (7.0, 2.0), (7.0, 0.0), (7, 2), (7, 0), (-7, 2))


def numpy_division(a, b):
    return a / b, a // b, a % b


programs.add(
    numpy_division,
    (np.float64(7), np.float64(2)),
    (np.float64(7), np.float64(0)),
    (np.int64(7), np.int64(2)),
    (np.int64(7), np.int64(0)),
)


def negative_root_in_loop(x):
    s = 0.0
    for v in x:
        if v < -3:
            raise ArithmeticError("negative", v)
        s += np.sqrt(abs(v))
    return s


programs.add(negative_root_in_loop, (ramp(4),), (mixed(30),), (ramp(4, -4, 0),))


def shapes_that_do_not_fit(x, y):
    if x[0] > 0:
        return x + y
    return x


programs.add(
    shapes_that_do_not_fit,
    (ramp(4), ramp(4)),
    (ramp(4, 1, 2), ramp(3)),
    (ramp(4), ramp(3)),
    (ramp(4, 1, 2), ramp(4)),
)


def singular(m, x):
    if x > 0:
        return np.linalg.solve(m, np.ones(m.shape[0]))
    return m[0]


programs.add(
    singular,
    (np.eye(3) * 2.0, 1.0),
    (np.zeros((3, 3)), 1.0),
    (np.zeros((3, 3)), -1.0),
    (np.eye(5) * 4.0, 1.0),
)


def int_overflow_of_numpy(x):
    """Python ints that no int64 holds, stored into an array of them."""
    out = np.zeros(3, dtype=np.int64)
    for i in range(3):
        out[i] = x * 10**i
    return out


programs.add(int_overflow_of_numpy, (7,), (10**18,), (-3,))


def which_comes_first(x, i, d):
    """Two errors: the first in the program's order is raised."""
    a = x[i]
    b = 10 // d
    return a + b


programs.add(which_comes_first, (ramp(3), 1, 3), (ramp(3), 9, 0), (ramp(3), 1, 0), (ramp(8), 9, 3))


def raise_class_without_call(x):
    if x > 1:
        raise KeyError
    elif x < -1:
        raise NotImplementedError
    return x


programs.add(raise_class_without_call, (0.5,), (2.0,), (-2.0,), (np.float64(0.0),))


def raise_from(x):
    if x < 0:
        raise ValueError("outer") from TypeError("inner")
    return x


programs.add(raise_from, (1.0,), (-1.0,), (np.float64(-1.0),))


def stop_in_nested_loops(m):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > 3.5:
                raise StopIteration((i, j))
            m[i, j] = 0.0
    return m


programs.add(stop_in_nested_loops, (table(3, 3),), (table(6, 5),), (table(3, 3) - 9,))


def always_raises(x):
    y = x * 2
    raise ValueError(f"always, {y}")


programs.add(always_raises, (1.0,), (np.float64(2.5),), (3,))


def assert_on_array(x):
    assert (x > 0).all(), ("not all positive", x.min())
    return x


programs.add(assert_on_array, (ramp(4, 1, 2),), (ramp(4),), (ramp(9, 1, 2),), (ramp(9),))


def truth_of_long_array(x):
    """Not a bool: NumPy's ValueError."""
    if x > 0:
        return 1
    return 2


programs.add(truth_of_long_array, (1.0,), (ramp(3),), (-1.0,), (ramp(9),), (whole(1, -3, 0),))

"""Helper functions with control flow of their own: nested, decorated, with defaults, variadic."""

# ruff: noqa: C417, PIE804

import functools
import math
import operator

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("helpers")


def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


def sum_of_signs(x):
    s = 0
    for v in x:
        s += sign(v)
    return s


programs.add(sum_of_signs, (ramp(5),), (whole(30) * 1.0,), (np.zeros(4),))


def smaller(a, b):
    return a if a < b else b


def smallest(x):
    best = x[0]
    for i in range(1, len(x)):
        best = smaller(best, x[i])
    return best


programs.add(smallest, (mixed(5),), (mixed(31),), (ramp(3),))


def converge(f, x, tolerance):
    n = 0
    while True:
        y = f(x)
        n += 1
        if abs(y - x) < tolerance or n > 50:
            return y, n
        x = y


def square_root_by_iteration(a):
    def step(x):
        return (x + a / x) / 2

    return converge(step, 1.0, 1e-9)


programs.add(square_root_by_iteration, (2.0,), (100.0,), (1.0,))


def slow_iteration(a):
    return converge(lambda x: x + a, 0.0, 0.001)


programs.add(slow_iteration, (1.0,), (0.0,), (0.0005,))


def options(x, *, power=2, negative="keep"):
    if negative == "drop":
        x = np.where(x < 0, 0.0, x)
    elif negative == "flip":
        x = np.abs(x)
    if x.max() > 2:
        x = x / 2
    return x**power


def with_keywords(x):
    return options(x), options(x, negative="flip"), options(x, power=3, negative="drop")


programs.add(with_keywords, (ramp(4),), (mixed(13),), (ramp(4, -1, 1),))


def variadic(*parts, scale=1.0):
    total = parts[0] * 0
    for p in parts:
        total = total + p if p[0] > 0 else total - p
    return total * scale


def calls_variadic(x, y):
    arguments = (x, y, x + y)
    return variadic(*arguments, **{"scale": 0.5}) + variadic(y)


programs.add(
    calls_variadic, (ramp(4), -ramp(4)), (ramp(4, 1, 2), ramp(4)), (mixed(11), mixed(11, 1))
)


def logged(f):
    """A decorator that changes the result."""

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        result = f(*args, **kwargs)
        if result > 10:
            result = result - 10
        return result

    return wrapper


@logged
def cube(x):
    return x * x * x


def decorated_helper(x):
    return cube(x) + cube(x + 1)


programs.add(decorated_helper, (1.0,), (3.0,), (-2.0,), (np.float64(1.5),))
programs.add(cube, (1.0,), (3.0,), (np.float64(-2.0),))


def apply_all(functions, x):
    for f in functions:
        x = f(x)
    return x


def pipeline(x):
    steps = [np.abs, lambda v: v - 1, np.sqrt, abs]
    if x.min() > 1:
        steps = steps[:2]
    return apply_all(steps[:2] if x[0] > 3 else [np.negative, *steps[:1]], x)


programs.add(pipeline, (ramp(4),), (ramp(4, 4, 5),), (ramp(10),), (ramp(10, 9, 4),))


def standard_library(x, n):
    if math.isfinite(x) and x > math.pi:
        x = math.floor(x) + math.fmod(x, 1.0)
    total = 0.0
    for i in range(n):
        total += math.copysign(x, -1.0) if operator.gt(i, 2) else float(i)
    return total, min(x, 2.0), max(n, 3), abs(-x)


programs.add(standard_library, (1.0, 2), (5.25, 6), (1.5, 0), (4.0, 9))


def min_max_of_traced(a, b, c):
    low = min(a, b, c)
    high = max(a, b, c)
    if high - low > 3:
        return min(low, 0.0), high
    return low, max(high, 1.0)


programs.add(min_max_of_traced, (1.0, 2.0, 3.0), (-5.0, 2.0, 0.5), (4.0, 4.0, 4.0), (9.0, 1.0, 5.0))


def is_even(n):
    return n % 2 == 0


def count_kinds(x):
    even = odd = 0
    for v in x:
        if is_even(v):
            even += 1
        else:
            odd += 1
    return even, odd


programs.add(count_kinds, (whole(6),), (whole(33),), (np.array([2, 4]),))


def helper_stores(out, i, value):
    if value > 0:
        out[i] = value
    return out


def through_helpers(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        helper_stores(out, i, x[i])
    return out


programs.add(through_helpers, (ramp(5),), (mixed(21),))


def bubble_pass(x):
    changed = False
    for i in range(len(x) - 1):
        if x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
            changed = True
    return changed


def bubble_sort(x):
    x = x.copy()
    passes = 0
    while bubble_pass(x):
        passes += 1
    return x, passes


programs.add(bubble_sort, (mixed(6),), (ramp(6),), (mixed(17),), (ramp(17)[::-1],))


def norm_and_unit(v):
    length = np.sqrt((v * v).max())
    if length == 0:
        return v, 0.0
    return v / length, float(length)


def several_results(m):
    total = 0.0
    rows = np.zeros_like(m)
    for i in range(len(m)):
        unit, length = norm_and_unit(m[i])
        rows[i] = unit
        total += length
    return rows, total


programs.add(several_results, (table(3, 2),), (table(6, 5) * (np.arange(6) % 2)[:, None],))


def reduce_by_function(x):
    def step(accumulated, v):
        if v > accumulated:
            return v
        return accumulated - 0.5

    return functools.reduce(step, [x[0], x[1], x[2], x[3]])


programs.add(reduce_by_function, (ramp(4),), (mixed(8),), (-ramp(4),))


def map_and_filter(x):
    doubled = list(map(lambda v: v * 2 if v > 0 else v, [x[0], x[1], x[2]]))
    return sum(doubled), doubled


programs.add(map_and_filter, (ramp(3),), (mixed(7),), (-ramp(3),))

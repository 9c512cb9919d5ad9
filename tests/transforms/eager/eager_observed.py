"""Programs whose gradients are taken eagerly, for what can be seen of them beside the result."""

import concurrent.futures
import functools
import math
import statistics
import warnings
from typing import Any

import numpy as np
from scipy.special import struve

import tracejit

SEEN: list[Any] = []


def printing(x):
    print("x is", x, x[0], sep=" | ")
    for k, v in enumerate(x):
        print(f"{k}: {v:.2f} {v!r}", end=";")
    y = x * 2
    print(y, [y[0], {"a": (y.sum(),)}], y.shape, str(y), repr(x[1:]), x > 1)
    print("%s and %.3f" % (x[0], x[1]), "{:>8.1f}".format(x[1]))  # noqa: UP031, UP032
    return y.sum()


def stopped(x):
    y = x**2
    breakpoint()
    z = float(y[0]) * 2
    return z


def divided(x):
    y = 2 * x
    return y / (x - 1.0)  # ZeroDivisionError


def beyond(x):
    y = np.zeros(2)
    y[0] = x[0]
    y[2] = x[1]  # IndexError
    return y.sum()


def unlike_shapes(x):
    return (x + np.ones(7)).sum()  # ValueError


def logarithm(x):
    return math.log(x - 5.0)  # ValueError


def singular(x):
    return np.linalg.inv(np.outer(x, x)).sum()  # LinAlgError


def raising(x):
    if x.sum() > 0:
        raise ValueError("the sum is", x.sum())  # ValueError
    return x.sum()


def asserting(x):
    assert x[0] < 0, f"{x[0]} is positive"  # AssertionError
    return x.sum()


def missing(x):
    return x.summe()  # AttributeError


def warned(x):
    y = x / np.zeros(2)  # division
    z = np.log(x - 1.0)  # logarithm
    return y.sum() + z.sum()


def mutating(x, out, items, table):
    x[0] = 7.0
    out[:] = x * 2.0
    out += 1.0
    items.append(x.sum())
    items[0] = out
    table["new"] = len(items)
    return (out**2).sum()


def mutating_then_failing(x):
    x[0] = -1.0
    x[1] /= 2.0
    return x[5]


def returning_arguments(x, y):
    y[0] = x[0]
    return x.sum(), (y, {"x": x})


def remembered(x):
    SEEN.append(x * 2)
    SEEN.append(len(SEEN))
    return x.sum() * SEEN[0].sum()


@functools.lru_cache
def _cached(v):
    return v * v


def with_cache(x):
    return _cached(x[0]) + _cached(x[0]) + _cached(3)


def through_library(x):
    return statistics.mean(x) * 2.0  # lost


def stored_outside(x):
    _OUTSIDE[0] = x[0]  # lost
    return _OUTSIDE.sum()


_OUTSIDE = np.zeros(2)


def swallowed(x):
    try:
        return statistics.mean(x)  # lost
    except TypeError:
        return 0.0 * x[0]


def without_rule(x):
    return struve(1.0, x).sum()  # lost


def shown_to_library(x, log):
    statistics.mean((x > 0).tolist())
    log(x, x[0], value=x.sum())
    return x.sum()


def second(x):
    inner = tracejit.value_and_grad(lambda v: v**3 * x)
    value, slope = inner(x)
    print(value, slope)
    return value + slope * x


def confused(x):
    return x * tracejit.grad(lambda y: x + y)(x)


def inner_arrays(x):
    g = tracejit.grad(lambda v: (v**3).sum() if v[0] > 0 else v.sum())(x)
    return (g * x).sum()


def caught_warning(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (x / 0.0 * 0.0 + x)[0]


def in_threads(x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return sum(pool.map(lambda v: v * v, x))  # lost


def filtered(x, count):
    y = np.zeros(len(x))
    for i in range(count):
        y[i] = y[i - 1] * 0.5 + x[i] if i else x[i]
    return y.sum()

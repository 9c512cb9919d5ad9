# ruff: noqa: B006
"""Functions whose result must never be frozen: capture refuses them."""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import numpy as np

from tests.frontend.capture.capture_samples import LAYERS, MODEL, WEIGHTS, counted

SCALE = 2.0
LOG: list[Any] = []
SET = {1, 2}
VIEW = {"a": 2.0}.values()
COUNTER = iter([1, 2, 3])
COUNTS = {"calls": 0}


class Lazy:
    def __getattr__(self, name):
        return SCALE


LAZY = Lazy()


def reads_clock(x):
    return x + time.time()


def reads_file(x):
    return x + np.fromfile("/dev/zero", count=3)


def opens_file(x):
    return x + len(open("/dev/null").read())


def prints(x):
    print("x")
    return x


def appends_to_global(x):
    LOG.append(x)
    return x


def changes_default(x, seen=[]):
    seen.append(1)
    return x + len(seen)


def counts_calls(x):
    COUNTS["calls"] += 1
    return x + COUNTS["calls"]


def sets_attribute(x):
    MODEL.bias = 1.0
    return x


def sets_function_text(x):
    counted.__doc__ = "another"
    return x


def changes_argument_list(xs):
    xs.append(1.0)
    return xs[0]


def changes_argument_dict(d):
    d["new"] = 1.0
    return d["x"]


def sorts_argument(xs):
    xs.sort()
    return xs[0]


def stores_into_global_array(x):
    WEIGHTS[0] = 1.0
    return x


def adds_in_place_to_global(x):
    LAYERS[0] += x
    return x


def uses_global_statement(x):
    global SCALE
    SCALE = 3.0
    return x


def uses_iterator(x):
    return x + next(COUNTER)


def uses_set(x):
    return x if 1 in SET else -x


def text_of_set(x):
    return x, f"{SET}"


def percent_of_set(x):
    return x, "%s" % SET  # noqa: UP031


def length_of_set(x):
    return x + len(SET)


def iterates_view(x):
    return [x + v for v in VIEW]


def length_of_view(x):
    return x + len(VIEW)


def text_of_view(x):
    return x, str(VIEW)


def tests_view(x):
    return x if VIEW else -x


def looks_into_view(x):
    return x if 2.0 in VIEW else -x


def uses_getattr_class(x):
    return x * LAZY.anything


def uses_globals(x):
    return x * globals()["SCALE"]


def uses_eval(x):
    return x * eval("SCALE")


def uses_dict_attribute(x):
    return x * MODEL.__dict__["bias"]


def uses_vars(x):
    return x * vars(MODEL)["bias"]


def identity_of_object(x):
    return x + id(MODEL) % 2


def formats_shape(x):
    return f"{x.shape[0]:03d} {x.ndim!r}"


def formats_shape_tuple(x):
    return str(x.shape)


def contains_array(x):
    return x in [x]


def compares_lists(x):
    return [x] == [x]


def compares_identity(a, b):
    return a is b


def tries(x):
    try:
        y = x + 1
    except* ValueError:
        y = x
    return y


def reads_text_of_numpy(x):
    try:
        return x + np.ones(len(x) + 1)
    except ValueError as e:
        return str(e)


def uses_with(x):
    with np.errstate(all="raise"):
        return x + 1


def generates(x):
    yield x


def defines_class(x):
    class Local:
        pass

    return x


def branches(x):
    if x.sum() > 0:
        return x
    return -x


def loops_on_value(x):
    while x.sum() > 1:
        x = x / 2
    return x


def frompyfunc_with_constant(x):
    return x + np.frompyfunc(lambda v: time.time(), 1, 1)(1.0)


def cached(x):
    return x + cached_value(1)


@functools.lru_cache
def cached_value(k):
    return SCALE * k


def returns_global_list(x):
    return LAYERS


def returns_argument_list(xs):
    return xs


def returns_lambda(x):
    return lambda: x


def fills_cached_property(x):
    return x


def internal_attribute(x):
    return getattr(x, "value", 7.0)


def internal_view(x):
    return x.view(np.int64)


def min_of_arrays(x):
    return min(x, x + 1)


def sorted_values(x):
    return sorted(x)


def rounds(x):
    return round(float(x[0]), -2)


def unknown_function(x):
    return math.ulp(x[0])

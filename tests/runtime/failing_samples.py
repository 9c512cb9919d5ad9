"""Functions that raise what their trace raises, too; called with an array and an int."""
# ruff: noqa: F821

import weakref

import numpy as np

import tracejit

D = {"a": 1.0}


def fail_index_error(x, k):
    return x[k] * 2


def fail_broadcast(x, k):
    return x + np.ones(x.shape[0] + 1)


def fail_cast(x, k):
    y = np.zeros(3, np.int64)
    y += x
    return y


def fail_attribute(x, k):
    return x.nothing


def fail_zero(x, k):
    return x * (1 // (k - k))


def fail_raises(x, k):
    if k > 2:
        raise ValueError("no")
    return x


def fail_asserts(x, k):
    assert k < 2, "big"
    return x


def fail_key(x, k):
    return x * D["b"]


def fail_name(x, k):
    return x * unknown_name


def fail_arity(x, k):
    return np.sin()


def fail_types(x, k):
    return x + "a"


def fail_linalg(x, k):
    return np.linalg.inv(np.zeros((2, 3))) + x


def fail_unpack(x, k):
    a, b = x
    return a


def append_and_fail(x, seen):
    seen.append(1)
    return x * (1 // 0)


def times_shape(x, s):
    if x.shape[0] == 4:
        return x + np.ones(5)
    return x * s


def sinks(x, n):
    return x * D["b"] if n == 0 else compiled_sinks(x, n - 1)


class Hidden:
    """Shows no class where it is looked at, as stand-ins do that are set up later."""

    @property
    def __class__(self):
        raise RuntimeError("set up later")


HIDDEN = Hidden()
GONE = weakref.proxy(Hidden())
RELEASED = memoryview(b"abc")
RELEASED.release()


def names_odd_objects(x, k):
    if k < -20:
        return HIDDEN, GONE, RELEASED
    return x[k]


def takes_anything(x, k):
    return x * 2


compiled_sinks = tracejit.jit(sinks)

"""Programs with Python's lists, tuples and texts beside numbers and arrays."""

import operator

import numpy as np


def repeated_by_a_conversion(x, a):
    return [0, 1] * int(x)


def repeated_by_a_count(x, a):
    return [1.5] * np.count_nonzero(a > 0)


def array_of_a_repeated_list(x, a):
    return np.array([0.0] * int(x)) + a[0]


def repeated_by_an_element(x, a):
    return [0] * a.astype(int).max()


def tuple_times_a_scalar(x, a):
    return (1, 2) * np.int64(a.sum())


def repeated_by_a_branch(x, a):
    n = 1
    if x > 2:
        n += 1
    return [0] * n


def repeated_by_a_size(x, a):
    held = [0.0] * len(a)
    for k in range(len(a)):
        held[k] = a[k] * x
    return held


def repeated_in_place(x, a):
    held = kept = [x, 1]
    held *= int(x)
    return held, len(kept)


def text_repeated(x, a):
    return "ab" * int(x), int(x) * "-"


def compared_with_a_list(x, a):
    return x == [1, 2], (1, 2) != x, [x] == [3.0], x == "ab", x != None  # noqa: E711


def added_to_a_list(x, a):
    return [1, 2] + x


def less_than_a_list(x, a):
    return x < [1, 2]


def list_plus_an_array(x, a):
    held = kept = [1.0, 2.0, x]
    held += a
    return held, len(kept)


def list_plus_a_scalar(x, a):
    held = kept = [1.0, x]
    held += a.sum()
    return held, len(kept)


def list_plus_a_list(x, a):
    held = kept = [1.0, x]
    held += [a.sum()]
    return held, len(kept)


def scalar_times_a_list(x, a):
    return a[0] * [1, 2]


def scalar_plus_a_list(x, a):
    return a[0] + [1, x], (1, x) - a[0], a[0] == [1, x], np.float64(2) ** [x, 1]


def scalar_times_a_range(x, a):
    return a[0] * range(3), a + range(3)


def product_of_scalars(x, a):
    return x @ 2.0


def slice_of_a_list(x, a):
    return [1, 2, 3][: int(x)], (1, 2, 3)[np.argmax(a)], "abc"[int(x) - 1]


def searched(x, a):
    return x in [1, 3.0], x in (None, "a", 2), [1, 2] in [[1, 2], 3]


def by_functions(x, a):
    return operator.mul([x], 2), operator.eq(x, [x]), sum([[1], [x]], [])


def shape_of_repeated_sizes(x, a):
    return np.zeros([2] * a.ndim + [int(x)])


def text_without_a_place(x, a):
    template = "ab"
    return template % a, template % a[0], template % [x]


def lengthened_by_itself(x, a):
    held, other = [x, 1], [a[0]]
    held += held
    other.extend(other)
    other[1:] = other
    return held, other


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__]


def repeated_by_an_argument(v):
    return [1, 2] * v

"""Functions that keep state in attributes of their own, and functions that use them."""

from __future__ import annotations

from typing import Any

import numpy as np


def counted(x):
    counted.calls += 1
    return x * counted.calls


def table_of(k, x):
    if k not in table_of.known:
        table_of.known[k] = x * k
    return table_of.known[k]


def lazy(x):
    if not hasattr(lazy, "weights"):
        lazy.weights = np.arange(3.0)
    return x + lazy.weights


def noted(x):
    noted.last, noted.array = x.sum(), x * 2
    return x


#: What the functions hold before.
ATTRIBUTES: dict[Any, dict[str, Any]] = {
    counted: {"calls": 0},
    table_of: {"known": {}},
    lazy: {},
    noted: {"last": 0.0, "array": None},
}


def calls_twice(x):
    return counted(x) + counted(x), counted.calls


def calls_in_a_loop(x):
    for k in range(30):
        if x[0] + k > 20:
            counted(x)
    return counted.calls


def fills_a_table(x):
    return table_of(2, x) + table_of(2, x) + table_of(3, x)


def makes_once(x):
    return lazy(x) + lazy(x)


def reads_what_was_noted(x):
    noted(noted(x) + 1)
    return noted.last, noted.array


def under_a_condition(x):
    if x[0] > 0:
        counted.calls = 10
    return counted.calls


def makes_and_deletes(x):
    counted.extra = x
    found = counted.extra
    del counted.extra
    return found, hasattr(counted, "extra"), getattr(counted, "len", None), counted.__name__


def of_an_inner_function(x):
    def inner(y):
        inner.calls += 1
        return y * inner.calls

    inner.calls = 0
    return inner(x) + inner(x)


def raises_afterwards(x):
    counted.calls += 1
    if x[0] > 0:
        raise ValueError("counted all the same")
    return x


PROGRAMS = [
    *(calls_twice, calls_in_a_loop, fills_a_table, makes_once, reads_what_was_noted),
    *(under_a_condition, makes_and_deletes, of_an_inner_function, raises_afterwards),
]

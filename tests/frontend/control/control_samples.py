"""Functions with explicit control flow, stores and views, as a user would write them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit


def running_sum_by_stores(x: Any) -> Any:
    """A store into a local array inside a rolled loop."""
    n = 40

    def body(state: Any) -> Any:
        i, total = state
        total[i] = total[i - 1] + x[i]
        return i + 1, total

    return tracejit.while_loop(lambda s: s[0] < n, body, (1, x.copy()))[1]


def shrinking(x: Any) -> Any:
    """An array that loses its first element in every iteration."""

    def body(state: Any) -> Any:
        k, y = state
        return k + 1, y[1:] * 0.5

    return tracejit.while_loop(lambda s: s[0] < 7, body, (0, x * 1.0))[1]


def shrinking_sum(x: Any) -> Any:
    """The same, reduced to a number."""

    def body(state: Any) -> Any:
        k, y, total = state
        return k + 1, y[1:], total + y.sum()

    start = (0, x * 1.0, np.float64(0.0))
    return tracejit.while_loop(lambda s: s[0] < 7, body, start)[2]


def sides_of_two_types(x: Any) -> Any:
    """A branch that gives an int on one side and a float on the other."""
    return tracejit.cond(x[0] > 0, lambda: 1, lambda: 2.5)


def sides_of_two_dtypes(x: Any) -> Any:
    """A branch that gives arrays of two dtypes."""
    return tracejit.cond(x[0] > 0, lambda: x > 1, lambda: x + 1)


def swapped_names(x: Any) -> Any:
    """Two names swapped in every iteration, for an odd number of iterations."""

    def body(state: Any) -> Any:
        k, a, b = state
        return k + 1, b, a * 0.5 + b

    return tracejit.while_loop(lambda s: s[0] < 7, body, (0, x * 1.0, x + 1))[1:]


def jacobi(x: Any) -> Any:
    """Stores into one of two arrays that change places."""

    def body(state: Any) -> Any:
        t, a, b = state
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        return t + 1, b, a

    return tracejit.while_loop(lambda s: s[0] < 11, body, (0, x.copy(), x.copy()))[1]


def view_of_argument(x: Any) -> Any:
    """A view of an argument as the result."""
    return x[1:].reshape(-1, 1)


def argument_itself(x: Any) -> Any:
    """The argument, and a new array."""
    return x, x + 1


def two_views(x: Any) -> Any:
    """Results that share memory."""
    y = x * 2
    return y, y[1:], y


def stores_into_argument(x: Any) -> Any:
    """A store that the caller sees."""
    x[0] = 5.0
    return x.sum()


def stores_in_body_into_argument(x: Any) -> Any:
    """A loop that stores into the caller's array."""

    def body(state: Any) -> Any:
        i, a = state
        a[i] = a[i] + 1
        return i + 1, a

    return tracejit.while_loop(lambda s: s[0] < 3, body, (0, x))[1]


def reads_what_a_loop_stored(x: Any) -> Any:
    """The array that a loop stored into is read under its old name."""
    local = x.copy()

    def body(state: Any) -> Any:
        i, a = state
        a[i] = 0.0
        return i + 1, a

    tracejit.while_loop(lambda s: s[0] < 3, body, (0, local))
    return local


def reads_after_swapped_stores(x: Any) -> Any:
    """Which array the old name means depends on the trip count."""
    first, second = x.copy(), x + 1

    def body(state: Any) -> Any:
        i, a, b = state
        a[0] = i * 1.0
        return i + 1, b, a

    tracejit.while_loop(lambda s: s[0] < 3, body, (0, first, second))
    return first + second


def branch_with_arrays(x: Any) -> Any:
    """Arrays and scalars from both sides."""
    return tracejit.cond(x[0] > 0, lambda a: (a * 2, a.max()), lambda a: (a - 1, a.min()), x)


def nested(x: Any) -> Any:
    """A branch in a loop in a branch."""

    def body(state: Any) -> Any:
        k, y = state
        y = tracejit.cond(y[0] > k * 1.0, lambda: y * 0.5, lambda: y + 1)
        return k + 1, y

    def loop() -> Any:
        return tracejit.while_loop(lambda s: s[0] < 5, body, (0, x * 1.0))[1]

    return tracejit.cond(x[-1] < 100, loop, lambda: x * 1.0)


def newton(x: Any) -> Any:
    """A scalar loop that ends by its value."""
    a = abs(x[0]) + 1.0

    def body(y: Any) -> Any:
        return 0.5 * (y + a / y)

    return tracejit.while_loop(lambda y: abs(y * y - a) > 1e-9, body, a)


def zero_trips(x: Any) -> Any:
    """A loop that never runs."""
    return tracejit.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] * 2), (0, x * 1.0))


def counts_past_64_bits(x: Any) -> Any:
    """A Python int that outgrows 64 bits."""

    def body(state: Any) -> Any:
        k, big = state
        return k + x[0], big * 3

    return tracejit.while_loop(lambda s: s[0] < 60, body, (0, 1))[1] * x[0]

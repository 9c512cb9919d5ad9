"""Functions that numba has compiled, called by functions that tracejit compiles.

Numba is not installed where tests run: these classes are where its own are, and do what those do.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Dispatcher:
    """What `numba.njit` gives."""

    def __init__(self, f: Any) -> None:
        self.py_func = f

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("machine code that tracejit must not call")


class prange:
    """`numba.prange`."""

    def __new__(cls, *args: Any) -> Any:
        return range(*args)


Dispatcher.__module__ = "numba.core.registry"
prange.__module__ = "numba.misc.special"


@Dispatcher
def weighted(x: Any, w: Any) -> Any:
    return np.sqrt(x * x + w)


@Dispatcher
def total(x: Any) -> Any:
    s = 0.0
    for i in prange(len(x)):
        if x[i] > 0.0:
            s += x[i] * weighted(x[i], 0.5)
    return s


def uses_dispatchers(x: Any) -> Any:
    y = weighted(x, 2.0)
    for i in prange(1, len(x), 2):
        y[i] -= total(x)
    return y


def plain(x: Any) -> Any:
    y = weighted.py_func(x, 2.0)
    for i in range(1, len(x), 2):
        y[i] -= sum(v * weighted.py_func(v, 0.5) for v in x if v > 0.0)
    return y

"""Functions with several reasons to run eagerly, in a module that pytest does not rewrite."""

from __future__ import annotations

import fractions
import os
import time
from typing import Any

import numpy as np


def helper(x: Any) -> Any:
    return eval("x + 1")


def several(x: Any, n: Any) -> Any:
    start = time.perf_counter()
    y = x * n

    class Local:
        scale = 2.0

    z = y * Local.scale
    text = "".join(str(int(v)) for v in z[:3])
    parts = len(text.split("0"))
    w = helper(z)
    total = 0.0
    for v in w:
        total += v
        path = os.getcwd()
    np.frompyfunc(lambda a: a + 1, 1, 1)(y)
    ratio = fractions.Fraction(1, 3)
    twice = float(ratio) * y.sum()
    return total + twice + parts + len(path), time.perf_counter() - start


def one(x: Any) -> Any:
    ratio = fractions.Fraction(1, 3)
    other = ratio + 1
    return x * float(other)


def stores(x: Any) -> Any:
    x += 1
    time.sleep(0)
    return x.sum()


def whole(x: Any) -> Any:
    return np.sin(x).sum()


def scaled(factor: float) -> Any:
    def inner(x: Any, *, shift: float = 1.0) -> Any:
        time.sleep(0)
        return x * factor + shift

    return inner

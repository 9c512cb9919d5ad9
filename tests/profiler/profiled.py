"""Functions to profile, in a module that pytest does not rewrite."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit


@tracejit.jit
def mixed(x: Any, y: Any) -> Any:
    t = np.exp(x) * y
    u = np.sqrt(t + 1)
    total = 0.0
    for v in u:
        total = total * 0.5 + v
    w = np.sort(u)
    return total + w.sum(), np.partition(w, 3)[3]


@tracejit.jit
def outer(x: Any) -> Any:
    class Eager:
        pass

    return mixed(x, x)[0]


@tracejit.jit
def store(x: Any) -> Any:
    x += 1
    if x[0] > 100:
        raise ValueError("large")
    return x.sum()

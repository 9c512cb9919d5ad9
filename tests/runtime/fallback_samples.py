"""Functions that run eagerly, and some that only look so."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from tests.runtime.fallback_helpers import guarded

STATE = np.zeros(3)


def tries(x: Any) -> Any:
    try:
        y = x + 1
    except* ValueError:
        y = x
    return y


def tries_and_stores(x: Any) -> Any:
    x[0] = 9.0
    try:
        y = x + 1
    except* ValueError:
        y = x
    return y


def one_of_two(x: Any, first: Any) -> Any:
    if first is None:
        return x + os.getpid() * 0
    return x + time.time() * 0


def by_a_helper(x: Any) -> Any:
    return guarded(x) * 2


def stores_around(x: Any, notes: Any) -> Any:
    x[0] = 9.0
    STATE[1] = 5.0
    notes[0] = x
    return x + 1


def square(x: Any, n: int) -> Any:
    return x * (n * n)


def add(x: Any, y: Any) -> Any:
    return x + y


def divide(x: Any, n: int) -> Any:
    return x + 1 // n


def store_first(x: Any, value: float, index: int) -> None:
    if index >= 0:
        x[index] = value


def energy(x: Any) -> Any:
    try:
        y = (x * x).sum()
    except* ValueError:
        y = 0.0
    return y

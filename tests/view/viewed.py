"""Functions to look at, in a module that pytest does not rewrite."""

from __future__ import annotations

import time
from typing import Any

import numpy as np


def blurred(image: Any, level: Any) -> Any:
    out = 0.5 * image[1:-1] + 0.25 * (image[2:] + image[:-2])
    edges = np.hypot(out[1:, 1:] - out[:-1, 1:], out[1:, 1:] - out[1:, :-1])
    steps = 0
    while edges.max() > level and steps < 5:
        edges = edges * 0.5
        steps += 1
    return np.sqrt(edges).sum() + np.median(out), steps


def with_a_class(x: Any) -> Any:
    class Root:
        power = 0.5

    return x**Root.power


def norm(x: Any) -> Any:
    return np.sqrt((x * x).sum())


def norm_and_one(y: Any) -> Any:
    return np.sqrt((y * y).sum() + 1)


def with_two_reasons(x: Any) -> Any:
    class Holder:
        value = time.perf_counter() * 0

    start = time.perf_counter()
    return x + Holder.value + start * 0

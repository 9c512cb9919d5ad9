"""Loops of independent iterations are one kernel, with the loops and branches in its threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity


def escape(x: float, y: float) -> int:
    """How many steps a point takes to leave the circle."""
    a = b = 0.0
    n = 0
    while a * a + b * b <= 4.0 and n < 30:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


def root(a: float) -> float:
    """Newton's steps until they are small."""
    x = a
    for _ in range(30):
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


def pixels(xs: Any, ys: Any) -> Any:
    """An image, pixel by pixel."""
    out = np.zeros((len(ys), len(xs)), np.int64)
    for i in range(len(ys)):
        for j in range(len(xs)):
            z = c = complex(xs[j], ys[i])
            n = 0
            while n < 20 and abs(z) <= 2:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


def clipped(x: Any, low: float) -> Any:
    """Elements that are changed in place, some of them."""
    for i in range(x.shape[0]):
        if x[i] < low:
            x[i] = low
    return x


def product(a: Any, x: Any) -> Any:
    """A matrix and a vector, by scalar loops."""
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s
    return y


LINE = np.linspace(-2, 1, 17)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (pixels, (LINE, LINE[:5])),
    (clipped, (LINE.copy(), 0.0)),
    (product, (np.outer(LINE, LINE), LINE)),
]


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_loops_over_elements(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    jitted = tracejit.jit(f, device="cuda-sim")
    assert_parity(f, *args, jitted=jitted)
    (compiled,) = jitted.report().variants
    assert [x.name.rpartition("_")[0] for x in compiled.trips.launches].count("loop") == 1
    assert not compiled.trips.host and len(compiled.trips.waits) <= 1


@pytest.mark.parametrize("f", [escape, root])
def test_lanes_of_vmap_are_threads(f: Callable[..., Any]) -> None:
    args = (LINE + 2.5, LINE)[: f.__code__.co_argcount]
    jitted = tracejit.jit(tracejit.vmap(f), device="cuda-sim")
    expected = np.array([f(*map(float, lane)) for lane in zip(*args, strict=True)])
    assert np.array_equal(jitted(*args), expected)
    (compiled,) = jitted.report().variants
    assert not compiled.trips.host and len(compiled.trips.waits) <= 1


def running(x: Any) -> Any:
    """What one iteration stores the next one reads."""
    for i in range(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]
    return x


def same_place(x: Any, k: Any) -> Any:
    """Places that data tell may be the same in two iterations."""
    for i in range(k.shape[0]):
        x[k[i]] = x[k[i]] * 2 + i
    return x


@pytest.mark.parametrize(
    ("f", "args"), [(running, (LINE.copy(),)), (same_place, (LINE.copy(), np.array([1, 1, 0, 1])))]
)
def test_iterations_that_depend_on_each_other_are_no_threads(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    jitted = tracejit.jit(f, device="cuda-sim")
    assert_parity(f, *args, jitted=jitted)
    assert "loop" not in [
        x.name.rpartition("_")[0] for c in jitted.report().variants for x in c.trips.launches
    ]


def test_an_index_outside_leaves_arguments_as_they_were() -> None:
    def f(x: Any, k: Any) -> Any:
        for i in range(x.shape[0]):
            x[i] = x[i] + LINE[k[i]]
        return x

    jitted = tracejit.jit(f, device="cuda-sim")
    x, k = np.arange(3.0), np.array([0, 99, 1])
    with pytest.raises(IndexError):
        jitted(x, k)
    # As plain NumPy leaves it: the first element was stored.
    assert x.tolist() == [LINE[0], 1.0, 2.0]
    assert jitted(x, np.zeros(3, int)).tolist() == [2 * LINE[0], 1 + LINE[0], 2 + LINE[0]]

"""Loops whose iterations store over what they read: which of them are left, and what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.ir.graph import Graph

Function = Callable[..., None]


def scaled(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] = np.sin(a[:, j]) * x[j] - b[j]


def backwards_by_two(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(end - 1, begin, -2):
        a[::-1, j] -= b[:, j] * x[j]


def stored_twice(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[j, 1:] += x[1:]
        a[j, 1:] *= a[j, 1:] - 1.0


def by_turns(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        b[:, j] = a[:, j] * 2.0
        a[:, j] = b[:, j] + x


def orthogonal(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        b[0, j] = x @ a[:, j]
        a[:, j] -= x * b[0, j]


def by_the_row_above(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1:, j] -= a[0, j] * x[1:]


def by_rows_below(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for i in range(begin + 3):
        for j in range(end):
            a[i, j] += a[i + 1 :, j] @ b[i + 1 :, i]


def triangle(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for k in range(end):
        for j in range(k + 1, end):
            a[:, j] -= a[:, k] * b[k, j]


def by_its_own_row_and_below(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[1, j] += a[1:, j].sum()


def by_the_column_before(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] -= a[:, j - 1] * 0.5


def by_one_element(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] -= a[2, 2]


def overlapping(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j : j + 2] *= 1.5


def always_there(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, 1] = a[:, 1] * 0.5 + b[:, j]


def at_two_places(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[0, j] = a[0, j] + x[j]
        a[1:, j] = a[1:, j] - a[0, j]


def of_another_behind_its_store(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        a[:, j] = x
        b[:, j] += a[:, 3]


def left_out(a: Any, b: Any, x: Any, begin: int, end: int) -> None:
    for j in range(begin, end):
        c = a.copy()
        c[:, j + 1] = x
        a[:, j] = c[:, j + 1] * 2.0 + c[:, j]


#: With the loops that are left, of all in a program.
CASES: list[tuple[Function, int]] = [
    (scaled, 0),
    (backwards_by_two, 0),
    (stored_twice, 0),
    (by_turns, 0),
    (orthogonal, 0),
    (by_the_row_above, 0),
    (by_rows_below, 1),
    (triangle, 1),
    (by_its_own_row_and_below, 1),
    (by_the_column_before, 1),
    (by_one_element, 1),
    (overlapping, 1),
    (always_there, 1),
    (at_two_places, 1),
    (of_another_behind_its_store, 1),
    (left_out, 1),
]
LIMITS = [(1, 11), (0, 10), (5, 5), (7, 2), (3, 4)]


def arguments(special: bool = False) -> list[Any]:
    rng = np.random.default_rng(8)
    a, b, x = rng.standard_normal((12, 12)), rng.standard_normal((12, 12)), rng.random(12)
    if special:
        a[3, 4:7], b[5, 2:5], x[9] = (np.nan, np.inf, -0.0), (-np.inf, 0.0, np.nan), -np.inf
    return [a, b, x]


def at_run_time(f: Function) -> Callable[..., Any]:
    def g(a: Any, b: Any, x: Any, limits: Any) -> None:
        f(a, b, x, int(limits[0]), int(limits[1]))

    return g


def loops(graph: Graph) -> int:
    return sum((n.op.name == "while_loop") + sum(map(loops, n.regions)) for n in graph.nodes)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("f, left", CASES, ids=[f.__name__ for f, _ in CASES])
def test_loops_do_what_numpy_does(f: Function, left: int) -> None:
    fixed, free = tracejit.jit(f, strict=True), tracejit.jit(at_run_time(f), strict=True)
    for limits in LIMITS:
        for special in (False, True):
            want, one, other = arguments(special), arguments(special), arguments(special)
            f(*want, *limits)
            fixed(*one, *limits)
            free(*other, np.array(limits))
            for x, y, z in zip(want, one, other, strict=True):
                if f in (orthogonal, by_rows_below, by_its_own_row_and_below):
                    np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)
                    np.testing.assert_allclose(z, x, rtol=1e-12, atol=1e-12)
                else:
                    assert_same(y, x)
                    assert_same(z, x)
    assert loops(fixed.lower(*arguments(), 1, 11).graphs["loops_at_once"]) == left


@pytest.mark.parametrize("f", [f for f, _ in CASES], ids=lambda f: f.__name__)
def test_gradients_are_those_of_differences(f: Function) -> None:
    weights = np.random.default_rng(9).random((2, 12, 12))

    def loss(a: Any, b: Any, x: Any) -> Any:
        a, b = a.copy(), b.copy()
        f(a, b, x, 1, 9)
        return (weights[0] * a).sum() + (weights[1] * b * b).sum()

    found = tracejit.grad(loss, argnums=(0, 1, 2))(*arguments())
    rng = np.random.default_rng(10)
    steps = [rng.standard_normal(v.shape) for v in arguments()]
    ahead, behind = (
        loss(*(v + h * s for v, s in zip(arguments(), steps, strict=True))) for h in (1e-6, -1e-6)
    )
    slope = sum((g * s).sum() for g, s in zip(found, steps, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6)

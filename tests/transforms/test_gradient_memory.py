"""What the forward pass keeps for the backward pass: never more than is read, or overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.ir.derivatives import differentiable
from tracejit.ir.regions import nested
from tracejit.ir.verify import verify
from tracejit.transforms.autodiff.reverse import vjp_graph

N = np.int64


def kept(f: Callable[..., Any], *args: Any) -> list[list[str]]:
    """The types of each record that the forward part pushes, in order."""
    graph = tracejit.jit(f).trace(*args)
    derived = vjp_graph(graph, [differentiable(v.type) for v in graph.inputs])
    verify(derived)
    pushes = [n for n in nested(derived.nodes) if n.op.name == "stack_push"]
    return [[str(v.type) for v in n.inputs[1:]] for n in pushes]


def linear_steps_in_place(u, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u.sum()


def linear_steps_in_two_buffers(u, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        b[1:-1] = a[1:-1] + 0.1 * (a[2:] - 2 * a[1:-1] + a[:-2])
        a, b = b, a
    return a.sum()


def sum_of_squares(x):
    s = 0.0
    for a in x:
        s += a * a
    return s


def halved_until_small(x):
    while x > 1:
        x = x * 0.5
    return x


def product_with_each_row(a, x):
    y = np.zeros(len(a))
    for i in range(len(a)):
        y[i] = a[i] @ x
    return y.sum()


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (linear_steps_in_place, (np.ones(6), N(3))),
        (linear_steps_in_two_buffers, (np.ones(6), N(3))),
        (sum_of_squares, (np.ones(4),)),
        (halved_until_small, (9.0,)),
        (product_with_each_row, (np.ones((4, 3)), np.ones(3))),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_nothing_is_kept(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert kept(f, *args) == []


def nonlinear_steps_in_place(u, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
    return u.sum()


def nonlinear_steps_of_a_plane(u, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1, 1:-1] = u[2:, 1:-1] * u[:-2, 1:-1]
    return u.sum()


def test_steps_that_are_not_linear_keep_what_they_overwrite() -> None:
    assert kept(nonlinear_steps_in_place, np.ones(6), N(3)) == [["f64[4]"]]
    assert kept(nonlinear_steps_of_a_plane, np.ones((5, 7)), N(3)) == [["f64[3, 5]"]]


def nonlinear_steps_in_two_buffers(u, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        b[1:-1] = a[1:-1] * a[2:]
        a, b = b, a
    return a.sum()


def test_buffers_that_change_places_keep_what_they_overwrite() -> None:
    """The loop is unrolled by two: each store keeps the slice that it overwrites."""
    assert kept(nonlinear_steps_in_two_buffers, np.ones(6), N(3)) == [["f64[4]"], ["f64[4]"]]


def powers(x, n):
    s = 1.0
    for _ in range(n):
        s = s * x
    return s


def recurrence_of_sines(x, n):
    s = x
    for _ in range(n):
        s = np.sin(s) + x
    return s


def layers(x, n):
    h = x
    for _ in range(n):
        h = np.tanh(h) * x
    return h.sum()


def test_scalar_loops_keep_what_the_backward_pass_reads() -> None:
    assert kept(powers, 0.5, N(3)) == [["float"]]
    per_iteration, *rest = kept(recurrence_of_sines, 0.5, N(3))
    assert per_iteration == ["f64"]
    assert rest in ([], [["int"]])
    assert kept(layers, np.ones(4), N(3)) == [["f64[4]"]]


def squares_at(a, places):
    a = a.copy()
    for k in places:
        a[k] = a[k] * a[k]
    return a.sum()


def cholesky(a):
    n = len(a)
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - factor[i, :j] @ factor[j, :j]
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    return factor.sum()


def test_stores_of_elements_keep_elements() -> None:
    assert kept(squares_at, np.ones(5), np.array([0, 2, 3])) == [["f64"]]
    found = kept(cholesky, np.eye(3))
    assert {t for record in found for t in record} <= {"f64", "int"}


def sum_until(x, limit):
    s = 0.0
    for a in x:
        s += a * a
        if s > limit:
            break
    return s


def test_a_loop_that_may_end_early_keeps_how_often_it_ran() -> None:
    found = kept(sum_until, np.ones(4), 3.0)
    assert all(t == "int" for record in found for t in record)


def read_in_a_loop(x, n):
    w = np.exp(x)
    s = 0.0
    for i in range(n):
        s += (w * w).sum() * i
    return s


def test_what_a_loop_reads_from_outside_is_kept_once() -> None:
    assert kept(read_in_a_loop, np.ones(5), N(3)) in ([], [["int"]])


def test_what_is_computed_of_several_small_values_is_not_kept() -> None:
    """Rows and columns in place of their differences, and a long way from one to the other."""

    def attraction(x, y, n):
        for _ in range(n):
            dx, dy = x[:, None] - x[None, :], y[:, None] - y[None, :]
            inverse = 1.0 / (dx * dx + dy * dy + 1.0)
            x, y = x - (dx * inverse).sum(axis=1), y - (dy * inverse).sum(axis=1)
        return x.sum() * y.sum()

    def doubled(x, n):
        for _ in range(n):
            y = x
            for _ in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14):
                y = y * y + y
            x = x + 0.1 * y
        return x.sum()

    (record,) = kept(attraction, np.arange(5.0), np.ones(5), N(3))
    assert sorted(record) == ["f64[5]", "f64[5]"]
    (record,) = kept(doubled, np.full(3, 0.1), N(2))
    assert record == ["f64[3]"]


def test_stores_through_a_mask_write_each_place_once() -> None:
    """Nothing finds out which of several writes was the last."""

    def f(x):
        y = x * 2
        y[y > 1] = y[y > 1] ** 3
        return (y * x).sum()

    def by_numbers(x, i):
        y = x * 2
        y[i] = x[:3] ** 3
        return (y * x).sum()

    x = np.linspace(0.1, 1.3, 8).reshape(2, 4)
    assert "iota" not in tracejit.grad(f).lower(x).text("trace")
    expected = np.where(2 * x > 1, 32 * x**3, 4 * x)
    np.testing.assert_allclose(tracejit.grad(f)(x), expected, rtol=1e-13)
    flat, i = x.ravel().copy(), np.array([4, 2, 4])
    assert "iota" in tracejit.grad(by_numbers).lower(flat, i).text("trace")

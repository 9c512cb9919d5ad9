"""Sums along columns in front of their loops: what loops give, and which sums are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.passes.distribute_samples import CASES, UPDATES
from tests.support.compare import assert_same
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph

pytestmark = pytest.mark.sampled(9)

Function = Callable[..., None]
RUNS = [pytest.param(f, id=f.__name__) for f, _ in CASES + UPDATES]
LIMITS = [(1, 19), (0, 20), (3, 3), (7, 4), (17, 19)]


def of_the_run(f: Function) -> Callable[..., Any]:
    """The function with limits that are only known when it runs."""

    def g(a: Any, x: Any, y: Any, limits: Any) -> Any:
        f(a, x, y, int(limits[0]), int(limits[1]))
        return a

    return g


def numbers(m: int, n: int, dtype: str = "f8") -> list[np.ndarray[Any, Any]]:
    """Arguments of whole numbers, so small that every sum is exact."""
    rng = np.random.default_rng(m + n)
    shapes = ((m, n), (m,), (n,))
    return [rng.integers(-2, 3, shape).astype(dtype) for shape in shapes]


def rough(m: int, n: int, dtype: str = "f8") -> list[np.ndarray[Any, Any]]:
    """Arguments whose sums depend on their order, with some that are not finite."""
    rng = np.random.default_rng(m * n)
    shapes = ((m, n), (m,), (n,))
    found = [
        (rng.standard_normal(s) * 10.0 ** rng.integers(-3, 4, s)).astype(dtype) for s in shapes
    ]
    found[0][3, 5:8] = np.nan, np.inf, -0.0
    found[0][:, 9] = -0.0
    return found


def after(f: Callable[..., Any], args: list[np.ndarray[Any, Any]], *limits: Any) -> list[Any]:
    given = [a.copy() for a in args]
    f(*given, *limits)
    return given


@pytest.mark.sampled(24)
@pytest.mark.parametrize("f", RUNS)
def test_loops_do_what_numpy_does(f: Function) -> None:
    # Of quotients the sums are not exact.
    exact = f.__name__ != "lower_and_upper"
    args = numbers(20, 20)
    fixed, free = tracejit.jit(f), tracejit.jit(of_the_run(f))
    for limits in LIMITS:
        want = after(f, args, *limits)
        for found in (after(fixed, args, *limits), after(free, args, np.array(limits))):
            for a, b in zip(found, want, strict=True):
                if exact:
                    assert_same(a, b)
                else:
                    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    for jitted in (fixed, free):
        assert jitted.report().compiles and not jitted.report().fallbacks


@pytest.mark.sampled(64)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("limits", LIMITS[:2])
@pytest.mark.parametrize("f", RUNS)
def test_the_pass_changes_no_bit(f: Function, limits: tuple[int, int], dtype: str) -> None:
    args = rough(20, 20, dtype)
    jitted = tracejit.jit(f)
    graphs = jitted.lower(*args, *limits).graphs
    before, then = (evaluate(graphs[name], args) for name in ("signed_zeros", "distribute"))
    assert_same(then, before)
    found = after(jitted, args, *limits)
    for k, effect in enumerate(graphs["signed_zeros"].results):
        if effect.startswith("write"):
            assert_same(found[int(effect.split()[1])], before[k])
    assert not jitted.report().fallbacks


@pytest.mark.parametrize("m, n", [(16, 16), (63, 33), (64, 47), (65, 70), (513, 40), (1100, 21)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_long_and_short_sums_have_the_same_bits(m: int, n: int, dtype: str) -> None:
    def side_by_side(a: Any, x: Any, y: Any) -> Any:
        last = 0.0
        for j in range(y.shape[0]):
            y[j] = (a[:, j] * x).sum() - (a[:, y.shape[0] - 1 - j] * x).sum()
            last = y[j] - last
        return last

    args = rough(m, n, dtype)
    jitted = tracejit.jit(side_by_side)
    graphs = jitted.lower(*args).graphs
    assert sums_in_loops(graphs["signed_zeros"]) == 2 and not sums_in_loops(graphs["distribute"])
    before = evaluate(graphs["signed_zeros"], args)
    assert_same(evaluate(graphs["distribute"], args), before)
    found = after(jitted, args)
    assert_same(found[2], before[1])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("m, n", [(16, 16), (63, 33), (64, 47), (65, 70), (513, 40), (1100, 21)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("known", [True, False])
def test_sums_across_memory_have_their_order(m: int, n: int, dtype: str, known: bool) -> None:
    def across(a: Any, x: Any, y: Any) -> Any:
        return np.abs(a.T - x).sum(axis=1) * 2.0

    jitted = tracejit.jit(across)
    if not known:
        jitted(*numbers(30, 31, dtype))
        jitted(*numbers(32, 34, dtype))
    args = rough(m, n, dtype)
    want = evaluate(jitted.lower(*args).graphs["trace"], args)[0]
    assert_same(jitted(*args), want)
    np.testing.assert_allclose(want, across(*args), rtol=1e-5 if dtype == "f4" else 1e-13)
    assert not jitted.report().fallbacks


def sums_in_loops(graph: Graph, op: str = "reduce_sum", inside: bool = False) -> int:
    """How many sums, or other ops, the iterations of loops take."""
    return sum(
        (inside and n.op.name == op)
        + sum(sums_in_loops(r, op, n.op.name == "while_loop") for r in n.regions)
        for n in graph.nodes
    )


def sums_in_nests(graph: Graph, depth: int = 0) -> int:
    """How many sums the iterations of loops inside of loops take."""
    return sum(
        (depth > 1 and n.op.name == "reduce_sum")
        + sum(sums_in_nests(r, depth + (n.op.name == "while_loop")) for r in n.regions)
        for n in graph.nodes
    )


@pytest.mark.parametrize("f, count", UPDATES, ids=[f.__name__ for f, _ in UPDATES])
def test_which_updates_are_made_in_front(f: Function, count: int | None) -> None:
    graphs = tracejit.jit(f).lower(*numbers(40, 40), 17, 39).graphs
    names = "signed_zeros", "distribute"
    before, then = (sums_in_loops(graphs[name], "update_slice") for name in names)
    assert _loops(graphs[names[0]]) == [] if count is None else before > 0
    assert before - then == (count or 0)


@pytest.mark.parametrize("f, count", CASES, ids=[f.__name__ for f, _ in CASES])
def test_which_sums_are_computed_in_front(f: Function, count: int | None) -> None:
    graphs = tracejit.jit(f).lower(*numbers(40, 40), 17, 39).graphs
    before, then = (sums_in_loops(graphs[name]) for name in ("signed_zeros", "distribute"))
    assert count is not None or _loops(graphs["signed_zeros"]) == []
    assert before - then == (count or 0)


def test_one_program_for_all_sizes() -> None:
    def factors(a: Any) -> Any:
        for i in range(a.shape[0]):
            for j in range(i):
                a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
            for j in range(i, a.shape[0]):
                a[i, j] -= a[i, :i] @ a[:i, j]
        return a

    jitted = tracejit.jit(factors)
    for n in (20, 33, 2, 3, 47, 130):
        a = np.random.default_rng(n).random((n, n)) + n * np.eye(n)
        graphs = jitted.lower(a).graphs
        found = jitted(a.copy())
        assert_same(found, evaluate(graphs["signed_zeros"], (a,))[0])
        np.testing.assert_allclose(found, factors(a.copy()), rtol=1e-12)
    assert not jitted.report().fallbacks
    assert len(jitted.report().compiles) <= 3
    # Only the elements in front of the diagonal wait for each other.
    (body,) = _loops(graphs["loops_at_once"])
    assert len(_loops(body)) == 1


def test_places_next_to_the_end_of_the_loop() -> None:
    def into_the_last(a: Any, x: Any, y: Any) -> Any:
        for i in range(a.shape[1]):
            for j in range(i):
                y[j] = a[:, j] @ x
                a[0, i - 1] = y[j] % 3.0
        return y

    def behind_the_last(a: Any, x: Any, y: Any) -> Any:
        for i in range(a.shape[1]):
            for j in range(i):
                y[j] = a[:, j] @ x
                a[0, i] = y[j] % 3.0
        return y

    for f, moved in ((into_the_last, 0), (behind_the_last, 1)):
        jitted = tracejit.jit(f)
        for m, n in ((18, 20), (25, 33), (40, 47), (30, 3)):
            args = numbers(m, n)
            for found, want in zip(after(jitted, args), after(f, args), strict=True):
                assert_same(found, want)
        graphs = jitted.lower(*args).graphs
        counts = [sums_in_nests(graphs[k]) for k in ("signed_zeros", "distribute")]
        assert counts[0] > 0 and counts[1] == counts[0] * (1 - moved)


def test_updates_of_a_triangle_for_all_sizes() -> None:
    def eliminated(a: Any) -> Any:
        for i in range(a.shape[0]):
            for j in range(i + 1, a.shape[0]):
                a[i + 1 :, j] -= a[i + 1 :, i] * a[i, j]
        return a

    jitted = tracejit.jit(eliminated)
    for n in (20, 33, 2, 3, 47, 70):
        a = np.random.default_rng(n).random((n, n)) / n
        graphs = jitted.lower(a).graphs
        assert_same(jitted(a.copy()), eliminated(a.copy()))
        assert_same(evaluate(graphs["distribute"], (a,))[0], eliminated(a.copy()))
    assert not jitted.report().fallbacks
    assert sums_in_loops(graphs["signed_zeros"], "update_slice") == 1
    inner = graphs["distribute"].nodes[-1].regions[1].nodes
    assert not any(
        sums_in_loops(r, "update_slice", True)
        for n in inner
        for r in n.regions[1:2]
        if n.op.name == "while_loop"
    )


def test_derivatives_of_sums_in_loops() -> None:
    def loss(a: Any, x: Any) -> Any:
        y = np.zeros(a.shape[1])
        for j in range(a.shape[1]):
            y[j] = a[:, j] @ x
        return (y * y).sum()

    a, x, _ = numbers(18, 23)
    by_a, by_x = tracejit.grad(loss, argnums=(0, 1))(a, x)
    np.testing.assert_array_equal(by_a, np.outer(x, 2.0 * (x @ a)))
    np.testing.assert_array_equal(by_x, 2.0 * (a @ (x @ a)))


def test_cotangents_of_columns_are_added_to_in_front() -> None:
    def loss(a: Any, b: Any) -> Any:
        c = np.zeros((a.shape[0], a.shape[0]))
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                c[i, : i + 1] += a[: i + 1, k] * b[i, k] + b[: i + 1, k] * a[i, k]
        return (c * c).sum()

    a, b = (numbers(18, 23)[0] for _ in range(2))
    by_a = tracejit.grad(loss)
    whole = np.tril(a @ b.T + b @ a.T)
    np.testing.assert_array_equal(by_a(a, b), 2.0 * (whole + whole.T) @ b)
    graphs = by_a.lower(a, b).graphs
    inner = [n for g in _loops(graphs["distribute"]) for n in _loops(g)]
    assert len(inner) == 2
    assert sum(n.op.name == "update_slice" for g in inner for n in g.nodes) == 1  # c's


def _loops(graph: Graph) -> list[Graph]:
    """The bodies of a graph's loops."""
    return [n.regions[1] for n in graph.nodes if n.op.name == "while_loop"]

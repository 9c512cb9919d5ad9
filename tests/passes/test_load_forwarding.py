"""Elements handed on from one iteration to the next: what loops give, and which reads are left."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.passes.load_forwarding_samples import CASES, FAILING, X, Y
from tests.support.compare import assert_same
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph

Function = Callable[..., Any]
RUNS = [pytest.param(f, limits, id=f.__name__) for f, limits, _ in CASES]
LEFT = [pytest.param(f, limits, id=f"{f.__name__}-failing") for f, limits in FAILING]


def outcome(f: Function, *args: Any) -> tuple[Any, ...]:
    """The result, the exception with its line, and the arguments afterwards."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        return f(*given), None, given[:2]
    except IndexError as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        return None, (str(e), linecache.getline(last.filename, last.lineno or 0)), given[:2]


def of_the_run(f: Function) -> Function:
    """The function with limits that are only known when it runs."""

    def g(x: Any, y: Any, limits: Any) -> Any:
        return f(x, y, int(limits[0]), int(limits[1]))

    return g


@pytest.mark.sampled(18)
@pytest.mark.parametrize("f, limits", RUNS + LEFT)
def test_loops_do_what_numpy_does(f: Function, limits: list[tuple[int, int]]) -> None:
    fixed, free = tracejit.jit(f), tracejit.jit(of_the_run(f))
    for begin, end in limits:
        result, error, after = outcome(f, X, Y, begin, end)
        for found in (
            outcome(fixed, X, Y, begin, end),
            outcome(free, X, Y, np.array([begin, end])),
        ):
            assert found[1] == error, (begin, end)
            if error is None:
                assert_same(found[0], result)
            assert_same(found[2], after)
    for jitted in (fixed, free):
        assert jitted.report().compiles and not jitted.report().fallbacks


@pytest.mark.parametrize("f, limits", RUNS)
def test_the_pass_keeps_what_a_graph_means(f: Function, limits: list[tuple[int, int]]) -> None:
    graphs = tracejit.jit(of_the_run(f)).lower(X, Y, np.array(limits[0])).graphs
    for pair in limits:
        inputs = X, Y, np.array(pair)
        names = "hoist_checks", "load_forwarding"
        before, after = (evaluate(graphs[name], inputs) for name in names)
        assert_same(after, before)


def reads(graph: Graph, inside: bool = False) -> int:
    """How many reads of elements every iteration of a loop makes, over all loops."""
    return sum(
        (inside and n.op.name == "read_item")
        + sum(reads(r, n.op.name == "while_loop") for r in n.regions)
        for n in graph.nodes
    )


@pytest.mark.parametrize("f, limits, count", CASES, ids=[f.__name__ for f, _, _ in CASES])
def test_which_reads_are_left_out(f: Function, limits: list[tuple[int, int]], count: int) -> None:
    graphs = tracejit.jit(of_the_run(f)).lower(X, Y, np.array(limits[0])).graphs
    assert reads(graphs["hoist_checks"]) - reads(graphs["load_forwarding"]) == count


@pytest.mark.parametrize("n", [0, 1, 2, 3, 40])
def test_gradients_of_recurrences(n: int) -> None:
    """The forward and the backward loop, against the adjoint recurrence written out."""

    def loss(y: Any, a: Any) -> Any:
        x = np.ones(len(y) + 1)
        for i in range(len(y)):
            x[i + 1] = y[i] * x[i] + a
        return x.sum()

    y, a = np.linspace(-1.0, 1.0, n), 0.25
    x, adjoint = np.ones(n + 1), np.ones(n + 1)
    for i in range(n):
        x[i + 1] = y[i] * x[i] + a
    for i in range(n - 1, -1, -1):
        adjoint[i] += y[i] * adjoint[i + 1]
    by_y, by_a = tracejit.grad(loss, (0, 1))(y, a)
    np.testing.assert_allclose(by_y, adjoint[1:] * x[:-1], rtol=1e-13)
    np.testing.assert_allclose(by_a, adjoint[1:].sum(), rtol=1e-13)

"""Explicit control flow, stores and views: eager, evaluated, as text, natively; or reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control import control_samples as samples
from tests.support.compare import assert_same
from tracejit.ir.evaluate import evaluate
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.verify import verify

COMPILED = [
    samples.running_sum_by_stores,
    samples.swapped_names,
    samples.jacobi,
    samples.view_of_argument,
    samples.argument_itself,
    samples.two_views,
    samples.branch_with_arrays,
    samples.reads_what_a_loop_stored,
    samples.nested,
    samples.newton,
    samples.zero_trips,
    samples.sides_of_two_types,
    samples.sides_of_two_dtypes,
    samples.stores_into_argument,
    samples.stores_in_body_into_argument,
    samples.reads_after_swapped_stores,
    samples.shrinking,
    samples.shrinking_sum,
]


def inputs() -> list[np.ndarray[Any, Any]]:
    """Arrays that take both sides of every branch, at two sizes."""
    rng = np.random.default_rng(7)
    values = [rng.standard_normal(n) for n in (48, 64)]
    return [*values, *(-v for v in values), np.full(48, 3.0), np.full(48, -3.0)]


def _check(f: Callable[..., Any], jitted: Any) -> None:
    for x in inputs():
        plain, compiled = x.copy(), x.copy()
        expected, actual = f(plain), jitted(compiled)
        assert_same(expected, actual, "order", scale=7 * np.abs(plain).sum())
        assert_same(plain, compiled)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_native_code_agrees_with_python(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f, strict=True)
    _check(f, jitted)
    assert jitted.report().fallbacks == []
    assert jitted.report().bailouts == 0
    assert len(jitted.report().compiles) == 2


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_text_and_evaluator(f: Callable[..., Any]) -> None:
    x = inputs()[0]
    graph = tracejit.jit(f).trace(x)
    if not graph.outputs:
        pytest.skip("every result is an argument or a view of one")
    verify(graph, "trace")
    constants: dict[str, Any] = {}
    text = print_graph(graph, constants)
    again = parse_graph(text, constants)
    assert print_graph(again, {}) == text
    for y in inputs():
        if y.shape == x.shape:
            first = evaluate(graph, [y.copy()])
            assert_same(list(evaluate(again, [y.copy()])), list(first))


def test_a_shrinking_array_is_evaluated_as_python_does() -> None:
    x = inputs()[0]
    graph = tracejit.jit(samples.shrinking_sum).trace(x)
    (actual,) = evaluate(graph, [x])
    assert_same(actual, samples.shrinking_sum(x), "order", scale=7 * np.abs(x).sum())


def test_views_and_identity_of_results() -> None:
    x = inputs()[0]
    assert np.shares_memory(tracejit.jit(samples.view_of_argument)(x), x)
    same, fresh = tracejit.jit(samples.argument_itself)(x)
    assert same is x
    assert not np.shares_memory(fresh, x)
    whole, part, again = tracejit.jit(samples.two_views)(x)
    assert whole is again
    assert np.shares_memory(whole, part)


@pytest.mark.compiles
def test_an_int_past_64_bits_is_repeated_eagerly() -> None:
    f = tracejit.jit(samples.counts_past_64_bits)
    x = np.array([1.0, 2.0])
    assert_same(f(x), samples.counts_past_64_bits(x))
    assert f.report().bailouts == 1


def test_explicit_forms_are_plain_python_outside_a_trace() -> None:
    for f in COMPILED:
        with tracejit.eager():
            x = inputs()[0]
            assert_same(tracejit.jit(f)(x.copy()), f(x.copy()))

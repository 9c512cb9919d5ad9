"""Exceptions that programs handle: what a trace that is given up leaves, and what is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.control_programs import raised_by_operations as programs
from tests.frontend.control import exception_samples as samples
from tracejit.errors import TraceError
from tracejit.frontend.tracing.trace import current_trace


@pytest.mark.parametrize("f", [samples.keeps, samples.keeps_one])
def test_a_join_that_fails_leaves_no_trace_open(f: Any) -> None:
    """Regions are open where an expression may raise: what follows it stands in them."""
    given_up = tracejit.jit(f)
    for x in (np.array([1.0, 2.0]), np.array([1.0, -2.0])):
        assert given_up(x) == f(x)
    assert given_up.report().fallbacks
    assert current_trace() is None
    compiled = tracejit.jit(samples.doubled)
    compiled(np.ones(3))
    assert compiled.report().compiles


@pytest.mark.parametrize("sizes", [(3, 3, 4, 5), (4, 3, 3, 1), (1, 4, 4, 2), (5, 5, 2, 3)])
def test_what_sizes_decide_is_decided_for_each_call(sizes: tuple[int, ...]) -> None:
    compiled = tracejit.jit(programs.shapes_do_not_fit)
    for m in sizes:
        for n in sizes:
            a, b = np.arange(float(m)), np.ones(n)
            np.testing.assert_array_equal(compiled(a, b), programs.shapes_do_not_fit(a, b))
    assert compiled.report().fallbacks == [] and compiled.report().bailouts == 0


@pytest.mark.parametrize("f", samples.UNKNOWN)
def test_what_is_not_known_of_an_exception(f: Any) -> None:
    x = np.array([-1.0, 2.0])
    with pytest.raises(TraceError) as caught:
        tracejit.jit(f).trace(x)
    assert caught.value.code == "TJ024"
    assert tracejit.jit(f)(x) == f(x)


def test_the_report_counts_calls_that_are_repeated_for_a_handler() -> None:
    compiled = tracejit.jit(programs.solved)
    for _ in range(3):
        assert compiled(np.zeros((2, 2)), np.ones(2)).tolist() == [0.0, 0.0]
    assert "repeated  3 calls eagerly (TJ010): 3 without an exception" in str(compiled.report())

"""Scalars are computed before arrays, so that nothing stands between arrays of one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit
from tests.support.compare import assert_parity
from tracejit.passes.fusion.scalars_first import scalars_first


def between(m: Any, g: Any, p: Any, k: int) -> None:
    m += 0.1 * (g - m)
    p -= m * (0.5 / (1 - 0.5**k))


def branched(m: Any, g: Any, k: float) -> None:
    m += g
    m *= 1.0 / (k - 3.0) if k < 3.5 else min(k, 5.0) / (k - 4.0)


def test_branches_of_numbers_come_first() -> None:
    """What may fail in them is known before the first store."""
    also = [(np.arange(3.0), np.ones(3), k) for k in (3.0, 3.25, 4.0, 7.0)]
    assert_parity(branched, np.arange(3.0), np.ones(3), 1.0, also=also, parity="exact")
    jitted = tracejit.jit(branched, strict=True)
    given = np.arange(3.0), np.ones(3), 1.0
    jitted(*given)
    assert "undone" not in str(jitted.report())
    assert jitted.lower(*given).text("fuse").count("fusion(") == 1


def test_one_kernel_without_copies() -> None:
    given = np.arange(3.0), np.ones(3), np.ones(3)
    also = [(np.arange(3.0), np.ones(3), np.ones(3), k) for k in (2, 0)]
    assert_parity(between, *given, 1, also=also, parity="exact")
    jitted = tracejit.jit(between, strict=True)
    for k in (1, 2, 3):
        jitted(*given, k)
    assert "undone" not in str(jitted.report())
    assert jitted.lower(*given, 4).text("fuse").count("fusion(") == 1


def test_arrays_that_share_nothing_have_loops_of_their_own() -> None:
    """What they store need not all lie in memory at once; what shares an array is one kernel."""

    def f(a: Any, b: Any, c: Any) -> Any:
        return a * 2, b * 3, a + c

    x = np.ones(5)
    assert tracejit.jit(f).lower(x, x + 1, x + 2).text("fuse").count("fusion(") == 2


def test_an_argument_is_stored_into_when_all_have_read_it() -> None:
    """Its decay could be part of the first kernel, but the product reads what it was."""

    def f(w: Any, x: Any) -> Any:
        y = np.exp(w) @ x + w @ x
        w *= 0.9
        return y

    w, x = np.ones((4, 4)), np.ones(4)
    assert_parity(f, w, x, parity="order")
    lowered = tracejit.jit(f).lower(w, x)
    assert not lowered.program.plan.copies


def test_checks_stay_behind_effects() -> None:
    def f(x: Any, k: float, m: float) -> Any:
        y = x + x
        print(m)
        return y, m // k, m * 2

    lowered = tracejit.jit(f).lower(np.ones(3), 1.5, 2.5)
    names = [node.op.name for node in scalars_first(lowered.graphs["trace"]).nodes]
    places = [names.index(name) for name in ("py_multiply", "add", "print_text", "py_floordiv")]
    assert places == sorted(places)

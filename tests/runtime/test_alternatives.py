"""Results of which one of several kinds comes out, as it is known at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import alternatives as a
from tests.runtime.native.test_native_publish import counting
from tests.support.compare import assert_parity
from tracejit.runtime import native

ONE = [
    *(a.nothing, a.nothing_after_all, a.itself, a.number_kinds, a.number_or_scalar),
    *(a.scalar_or_array, a.text, a.shapes, a.dtypes, a.containers, a.parts, a.views, a.stored),
    *(a.late, a.late_view, a.never, a.same_twice, a.nested),
]
TWO = [a.chosen_argument, a.chosen_view, a.stored_into_one]
X, Y = np.arange(1.0, 5.0), np.arange(7.0)
NUMBERS = (-2.5, -0.5, 0.5, 1.5, 3.5, -0.5)


def natively(jitted: Any, *args: Any) -> None:
    """Calls in which no Python code runs but what makes the result."""
    if native.available():
        with counting(jitted) as calls:
            jitted(*args)
        assert not calls, jitted.report()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_each_path_gives_what_python_gives(f: Any) -> None:
    jitted = tracejit.jit(f)
    for kind in (float, np.float64, np.array):
        for p in NUMBERS:
            for x in (X, X[::2], X.astype(int)):
                assert_parity(f, x, kind(p), jitted=jitted)
    assert not jitted.report().fallbacks, jitted.report()
    for p in NUMBERS:
        natively(jitted, X.copy(), np.float64(p))


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
def test_arguments_come_back_themselves(f: Any) -> None:
    jitted = tracejit.jit(f)
    for p in NUMBERS:
        for y in (Y, X * 2, Y.astype("f4")):
            assert_parity(f, X, y, np.float64(p), jitted=jitted)
    assert not jitted.report().fallbacks, jitted.report()
    for p in NUMBERS:
        natively(jitted, X.copy(), Y.copy(), np.float64(p))

"""A number that is Python's before a loop is NumPy's in it only where nobody can tell."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control.weak_samples import SAMPLES, nested, total
from tests.support.compare import assert_same

DTYPES = ("f8", "f4", "i8", "i4", "u1", "c16", "?")
CASES = [(f, dtype) for f in SAMPLES for dtype in DTYPES]


def outcome(f: Any, a: Any, n: int, capsys: Any) -> Any:
    """What a call gives, or the class of its error, and what it prints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result: Any = f(copy.deepcopy(a), n)
        except (ArithmeticError, TypeError, ValueError, IndexError) as e:
            result = type(e)
    return result, capsys.readouterr().out


@pytest.mark.sampled(96)
@pytest.mark.parametrize("function, dtype", CASES, ids=lambda x: getattr(x, "__name__", x))
def test_results_are_pythons(function: Any, dtype: str, capsys: Any) -> None:
    values = np.array([3.0, 0.0, 2.0, 5.0, 1.0, 12.0])
    jitted = tracejit.jit(function)
    # Once with the number of iterations known, then with one of the run: also none, and one.
    for n in (4, 6, 0, 1, 2, 5):
        for order in (1, -1):
            a = values[::order].astype(dtype).copy()
            assert_same(outcome(function, a, n, capsys), outcome(jitted, a, n, capsys))


def test_no_iteration_stands_before_the_loop() -> None:
    for function in (total, nested):
        f = tracejit.jit(function)
        f(np.ones(5), 3)
        kinds = {x.kind for x in f.report().variants[0].lines}
        assert "rolled" in kinds and "peeled" not in kinds

"""Arguments that NumPy rejects or that are odd: its exception on the user's line, or its answer."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs.failing import CASES, Case
from tests.support.compare import Mismatch, Outcome, assert_parity, assert_same_outcome, run
from tests.support.layouts import LAYOUTS

EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.f.__name__)
# Matrix products and solvers may round otherwise; everything else here is exact.
ALLOWED = {"parity": "order", "ulp": 16}
OBJECT_WARNINGS = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def user_line(outcome: Outcome, case: Case) -> int | None:
    """The last line of the case's function in the exception's traceback."""
    assert outcome.exception is not None
    file = case.f.__code__.co_filename
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(outcome.exception.__traceback__)
        if frame.filename == file
    ]
    return lines[-1] if lines else None


def agree(case: Case, jitted: Any, args: tuple[object, ...]) -> None:
    expected, actual = run(case.f, args), run(jitted, args)
    assert_same_outcome(expected, actual, **ALLOWED)
    if expected.exception is not None:
        assert user_line(actual, case) == user_line(expected, case)
    assert "TJ013" not in str(jitted.report()), str(jitted.report())


@pytest.mark.sampled(20)
@EACH
@OBJECT_WARNINGS
def test_after_a_good_call(case: Case) -> None:
    jitted = assert_parity(case.f, *case.good, **ALLOWED)
    for args in case.bad:
        try:
            agree(case, jitted, args)
            agree(case, jitted, args)
            agree(case, jitted, case.good)
        except Mismatch as mismatch:
            mismatch.add_note(f"with {args!r}")
            raise


@pytest.mark.sampled(20)
@EACH
@OBJECT_WARNINGS
def test_as_the_first_call(case: Case) -> None:
    for args in case.bad:
        jitted = tracejit.jit(case.f)
        try:
            agree(case, jitted, args)
            agree(case, jitted, case.good)
        except Mismatch as mismatch:
            mismatch.add_note(f"with {args!r}")
            raise


def test_the_cases_do_raise() -> None:
    raised = {type(run(case.f, args).exception).__name__ for case in CASES for args in case.bad}
    wanted = "AxisError IndexError ValueError TypeError LinAlgError ZeroDivisionError OverflowError"
    assert set(wanted.split()) <= raised
    assert all(run(case.f, case.good).exception is None for case in CASES)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_rejected_arguments(layout: str) -> None:
    for case in CASES:
        arrays = [isinstance(x, np.ndarray) and x.ndim > 0 for x in case.good]
        if any(arrays) and len(case.bad[0]) == len(case.good):
            jitted = tracejit.jit(case.f)
            for args in (case.good, case.bad[0]):
                laid = tuple(
                    LAYOUTS[layout](x) if isinstance(x, np.ndarray) and x.ndim else x for x in args
                )
                agree(case, jitted, laid)

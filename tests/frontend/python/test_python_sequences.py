"""Lists, tuples and texts are what Python and NumPy make of them beside numbers: not arrays."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.python import sequence_stores
from tests.frontend.python.operator_table import FORMS, KNOWN, TRACED, check_all, part
from tests.frontend.python.sequence_programs import PROGRAMS, repeated_by_an_argument
from tests.support.compare import assert_parity
from tests.support.sampling import sampled

#: The cells that pytest checks: one in so many.
PARTS = 80


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_with_sequences(program: Callable[..., Any]) -> None:
    jitted = assert_parity(
        program,
        *(3.0, np.array([2.0, 3.0, 1.0])),
        also=[(4.0, np.array([0.0, -1.0, 3.0])), (1.0, np.array([5.0, 4.0, 0.0]))],
    )
    assert not [x for x in jitted.report().fallbacks if x.code == "TJ013"]


@pytest.mark.parametrize("values", [(2, 3, 5), (-2, -3, -5), (0, 1, 2, 3), (5, -1, True, 0)])
def test_meaning_does_not_depend_on_earlier_calls(values: tuple[int, ...]) -> None:
    first, *more = values
    assert_parity(repeated_by_an_argument, first, also=[(v,) for v in more])


def test_table_of_operators() -> None:
    """The whole table: python -m tests.frontend.python.operator_table."""
    chosen = part(1, PARTS)
    assert {c.form for c in chosen} == set(FORMS)
    assert {c.left for c in chosen} >= {*TRACED, *KNOWN} - {"empty range"}
    now = sampled(chosen, 4, name=repr, kind=lambda c: c.form)
    wrong = [f"{cell}: {found.wrong}" for cell, found in check_all(now) if found.wrong]
    assert not wrong, "\n".join(wrong)


def test_stores_of_sequences() -> None:
    """The whole table: python -m tests.frontend.python.sequence_stores."""
    # One in 29, or a quarter of those.
    found = [sequence_stores.check_all(5 + 29 * k, 116) for k in sampled(range(4), 4)]
    wrong = [f"{text}: {message}" for text, message in chain(*found) if message]
    assert not wrong, "\n".join(wrong)


def test_lists_of_known_meaning_are_compiled() -> None:
    for program in PROGRAMS:
        if program.__name__ in ("compared_with_a_list", "scalar_plus_a_list", "list_plus_an_array"):
            jitted = tracejit.jit(program, strict=True)
            jitted(3.0, np.array([2.0, 3.0, 1.0]))

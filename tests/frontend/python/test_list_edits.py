"""Lists that grow with data and change inside: as Python leaves them, and raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.corpus.program import differences, outcome
from tests.programs import list_edits

#: The first is compiled for its length, the second for any.
LENGTHS = (17, 40, 23, 9, 1, 0, 2, 64)


@pytest.mark.compiles
@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", list_edits.PROGRAMS)
def test_program(name: str) -> None:
    f = list_edits.PROGRAMS[name]
    jitted = tracejit.jit(f)
    for n in LENGTHS:
        x: Any = np.random.default_rng(n).standard_normal(n)
        expected, got = outcome(f, (x.copy(),)), outcome(jitted, (x,))
        assert not [*differences(expected, got)], n
        if n == 23:
            # Few elements are Python's own, of which not all is compiled.
            assert not jitted.report().fallbacks, str(jitted.report())
    report = jitted.report()
    assert not any(text.startswith("without") for text in report.repeats), str(report)

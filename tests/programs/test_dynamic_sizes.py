"""Sizes that only the run decides: masks, computed slices, arrays that change size in loops."""

from __future__ import annotations

import copy

import pytest

import tracejit
from tests.programs.dynamic_programs import PROGRAMS
from tests.support.compare import assert_parity


@pytest.mark.sampled(27)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compile_and_agree_with_numpy(name: str) -> None:
    f, arguments = PROGRAMS[name]
    jitted = tracejit.jit(f)
    for args in arguments:
        assert_parity(f, *copy.deepcopy(args), jitted=jitted, ulp=4)
    report = jitted.report()
    assert not report.fallbacks, report
    assert report.bailouts == 0

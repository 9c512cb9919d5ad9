"""Lists that grow with data: loops and comprehensions that append roll, whatever the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import list_programs
from tests.support.compare import assert_same

#: The first is compiled for its length, the second for any; those after it may be special.
LENGTHS = (17, 40, 0, 1, 2, 9, 99)


def _array(n: int) -> Any:
    return np.random.default_rng(n).standard_normal(n)


@pytest.mark.parametrize("name", list_programs.PROGRAMS)
def test_program(name: str) -> None:
    f = list_programs.PROGRAMS[name]
    jitted = tracejit.jit(f)
    for n in LENGTHS:
        if n == 0 and name in list_programs.FAILS_ON_EMPTY:
            continue
        expected, got = f(_array(n)), jitted(_array(n))
        assert_same(expected, got, parity="ulp", ulp=64)
        _same_classes(expected, got)
        if n == 40:
            after = len(jitted.report().compiles)
    report = jitted.report()
    assert report.fallbacks == [], str(report)
    assert after <= 2, str(report)
    # 99 and 9 elements run the code for 40: only 0, 1 and 2 may have code of their own.
    assert len(report.compiles) <= after + 3, str(report)
    assert "unrolled" not in {
        line.kind for made in report.variants[:after] for line in made.lines
    }, str(report)


def _same_classes(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            _same_classes(x, y)
    elif isinstance(a, dict):
        for key in a:
            _same_classes(a[key], b[key])

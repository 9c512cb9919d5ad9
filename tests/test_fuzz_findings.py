"""What random programs found once stays found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import fuzz_findings as findings
from tests.compare import assert_parity

V = np.array([3.0, 1.0, 2.0, -5.0])
M = np.arange(12.0).reshape(3, 4)
I64 = np.int64

COMPILED: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (findings.run_time_number_beside_an_ellipsis, [(V,), (V[:3],)]),
    (findings.run_time_number_is_a_view, [(M,), (M[:, :3],)]),
    (findings.run_time_array_without_axes_is_a_copy, [(M, np.array(1)), (M.T, np.array(-2))]),
    (findings.first_row_twice, [(M,), (M[:, :0],), (M[:0],), (M[:0, :0],)]),
    (findings.no_column_of_a_row, [(M, np.array([2])), (M, np.array([2, 3])), (M, I64(-4))]),
    (findings.cumsum_of_all, [(M,), (M[:0],), (M[:, :0],), (M[:0, :0],)]),
]


@pytest.mark.parametrize(("f", "calls"), COMPILED, ids=lambda x: getattr(x, "__name__", ""))
def test_compiled_agrees(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    first, *others = calls
    jitted = assert_parity(f, *first, also=others)
    assert not jitted.report().fallbacks

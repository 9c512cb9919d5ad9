"""What random programs found once stays found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.programs import fuzz_findings as findings
from tests.support.compare import assert_parity

V = np.array([3.0, 1.0, 2.0, -5.0])
M = np.arange(12.0).reshape(3, 4)
I64 = np.int64
LAYOUTS = [(M,), (M.T,), (M[::-1],), (M[:, ::-1],), (M[::2],), (M[:, ::2],), (M[:1],), (M[:, :1],)]
EMPTY = [(M[:0],), (M[:, :0],), (M[:0, :0],)]
WIDE = [(np.broadcast_to(V, (3, 4)),), (np.repeat(M, 2, axis=1)[:, ::2],)]
C = M + 1j * M[::-1]

COMPILED: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (findings.run_time_number_beside_an_ellipsis, [(V,), (V[:3],)]),
    (findings.run_time_number_is_a_view, [(M,), (M[:, :3],)]),
    (findings.run_time_array_without_axes_is_a_copy, [(M, np.array(1)), (M.T, np.array(-2))]),
    (findings.first_row_twice, [(M,), (M[:, :0],), (M[:0],), (M[:0, :0],)]),
    (findings.no_column_of_a_row, [(M, np.array([2])), (M, np.array([2, 3])), (M, I64(-4))]),
    (findings.cumsum_of_all, [(M,), *EMPTY]),
    (findings.flat_views_and_copies, [*LAYOUTS, *EMPTY, *WIDE]),
    (findings.slices_of_a_flat_argument, [*LAYOUTS, *WIDE]),
    (findings.store_into_a_flat_copy, [(M,), (M[::-1],), (M[:, 1:],), *WIDE]),
    (findings.the_same_or_another_view, [*LAYOUTS, *EMPTY]),
    (findings.views_of_a_new_array, [*LAYOUTS, *EMPTY]),
    (findings.parts_of_complex, [(C,), (C.T,), (C[::-1],), (C[:, ::2],), (C.astype("c8"),)]),
    (findings.stores_into_parts, [(C,), (C.T,), (C[::-1],), (C[:, :0],)]),
    (findings.sizes_beside_floats, [(V,), (V[:3],), (V[:2],), (V[1:],)]),
    (findings.sizes_bit_by_bit, [(V,), (V[:3],), (V[:2],), (V[1:],)]),
    (findings.sizes_beside_numpy_scalars, [(V,), (V[:3],), (V[:2],), (V[1:],)]),
    (findings.complex_sum_of_products, [(np.array([[complex(-np.inf, 2), 1 + 1j], [1, 2j]]),)]),
    (findings.store_of_another_order, [(M,), (M.T,), (M[::2],)]),
]


@pytest.mark.parametrize(("f", "calls"), COMPILED, ids=lambda x: getattr(x, "__name__", ""))
def test_compiled_agrees(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    first, *others = calls
    jitted = assert_parity(f, *first, also=others)
    assert not jitted.report().fallbacks

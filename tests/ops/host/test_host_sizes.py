"""Derivatives of calls through NumPy and SciPy whose sizes are known only at run time."""

from typing import Any

import numpy as np
import pytest
import scipy.fft as sf
import scipy.integrate as si
import scipy.linalg as sl
import scipy.signal as ss

from tests.ops.host.test_host_array_derivatives import apart, with_symbols
from tests.ops.host.test_host_derivatives import (  # noqa: F401 - a fixture
    F,
    same_numbers,
)
from tests.support.check_grads import check_grads


def positive(x: Any) -> Any:
    return x @ x.T + 9 * np.eye(len(x))


SYMBOLIC: list[tuple[F, tuple[tuple[int, ...], ...]]] = [
    (lambda x: np.linalg.det(x @ x.T / 9), ((3, 4),)),
    (lambda x: np.nancumsum(x, axis=0), ((5, 3),)),
    (lambda x: np.nanmedian(x, axis=0), ((5, 3),)),
    (lambda x: np.cumsum(x) * np.nancumprod(x), ((5,),)),
    (lambda x: np.vander(x, 3), ((5,),)),
    (lambda x: np.resize(x, (3, 2)), ((5,),)),
    (lambda x: np.add.reduceat(x, [0, 2]), ((5,),)),
    (lambda x, y: np.polyval(x[:3], y), ((5,), (4,))),
    (lambda x, y: sl.solve(positive(x), y), ((3, 4), (3,))),
    (lambda x, y: sl.solve_triangular(positive(x), y), ((3, 4), (3,))),
    (lambda x, y: sl.cho_solve(sl.cho_factor(positive(x)), y), ((3, 4), (3,))),
    (lambda x, y: sl.lu_solve(sl.lu_factor(positive(x)), y), ((3, 4), (3,))),
    (lambda x, y: sl.solve_banded((1, 1), x + [[0], [9], [0]], y), ((3, 5), (5,))),
    (lambda x: sl.expm(x @ x.T / 9), ((3, 4),)),
    (lambda x: sl.eigvalsh(x @ x.T), ((3, 4),)),
    (lambda x: sl.toeplitz(x), ((5,),)),
    (lambda x: sl.block_diag(x, x), ((5, 3),)),
    (lambda x: sl.norm(x), ((5, 3),)),
    (lambda x: sl.norm(x), ((5,),)),
    (lambda x: ss.convolve(x, x[:3]), ((5,),)),
    (lambda x: ss.lfilter([1.0, 0.2], [1, 0.3], x), ((5,),)),
    (lambda x, y: ss.lfilter(y[:3], [1, 0.3], x), ((5,), (4,))),
    (lambda x: ss.detrend(x), ((6,),)),
    (lambda x: si.trapezoid(x), ((5,),)),
    (lambda x: si.cumulative_trapezoid(x), ((5,),)),
    (lambda x: sf.dct(x), ((5,),)),
    (lambda x: sf.dst(x, 3, axis=0), ((5, 2),)),
    (lambda x: sf.rfft(x), ((6,),)),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("k", range(len(SYMBOLIC)))
def test_sizes_known_at_run_time(k: int) -> None:
    f, shapes = SYMBOLIC[k]
    inputs = [apart(*shape) for shape in shapes]
    check_grads(with_symbols(f, inputs), inputs)

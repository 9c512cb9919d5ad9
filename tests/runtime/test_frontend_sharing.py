"""Which results of compiled functions share memory with arguments, or are arguments: as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity
from tests.support.layouts import LAYOUTS

F = Callable[..., Any]
X = np.arange(24.0).reshape(4, 6)

RESULTS: list[F] = [
    lambda x: x,
    lambda x: x[:],
    lambda x: x[...],
    lambda x: x[1],
    lambda x: x[::-1, 1:],
    lambda x: x.T,
    lambda x: x[0, 0],
    lambda x: x.reshape(-1),
    lambda x: x.reshape(6, 4),
    lambda x: x.reshape(x.shape),
    lambda x: x.ravel(),
    lambda x: x[::-1].ravel(),
    lambda x: x[1:3].ravel(),
    lambda x: x[1].ravel(),
    lambda x: x[:, 1].ravel(),
    lambda x: x[:, 1].reshape(-1),
    lambda x: x.T.ravel(),
    lambda x: x.flatten(),
    lambda x: x.copy(),
    lambda x: np.transpose(x, (0, 1)),
    lambda x: np.swapaxes(x, 0, 0),
    lambda x: np.moveaxis(x, 0, 0),
    lambda x: np.squeeze(x),
    lambda x: np.squeeze(x[:1]),
    lambda x: np.expand_dims(x, 0),
    lambda x: np.atleast_1d(x),
    lambda x: np.atleast_3d(x),
    lambda x: np.broadcast_to(x, (2, 4, 6)),
    lambda x: np.broadcast_to(x, x.shape),
    lambda x: np.broadcast_arrays(x, x),
    lambda x: np.split(x, 2),
    lambda x: np.hsplit(x, [2, 2]),
    lambda x: np.flip(x),
    lambda x: np.rot90(x),
    lambda x: np.rot90(x, 0),
    lambda x: np.roll(x, 0),
    lambda x: np.roll(x, 0, axis=0),
    lambda x: np.repeat(x, 1),
    lambda x: np.tile(x, 1),
    lambda x: np.pad(x, 0),
    lambda x: np.diff(x, n=0),
    lambda x: np.take(x, 0, axis=0),
    lambda x: x[[0, 1]],
    lambda x: np.concatenate([x]),
    lambda x: np.asarray(x),
    lambda x: np.array(x),
    lambda x: np.ascontiguousarray(x),
    lambda x: np.diagonal(x),
    lambda x: np.diagonal(x, -1),
    lambda x: np.diag(x, 2),
    lambda x: np.real(x),
    lambda x: np.imag(x),
    lambda x: x.real[1:],
    lambda x: (x * 1j).imag,
    lambda x: np.conj(x),
    lambda x: x.conj(),
    lambda x: x.astype(x.dtype),
    lambda x: x.astype(x.dtype, copy=False),
    lambda x: np.clip(x, None, None),
    lambda x: np.round(x.astype(int)),
    lambda x: np.where(True, x, x),
    lambda x: np.sort(x, axis=0),
    lambda x: np.einsum("ij->ji", x),
    lambda x: np.nan_to_num(x),
    lambda x: (x, x.T, x + 1),
    lambda x: [(y := x + 1), y, y.T, y[0]],
    lambda x: np.meshgrid(x[0], x[1]),
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("k", range(len(RESULTS)))
def test_results_share_memory_where_numpys_do(k: int) -> None:
    f = RESULTS[k]
    jitted = tracejit.jit(f)
    assert_parity(f, X, jitted=jitted)
    for name in ("fortran", "strided", "reversed_rows", "inner_block", "transposed"):
        assert_parity(f, LAYOUTS[name](X), jitted=jitted)
    assert_parity(f, X * (1 + 2j), jitted=jitted)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", range(len(RESULTS)))
def test_common_layouts_are_compiled(k: int) -> None:
    for x in (X, np.asfortranarray(X)):
        jitted = tracejit.jit(RESULTS[k])
        jitted(x)
        assert jitted.report().fallbacks == []


def test_stores_reach_complex_arrays_through_their_parts() -> None:
    def store(x: Any) -> Any:
        y = x * 1j
        y.real[0] = 5
        return y

    jitted = tracejit.jit(store)
    assert_parity(store, X, jitted=jitted)
    assert not jitted.report().fallbacks


def test_views_at_traced_indices() -> None:
    for f in (lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[i][1:], lambda x, i: x[i, i]):
        assert_parity(f, X, 2)
        assert_parity(f, X, np.int64(-1))

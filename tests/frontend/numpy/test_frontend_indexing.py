"""Reads and stores by index on tracers: every form of key, and views that see what is stored."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity, assert_same
from tests.support.tracing import check, refused, tnp, trace_call

X = np.arange(60.0).reshape(3, 4, 5)
Y = np.arange(210.0).reshape(5, 6, 7)

BASIC: list[Any] = [
    0,
    -1,
    (1, 2),
    (1, 2, 3),
    (-1, -1, -1),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(2, None, -1),
    slice(None, 0, -2),
    slice(1, 1),
    slice(2, 1),
    slice(-2, 100),
    slice(-100, 2),
    slice(100, None),
    slice(None, -100, -1),
    (slice(None), 0),
    (slice(1, 3), slice(None, None, 3), 1),
    (Ellipsis, 0),
    (0, Ellipsis),
    (Ellipsis, slice(1, 3)),
    (slice(None), Ellipsis, None),
    None,
    (None, 0, None),
    (0, slice(None), None, slice(None, None, -2)),
    Ellipsis,
    (),
    (1, 2, 3, Ellipsis),
    np.int64(1),
]
ADVANCED: list[Any] = [
    [0, 2, 1],
    ([0, 2], [1, 3]),
    (slice(None), [3, 0]),
    ([0, 1], slice(None), [1, 2]),
    (0, [1, 2]),
    ([1, 2], 0),
    (0, slice(None), [1, 2]),
    ([0, 1], None, [1, 2]),
    (slice(None), [1, 2], [1, 2]),
    (slice(1, None), [1, 2], None, [1, 2]),
    (Ellipsis, [0, -1]),
    ([[0, 1], [2, 0]],),
    ([[0], [2]], [1, 3]),
    (slice(None), [[0], [2]], [1, 3]),
    (slice(None, None, -1), [[0], [2]], slice(0, 2)),
    [-1],
]


@pytest.mark.parametrize("key", [*BASIC, *ADVANCED], ids=repr)
def test_read(key: Any) -> None:
    check(lambda x: x[key], (X,), (Y,))
    check(lambda x: x[key], (np.asfortranarray(X),), (np.asfortranarray(Y),))


@pytest.mark.parametrize("key", [*BASIC, *ADVANCED], ids=repr)
def test_store_of_a_number(key: Any) -> None:
    def store(x: np.ndarray) -> np.ndarray:
        y = np.copy(x)
        y[key] = -1
        return y

    check(store, (X,), (Y,))


@pytest.mark.parametrize("key", [*BASIC, *ADVANCED], ids=repr)
def test_store_of_an_array(key: Any) -> None:
    def store(x: np.ndarray) -> np.ndarray:
        y = np.copy(x)
        y[key] = np.sin(x)[key] * 2
        y[key] += 1
        return y

    check(store, (X,), (Y,))


def test_index_arrays_as_arguments() -> None:
    i, j = np.array([0, 2, -1]), np.array([[1], [-2]])
    for f in (
        lambda x, i, j: x[i],
        lambda x, i, j: x[:, i],
        lambda x, i, j: x[i, j],
        lambda x, i, j: x[i, :, j],
        lambda x, i, j: x[..., j],
        lambda x, i, j: x[0, i],
        lambda x, i, j: x[j, 1, i],
        lambda x, i, j: x[1:, j, None, i],
    ):
        check(f, (X, i, j), (Y, i, j))
        check(f, (X, i.astype(np.uint8) % 3, j.astype(np.int16)))


def test_traced_numbers_as_indices() -> None:
    for index in (1, -2, np.int64(1), np.uint8(2)):
        check(lambda x, i: x[i], (X, index), (Y, index))
        check(lambda x, i: x[i, 0], (X, index), (Y, index))
        check(lambda x, i: x[:, i], (X, index))
        check(lambda x, i: x[i, i], (X, index))
        check(lambda x, i: x[i, i, i], (X, index))
        check(lambda x, i: x[0][i], (X, index))
        check(lambda x, i: x[i][1:, 0], (X, index))
        check(lambda x, i: x[[0, 1], i], (X, index))


def test_scatter_with_traced_indices() -> None:
    def store(x: np.ndarray, i: Any, v: Any) -> np.ndarray:
        y = np.copy(x)
        y[i] = v
        y[:, 1] = v
        y[i, 2] += 1
        return y

    check(store, (X, 1, 2.5), (Y, 1, 2.5))
    check(store, (X, -1, np.float32(2.5)))
    check(store, (X, np.array([0, 2]), 3))
    check(store, (X, np.int64(2), np.ones(5)), (Y, np.int64(2), np.ones(7)))


def test_the_last_of_several_writes_wins() -> None:
    def store(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        y = np.copy(x)
        y[i] = tnp.arange(i.shape[0], dtype=np.float64)
        return y

    check(store, (np.zeros(5), np.array([1, 1, 3, 1, 3])))


def test_indices_out_of_range_are_numpys_error() -> None:
    for key in (3, -4, (0, 4), (slice(None), slice(None), 5)):
        for mode in ("static", "shared", "apart"):
            with pytest.raises(IndexError):
                trace_call(lambda x, key=key: x[key], (X,), mode)
    for key in ((0, 0, 0, 0), (Ellipsis, Ellipsis), 1.5):
        with pytest.raises(IndexError):
            trace_call(lambda x, key=key: x[key], (X,))


def test_steps_known_only_at_run_time_are_refused() -> None:
    assert refused(lambda x, n: x[::n], X, 2) == "TJ015"
    assert refused(lambda x: x[x.sum() > 1], X) == "TJ015"


def _views(x: np.ndarray) -> list[Callable[[np.ndarray], np.ndarray]]:
    return [
        lambda y: y[1],
        lambda y: y[:, ::-1],
        lambda y: y.T,
        lambda y: y[..., None],
        lambda y: y.reshape(-1),
        lambda y: y.reshape(y.shape[0], -1),
        lambda y: y.T.reshape(-1),
        lambda y: y[:, :2].reshape(-1),
        lambda y: y[:2].reshape(-1),
        lambda y: y[::2].ravel(),
        lambda y: y[0, :, ::2].ravel(),
        lambda y: y[0, :, ::2].reshape(-1),
        lambda y: y[0, 1, ::2].ravel(),
        lambda y: y[0, 1, ::2].reshape(-1, 1),
        lambda y: y.ravel(),
        lambda y: y.T.ravel(order="F"),
        lambda y: y.T.reshape(-1, order="F"),
        lambda y: y.flatten(),
        lambda y: np.swapaxes(y, 0, 2)[1],
        lambda y: np.moveaxis(y, 0, -1)[..., 0],
        lambda y: np.expand_dims(y, 1),
        lambda y: np.squeeze(y[:1]),
        lambda y: np.flip(y, 1),
        lambda y: np.rot90(y),
        lambda y: np.array_split(y, 2)[1],
        lambda y: np.atleast_3d(y[0]),
        lambda y: np.roll(y, 1),
        lambda y: np.copy(y),
        lambda y: np.take(y, 0, axis=0),
        lambda y: y[[0, 1]],
        lambda y: np.broadcast_arrays(y, y)[0],
        lambda y: tnp.asarray(y),
        lambda y: np.concatenate([y]),
        lambda y: np.repeat(y, 1, axis=0),
        lambda y: np.tile(y, 1),
        lambda y: np.einsum("ijk->kji", y),
        lambda y: y.astype(np.float64),
        lambda y: y.astype(np.float64, copy=False),
    ]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", range(len(_views(X))))
@pytest.mark.parametrize("order", ["C", "F"])
def test_views_share_memory_exactly_where_numpys_do(k: int, order: str) -> None:
    view = _views(X)[k]

    def through_the_view(x: np.ndarray) -> Any:
        y = tnp.zeros(x.shape, order=order)
        y[...] = x
        v = view(y)
        v[...] = -1
        return y, v

    def through_the_base(x: np.ndarray) -> Any:
        y = tnp.zeros(x.shape, order=order)
        y[...] = x
        v = view(y)
        y[...] = -x
        y[1] += 100
        return y, v

    for f in (through_the_view, through_the_base):
        check(f, (X,), (Y,))


def test_views_at_traced_indices_share_memory() -> None:
    def read_after_store(x: np.ndarray, i: Any) -> Any:
        y = np.copy(x)
        row, column, flat = y[i], y[:, i], y[i].reshape(-1)
        y[0] = -1
        y[:, 1] += 2
        return row * 2, column, flat

    def store_through(x: np.ndarray, i: Any) -> Any:
        y = np.copy(x)
        y[i][0] = 5
        y[i] += 1
        y[1, i] -= 2
        y[:, i, 1:] *= 3
        row = y[i].T
        row[...] = 7
        y[i, i, i] += 8
        return y

    for f in (read_after_store, store_through):
        for i in (0, 1, -1, np.int32(2)):
            check(f, (X, i), (Y, i))


def test_a_diagonal_sees_stores_and_takes_none() -> None:
    def read(x: np.ndarray) -> Any:
        y = np.copy(x)
        d, e = np.diagonal(y), np.diagonal(y, 1, 2, 0).reshape(-1)
        y[0] = -1
        return d, e

    def store(x: np.ndarray) -> Any:
        d = np.diagonal(np.copy(x))
        d[0] = 1
        return d

    check(read, (X,), (Y,))
    assert refused(store, X) == "TJ005"


def test_iteration_and_len() -> None:
    check(lambda x: [row.sum(axis=0) for row in x], (X,))
    check(lambda x: (len(x), x.shape, x.size, x.ndim, x.nbytes, x.itemsize), (X,), (Y,))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.float32])
def test_stores_of_numpys_scalars_are_checked_as_numpys(dtype: Any) -> None:
    """Into signed integers they go by way of Python's int, which must fit."""

    def store(value: Any) -> Any:
        x = np.zeros(3, dtype)
        for i in range(2):
            x[i:] = value
        x[0] = value
        return x, np.array([value, 1], dtype)

    f = tracejit.jit(store)
    values = (300, -1, 2.5, -7.9, np.nan, np.inf, 2.0**40)
    kinds = (np.int16, np.int64, np.float16, np.float32, np.float64, np.uint64)
    for kind, value in itertools.product(kinds, values):
        if kind in (np.int16, np.int64, np.uint64) and not 0 <= value <= 300:
            continue
        with np.errstate(all="ignore"):
            scalar = kind(value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = store(scalar)
            except (OverflowError, ValueError) as e:
                with pytest.raises(type(e), match=re.escape(str(e))):
                    f(scalar)
                continue
            assert_same(expected, f(scalar))
    assert f.report().fallbacks == []


def test_what_a_mask_takes_beside_a_size_that_becomes_1() -> None:
    """The number of True is known only at run time; the other operand is repeated to it."""

    def f(x: Any, mask: Any) -> Any:
        return x[mask] + x[1:]

    jitted = tracejit.jit(f)
    for n, count in ((5, 4), (2, 0), (2, 1), (2, 2), (3, 2), (3, 1), (4, 3), (1, 0), (1, 1)):
        assert_parity(f, np.arange(1.0, n + 1), np.arange(n) < count, jitted=jitted, calls=1)

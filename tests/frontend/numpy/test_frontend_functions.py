"""NumPy's functions on tracers: shapes, joins, creation, selection, reductions and methods."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tests.support.tracing import check, refused, tnp, trace_call, wave
from tracejit.errors import TraceError
from tracejit.frontend.tracing.tracer import TracedArray
from tracejit.frontend.tracing.union import Unreachable
from tracejit.ir.types import DTYPES

F = Callable[..., Any]


X, Y = wave(3, 4), wave(5, 6)
X3, Y3 = wave(2, 3, 4), wave(3, 5, 2)
V, W = wave(7), wave(12)

MATRICES: list[F] = [
    lambda x: np.reshape(x, -1),
    lambda x: np.reshape(x, (-1, 2)),
    lambda x: np.reshape(x, (2, -1)),
    lambda x: x.reshape(x.shape[1], x.shape[0]),
    lambda x: x.reshape((x.shape[0], 1, -1)),
    lambda x: x.reshape(x.size),
    lambda x: np.reshape(x, (x.size, 1), order="F"),
    lambda x: x.T.reshape(-1),
    lambda x: x.reshape(-1, order="F"),
    lambda x: np.ravel(x),
    lambda x: x.ravel(order="F"),
    lambda x: x.flatten(),
    lambda x: np.transpose(x),
    lambda x: x.transpose(1, 0),
    lambda x: x.transpose((-1, 0)),
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: np.swapaxes(x, 0, -1),
    lambda x: np.moveaxis(x, 0, 1),
    lambda x: np.rollaxis(x, 1),
    lambda x: np.expand_dims(x, 1),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: np.squeeze(x[None, :, None]),
    lambda x: np.squeeze(x[None, :, None], axis=0),
    lambda x: np.squeeze(x[:1, :1]),
    lambda x: np.atleast_1d(x, 1.0, x[0]),
    lambda x: np.atleast_2d(x, x[0], x[0, 0]),
    lambda x: np.atleast_3d(x, x[0], x[0, 0]),
    lambda x: np.broadcast_to(x, (2, *x.shape)),
    lambda x: np.broadcast_to(x[0], x.shape),
    lambda x: np.broadcast_to(x[0, 0], x.shape),
    lambda x: np.broadcast_arrays(x, x[0], 1.0),
    lambda x: np.concatenate([x, x]),
    lambda x: np.concatenate([x, x[:, :1], x], axis=1),
    lambda x: np.concatenate([x, [x[0]]]),
    lambda x: np.concatenate((x, x[0]), axis=None),
    lambda x: np.concatenate((x, x), axis=-1, dtype=np.float32),
    lambda x: np.concatenate((x > 0, x)),
    lambda x: np.concatenate(x[:2]),
    lambda x: np.stack([x, x]),
    lambda x: np.stack([x, 2 * x], axis=-1),
    lambda x: np.stack([x[0, 0], 1, 2.5]),
    lambda x: np.vstack([x, x[0]]),
    lambda x: np.hstack([x, x[:, :2]]),
    lambda x: np.hstack([x[0], x[1], 1.0]),
    lambda x: np.dstack([x, x]),
    lambda x: np.dstack([x[0], x[1]]),
    lambda x: np.column_stack([x[:, 0], x, x[:, 1]]),
    lambda x: np.append(x, [1, 2]),
    lambda x: np.append(x, x[:1], axis=0),
    lambda x: np.array_split(x, 2),
    lambda x: np.array_split(x, 3, axis=1),
    lambda x: np.split(x, [1, 2]),
    lambda x: np.split(x, [1, -1], axis=1),
    lambda x: np.split(x, [2, 100]),
    lambda x: np.hsplit(x, 2),
    lambda x: np.vsplit(x, [1]),
    lambda x: np.dsplit(x[..., None], 1),
    lambda x: np.flip(x),
    lambda x: np.flip(x, 0),
    lambda x: np.flip(x, (0, 1)),
    lambda x: np.fliplr(x),
    lambda x: np.flipud(x),
    *(lambda x, k=k: np.rot90(x, k) for k in range(-1, 5)),
    lambda x: np.rot90(x, 1, (1, 0)),
    *(lambda x, s=s: np.roll(x, s) for s in (0, 1, -1, 5, -13, 100)),
    *(lambda x, s=s: np.roll(x, s, axis=1) for s in (0, 1, -2, 4, 6, -9)),
    lambda x: np.roll(x, (1, 2), axis=(0, 1)),
    lambda x: np.roll(x, 1, axis=(0, 1)),
    lambda x: np.roll(x, x.shape[0] - 1, axis=0),
    lambda x: np.repeat(x, 2),
    lambda x: np.repeat(x, 3, axis=0),
    lambda x: np.repeat(x, 2, axis=-1),
    lambda x: np.repeat(x, 0, axis=1),
    lambda x: np.repeat(x[:2], [1, 3], axis=0),
    lambda x: x.repeat(x.shape[0], axis=1),
    lambda x: np.tile(x, 2),
    lambda x: np.tile(x, (2, 1)),
    lambda x: np.tile(x, (2, 1, 3)),
    lambda x: np.tile(x[0], (3, 2)),
    lambda x: np.take(x, 3),
    lambda x: np.take(x, [0, -1]),
    lambda x: np.take(x, [[0], [2]], axis=0),
    lambda x: np.take(x, 1, axis=1),
    lambda x: np.take(x, [5, -7], mode="wrap"),
    lambda x: np.take(x, [50, -7], mode="clip", axis=0),
    lambda x: x.take([1, 0], axis=1),
    lambda x: np.take_along_axis(x, np.argsort(x, axis=1, kind="stable"), axis=1),
    lambda x: np.take_along_axis(x, np.argmax(x, axis=0, keepdims=True), axis=0),
    lambda x: np.take_along_axis(x, np.argsort(x, axis=None, kind="stable"), axis=None),
    lambda x: np.pad(x, 1),
    lambda x: np.pad(x, (2, 0), constant_values=1.5),
    *(lambda x, m=m: np.pad(x, ((1, 2), (0, 3)), mode=m) for m in ("edge", "reflect", "wrap")),
    lambda x: np.pad(x, ((1, 2), (0, 3)), mode="symmetric"),
    lambda x: np.pad(x, 2, mode="empty")[2:-2, 2:-2],
    *(lambda x, m=m: np.pad(x.T, 2, mode=m) for m in ("constant", "edge", "reflect", "wrap")),
    *(lambda x, m=m: np.pad(x, ((3, 3), (4, 4)), mode=m) for m in ("symmetric", "wrap")),
    *(lambda x, m=m: np.pad(x, ((2, 2), (3, 3)), mode=m) for m in ("symmetric", "reflect")),
    *(lambda x, m=m: np.pad(x, 7, mode=m) for m in ("edge", "reflect", "wrap", "symmetric")),
    lambda x: np.delete(x, 1, axis=0),
    lambda x: np.delete(x, -1),
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.where(x > 0, x, -x[0]),
    lambda x: np.where(x > 0, 1, 2),
    lambda x: np.where(x > 0, 1, 2.5),
    lambda x: np.where(x, True, x > 1),
    lambda x: np.where(x > 0, np.float32(1), 2),
    lambda x: np.where(x[0, 0] > 0, x, 1j),
    lambda x: np.where(x[0, 0] > 0, 1.0, 2.0),
    lambda x: np.where(x[0, 0] > 0, x[0, 0], x[0, 1]),
    lambda x: np.clip(x, -1, 1),
    lambda x: np.clip(x, None, 0.5),
    lambda x: np.clip(x, x[0], None),
    lambda x: np.clip(x, min=-0.25, max=x[:1] + 3),
    lambda x: np.clip(x[0, 0], -1, 1),
    lambda x: x.clip(0.0, 1.0),
    lambda x: x.clip(max=0),
    lambda x: np.clip(x, None, None),
    *(lambda x, d=d: np.round(x, d) for d in (0, 1, 2, -1)),
    lambda x: np.around(x[0, 0] * 1.37, 1),
    lambda x: x.round(),
    lambda x: np.fix(x),
    lambda x: np.diff(x),
    lambda x: np.diff(x, axis=0),
    lambda x: np.diff(x, 2),
    lambda x: np.diff(x > 0),
    lambda x: np.diff(x, prepend=0, append=x[:, :1]),
    lambda x: np.ediff1d(x),
    lambda x: np.ediff1d(x, to_end=[1.0], to_begin=x[0]),
    lambda x: np.tril(x),
    lambda x: np.triu(x, 1),
    lambda x: np.tril(x[0], -1),
    lambda x: np.triu(np.stack([x, x]), -2),
    lambda x: np.diag(x),
    lambda x: np.diag(x, 1),
    lambda x: np.diag(x, -2),
    lambda x: np.diag(x[0]),
    lambda x: np.diag(x[0], 2),
    lambda x: np.diag(x[0], -1),
    lambda x: np.diagflat(x),
    lambda x: np.diagonal(x, 1),
    lambda x: np.diagonal(np.stack([x, x]), 0, 1, 2),
    lambda x: np.diagonal(x, 100),
    lambda x: np.isclose(x, x + 1e-9),
    lambda x: np.isclose(x, x[0], rtol=0.5, equal_nan=True),
    lambda x: np.isclose(x[0, 0], 0.0),
    lambda x: np.allclose(x, x + 1e-12),
    lambda x: np.allclose(x, 0),
    lambda x: np.array_equal(x, x.copy()),
    lambda x: np.array_equal(x, x.T),
    lambda x: np.array_equal(x, x, equal_nan=True),
    lambda x: np.nan_to_num(np.log(x)),
    lambda x: np.nan_to_num(x / (x - x[0]), nan=1.0, posinf=7.0),
    lambda x: np.median(x),
    lambda x: np.median(x, axis=0),
    lambda x: np.median(np.log(x), axis=1),
    lambda x: np.median(x[:, :3], axis=1, keepdims=True),
    lambda x: np.median(x.astype(int)),
    lambda x: np.sort(x),
    lambda x: np.sort(x, axis=0),
    lambda x: np.sort(x, axis=None),
    lambda x: np.argsort(x, stable=True),
    lambda x: x.argsort(axis=0, kind="stable"),
    lambda x: np.real(x),
    lambda x: np.imag(x),
    lambda x: np.angle(x),
    lambda x: np.angle(x + 1j, deg=True),
    lambda x: np.conj(x),
    lambda x: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0), np.shape(x[0, 0])),
    lambda x: (np.iscomplexobj(x), np.isrealobj(x * 1j), np.ndim(1.0)),
    lambda x: x.astype(np.result_type(x, np.float32)),
    lambda x: 1 if np.can_cast(x.dtype, np.float32) else 2,
    lambda x: np.cumsum(x),
    lambda x: np.cumsum(x, axis=0),
    lambda x: np.cumprod(x / 4, axis=1),
    lambda x: x.cumsum(axis=-1),
    lambda x: np.argmax(x),
    lambda x: np.argmin(x, axis=0),
    lambda x: x.argmax(axis=1, keepdims=True),
    lambda x: np.argmax(x, keepdims=True),
    lambda x: np.count_nonzero(x),
    lambda x: np.count_nonzero(x > 0, axis=0, keepdims=True),
    lambda x: np.max(x),
    lambda x: x.min(axis=0),
    lambda x: np.max(x, axis=(0, 1), keepdims=True),
    lambda x: np.ptp(x, axis=1),
    lambda x: np.any(x > 2, axis=0),
    lambda x: np.all(x),
    lambda x: x.copy(),
    lambda x: tnp.zeros_like(x),
    lambda x: np.zeros_like(x),
    lambda x: np.ones_like(x, dtype=int),
    lambda x: np.full_like(x, 7),
    lambda x: np.full_like(x, x[0]),
    lambda x: np.zeros_like(x, shape=(x.shape[1], 3)),
    lambda x: np.copy(x),
    lambda x: tnp.array(x),
    lambda x: tnp.array([x[0], x[1]]),
    lambda x: tnp.array([[x[0, 0], 1], [2.5, x[1, 1]]]),
    lambda x: tnp.array([1, 2, 3]) + x[0, 0],
    lambda x: tnp.array(x, ndmin=3),
    lambda x: tnp.array(x, dtype=np.float32),
    lambda x: tnp.asarray([x[0, 0], 1]),
    lambda x: tnp.ascontiguousarray(x[:, ::2]),
    lambda x: np.meshgrid(x[0], x[:, 0]),
    lambda x: np.meshgrid(x[0], x[:, 0], indexing="ij", sparse=True),
    lambda x: x.item(0),
    lambda x: x[0, 0].item(),
    lambda x: x[0, 0].astype(np.float32),
    lambda x: x.real + x.imag,
    lambda x: x.astype(int),
    lambda x: x.astype(bool),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", range(len(MATRICES)))
def test_function_of_a_matrix(k: int) -> None:
    f = MATRICES[k]
    check(f, (X,), (Y,), (wave(4, 4),))
    check(f, (np.asfortranarray(X),), (np.asfortranarray(Y),))
    check(f, (wave(4, 3)[::-1].T,), modes=("static",))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_functions_keep_dtypes(dtype: Any) -> None:
    for x, y in ((wave(3, 4, dtype=dtype), wave(5, 6, dtype=dtype)),):
        for f in (
            lambda x: np.concatenate([x, x[:1]]),
            lambda x: np.where(x, x, 0),
            lambda x: np.where(x, 1, x),
            lambda x: np.stack([x, 1 - x]) if x.dtype != bool else np.stack([x, x]),
            lambda x: np.sort(x, axis=0),
            lambda x: np.tril(x),
            lambda x: np.diag(x[0], 1),
            lambda x: np.roll(x, 1),
            lambda x: np.pad(x, 1),
            lambda x: np.round(x, 1 if x.dtype != bool else 0),
            lambda x: np.real(x),
            lambda x: np.imag(x),
            lambda x: np.isclose(x, x[0]),
            lambda x: np.full_like(x, 1),
            lambda x: np.diff(x),
            lambda x: np.nan_to_num(x) if x.dtype.kind != "c" else x,
            lambda x: np.angle(x),
        ):
            check(f, (x,), (y,), modes=("static", "apart"))


EXACT_KINDS = "biu"
REDUCTIONS: list[F] = [
    lambda x: np.sum(x),
    lambda x: np.sum(x, axis=0),
    lambda x: x.sum(axis=(0, 2)),
    lambda x: x.sum(axis=-1, keepdims=True),
    lambda x: np.sum(x, axis=()),
    lambda x: np.sum(x, dtype=np.float64) if x.dtype.kind != "c" else np.sum(x),
    lambda x: np.prod(x[:1, :2], axis=1),
    lambda x: x.prod(axis=(0, 1, 2)),
    lambda x: np.mean(x),
    lambda x: x.mean(axis=1),
    lambda x: x.mean(axis=(0, 1), keepdims=True),
    lambda x: np.any(x, axis=1),
    lambda x: x.all(),
    lambda x: np.cumsum(x, axis=1),
    lambda x: np.cumprod(x[:, 0], axis=0),
    lambda x: np.average(x, axis=0),
    lambda x: np.count_nonzero(x, axis=(0, 1)),
]
REAL: list[F] = [
    lambda x: np.max(x, axis=1),
    lambda x: np.min(x),
    lambda x: np.argmax(x, axis=2),
    lambda x: np.argmin(x),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_reductions(dtype: Any) -> None:
    x, y = wave(2, 3, 4, dtype=dtype), wave(3, 5, 2, dtype=dtype)
    order = {"parity": "order", "ulp": 8} if dtype.kind in "fc" else {}
    for f in REDUCTIONS:
        for a, b in ((x, y), (x.transpose(2, 0, 1), y.transpose(1, 2, 0))):
            check(f, (a,), (b,), **({"parity": "order", "ulp": 8} | order))
    if dtype.kind != "c":
        for f in REAL:
            check(f, (x,), (y,))
            check(f, (np.asfortranarray(x),), (np.asfortranarray(y),))


@pytest.mark.parametrize("f", [np.var, np.std], ids=lambda f: f.__name__)
def test_variance(f: F) -> None:
    for dtype in ("f4", "f8", "i4", "u1", "?", "c8", "c16"):
        x, y = wave(2, 3, 4, dtype=dtype), wave(3, 5, 2, dtype=dtype)
        for g in (
            lambda x: f(x),
            lambda x: f(x, axis=1),
            lambda x: f(x, axis=(0, 2), keepdims=True),
            lambda x: f(x, axis=1, ddof=1),
        ):
            check(g, (x,), (y,), parity="order", ulp=16)


def test_reductions_of_nothing() -> None:
    empty = np.ones((0, 3))
    for f in (
        lambda x: np.sum(x),
        lambda x: np.sum(x, axis=0),
        lambda x: np.prod(x, axis=1),
        lambda x: np.any(x),
        lambda x: np.all(x, axis=0),
        lambda x: np.max(x, axis=1),
        lambda x: np.cumsum(x),
        lambda x: np.sort(x),
    ):
        check(f, (empty,))
    for g in (lambda x: np.max(x), lambda x: np.argmin(x, axis=0)):
        with pytest.raises(ValueError, match="empty|zero-size"):
            trace_call(g, (empty,))


def test_trapezoid_gradient_average() -> None:
    for f in (
        lambda x: np.trapezoid(x),
        lambda x: np.trapezoid(x, dx=0.5, axis=0),
        lambda x: np.trapezoid(x, x=x[0] * 2),
        lambda x: np.trapezoid(x, x=x, axis=0),
        lambda x: np.average(x, weights=np.abs(x) + 1),
        lambda x: np.average(x, axis=1, weights=np.abs(x[0]) + 1),
        lambda x: np.nansum(x / np.maximum(x, 0), axis=0),
        lambda x: np.nanprod(x),
        lambda x: np.gradient(x[0]),
        lambda x: np.gradient(x),
        lambda x: np.gradient(x, 0.5, axis=0),
        lambda x: np.gradient(x, edge_order=2, axis=1),
        lambda x: np.gradient(x[0], x[1]),
    ):
        check(f, (X,), (Y,), parity="order", ulp=8)


def test_shape_errors_are_numpys() -> None:
    cases: list[tuple[F, type[Exception]]] = [
        (lambda x: np.reshape(x, (5, 5)), ValueError),
        (lambda x: np.reshape(x, (-1, 7)), ValueError),
        (lambda x: np.reshape(x, (-1, -1)), ValueError),
        (lambda x: np.transpose(x, (0, 0)), ValueError),
        (lambda x: np.transpose(x, (0,)), ValueError),
        (lambda x: np.swapaxes(x, 0, 2), np.exceptions.AxisError),
        (lambda x: np.squeeze(x, 0), ValueError),
        (lambda x: np.expand_dims(x, 4), np.exceptions.AxisError),
        (lambda x: np.broadcast_to(x, (2, 3)), ValueError),
        (lambda x: np.concatenate([x, x[0]]), ValueError),
        (lambda x: np.concatenate([x, x.T]), ValueError),
        (lambda x: np.concatenate([]) if x is None else np.concatenate([x[0, 0]]), ValueError),
        (lambda x: np.stack([x, x[0]]), ValueError),
        (lambda x: np.split(x, 2), ValueError),
        (lambda x: np.sum(x, axis=2), np.exceptions.AxisError),
        (lambda x: np.sum(x, axis=(0, 0)), ValueError),
        (lambda x: np.where(x > 0, x, np.stack([x[0, :2]])), ValueError),
        (lambda x: x @ x, ValueError),
        (lambda x: np.dot(x, x), ValueError),
        (lambda x: tnp.zeros((-1,)), ValueError),
        (lambda x: np.linalg.inv(x), np.linalg.LinAlgError),
        (lambda x: x.nonsense, AttributeError),
    ]
    for f, error in cases:
        with pytest.raises(error):
            f(X)
        for mode in ("static", "shared", "apart"):
            # What the prelude raises is a node of the graph.
            with pytest.raises((error, Unreachable)):
                trace_call(f, (X,), mode)


def test_unknown_functions_are_refused() -> None:
    for f, code in (
        (lambda x: np.fft.fft(x), "TJ002"),
        (lambda x: np.linalg.eig(x), "TJ002"),
        (lambda x: tnp.arange(x[0, 0]), "TJ015"),
        (lambda x: np.repeat(x, x.astype(int)), "TJ004"),
        (lambda x: x.tolist(), "TJ002"),
        (lambda x: np.concatenate([x, np.ones((1, 4))]), "TJ006"),
    ):
        assert refused(f, X) == code


@pytest.mark.sampled(32)
@pytest.mark.parametrize("k", range(len(MATRICES)))
def test_stores_through_a_flattened_result_reach_it_as_in_numpy(k: int) -> None:
    """Whether `y.reshape(-1)` is a view depends on how NumPy lays out `y`: known, or refused."""
    f = MATRICES[k]

    def store(x: Any) -> Any:
        y = f(x)
        if not isinstance(y, (np.ndarray, TracedArray)) or y.ndim < 2:
            return None
        flat, raveled = y.reshape(-1), y.ravel()
        flat[::2] = 7
        raveled[1::2] = 8
        return y, flat, raveled

    for x in (X, np.asfortranarray(X), wave(4, 3)[::-1].T, wave(6, 8)[::2, ::2]):
        try:
            with np.errstate(all="ignore"):
                store(x.copy(order="K"))
        except ValueError as e:
            assert "read-only" in str(e)
            assert refused(store, x) == "TJ005"
            continue
        try:
            check(store, (x,))
        except TraceError as e:
            assert e.code == "TJ005"


def test_layouts_of_common_functions_are_known() -> None:
    def store(x: Any, f: F) -> Any:
        y = f(x)
        y.reshape(-1)[:2] = 7
        return y

    for f in (
        lambda x: x + 1,
        lambda x: np.where(x > 0, x, 0),
        lambda x: x * x[0] - x.sum(axis=1, keepdims=True),
        lambda x: np.clip(x, 0, 1).astype(np.float32),
        lambda x: np.zeros_like(x),
        lambda x: np.exp(x).copy(),
    ):
        for x in (X, np.asfortranarray(X)):
            check(lambda x, f=f: store(x, f), (x,))


def test_an_array_without_axes() -> None:
    x = np.array(3.25)
    for f in (
        lambda x: np.squeeze(x, axis=0),
        lambda x: np.argmax(x, axis=0),
        lambda x: np.sum(x, axis=0),
        lambda x: np.max(x, axis=-1),
        lambda x: np.any(x, axis=0),
        lambda x: np.cumsum(x, axis=0),
        lambda x: np.cumprod(x),
        lambda x: np.argsort(x),
        lambda x: np.take(x, 0),
        lambda x: np.take(x, 0, axis=0),
        lambda x: np.repeat(x, 2),
        lambda x: np.repeat(x, 2, axis=0),
        lambda x: np.roll(x, 2),
        lambda x: np.concatenate([x, x], axis=None),
        lambda x: np.expand_dims(x, 0),
        lambda x: np.ptp(x, axis=0),
        lambda x: np.count_nonzero(x, axis=0),
        lambda x: np.linalg.norm(x),
        lambda x: np.sort(x, axis=None),
        lambda x: np.flip(x),
        lambda x: np.clip(x, 0, 1),
        lambda x: np.where(x > 0, x, 0),
        lambda x: np.dot(x, 2),
        lambda x: np.outer(x, x),
        lambda x: np.tile(x, 2),
        lambda x: np.ravel(x),
        lambda x: np.atleast_2d(x),
        lambda x: np.round(x, 1),
        lambda x: np.mean(x),
        lambda x: x.item(),
        lambda x: x + 1,
        lambda x: x.copy(),
    ):
        check(f, (x,))
    for g in (
        lambda x: np.sort(x),
        lambda x: np.mean(x, axis=0),
        lambda x: np.sum(x, axis=(0,)),
        lambda x: np.var(x, axis=0),
        lambda x: np.squeeze(x, axis=1),
        lambda x: np.linalg.norm(x, axis=0),
        lambda x: np.swapaxes(x, 0, 0),
    ):
        for mode in ("static", "apart"):
            with pytest.raises(np.exceptions.AxisError):
                trace_call(g, (x,), mode)


def test_squeezed_axes_of_sizes_that_are_computed() -> None:
    """`n - 1` that is 1 in one call need not be in the next."""

    def f(x: Any) -> Any:
        return np.squeeze(x[::2, 2:0:-1])

    jitted = tracejit.jit(f, strict=True)
    for m, n in ((0, 0), (1, 2), (1, 5), (3, 2), (3, 7), (1, 1), (5, 1), (1, 2)):
        x = np.arange(1.0 * m * n).reshape(m, n)
        assert_same(jitted(x), f(x))


def test_shifts_of_other_kinds() -> None:
    for s in (2.5, -1.0, True, np.int8(3), [1, 2]):
        check(lambda x: np.roll(x, s), (V,), (W,))  # noqa: B023
    check(lambda x, n: np.roll(x, n), (V, 3), (W, -20))
    check(lambda x, n: np.roll(x, n, axis=0), (X, np.int64(2)), (Y, np.int64(-7)))
    assert refused(lambda x, n: np.roll(x, n), V, 1.5) == "TJ004"


def test_shifts_along_several_axes() -> None:
    cube = np.arange(4 * 3 * 2 * 5.0).reshape(4, 3, 2, 5)
    check(lambda x: np.roll(x, (1, -1, 3), (0, 1, 2)), (X3,), (Y3,))
    check(lambda x: np.roll(x, (1, 2, 1, -2), (0, 1, 2, 3)), (cube,), (cube.T,))
    check(lambda x: np.roll(x, (1, 3, 2), (1, 0, 1)), (X,), (np.asfortranarray(Y),))
    check(lambda x, n: np.roll(x, (n, 1, 2), (0, 1, 2)), (X3, 1), (Y3, -4))
    for x in (X3, Y3, X3.T):
        assert_same(tracejit.jit(np.fft.fftshift, strict=True)(x), np.fft.fftshift(x))


INSERTED: list[F] = [
    *(lambda v, p=p: np.insert(v, p, 5.0) for p in (1, -1, 0, 7, [1], [0, -1], [3, 1, 3], [7, 7])),
    *(lambda v, p=p: np.insert(v, p, [5, 6, 7]) for p in (1, [1], [3, 1, 3], (0, -1, 0))),
    lambda v: np.insert(v, len(v) // 2, v[:2]),
    lambda v: np.insert(v, [0, len(v)], v[:2]),
    lambda v: np.insert(v > 0, [0, 2], [7, 0]),
    lambda v: np.insert(v[:, None] * v[:6], 1, v[:6], axis=0),
    lambda v: np.insert(v[:, None] * v[:6], 1, v, axis=1),
    lambda v: np.insert(v[:, None] * v[:6], [1], v[:, None], axis=1),
    lambda v: np.insert(v[:, None] * v[:6], [2, 0], [[1, 2]], axis=-1),
    lambda v: np.insert((v[:, None] * v[:6]).T, [2, 0], 3, axis=0),
    lambda v: np.insert((v[:, None] * v[:6]).T, 4, 3),
]


@pytest.mark.parametrize("k", range(len(INSERTED)))
def test_insertions_at_known_places(k: int) -> None:
    check(INSERTED[k], (V,), (W,))


def test_insertions_that_fail_or_wrap_round() -> None:
    small = np.arange(6, dtype=np.uint8)
    for place, number in ((8, 1), (-9, 1), ([1, 9], 1), (1, 300), ([1, 2], [3, 300]), (1, -1)):
        with pytest.raises((IndexError, OverflowError)):
            np.insert(small, place, number)
        with pytest.raises((IndexError, OverflowError)):
            tracejit.jit(lambda x: np.insert(x, place, number))(small)  # noqa: B023
    wrapped = np.insert(V, [4, -8], [5, 6])
    assert_same(tracejit.jit(lambda v: np.insert(v, [4, -8], [5, 6]))(V), wrapped)


def same_or_overflow(f: Any, *args: Any) -> None:
    """NumPy 2.5 raises OverflowError for ints that the other operand's dtype does not hold."""
    try:
        f(*args)
    except OverflowError:
        with pytest.raises(OverflowError):
            tracejit.jit(f, strict=True)(*args)
    else:
        check(f, args)


def test_numbers_in_where_are_cast_as_arrays() -> None:
    c = np.array([True, False])
    for number, dtype in ((-3, "u8"), (300, "i1"), (2.7, "i1"), (2**40, "i4"), (-1, "u1")):
        x = np.array([1, 2], dtype)
        same_or_overflow(lambda c, x: np.where(c, number, x), c, x)  # noqa: B023
        same_or_overflow(lambda c, x: np.where(c, x, number), c, x)  # noqa: B023
        same_or_overflow(lambda c, x, n: np.where(c, n, x), c, x, number)
    same_or_overflow(lambda c, x: np.where(c, x.shape[0] - 9, x), c, c.astype(np.uint8))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_totals_of_special_values(name: str) -> None:
    """The first element is itself, whatever the running total begins with."""
    run = getattr(np, name)
    jitted = tracejit.jit(run)
    special = (-0.0, 0.0, -1.5, np.nan, np.inf, -np.inf)
    with np.errstate(all="ignore"):
        for values in itertools.product(special, repeat=2):
            for dtype in (np.float64, np.float32, np.float16):
                x = np.array(values, dtype)
                assert_same(run(x), jitted(x))
            for other in special:
                z = np.array([*values, other, -0.0]).view(np.complex128)
                found, want = (f(z).view(np.float64) for f in (jitted, run))
                assert_same(want, found)

"""What NumPy's own code uses of arrays and dtypes: flags, methods, indices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import tracejit
from tests.support import layouts
from tests.support.check_grads import check_grads
from tests.support.compare import assert_same
from tracejit.runtime import native

X = np.array([3.0, 1.0, 2.5, 5.0, 4.0, 2.0])
A = np.arange(12.0).reshape(3, 4) % 5


def slices_by_axis(x: Any) -> Any:
    """As code for any axis is written."""
    first, second = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    axis = operator.index(-1) % x.ndim
    first[axis], second[axis] = slice(1, None), slice(None, -1)
    return x[tuple(first)] - x[tuple(second)]


def axes_of(x: Any) -> Any:
    axes = np.lib.array_utils.normalize_axis_tuple((0, -1), x.ndim)
    return x.sum(axis=axes) + np.lib.array_utils.normalize_axis_index(-1, x.ndim)


def stores_where(x: Any) -> Any:
    smallest = np.minimum.reduce(x, axis=None, keepdims=False, out=None)
    y = np.array(smallest)
    y[y < 2] = -7.0
    y[smallest > 100] = 9.0
    return y


def sorts_parts(x: Any) -> Any:
    y = x.copy()
    y.partition(2, axis=-1)
    return y, y.argpartition(1)


def by_places(x: Any) -> Any:
    out = np.ndarray(x.shape, x.dtype)
    for i, j in np.ndindex(*x.shape):
        out[i, j] = x[i, j] * i - j
    total = 0.0
    for place, value in np.ndenumerate(x):
        total += value * place[0] + place[1]
    return out, total, list(np.ndindex(2, 1)), list(np.ndindex())


CASES: list[tuple[Callable[..., Any], Any]] = [
    (slices_by_axis, A),
    (axes_of, A),
    (stores_where, X),
    (sorts_parts, X),
    (sorts_parts, A),
    (lambda x: np.sort(x).searchsorted(x, side="right"), X),
    (lambda x: (x > 2).astype(int).choose([x, -x]), X),
    (lambda x: np.floor(x[0], out=...), X),
    (by_places, A),
    (lambda x: (x.tolist(), x[0].tolist(), (x > 2).tolist(), x.sum(keepdims=True).tolist()), A),
    (lambda x: (x[0].astype(int).tolist(), x.reshape(2, 3, 2).tolist()), A),
    (lambda x: (x.strides, x.T.strides, x[::2, 1:].strides, (x * 1).strides), A),
    (lambda x: np.add(x[0], 1, out=...), X),
    (lambda x: x.__truediv__(np.arange(1.0, 7.0)), X),
    (lambda x: x * (not x.dtype.hasobject), X),
    (lambda x: x[operator.index(x.astype(np.int64)[1])], X),
    (lambda x: np.sum(x, axis=0, initial=np._NoValue, keepdims=np._NoValue), A),
    (lambda x: np.add(x, 1, dtype=np.dtypes.Float32DType, casting="same_kind"), X),
    (lambda x: (np.nanmax(x, axis=0), np.fmin.reduce(x, axis=1)), np.where(A == 2, np.nan, A)),
    (lambda x: (np.nanmax(x * np.nan), np.nanmin(x, keepdims=True)), A),
]


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("k", range(len(CASES)))
def test_parts(k: int) -> None:
    f, x = CASES[k]
    compiled = tracejit.jit(f)
    try:
        expected = f(x)
    except TypeError as e:  # This NumPy knows no `out=...`.
        with pytest.raises(TypeError, match=str(e)):
            compiled(x)
        return
    for _ in range(2):
        assert_same(compiled(x), expected)
    assert not compiled.report().fallbacks and not compiled.report().bailouts


@pytest.mark.parametrize("name", ["c_contiguous", "f_contiguous", "fnc", "forc", "contiguous"])
@pytest.mark.parametrize(
    "layout", [np.array, layouts.fortran, layouts.strided, layouts.reversed_rows]
)
def test_flags(name: str, layout: Callable[[Any], Any]) -> None:
    def of_views(x: Any) -> Any:
        parts = (x, x.T, x[:, 1:], x[1:], x * 2, x[0], x.reshape(-1), x[:, :1])
        return [getattr(p.flags, name) for p in parts]

    x = layout(A)
    assert tracejit.jit(of_views)(x) == of_views(x)


def test_an_index_must_be_an_integer() -> None:
    for x in (X, A, X[0]):
        with pytest.raises(TypeError):
            tracejit.jit(lambda x: operator.index(x))(x)


VIEWS: list[tuple[Callable[..., Any], Any]] = [
    (lambda x: sliding_window_view(x, 3), X),
    (lambda x: sliding_window_view(x[::-1], 2)[1:, 0], X),
    (lambda x: sliding_window_view(x, (2, 3)), A),
    (lambda x: sliding_window_view(x, 2, axis=0), A),
    (lambda x: sliding_window_view(x, (2, 2), axis=(-1, 0)), A),
    (lambda x: sliding_window_view(x.T, (2,), axis=(1,)), A),
    (lambda x: sliding_window_view(x, 3).mean(axis=-1), X),
    (lambda x: sliding_window_view(x, (2, 2)) * 2, A),
    (lambda x: sliding_window_view(x * 2, 2, axis=1), A),
]


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("k", range(len(VIEWS)))
@pytest.mark.parametrize("layout", [np.array, np.asfortranarray])
def test_sliding_windows(
    k: int, layout: Callable[[Any], Any], is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, x = VIEWS[k]
    if not is_native:
        monkeypatch.setattr(native, "available", lambda: False)
    compiled, x = tracejit.jit(f, strict=True), layout(x)
    for n in range(3):
        given = np.concatenate([x, x[:n]]) if n else x
        result, expected = compiled(given), f(given)
        assert_same(result, expected)
        assert result.strides == expected.strides
        assert result.flags.writeable == expected.flags.writeable
        assert np.shares_memory(result, given) == np.shares_memory(expected, given)


def _patches(x: Any) -> Any:
    (h, w), (s, t) = x.shape, x.strides
    seen = as_strided(x, shape=(h - 1, w - 2, 2, 3), strides=(s, t, s, t))
    return seen.reshape(-1, 6) @ np.arange(6.0)


def _pooled(x: Any) -> Any:
    (h, w), (s, t) = x.shape, x.strides
    return as_strided(x, (h // 2, w // 2, 2, 2), (2 * s, 2 * t, s, t)).max(axis=(2, 3))


def _moving(x: Any) -> Any:
    seen = as_strided(x, shape=(x.shape[0] - 2, 3), strides=(x.strides[0], x.strides[0]))
    return seen.mean(axis=-1)


def _repeated(x: Any) -> Any:
    return as_strided(x, (4, len(x)), (0, 8)).sum(axis=0) + as_strided(x, (len(x),), (8,))


STRIDED: list[tuple[Callable[..., Any], Any]] = [
    (_patches, A),
    (_pooled, A),
    (_moving, X),
    (_repeated, X),
]


@pytest.mark.parametrize(("f", "x"), STRIDED, ids=lambda x: getattr(x, "__name__", ""))
def test_strides_through_memory(f: Callable[..., Any], x: Any) -> None:
    compiled = tracejit.jit(f, strict=True)
    for n in range(3):
        given = np.concatenate([x, x[:n]]) if n else x
        assert_same(compiled(given), f(given), parity="ulp", ulp=8)


def test_gradient_of_strides_through_memory() -> None:
    weights = np.linspace(-1.0, 2.0, len(X) - 2)
    found = tracejit.grad(lambda x: (_moving(x) * weights).sum())(X)
    np.testing.assert_allclose(found, np.convolve(weights, np.full(3, 1 / 3)))


def _comes_out(x: Any) -> Any:
    return as_strided(x, (3, 3), (8, 8))


def _stored_into(x: Any) -> Any:
    seen = as_strided(x, (3, 3), (8, 8))
    seen[0, 0] = 5.0
    return x.sum()


def _stored_meanwhile(x: Any) -> Any:
    y = x * 1.0
    seen = as_strided(y, (3, 3), (8, 8))
    y[0] = 3.0
    return seen.sum(axis=0)


def _beyond(x: Any) -> Any:
    return as_strided(x, (len(x), 3), (8, 8))[:3].sum()


@pytest.mark.parametrize(
    "f", [_comes_out, _stored_into, _stored_meanwhile, _beyond], ids=lambda f: f.__name__
)
def test_strides_that_only_numpy_follows(f: Callable[..., Any]) -> None:
    compiled, given, own = tracejit.jit(f), X.copy(), X.copy()
    assert_same(compiled(given), f(own), parity="ulp", ulp=8)
    assert_same(given, own)
    assert compiled.report().fallbacks


def test_windows_see_what_is_stored_later() -> None:
    def f(x: Any) -> Any:
        seen = sliding_window_view(x, 2)
        x[1] = 10.0
        return seen.sum(axis=1)

    assert_same(tracejit.jit(f, strict=True)(X.copy()), f(X.copy()))


def test_windows_have_derivatives() -> None:
    graph = tracejit.jit(lambda x: sliding_window_view(x, (2, 3)).prod(axis=(2, 3))).trace(A)
    check_grads(graph, [A + 1.5], order=1)


@pytest.mark.parametrize("window", [9, -1, (2, 2), 2.0])
def test_windows_that_do_not_fit(window: Any) -> None:
    for f in (lambda x: sliding_window_view(x, window), lambda x: sliding_window_view(x, 2, 3)):
        with pytest.raises(Exception) as expected:
            f(X)
        with pytest.raises(expected.type) as found:
            tracejit.jit(f)(X)
        assert str(found.value) == str(expected.value)

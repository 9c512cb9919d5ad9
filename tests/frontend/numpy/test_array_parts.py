"""What NumPy's own code uses of arrays and dtypes: flags, methods, indices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support import layouts
from tests.support.compare import assert_same

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


CASES: list[tuple[Callable[..., Any], Any]] = [
    (slices_by_axis, A),
    (axes_of, A),
    (stores_where, X),
    (sorts_parts, X),
    (sorts_parts, A),
    (lambda x: np.sort(x).searchsorted(x, side="right"), X),
    (lambda x: (x > 2).astype(int).choose([x, -x]), X),
    (lambda x: np.floor(x[0], out=...), X),
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
    for _ in range(2):
        assert_same(compiled(x), f(x))
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

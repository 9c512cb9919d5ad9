"""Sorts by NumPy's own loops: what they give is what NumPy gives, by another way where none is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tests.support.layouts import LAYOUTS
from tracejit.codegen.program import sorting
from tracejit.ir.types import DTYPES
from tracejit.link.sorts import sort_address

pytestmark = pytest.mark.sampled(6)

AXES = (0, 1, 2, None)


def lines(dtype: str) -> Iterator[Any]:
    """Arrays of three axes with ties, of lengths on both sides of what is counted."""
    random = np.random.default_rng(5)
    for shape in ((3, 50, 4), (2, 5, 300), (60, 1, 2), (2, 0, 3), (1, 1, 1), (0, 2, 2)):
        x = random.integers(-99, 99, shape)
        yield x > 0 if dtype == "b1" else x.astype(DTYPES[dtype])


def sort(x: Any, axis: Any) -> Any:
    return np.sort(x, axis=axis)


def argsort(x: Any, axis: Any) -> Any:
    return np.argsort(x, axis=axis)


def stable(x: Any, axis: Any) -> Any:
    return np.argsort(x, axis=axis, stable=True)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [sort, argsort, stable])
def test_lines_along_each_axis(function: Any, dtype: str) -> None:
    jitted = tracejit.jit(function)
    for x in lines(dtype):
        for axis in AXES:
            assert_same(function(x, axis), jitted(x, axis))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_])
def test_stable_places_of_many_bytes(dtype: Any) -> None:
    """Those of long lines are counted, in parts."""
    random = np.random.default_rng(6)
    jitted = tracejit.jit(stable)
    for n in (511, 512, 513, 514, 515, 2000):
        x = random.integers(-128, 128, (n, 3)).astype(dtype)
        for given, axis in ((x, 0), (x.T, 1), (x.T.copy(), 1), (x[:, 0].copy(), 0)):
            assert_same(stable(given, axis), jitted(given, axis))


@pytest.mark.parametrize("layout", [n for n in LAYOUTS if n not in ("swapped", "unaligned")])
def test_layouts(layout: str) -> None:
    x = LAYOUTS[layout](np.random.default_rng(2).random((6, 7, 5)))
    for function in (sort, argsort):
        jitted = tracejit.jit(function)
        for axis in AXES:
            assert_same(function(x, axis), jitted(x, axis))


def test_special_values() -> None:
    x = np.array([np.nan, -0.0, np.inf, 0.0, -np.inf, 1.0, -0.0, np.nan] * 9)
    both = np.stack((x, x[::-1]), axis=-1).view(np.complex128)[:, 0]
    for values in (x, x.astype(np.float32), both, x.astype(np.float16)):
        assert_same(np.sort(values), tracejit.jit(np.sort)(values))


def twice(x: Any) -> Any:
    y = np.sort(x[::2])
    y[0] = 5
    return np.sort(y), x


def test_operands_stay_as_they_are() -> None:
    x = np.array([3, 1, 2, 9, 0])
    assert_same(twice(x.copy()), tracejit.jit(twice)(x))
    assert x.tolist() == [3, 1, 2, 9, 0]


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="its table may be without sorts"
)
@pytest.mark.parametrize("positions", [False, True])
def test_every_dtype_has_a_loop(positions: bool) -> None:
    for dtype in DTYPES.values():
        for keep in (False, True):
            assert sort_address(dtype.str, positions, keep)


def test_without_a_loop_numpy_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "sort_address", lambda *_: None)
    x = np.random.default_rng(1).random((5, 7))
    for function in (sort, argsort):
        jitted = tracejit.jit(function)
        assert_same(function(x, 0), jitted(x, 0))
        assert "runs through NumPy" in str(jitted.report())


def test_lines_one_after_another_are_read_where_they_lie() -> None:
    f = tracejit.jit(lambda x: (np.argsort(x, axis=0, stable=True), np.sort(x, axis=0)))
    x = np.random.default_rng(5).integers(0, 9, (4, 3, 7)).astype(np.float32)
    for v in (x.transpose(2, 0, 1), x.transpose(2, 1, 0), x.transpose(2, 0, 1)[:, ::2]):
        expected = np.argsort(v, axis=0, stable=True), np.sort(v, axis=0)
        for found, e in zip(f(v), expected, strict=True):
            np.testing.assert_array_equal(found, e, strict=True)
            assert found.strides == e.strides

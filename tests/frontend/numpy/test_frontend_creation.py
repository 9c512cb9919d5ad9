"""NumPy's functions that make arrays, and numbers stored into them, on tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.tracing import check, tnp, wave
from tracejit.errors import Bailout, TraceError

F = Callable[..., Any]


X, Y = wave(3, 4), wave(5, 6)
X3, Y3 = wave(2, 3, 4), wave(3, 5, 2)
V, W = wave(7), wave(12)

RANGES: list[tuple[Any, ...]] = [
    (0,),
    (1,),
    (2,),
    (7,),
    (-3,),
    (3, 9),
    (3, 9, 2),
    (9, 3, -2),
    (9, 3),
    (0, 0.9, 0.1),
    (1.0, 2.0, 0.1),
    (0.1, 7.3, 0.7),
    (5.0,),
    (2.5, -1.5, -0.3),
    (0, -1.0, -0.125),
    (1e300, 1.1e300, 1e298),
    (np.float32(0.1), np.float32(9.1), np.float32(0.3)),
    (np.int8(3), np.int8(100), np.int8(7)),
    (0, 1000, 3),
    (-(2**62), -(2**62) + 5),
    (0.0, 100.0, 0.1),
    (-0.0, 5.0),
    (-0.0, -5.0, -1.0),
]


@pytest.mark.parametrize("args", RANGES, ids=repr)
def test_arange_is_numpys_bit_for_bit(args: tuple[Any, ...]) -> None:
    for dtype in (None, "f2", "f4", "f8", "i1", "i4", "i8", "u8", "c8", "c16"):
        try:
            with np.errstate(all="raise"):
                np.arange(*args, dtype=dtype)
        except (OverflowError, FloatingPointError, ValueError, TypeError):
            continue
        check(lambda x: tnp.arange(*args, dtype=dtype), (V,), modes=("static",))  # noqa: B023


def test_arange_of_sizes() -> None:
    for f in (
        lambda x: tnp.arange(x.shape[0]),
        lambda x: tnp.arange(len(x)),
        lambda x: tnp.arange(1, x.shape[0] + 1),
        lambda x: tnp.arange(x.shape[0], 0, -1),
        lambda x: tnp.arange(x.shape[0] - 1, -1, -2),
        lambda x: tnp.arange(0, x.shape[0], 3),
        lambda x: tnp.arange(x.shape[0], 2 * x.shape[0], 5),
        lambda x: tnp.arange(x.shape[0], dtype=np.float64) / x.shape[0],
        lambda x: tnp.arange(3, x.shape[0] + 3, dtype=np.float32),
        lambda x: tnp.arange(x.shape[0], 2),
        lambda x: tnp.arange(0.0, x.shape[0], 0.5),
    ):
        check(f, (V,), (W,), (wave(2),))


@pytest.mark.parametrize("dtype", [None, "f4", "f8", "i4", "c16"])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_is_numpys_bit_for_bit(dtype: Any, endpoint: bool) -> None:
    bounds: list[tuple[Any, Any]] = [
        (0, 1),
        (-1.0, 1.0),
        (3, -2.5),
        (0.1, 0.7),
        (2, 2),
        (0, 5e-324),
        (np.float32(0.1), np.float32(3)),
        (np.float32(0.1), 2.0),
        (1, 1e300),
    ]
    for a, b in bounds:
        for n in (0, 1, 2, 3, 7, 50):
            if dtype == "i4" and type(b) is float and b > 2**31:
                continue
            check(
                lambda x: tnp.linspace(a, b, n, endpoint=endpoint, dtype=dtype),  # noqa: B023
                (V,),
                modes=("static",),
            )


def test_linspace_of_traced_bounds() -> None:
    for f in (
        lambda x: tnp.linspace(x[0], x[1], 9),
        lambda x: tnp.linspace(x[0], x[0], 9),
        lambda x: tnp.linspace(0, x, 5),
        lambda x: tnp.linspace(x, -x, 5, axis=-1),
        lambda x: tnp.linspace(0, 1, x.shape[0]),
        lambda x: tnp.linspace(0, 1, x.shape[0], endpoint=False),
        lambda x: tnp.linspace(x[0], x[1], x.size, retstep=True),
        lambda x: tnp.linspace(0.0, x * 5e-324, 7),
        lambda x: tnp.linspace([0, 1], [2.0, 3], 3),
    ):
        check(f, (V,), (W,))
        check(f, (V.astype(np.float32),), (W.astype(np.float32),))


CREATION: list[F] = [
    lambda x: tnp.zeros(3),
    lambda x: tnp.zeros((2, 3), dtype=np.int16),
    lambda x: tnp.zeros(x.shape),
    lambda x: tnp.zeros((x.size, 2), bool),
    lambda x: tnp.zeros(()),
    lambda x: tnp.ones(x.shape[::-1], np.complex64),
    lambda x: tnp.ones(4, order="F"),
    lambda x: tnp.zeros((2, 3), order="F") + 1,
    lambda x: tnp.full(3, 2),
    lambda x: tnp.full((2, 2), 2.5),
    lambda x: tnp.full(x.shape, x[0, 0]),
    lambda x: tnp.full(x.shape, x[0]),
    lambda x: tnp.full((2, 2), 7.9, dtype=int),
    lambda x: tnp.full(3, True),
    lambda x: tnp.full((2, 2), [1, 2]),
    lambda x: tnp.eye(3),
    lambda x: tnp.eye(3, 4, 1),
    lambda x: tnp.eye(4, 3, -2, dtype=int),
    lambda x: tnp.eye(x.shape[0], x.shape[1]),
    lambda x: tnp.eye(x.shape[0], dtype=bool),
    lambda x: tnp.identity(x.shape[0]),
    lambda x: tnp.tri(3),
    lambda x: tnp.tri(x.shape[0], x.shape[1], 1, dtype=np.float32),
    lambda x: tnp.indices((2, 3)),
    lambda x: tnp.indices(x.shape),
    lambda x: tnp.indices(x.shape, sparse=True),
    lambda x: tnp.array(3),
    lambda x: tnp.array([]),
    lambda x: tnp.array([[1, 2.5], [True, 4]]),
    lambda x: tnp.array((1, 2), dtype=np.int8),
    lambda x: tnp.empty((2, 3)).shape,
    lambda x: tnp.empty(x.shape, np.float32) * 0,
]


@pytest.mark.parametrize("k", range(len(CREATION)))
def test_creation(k: int) -> None:
    check(CREATION[k], (X,), (Y,))


def test_created_arrays_are_written_to() -> None:
    def fill(x: np.ndarray) -> np.ndarray:
        out = tnp.empty(x.shape)
        out[...] = 0
        out[::2] = x[::2]
        out[:, 1] += tnp.arange(x.shape[0])
        return out

    check(fill, (X,), (Y,))


def test_logspace() -> None:
    check(lambda x: tnp.logspace(0, 2, 5), (V,))
    check(lambda x: tnp.logspace(x[0], x[1], x.size, base=2), (V,), (W,))


NUMBERS: list[Any] = [3, 2.7, -1, 300, True, float("nan"), 1e300, np.float32(2.5), np.int64(-3)]
NUMBERS += [np.complex64(1j), np.float64(1e9), 1j]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_are_stored_as_numpy_stores_them(number: Any) -> None:
    def store(x: Any, v: Any) -> Any:
        y = np.copy(x)
        y[0] = v
        return y

    def refill(x: Any, v: Any) -> Any:
        y = np.copy(x)
        y.fill(v)
        return y

    def store_list(x: Any, v: Any) -> Any:
        y = np.copy(x)
        y[1:] = [1, v]
        y[[0]] = (v,)
        return y

    fills: list[F] = [
        store,
        store_list,
        refill,
        lambda x, v: tnp.array(v, x.dtype),
        lambda x, v: tnp.full(x.shape, v, x.dtype),
        lambda x, v: np.full_like(x, v),
        lambda x, v: tnp.full(x.shape, v),
    ]
    for f in fills:
        for dtype in ("i1", "u1", "i8", "f4", "f8", "c8", "?", "f2"):
            x = np.array([1, 0, 2]).astype(dtype)
            try:
                with np.errstate(all="ignore"):
                    f(x, number)
                error = None
            except Exception as e:
                error = type(e)
            for g, args in ((f, (x, number)), (lambda x, f=f: f(x, number), (x,))):
                try:
                    check(g, args, modes=("static",))
                    assert error is None
                except (TraceError, Bailout) as e:
                    # What is no number of the dtype is left to NumPy.
                    small = 0 <= np.real(number) <= 127 and type(number) is not complex
                    assert error or np.iscomplexobj(number) or not small, (g, dtype, e)
                except (TypeError, ValueError, OverflowError) as e:
                    assert type(e) is error

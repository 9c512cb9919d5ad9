"""Rows and columns that threads share: their results at all sizes, and what compiled code has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.codegen.device.test_ptx import launches, ptx
from tests.programs.kernels import layer_norm, softmax
from tracejit.runtime.device.simulated import to_simulated

pytestmark = pytest.mark.sampled(9)

_RANDOM = np.random.default_rng(11)
#: Around what a warp, a block and a thread hold, and a vector.
SIZES = (1, 31, 32, 33, 34, 36, 63, 64, 65, 68, 100, 127, 129, 131, 200)
DTYPES = ("f4", "f8", "f2", "i1", "i4", "u8", "?", "c8")


def numbers(dtype: str, *shape: int) -> Any:
    """Small numbers, of which sums are exact."""
    return _RANDOM.integers(0, 2 if dtype == "?" else 9, shape).astype(dtype)


def equal(found: Any, expected: Any) -> None:
    """The same types and numbers; which of two zeros is an extreme is not said."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def check(f: Callable[..., Any], *args: Any, exact: bool = True) -> None:
    """What a function gives on the device, and its arguments afterwards, are NumPy's."""
    given = [np.array(a) for a in args]
    copies = [np.array(a) for a in args]
    jitted = tracejit.jit(f, device="cuda-sim")
    results, wanted = jitted(*given), f(*copies)
    assert not jitted.report().fallbacks
    for a, b in zip(several(results), several(wanted), strict=True):
        if exact:
            equal(a, b)
        else:
            eps = np.finfo(np.asarray(b).dtype).eps
            np.testing.assert_allclose(a, b, rtol=64 * eps, atol=8 * eps)
    for a, b in zip(given, copies, strict=True):
        equal(a, b)


def sums(x: Any) -> Any:
    return x.sum(axis=1), x.sum(axis=0)


def extremes(x: Any) -> Any:
    return x.max(axis=1), x.min(axis=0), x.argmax(axis=1), x.argmin(axis=0)


def shifted(x: Any) -> Any:
    """Values that go from loop to loop, and an array that is stored twice."""
    y = x - x.max(axis=1, keepdims=True)
    return y * y.min(axis=1, keepdims=True) + x


def in_place(x: Any) -> Any:
    x -= x.max(axis=1, keepdims=True)
    x += x.min(axis=1, keepdims=True)
    return x.sum(axis=1)


def moved(x: Any) -> Any:
    """Threads read what others have stored."""
    x += x.max(axis=1, keepdims=True)
    return x[:, ::-1] + x.sum(axis=1, keepdims=True)


def masked(x: Any) -> Any:
    return np.where(x > 3, x, 0).sum(axis=1), (x > 3).any(axis=1), (x > 3).sum(axis=0)


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "f", [sums, extremes, shifted, in_place, moved, masked], ids=lambda f: f.__name__
)
def test_every_size(f: Callable[..., Any], dtype: str, columns: int) -> None:
    if dtype == "?" and f not in (sums, extremes) or dtype == "c8" and f is not sums:
        return
    for rows in (1, 3, 7):
        check(f, numbers(dtype, rows, columns))


@pytest.mark.parametrize("f", [sums, extremes, masked], ids=lambda f: f.__name__)
def test_many_rows(f: Callable[..., Any]) -> None:
    for dtype in ("f4", "f8"):
        check(f, numbers(dtype, 300, 40))


@pytest.mark.parametrize("columns", [33, 64, 100, 300])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("f", [softmax, layer_norm], ids=lambda f: f.__name__)
def test_floats(f: Callable[..., Any], dtype: str, columns: int) -> None:
    check(f, _RANDOM.standard_normal((5, columns)).astype(dtype), exact=False)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_special_values(dtype: str) -> None:
    for value in (np.nan, np.inf, -np.inf, -0.0):
        for at in (0, 5, 33, 66):
            x = numbers(dtype, 3, 67)
            x[1, at] = value
            x[2] = value
            with np.errstate(all="ignore"):
                check(sums, x)
                check(extremes, x)
                check(shifted, x)


@pytest.mark.parametrize("f", [sums, extremes, shifted], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f2", "i8"])
def test_views(f: Callable[..., Any], dtype: str) -> None:
    x = numbers(dtype, 6, 140)
    jitted = tracejit.jit(f)
    for view in (
        lambda x: x[:, :100], lambda x: x[:, 4:104], lambda x: x[:, 1:101], lambda x: x[:, ::2],
        lambda x: x[::-1, ::-1], lambda x: x[1:5, 3:], lambda x: x[2:3],
        lambda x: x[:, 139:],
    ):  # fmt: skip
        for a, b in zip(*map(several, (jitted(view(to_simulated(x))), f(view(x)))), strict=True):
            equal(a.get(), b)


def test_sizes_known_when_the_kernel_runs() -> None:
    for f in (sums, extremes, shifted):
        jitted = tracejit.jit(f, device="cuda-sim")
        for shape in ((3, 40), (5, 64), (2, 67), (1, 200), (7, 33), (4, 1)):
            x = numbers("f4", *shape)
            for a, b in zip(*map(several, (jitted(x), f(x))), strict=True):
                equal(a, b)


@pytest.mark.parametrize("n", [4096, 4097, 4103, 5000, 9001])
def test_sums_of_everything(n: int) -> None:
    for dtype in ("f4", "i2"):
        check(lambda x: (x.sum(), x.max(), x.argmin()), numbers(dtype, n + 3)[3:])


def test_the_sum_does_not_depend_on_where_an_array_begins() -> None:
    x = _RANDOM.standard_normal((4, 132)).astype("f4")
    jitted = tracejit.jit(lambda x: (x.sum(axis=1), x.sum(axis=0)))
    found = []
    for start in range(4):
        whole = np.zeros((4, 136), "f4")
        whole[:, start : start + 132] = x
        found.append([a.get() for a in jitted(to_simulated(whole)[:, start : start + 132])])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_a_row_is_loaded_once_by_vectors() -> None:
    x = np.zeros((16384, 1024), np.float32)
    (launch,) = launches(softmax, x)
    assert launch.shape.x == 64 and launch.source.count("fn_loads") == 1
    assert launch.source.count("fn_put4") == 4
    (launch,) = launches(lambda x: x.sum(axis=1), x)
    assert launch.shape.x == 32 and "syncthreads" not in launch.source
    text = ptx(launch, (9, 0))
    assert text.count("ld.global.v4.f32") == 8 and "bar.sync" not in text
    assert "shfl.sync" in text and ".local" not in text


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "i8", "f2"])
def test_few_long_rows_are_shared_by_blocks(rows: int, dtype: str) -> None:
    for columns in (4100, 5003):
        x = numbers(dtype, rows, columns)
        check(lambda x: (x.sum(axis=1) + 1, x.argmax(axis=1), (x > 4).any(axis=1)), x)
    x = np.zeros((128, 1 << 20), np.float32)
    assert [launch.shape.kind for launch in launches(lambda x: x.sum(axis=1), x)][0] == "partial"


@pytest.mark.parametrize("shape", [(0, 0), (0, 40), (3, 0), (0, 5000)], ids=str)
def test_nothing(shape: tuple[int, int]) -> None:
    x = numbers("f4", *shape)
    check(lambda x: (x.sum(axis=1), x.sum(axis=0), x.sum(), (x > 1).any(axis=1)), x)
    check(lambda x: x - x.sum(axis=1, keepdims=True), x)

"""Threads that take several elements at once: their results, and where they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.codegen.device.test_ptx import launches, ptx
from tests.support.compare import assert_parity
from tracejit.codegen.cuda.simulator import SimulatedMemoryError, _Block, _Buffer
from tracejit.runtime.device.simulated import to_simulated

pytestmark = pytest.mark.sampled(14)

DTYPES = ("f4", "f8", "f2", "i1", "i4", "?")
_RANDOM = np.random.default_rng(7)


def numbers(dtype: str, *shape: int) -> Any:
    """Small numbers, of which sums are exact."""
    return _RANDOM.integers(0, 2 if dtype == "?" else 9, shape).astype(dtype)


def count(f: Callable[..., Any], *args: Any) -> list[int]:
    """How many elements a thread of each launch takes at once."""
    found = launches(f, *args)
    for launch in found:
        assert (launch.shape.each > 1) == ("fn_store" in launch.source)
    return [launch.shape.each for launch in found]


def check(f: Callable[..., Any], *args: Any) -> None:
    """The results and the arguments afterwards are NumPy's."""
    assert_parity(f, *args, jitted=tracejit.jit(f, device="cuda-sim"))


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many elements each vector had that kernels loaded or stored since."""
    found: list[int] = []
    inner = _Buffer._vector

    def vector(self: _Buffer, index: int, count: int) -> slice:
        found.append(count)
        return inner(self, index, count)

    monkeypatch.setattr(_Buffer, "_vector", vector)
    return found


def both(x: Any, y: Any) -> Any:
    return np.where(x > y, x, y), x > y


def total(x: Any, y: Any) -> Any:
    return x + y


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_size(dtype: str, moved: list[int]) -> None:
    each = 16 // np.dtype(dtype).itemsize
    jitted = tracejit.jit(both, device="cuda-sim")
    for n in range(3 * each + 2):
        moved.clear()
        assert_parity(both, numbers(dtype, n), numbers(dtype, n), jitted=jitted)
        assert set(moved) == ({each} if n >= each else set())


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_mixed_types(first: str, second: str) -> None:
    x, y = numbers(first, 37), numbers(second, 37)
    check(both, x, y)
    check(total, x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("starts", [(0, 0), (0, 1), (1, 1), (16, 0)], ids=str)
def test_views_that_begin_anywhere(dtype: str, starts: tuple[int, int], moved: list[int]) -> None:
    x, y = numbers(dtype, 67), numbers(dtype, 67)
    a, b = (to_simulated(v)[k : 51 + k] for v, k in zip((x, y), starts, strict=True))
    found = tracejit.jit(total)(a, b).get()
    expected = total(x[starts[0] : 51 + starts[0]], y[starts[1] : 51 + starts[1]])
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    assert bool(moved) == (1 not in starts)


def updated(x: Any, y: Any) -> Any:
    x += y * 2
    return x


def inside(x: Any, y: Any) -> Any:
    x[1:-1] += y[1:-1]
    return x


def moved_down(x: Any, y: Any) -> Any:
    x[:-1] = x[1:] + y[:-1]
    return x


def moved_up(x: Any, y: Any) -> Any:
    x[4:] = x[:-4] + y[:-4]
    return x


def smoothed(x: Any, y: Any) -> Any:
    x[1:-1] += x[2:] + x[:-2] - y[1:-1]
    return x


def halves(x: Any, y: Any) -> Any:
    x[:16] += x[16:32] * y[:16]
    return x


def swapped(x: Any, y: Any) -> Any:
    x[:], y[:] = y + 1, x.copy()
    return x, y


@pytest.mark.parametrize(
    "f", [updated, inside, moved_down, moved_up, smoothed, halves, swapped],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_updates_in_place(f: Callable[..., Any], dtype: str) -> None:
    for n in (32, 35):
        check(f, numbers(dtype, n), numbers(dtype, n))
        check(f, numbers(dtype, n + 1)[1:], numbers(dtype, n))


def test_an_update_goes_by_vectors(moved: list[int]) -> None:
    x = numbers("f4", 32)
    assert count(updated, x, x.copy()) == [4]
    check(updated, x, x.copy())
    assert set(moved) == {4}


def scaled_rows(x: Any, y: Any) -> Any:
    return x * y + y


def scaled_columns(x: Any, y: Any) -> Any:
    return x * y[:, None] + y[0]


def counted(x: Any, y: Any) -> Any:
    return x + np.arange(x.shape[1], dtype=x.dtype) * y.max()


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("columns", [3, 7, 8, 16, 20])
def test_rows_columns_and_scalars(dtype: str, columns: int) -> None:
    x = numbers(dtype, 5, columns)
    check(scaled_rows, x, numbers(dtype, columns))
    check(scaled_columns, x, numbers(dtype, 5))
    check(counted, x, numbers(dtype, 5))


def test_rows_go_by_vectors_where_all_of_them_are_aligned() -> None:
    assert count(scaled_rows, numbers("f4", 5, 8), numbers("f4", 8)) == [4]
    assert count(scaled_rows, numbers("f4", 5, 10), numbers("f4", 10)) == [1]
    assert count(scaled_columns, numbers("f4", 5, 8), numbers("f4", 5)) == [4]


def test_sizes_known_when_the_kernel_runs(moved: list[int]) -> None:
    jitted = tracejit.jit(total, device="cuda-sim")
    for n in (9, 14, 1, 0, 3, 16, 37):
        moved.clear()
        assert_parity(total, numbers("f4", n), numbers("f4", n), jitted=jitted)
        assert bool(moved) == (n >= 4)
    found = [v.trips for v in jitted.report().variants if v.trips is not None]
    assert any("int64(n0) & -4" in x.source for trips in found for x in trips.launches)


def test_rows_of_a_wider_array(moved: list[int]) -> None:
    """Their steps are known when the kernel runs."""
    jitted = tracejit.jit(scaled_rows)
    some = []
    for wide in (24, 23):
        x, y = numbers("f4", 5, wide), numbers("f4", 16)
        moved.clear()
        found = jitted(to_simulated(x)[:, :16], to_simulated(y)).get()
        assert np.array_equal(found, scaled_rows(x[:, :16], y))
        some.append(len(moved))
    # Four vectors of each row and array; of rows of 23 the first and the last are aligned.
    assert some == [5 * 4 * 3, 2 * 4 * 3]


def stepped(x: Any) -> Any:
    return x[::2] + 1


def reversed_(x: Any) -> Any:
    return x[::-1] + 1


def picked(x: Any) -> Any:
    return x[np.array([3, 1, 2, 0] * 4)] + 1


def neighbours(x: Any) -> Any:
    return x[1:] - x[:-1]


def complex_(x: Any) -> Any:
    return (x + 1j) * x


def summed(x: Any) -> Any:
    return x.reshape(-1, 2).sum(axis=1)


def beside(x: Any) -> Any:
    """No two of these are aligned at once, where arrays are."""
    return x[1:-1] + x[1:-1]


def many(x: Any) -> Any:
    """More arrays than registers are to hold."""
    a, b, c, d, e, f, g, h = x.reshape(8, 8)
    return a + b + c + d + e + f + g + h


def hard(x: Any) -> Any:
    return np.sin(x) * np.cos(x) + np.tan(x) * np.exp(x)


@pytest.mark.parametrize(
    "f", [stepped, reversed_, picked, neighbours, beside, complex_, summed, many, hard],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_goes_one_by_one(f: Callable[..., Any]) -> None:
    x = numbers("f4", 64)
    assert set(count(f, x)) == {1}
    if f is not hard:
        check(f, x)


def test_the_compiled_code_has_vectors() -> None:
    x = numbers("f4", 203)
    (launch,) = launches(total, x, x)
    for capability in ((8, 0), (9, 0)):
        text = ptx(launch, capability)
        assert "ld.global.v4.f32" in text and "st.global.v4.f32" in text
        assert "ld.global.f32" in text and "st.global.f32" in text
        assert ".f64" not in text and ".local" not in text


@pytest.mark.parametrize("dtype", ["i1", "f2", "?"])
def test_vectors_of_small_elements_are_words(dtype: str) -> None:
    x = numbers(dtype, 203)
    (launch,) = launches(total, x, x)
    text = ptx(launch, (9, 0))
    assert "ld.global.v4.u32" in text and "st.global.v4.u32" in text
    assert ".local" not in text


def test_the_simulator_checks_vectors() -> None:
    block = _Block(64)
    buffer = _Buffer(block, block.address + 8, np.dtype("f4"), "x")
    assert len(buffer.load(2, 4)) == 4
    with pytest.raises(SimulatedMemoryError, match="not aligned"):
        buffer.load(0, 4)
    with pytest.raises(SimulatedMemoryError, match="not aligned"):
        buffer.store(1, (np.float32(0),) * 2)
    with pytest.raises(SimulatedMemoryError, match="outside"):
        buffer.load(14, 4)
    with pytest.raises(SimulatedMemoryError, match="outside"):
        buffer.store(-6, (np.float32(0),) * 4)

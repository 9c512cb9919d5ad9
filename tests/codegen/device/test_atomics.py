"""Stores to places that data tell: side by side where no order shows, else in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.codegen.device.test_ptx import ptx
from tests.support.compare import assert_parity
from tracejit.codegen.device.target import Trips

F = Callable[..., Any]

#: How many updates there are: many to one place, which a thread of its own each makes.
COUNT = 70
PLACES = np.arange(COUNT) * 5 % 13 - 6
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
WIDE = [np.int32, np.int64, np.uint32, np.uint64]
#: What a kernel calls, by the ufunc whose `at` it is.
UPDATES = {
    np.add: "atomic_add",
    np.subtract: "atomic_add",
    np.minimum: "atomic_min",
    np.maximum: "atomic_max",
    np.bitwise_and: "atomic_and",
    np.bitwise_or: "atomic_or",
    np.bitwise_xor: "atomic_xor",
}


def checked(f: F, *args: Any) -> tuple[Trips, str]:
    """A call on the simulated device gives what NumPy does; its launches, and their sources."""
    jitted = tracejit.jit(f, device="cuda-sim")
    assert_parity(f, *args, jitted=jitted)
    (compiled,) = jitted.report().variants
    trips: Trips = compiled.trips
    return trips, "\n".join(launch.source for launch in trips.launches)


def is_sorted(source: str) -> bool:
    """Whether stores are made in the order of sorted keys."""
    return "_key" in source


def values(dtype: Any, *shape: int) -> Any:
    """Numbers of the whole range of a dtype: sums of them wrap around."""
    kind = np.iinfo(dtype)
    return np.random.default_rng(3).integers(kind.min, kind.max, shape, dtype, endpoint=True)


def atomics_in(code: str) -> list[str]:
    """The atomic operations of PTX: "add.u32"."""
    return re.findall(r"\b(?:atom|red)\.(?:global\.)?(\w+\.\w+)", code)


def updated(ufunc: np.ufunc) -> F:
    def f(x: Any, k: Any, v: Any) -> Any:
        ufunc.at(x, k, v)
        return x

    return f


@pytest.mark.parametrize("ufunc", UPDATES, ids=lambda u: u.__name__)
@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.__name__)
def test_integers(ufunc: np.ufunc, dtype: Any) -> None:
    trips, source = checked(updated(ufunc), values(dtype, 13), PLACES, values(dtype, COUNT))
    assert (UPDATES[ufunc] in source) == (dtype in WIDE)
    assert is_sorted(source) == (dtype not in WIDE)
    if dtype in WIDE:
        # One that checks the indices, and one that updates.
        assert len(trips.launches) == 2


@pytest.mark.sampled(12)
@pytest.mark.parametrize("ufunc", UPDATES, ids=lambda u: u.__name__)
@pytest.mark.parametrize("dtype", WIDE, ids=lambda d: d.__name__)
def test_machine_code_has_them(ufunc: np.ufunc, dtype: Any) -> None:
    args = values(dtype, 13), PLACES, values(dtype, COUNT)
    *_, launch = tracejit.jit(updated(ufunc), device="cuda").lower(*args).program.trips.launches
    kind = UPDATES[ufunc].removeprefix("atomic_")
    sign = "b" if kind in ("and", "or", "xor") else "s" if np.dtype(dtype).kind == "i" else "u"
    sign = "u" if kind == "add" else sign
    for capability in ((8, 0), (9, 0)):
        word = f"{kind}.{sign}{8 * np.dtype(dtype).itemsize}"
        assert atomics_in(ptx(launch, capability)) == [word]


def test_a_wider_number_wraps_around_in_the_end() -> None:
    def f(x: Any, k: Any) -> Any:
        np.add.at(x, k, 1)
        np.subtract.at(x, k, 2**40 + 3)
        return x

    _, source = checked(f, values(np.int64, 13).astype(np.int32), PLACES)
    assert source.count("atomic_add") == 2 and not is_sorted(source)


def test_places_in_two_axes_and_rows() -> None:
    def f(x: Any, i: Any, j: Any, v: Any) -> Any:
        np.add.at(x, (i, j), v)
        np.maximum.at(x, i, v[:7])
        return x

    rows, columns = PLACES % 5 - 2, PLACES % 7
    _, source = checked(f, values(np.int64, 5, 7), rows, columns, values(np.int64, COUNT))
    assert "atomic_add" in source and "atomic_max" in source and not is_sorted(source)


def test_only_the_parts_of_a_view() -> None:
    def f(x: Any, k: Any, v: Any) -> Any:
        np.add.at(x[1::2, ::-1], (slice(1, 4), k), v)
        return x

    _, source = checked(f, values(np.int32, 9, 13), PLACES, values(np.int32, 3, COUNT))
    assert not is_sorted(source)


def test_no_places_at_all() -> None:
    none = np.zeros(0, np.int64)
    for size in (0, 4):
        checked(updated(np.add), values(np.int64, size), none, values(np.int64, 0))


def test_sizes_that_arguments_tell() -> None:
    jitted = tracejit.jit(updated(np.add), device="cuda-sim")
    for count in (COUNT, 1, 0, 33):
        v = values(np.int32, COUNT)[:count]
        assert_parity(updated(np.add), values(np.int32, 13), PLACES[:count], v, jitted=jitted)


@pytest.mark.parametrize("wrong", [13, -14, 2**40])
def test_a_place_outside_leaves_all_as_it_was(wrong: int) -> None:
    def f(x: Any, y: Any, k: Any, v: Any) -> Any:
        np.add.at(y, v, 1)
        np.add.at(x, k, v)
        y[0] = 100
        return x

    places = PLACES.copy()
    places[COUNT // 2] = wrong
    jitted = tracejit.jit(f, device="cuda-sim")
    args = values(np.int64, 13), np.zeros(9, np.int32), PLACES, np.arange(COUNT) % 9
    # assert_parity compares the exception and the arguments after it, too.
    for k in (PLACES, places, PLACES):
        assert_parity(f, *args[:2], k, args[3], jitted=jitted)
    compiled = jitted.report().variants[0]
    assert not is_sorted("".join(launch.source for launch in compiled.trips.launches))


def marked(m: Any, k: Any) -> Any:
    m[k] = True
    return m


def reset(x: Any, k: Any, c: Any) -> Any:
    x[k] = c * 2
    return x


def test_the_same_value_everywhere() -> None:
    trips, source = checked(marked, np.zeros(13, np.bool_), PLACES)
    assert len(trips.launches) == 2 and not is_sorted(source)
    for x in (np.zeros(13), np.zeros(13, np.float16), np.zeros((13, 3), np.int8)):
        _, source = checked(reset, x, PLACES, 2.5 if x.dtype.kind == "f" else 3)
        assert not is_sorted(source) and "atomic" not in source


def test_other_values_keep_their_order() -> None:
    def f(x: Any, k: Any, v: Any) -> Any:
        x[k] = v
        return x

    _, source = checked(f, values(np.int64, 13), PLACES, values(np.int64, COUNT))
    assert is_sorted(source)


@pytest.mark.parametrize("name", ["add", "maximum", "logical_or", "multiply", "logical_and"])
def test_truths(name: str) -> None:
    f = updated(getattr(np, name))
    for old in (False, True):
        x = np.zeros(13, np.bool_) | old
        trips, source = checked(f, x, PLACES, np.arange(COUNT) % 11 == 0)
        assert len(trips.launches) == 2 and not is_sorted(source)


@pytest.mark.parametrize("name", ["add", "minimum", "maximum"])
def test_floats_keep_their_order(name: str) -> None:
    v = np.where(np.arange(COUNT) % 9 == 0, np.nan, np.arange(COUNT) * 0.1)
    v[::5] *= -0.0
    _, source = checked(updated(getattr(np, name)), np.zeros(13), PLACES, v)
    assert is_sorted(source) and "atomic" not in source


@pytest.mark.parametrize("name", ["multiply", "left_shift", "floor_divide"])
def test_other_functions_keep_their_order(name: str) -> None:
    v = np.arange(COUNT) % 3 + 1
    _, source = checked(updated(getattr(np, name)), values(np.int64, 13), PLACES, v)
    assert is_sorted(source) and "atomic" not in source


def test_what_reads_the_array_itself_keeps_its_order() -> None:
    def of_places(x: Any) -> Any:
        np.add.at(x, x % 13, x)
        return x

    def negated(x: Any, k: Any, v: Any) -> Any:
        x[k] = v - x[k]
        return x

    checked(of_places, values(np.int64, COUNT))
    checked(negated, values(np.int64, 13), PLACES, values(np.int64, COUNT))


def test_gradients_of_gathers_are_the_same_each_time() -> None:
    def f(x: Any, k: Any) -> Any:
        return (np.sin(x[k]) * np.arange(len(k))).sum()

    x = np.linspace(0.0, 3.0, 13)
    jitted = tracejit.jit(tracejit.grad(f), device="cuda-sim")
    found = jitted(x, PLACES)
    for _ in range(2):
        assert jitted(x, PLACES).tobytes() == found.tobytes()
    expected = np.zeros(13)
    np.add.at(expected, PLACES, np.cos(x[PLACES]) * np.arange(COUNT))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    (compiled,) = jitted.report().variants
    assert is_sorted("".join(launch.source for launch in compiled.trips.launches))


def histogram(k: Any) -> Any:
    h = np.zeros(13, np.int64)
    for i in range(len(k)):
        h[k[i]] += 1
    return h


def several(k: Any, h: Any, low: Any) -> Any:
    for i in range(len(k)):
        if k[i] > 1:
            h[k[i]] -= k[i]
        low[k[i]] = np.minimum(low[k[i]], i)
        h[i % 13] += 2
    return h


def in_a_loop_inside(k: Any, h: Any) -> Any:
    for i in range(len(k)):
        j = abs(k[i])
        while j > 0:
            h[j] ^= k[i]
            j = j // 2
    return h


def pairs(k: Any, h: Any) -> Any:
    for i in range(len(k)):
        for j in range(0, len(k), 3):
            h[k[j] % 5, k[i] - k[j]] |= k[i] + 8
    return h


BLANK = np.zeros((5, 13), np.int64)
LOOPS: list[tuple[F, tuple[Any, ...]]] = [
    (histogram, (PLACES,)),
    (lambda k: np.bincount(k, minlength=3), (PLACES + 6,)),
    (several, (PLACES, BLANK[0], np.full(13, 99, np.int64))),
    (in_a_loop_inside, (PLACES, BLANK[0])),
    (pairs, (PLACES[:20], BLANK)),
]


@pytest.mark.parametrize(("f", "args"), LOOPS, ids=lambda x: getattr(x, "__name__", ""))
def test_loops_that_update(f: F, args: tuple[Any, ...]) -> None:
    trips, source = checked(f, *args)
    assert "atomic" in source and not trips.host
    names = [launch.name.rpartition("_")[0] for launch in trips.launches]
    assert names.count("loop") == 1 and "store" not in names
    for launch in trips.launches:
        assert bool(atomics_in(ptx(launch, (9, 0)))) == ("atomic" in launch.source)


def test_a_loop_that_updates_outside_leaves_all_as_it_was() -> None:
    jitted = tracejit.jit(several, device="cuda-sim")
    for place in (12, 13, -14):
        places = PLACES.copy()
        places[COUNT // 2] = place
        assert_parity(several, places, BLANK[0], BLANK[1] + 99, jitted=jitted)


def two_kinds(k: Any, h: Any) -> Any:
    for i in range(len(k)):
        h[k[i]] += 1
        h[k[i]] = np.maximum(h[k[i]], i)
    return h


def looks_between(k: Any, h: Any) -> Any:
    for i in range(len(k)):
        h[k[i]] += 1
        if h[0] > 2:
            h[k[i]] += 5
    return h


def of_its_own_place(k: Any, h: Any) -> Any:
    for i in range(len(k)):
        h[h[k[i]] % 13] += k[i]
    return h


def from_another(k: Any, h: Any) -> Any:
    for i in range(len(k)):
        h[k[i]] = k[i] - h[k[i]]
    return h


ORDERED = [(f, np.int64) for f in (two_kinds, looks_between, of_its_own_place, from_another)]
ORDERED += [(f, np.float64) for f in (two_kinds, looks_between)] + [(looks_between, np.int8)]


@pytest.mark.parametrize(("f", "dtype"), ORDERED, ids=lambda x: x.__name__)
def test_loops_whose_order_shows_are_no_threads(f: F, dtype: Any) -> None:
    trips, source = checked(f, PLACES, np.zeros(13, dtype))
    assert "atomic" not in source and "loop" not in [x.name[:4] for x in trips.launches]


def test_elements_of_its_own_need_no_atomics() -> None:
    def f(x: Any) -> Any:
        for i in range(len(x)):
            while x[i] % 3:
                x[i] += 1
        return x

    _, source = checked(f, values(np.int64, COUNT))
    assert "def loop" in source and "atomic" not in source


def test_histograms_of_lanes() -> None:
    f = tracejit.vmap(histogram)
    lanes = np.stack([PLACES, PLACES[::-1] // 2])
    found = tracejit.jit(f, device="cuda-sim")(lanes)
    assert found.tolist() == [histogram(lane).tolist() for lane in lanes]

"""Programs that once went wrong on a device: each says what it was."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity, assert_same
from tracejit.codegen.cuda.simulator import simulator


def moved(f: Any, *args: Any, also: Any = ()) -> Any:
    """Compare a function with itself on the simulated device, for some calls; the jitted one."""
    jitted = tracejit.jit(f, device="cuda-sim")
    assert_parity(f, *args, jitted=jitted, also=also, parity="order", ulp=8)
    assert "TJ013" not in str(jitted.report())
    return jitted


@pytest.mark.parametrize("source", ["f2", "f4", "f8", "i8"])
def test_casts_in_independent_loops(source: str) -> None:
    """Kernels have no cast of float64 to float16, which was found out too late."""

    def f(x: Any, a: Any) -> Any:
        for i in range(len(x)):
            v = x[i]
            while v > 1:
                v = v / 2
            a[i] = v
        return a

    moved(f, np.array([1, 5, 9]).astype(source), np.zeros(3, np.float16))


def test_powers_of_integers_that_stay_on_the_device() -> None:
    """A parameter was a Python int where a function in source asks for a dtype."""
    moved(lambda x: (x[3] ** 2, x[0] ** x[1]), np.array([5, 3, 2, 4]))


def raised_in_a_loop(x: Any) -> Any:
    for k in range(3):
        if x.sum() > 2:
            raise KeyError(k)
        x += 1
    return x


def raised_with_elements(x: Any) -> Any:
    for _ in range(3):
        x[::-1] += x * 0.5 + 1
        if x.max() > 2:
            raise ValueError(x.max(), x)
    return x


def printed_on_the_way(x: Any) -> Any:
    y = x
    for _ in range(3):
        x = x + 1
        y[1:] = x[:-1]
        if x.sum() > 12:
            raise KeyError(x.shape, float(x[0]))
        print(y)
    return x


@pytest.mark.parametrize("f", [raised_in_a_loop, raised_with_elements, printed_on_the_way])
@pytest.mark.parametrize("order", ["C", "strided", "reversed"])
def test_exceptions_leave_arguments_as_they_are_by_then(f: Any, order: str) -> None:
    """The host copied what arguments hold to the memory of the device."""
    x = np.linspace(-1.0, 1.0, 9)
    given = {"C": x, "strided": np.repeat(x, 2)[::2], "reversed": np.repeat(x, 2)[::-2]}[order]
    moved(f, given, also=[(given + 5,)])


def sorted_and_summed(x: Any) -> Any:
    return np.sort(x), x.sum() + 1, x[x > 0.5]


def with_a_round_trip(x: Any) -> Any:
    y = np.exp(x)
    x[0] += 1
    return y[::2].sum(), np.linalg.svd(x.reshape(-1, 1))[1], x.std()


@pytest.mark.parametrize("f", [sorted_and_summed, with_a_round_trip])
def test_without_memory_nothing_stays_on_the_device(f: Any, monkeypatch: Any) -> None:
    """What a program had taken in the middle was not given back where it left for want of more."""
    device = simulator()
    expected = f(np.linspace(0.0, 1.0, 9))
    gc.collect()
    before = device.allocated
    for room in range(0, 1200, 112):
        jitted = tracejit.jit(f, device="cuda-sim")
        used = sum(block.size for block in device._blocks.values())
        monkeypatch.setattr(device, "capacity", used + room)
        for _ in range(2):
            with contextlib.suppress(MemoryError):
                jitted(np.linspace(0.0, 1.0, 9))
        monkeypatch.undo()
        assert_same(expected, jitted(np.linspace(0.0, 1.0, 9)), "order", ulp=8)
        del jitted
        gc.collect()
        assert device.allocated == before, room


def shrinks(x: Any, y: Any, n: int) -> Any:
    while len(x) > n:
        y = np.sin(y) + x[0]
        x = x[:-1] * 1.5 + x[1:]
    return x, y


@pytest.mark.parametrize("n", [0, 1, 7, 9])
def test_what_waits_is_launched_where_memory_need_not_grow(n: int) -> None:
    """A kernel in front of one whose result lies in memory that may grow ran only if that grew."""
    moved(shrinks, np.linspace(-1.0, 1.0, 9), np.linspace(0.0, 1.0, 4), n)


def one_of_repeated(x: Any, k: int) -> Any:
    x = np.repeat(x, 2)
    return x[k]


@pytest.mark.parametrize("k", [0, 1, -1])
def test_an_index_into_nothing_is_outside(k: int) -> None:
    """No element's place has the index in it where there are none: the check was left out."""
    other = [(np.ones(4), 2), (np.zeros(0), k), (np.ones(3), 9)]
    moved(one_of_repeated, np.ones(3), 1, also=other)


def test_columns_as_many_as_the_lesser_of_two() -> None:
    """The second kernel of a sum by columns had a name that only the first one binds."""

    def f(x: Any, y: Any) -> Any:
        total = np.zeros(x.shape[1])
        for i in range(x.shape[1]):
            total[i : i + 3] += (x[:, i : i + 3] * y[:, :1]).sum(0)
        return total

    x = np.random.default_rng(0).random((40, 5))
    moved(f, x, x)

"""Functions that crash, hang or write anywhere where they are tried on stand-ins."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special

import tracejit
from tracejit.frontend.host import infer_by_example as inference
from tracejit.frontend.host.child_process import ChildCrashed, yielded_in_child
from tracejit.frontend.host.functions import may_crash
from tracejit.ops.host.registered import host_path

IMAGE = np.random.default_rng(0).random((8, 9))
FULL, FLAT = np.ones((3, 3), int), np.ones((3, 3))


def grey(name: str) -> Callable[..., Any]:
    filtered = getattr(scipy.ndimage, name)

    def f(image: Any, footprint: Any, structure: Any) -> Any:
        return filtered(image, footprint=footprint, structure=structure)

    return f


def remez(bands: Any, desired: Any) -> Any:
    return scipy.signal.remez(9, bands, desired)


def not_taken(image: Any, footprint: Any, structure: Any) -> Any:
    """A call that would crash, in a branch that is not taken for its operands."""
    if footprint.sum() > 0:
        image = scipy.ndimage.grey_dilation(image, footprint=footprint, structure=structure)
    return image * 2


#: Each crashes on an empty footprint, or on bands of no width.
CRASHING: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        name: (grey(name), (IMAGE, FULL, FLAT))
        for name in (
            *("grey_dilation", "grey_erosion", "grey_opening", "grey_closing"),
            *("white_tophat", "black_tophat", "morphological_gradient"),
        )
    },
    "remez": (remez, (np.array([0, 0.1, 0.2, 0.5]), np.array([1.0, 0]))),
    "not taken": (not_taken, (IMAGE, 0 * FULL, FLAT)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CRASHING)
def test_what_crashes_on_stand_ins_is_compiled(name: str) -> None:
    f, args = CRASHING[name]
    g = tracejit.jit(f)
    np.testing.assert_array_equal(g(*args), f(*args))
    assert not g.report().fallbacks, str(g.report())


def test_whose_functions_are_tried_apart() -> None:
    apart = (scipy.ndimage.label, scipy.linalg.lu_solve, scipy.fft.dct, scipy.special.softmax)
    assert all(may_crash(str(host_path(f))) for f in apart)
    here = (np.linalg.svd, np.unique, np.add, scipy.special.gammaln)
    assert not any(may_crash(str(host_path(f))) for f in here)
    assert not may_crash("scipy.special:gammaln.outer")


def detrended(x: Any) -> Any:
    return scipy.signal.detrend(x) + 1


def refused(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> str:
    """Why the function is not compiled where `act` is what calls on stand-ins do."""

    def call(*_: Any) -> Any:
        act()

    monkeypatch.setattr(inference, "_call", call)
    g = tracejit.jit(detrended)
    with pytest.warns(tracejit.FallbackWarning):
        np.testing.assert_array_equal(g(IMAGE), detrended(IMAGE))
    return str(g.report())


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.compiles
def test_a_crash_on_each_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "it crashes for what it is given while compiling" in refused(monkeypatch, crash)


@pytest.mark.compiles
def test_a_function_that_never_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "_PATIENCE", 0.1)
    assert "not known after 0.1 s" in refused(monkeypatch, lambda: time.sleep(60))


@pytest.mark.compiles
def test_without_fork_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert "there is no child process" in refused(monkeypatch, crash)


# The child ---------------------------------------------------------------------------------------


def numbers(then: Callable[[], object]) -> Iterator[int]:
    yield 1
    yield 2
    then()
    yield 3


def test_what_a_child_yields() -> None:
    large = b"x" * 1_000_000
    assert list(yielded_in_child(iter([1, large, (None, "a")]), 60)) == [1, large, (None, "a")]
    assert list(yielded_in_child(iter(()), 60)) == []


@pytest.mark.parametrize(
    "end",
    [crash, lambda: ctypes.string_at(0), lambda: os._exit(0), lambda: [][1], lambda: exit(1)],
)
def test_what_was_yielded_before_a_crash_is_known(end: Callable[[], object]) -> None:
    found = []
    with pytest.raises(ChildCrashed):
        for n in yielded_in_child(numbers(end), 60):
            found.append(n)
    assert found == [1, 2]


def asleep() -> Iterator[int]:
    yield os.getpid()
    time.sleep(60)


def test_no_child_is_left_behind() -> None:
    children = []
    with pytest.raises(TimeoutError):
        for child in yielded_in_child(asleep(), 0.1):
            children.append(child)
    items = yielded_in_child(asleep(), 60)
    children.append(next(items))
    del items
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_stores_of_the_child_are_its_own() -> None:
    kept = np.zeros(3)

    def stores() -> Iterator[float]:
        kept[:] = 1
        yield float(kept.sum())

    assert list(yielded_in_child(stores(), 60)) == [3.0]
    assert not kept.any()

"""Calls from threads that cannot compile: they run as plain Python, and say so."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.errors import FallbackError, FallbackWarning
from tracejit.runtime.refusing import LEAST_STACK

X = np.linspace(0.0, 1.0, 5)


def wave(x: Any) -> Any:
    return np.sin(x) + 1


@contextmanager
def stacks_of(size: int) -> Iterator[None]:
    """Threads begin with stacks of `size` bytes."""
    before = threading.stack_size(size)
    try:
        yield
    finally:
        threading.stack_size(before)


def in_thread(size: int, act: Callable[[], Any]) -> Any:
    """What `act` gives, or raises, in a thread with a stack of `size` bytes."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(act())
        except Exception as e:
            found.append(e)

    with stacks_of(size):
        thread = threading.Thread(target=run)
        thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


# A thread may get the larger stack of one that has ended: up to four times as large.
@pytest.mark.parametrize("size", [32 << 10, 64 << 10])
@pytest.mark.parametrize("known", [False, True])
def test_a_small_stack(size: int, known: bool) -> None:
    f = tracejit.jit(wave)
    if known:
        assert not f.report().fallbacks
    with pytest.warns(FallbackWarning, match="a stack of less than 512 kB") as caught:
        np.testing.assert_array_equal(in_thread(size, lambda: f(X)), wave(X))
        np.testing.assert_array_equal(in_thread(size, lambda: f(X)), wave(X))
    assert len(caught) == 1 and caught[0].message.code == "TJ035"  # type: ignore[union-attr]
    assert caught[0].filename == __file__
    assert [x.code for x in f.report().fallbacks] == ["TJ035"]
    # Elsewhere it is compiled; then it is called there, too.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_thread(LEAST_STACK, lambda: f(X)).tolist() == f(X).tolist()
        assert in_thread(64 << 10, lambda: f(X)).tolist() == f(X).tolist()
    assert len(f.report().compiles) == 1


def test_what_is_an_error_there() -> None:
    strict, gradient = tracejit.jit(strict=True)(wave), tracejit.grad(lambda x: wave(x).sum())
    for f in (strict, gradient):
        with pytest.raises(FallbackError, match="a stack of less than 512 kB") as caught:
            in_thread(64 << 10, lambda f=f: f(X))  # type: ignore[misc]
        assert caught.value.code == "TJ035"
    np.testing.assert_allclose(gradient(X), np.cos(X))


def test_an_eager_call_says_nothing() -> None:
    f = tracejit.jit(wave)

    def act() -> Any:
        with tracejit.eager():
            return f(X)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(in_thread(64 << 10, act), wave(X))
    assert not f.report().fallbacks


def test_no_compile_begins_beside_where_stacks_are_small() -> None:
    f = tracejit.jit(wave)
    tracejit.config.set_background(True)
    try:
        with stacks_of(64 << 10):
            f(X)
    finally:
        tracejit.config.set_background(False)
    assert len(f.report().compiles) == 1

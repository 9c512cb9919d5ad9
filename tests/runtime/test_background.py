"""Compiles in other threads: calls run as plain Python until there is code."""

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit import config


@pytest.fixture(autouse=True)
def in_background() -> Iterator[None]:
    config.set_background(True)
    yield
    config.set_background(False)


def smoothed(x, n):
    for _ in range(n):
        x[1:-1] = (x[:-2] + x[2:]) / 2
    return x.sum()


def test_first_calls_run_plainly_and_later_ones_are_compiled():
    seen = []

    def noted(x):
        seen.append(threading.current_thread())
        return np.sin(x) + 1

    f = tracejit.jit(noted)
    x = np.linspace(0.0, 1.0, 50)
    assert_same(f(x), np.sin(x) + 1)
    # `seen` is a list from outside: the trace appends to it in its own journal alone.
    assert seen == [threading.current_thread()]
    f.report()
    assert_same(f(x), np.sin(x) + 1)


def test_arguments_are_changed_by_the_call_alone():
    f = tracejit.jit(smoothed)
    for n in (3, 3, 5, 5, 8):
        x, y = np.arange(20.0) ** 2, np.arange(20.0) ** 2
        assert_same(f(x, n), smoothed(y, n))
        assert_same(x, y)
        report = f.report()
    assert report.variants and not report.fallbacks


def test_keyword_arguments_and_lists_are_compiled_too():
    def weighted(xs, *, scale):
        return xs[0] * scale + xs[1]

    f = tracejit.jit(weighted)
    given = [np.ones(3), np.arange(3.0)]
    for _ in range(2):
        assert_same(f(given, scale=2.0), weighted(given, scale=2.0))
        assert len(f.report().variants) == 1


@pytest.mark.compiles
def test_what_cannot_be_compiled_is_told_by_the_next_call():
    def asks(x):
        return x * len(os.listdir("/proc/self/fd"))

    f = tracejit.jit(asks)
    f(np.ones(3))
    f.report()
    with pytest.warns(tracejit.FallbackWarning):
        f(np.ones(3))


def test_exceptions_are_those_of_the_call():
    def root(x):
        if x.min() < 0:
            raise ValueError(f"negative: {x.min()}")
        return np.sqrt(x)

    f = tracejit.jit(root)
    for _ in range(3):
        with pytest.raises(ValueError, match="negative: -1.0"):
            f(np.array([-1.0, 2.0]))
        f.report()
    assert_same(f(np.array([1.0, 4.0])), np.array([1.0, 2.0]))


def test_objects_are_compiled_for_by_the_call_itself():
    class Counter:
        def __init__(self):
            self.n, self.total = 0, np.zeros(3)

        @tracejit.jit
        def add(self, x):
            self.n += 1
            self.total += x
            return self.total * self.n

    one = Counter()
    for k in range(1, 4):
        assert_same(one.add(np.ones(3)), np.full(3, float(k * k)))
    assert Counter.add.report().variants


@pytest.mark.compiles
def test_many_threads_call_while_it_is_compiled():
    f = tracejit.jit(lambda x: (np.exp(-x * x) * np.cos(x)).sum())
    x = np.linspace(-2.0, 2.0, 1000)
    want, wrong = (np.exp(-x * x) * np.cos(x)).sum(), []

    def call():
        for _ in range(50):
            if abs(f(x) - want) > 1e-9:
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(f.report().variants) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_fork_compiles_for_itself():
    f = tracejit.jit(lambda x: np.tanh(x) * 3)
    x = np.linspace(0.0, 1.0, 20)
    f(x)
    pid = os.fork()
    if pid == 0:
        try:
            g = tracejit.jit(lambda x: np.tanh(x) * 4)
            g(x)
            ok = np.allclose(g(x), np.tanh(x) * 4) and len(g.report().variants) <= 1
            os._exit(0 if ok else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    f.report()
    np.testing.assert_allclose(f(x), np.tanh(x) * 3, rtol=1e-14)

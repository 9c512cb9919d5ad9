"""Code that was loaded behaves as compiled code: threads, forks, debuggers, signals, memory."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import sys
import threading
import time
import weakref
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit
from tracejit.runtime.cache import recall

X = np.arange(5.0)


def double(x: Any) -> Any:
    return (x * 2 + 1).sum()


def picks(x: Any, k: int) -> Any:
    return x[k] * 2


def spins(n: Any) -> Any:
    s = 0
    for k in range(n):
        s = (s * 3 + k) % 1_000_003
    return s


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def adds(x: Any) -> None:
    x += 1


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def warm(function: Any, *args: Any) -> Any:
    """As in a process that comes after: compiled for such arguments, and not called yet."""
    tracejit.jit(function)(*copy.deepcopy(args))
    return tracejit.jit(function)


def is_warm(f: Any) -> bool:
    return f._state is None and bool(f._cached.files)


def test_threads_call_first_at_once() -> None:
    f = warm(double, X)
    barrier, found = threading.Barrier(8), []

    def call() -> None:
        barrier.wait()
        found.append(f(X))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [double(X)] * 8 and is_warm(f)


def test_no_thread_compiles_what_another_one_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    f = warm(double, X)
    load, inside = recall.load, threading.Event()

    def slowly(*args: Any) -> Any:
        inside.set()
        time.sleep(0.1)
        return load(*args)

    monkeypatch.setattr(recall, "load", slowly)
    thread = threading.Thread(target=f, args=(X,))
    thread.start()
    assert inside.wait(10)
    assert f(X) == double(X)
    thread.join()
    assert is_warm(f)


def test_a_finalizer_waits_for_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that runs inside of a load, or while this package holds a lock, calls eagerly."""
    f, g = warm(double, X), warm(picks, X, 1)
    load, found = recall.load, []

    def interrupted(*args: Any) -> Any:
        found.append(g(X, 1))
        return load(*args)

    monkeypatch.setattr(recall, "load", interrupted)
    assert f(X) == double(X) and found == [2.0]
    monkeypatch.undo()
    assert g(X, 1) == 2.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("loaded", [False, True])
def test_forks(loaded: bool) -> None:
    f = warm(double, X)
    if loaded:
        f(X)
    child = os.fork()
    if child == 0:
        os._exit(0 if f(X) == double(X) and is_warm(f) else 1)
    assert f(X) == double(X) and is_warm(f)
    assert os.waitpid(child, 0)[1] == 0


def test_a_fork_while_another_thread_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    f = warm(double, X)
    load, inside, go_on = recall.load, threading.Event(), threading.Event()

    def waits(*args: Any) -> Any:
        inside.set()
        go_on.wait(20)
        return load(*args)

    monkeypatch.setattr(recall, "load", waits)
    thread = threading.Thread(target=f, args=(X,))
    thread.start()
    assert inside.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        go_on.set()
        os._exit(0 if f(X) == double(X) else 1)
    go_on.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0 and f(X) == double(X)


def test_what_bails_out() -> None:
    f = warm(picks, X, 1)
    assert f(X, 1) == 2.0 and is_warm(f)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5") as e:
        f(X, 9)
    assert e.traceback[-1].lineno == picks.__code__.co_firstlineno
    assert f(X, -1) == 8.0 and f.report().fallbacks == []


def test_stores() -> None:
    f, x = warm(adds, X), X.copy()
    assert f(x) is None and x.tolist() == (X + 1).tolist() and is_warm(f)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x)
    assert x.tolist() == (X + 1).tolist()


def test_eager_blocks_and_errstate() -> None:
    f = warm(double, X)
    with tracejit.eager():
        assert f(X) == double(X) and f._cached is None
    assert f(X) == double(X)
    divides = warm(inverse, X + 1)
    assert divides(X + 1).tolist() == (1 / (X + 1)).tolist() and is_warm(divides)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        divides(X)


def inverse(x: Any) -> Any:
    return 1 / x


def test_tracers_and_profilers() -> None:
    """A debugger sees every line, a profiler at least the call."""
    f, lines = warm(double, X), []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code is double.__code__:
            lines.append(event)
        return trace

    sys.settrace(trace)
    try:
        found = f(X)
    finally:
        sys.settrace(None)
    assert found == double(X)
    calls: list[str] = []
    f = warm(double, X)
    sys.setprofile(lambda frame, event, arg: calls.append(event))
    try:
        found = f(X)
    finally:
        sys.setprofile(None)
    assert found == double(X) and calls


def test_reports_tell_of_what_was_loaded() -> None:
    f = warm(double, X)
    f(X)
    (variant,) = f.report().variants
    assert variant.recalled and variant.signature == "f64[5]"
    f(X.astype(np.float32))
    assert [v.recalled for v in f.report().variants] == [True, False]
    assert str(f.report())


def test_code_that_is_replaced_is_another_program(cache: Path) -> None:
    """What is compiled, or looked for, afterwards is for the new code."""

    def made() -> Any:
        return tracejit.jit(FunctionType(double.__code__, globals(), "double"))

    f = made()
    f(X)
    f.__code__ = inverse.__code__
    assert f(X + 1).tolist() == (1 / (X + 1)).tolist()
    g = made()
    assert g(X) == double(X) and is_warm(g)
    assert tracejit.jit(double)(X.astype(np.float32)) == 25
    g.__code__ = inverse.__code__
    x = X.astype(np.float32) + 1
    assert g(x).tolist() == (1 / x).tolist()


def test_pickles() -> None:
    f = warm(double, X)
    f(X)
    again = pickle.loads(pickle.dumps(f))
    assert again(X) == double(X)


def test_sizes_that_were_seen_count() -> None:
    """A second size, in whatever process, makes the program one for all sizes."""
    tracejit.jit(double)(X)
    tracejit.jit(double)(np.arange(7.0))
    f = tracejit.jit(double)
    assert f(np.arange(9.0)) == 81.0 and f(np.arange(3.0)) == 9.0
    assert is_warm(f)


def test_an_interrupt_ends_a_loop_of_loaded_code() -> None:
    f = warm(spins, 10)
    assert f(10) == spins(10)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            f(1 << 40)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - start < 10
    assert f(10) == spins(10)


def test_code_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the function goes its code, and all that was found for it."""
    loaded: list[Any] = []
    load = recall.load

    def noted(*args: Any) -> Any:
        loaded.append(weakref.ref(found := load(*args)))
        regions.append((found.base, found.size))
        return found

    regions: list[tuple[int, int]] = []
    monkeypatch.setattr(recall, "load", noted)
    function = FunctionType(double.__code__, globals(), "double")
    f = warm(function, X)
    f(X)
    dead = weakref.ref(function)
    assert is_warm(f) and len(loaded) == 1 and loaded[0]() is not None
    assert mapped(*regions[0])
    del f, function
    gc.collect()
    assert loaded[0]() is None and dead() is None
    assert not mapped(*regions[0])


def mapped(base: int, size: int) -> bool:
    text = Path("/proc/self/maps").read_text(encoding="utf-8")
    spans = [line.split()[0].split("-") for line in text.splitlines() if " r-xp " in line]
    return any(int(a, 16) <= base < int(b, 16) for a, b in spans)


def test_memory_does_not_grow() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])

    warm(double, X)
    for k in range(300):
        if k == 100:
            gc.collect()
            before = resident()
        assert tracejit.jit(double)(X) == double(X)
    gc.collect()
    assert resident() - before < 400, "pages"


class _Model:
    """An argument that is known by identity."""

    def __init__(self) -> None:
        self.w = np.arange(5.0)

    def step(self, x: Any) -> Any:
        return x @ self.w


class _Two(NamedTuple):
    """An argument that takes no weak reference."""

    first: Any
    second: Any


def told(x: Any, pair: Any, scale: Any, *, model: Any) -> Any:
    return pair["a"].first[0] * x.T * scale + model.w.sum()


@pytest.mark.compiles
def test_it_can_be_looked_at_without_arguments() -> None:
    args: Any = np.asfortranarray(np.ones((2, 3))), {"a": _Two([np.ones(2)], None)}, 2.0
    compiled, loaded = tracejit.jit(told), tracejit.jit(told)
    for f in (compiled, loaded):
        model = _Model()
        f(*args, model=model)
        page = f.view().text
        assert "told" in page and '"trace"' in page
    assert loaded._cached.files and not loaded._structures


@pytest.mark.compiles
def test_what_it_is_looked_at_with_is_not_kept_alive() -> None:
    args: Any = np.ones((2, 3)), {"a": _Two([np.ones(2)], None)}, 2.0
    for _ in range(2):
        model = _Model()
        f, kept = tracejit.jit(told), [weakref.ref(model), weakref.ref(args[1]["a"].first[0])]
        f(*args, model=model)
    del model, args
    gc.collect()
    assert [reference() for reference in kept] == [None, None]
    with pytest.raises(ValueError, match="lives no more: give arguments"):
        f.view()

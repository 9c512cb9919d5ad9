"""Processes that fork and spawn while their threads trace, compile, publish, run and collect.

`python -m tests.runtime.fork_programs stress SECONDS [SEED]` goes on for so long and prints how
many children it had; it fails where one hangs, dies or computes something else than NumPy.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import logging
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tracejit.base import locks
from tracejit.errors import FallbackError

PATIENCE = 30.0
WEIGHTS = np.linspace(0.0, 1.0, 7)


def chain(x: Any) -> Any:
    y = np.sin(x) * 2
    for k in range(3):
        y = y + k * x
    return y


def branches(x: Any) -> Any:
    if x[0] > 0:
        return x + 1
    return np.sort(x)[::-1].copy()


def helper(x: Any) -> Any:
    return x * WEIGHTS


def calls(x: Any, *, scale: Any = 2.0) -> Any:
    return helper(x[:7]).sum() * scale


def large(x: Any) -> Any:
    return np.cumsum(np.repeat(x, 30_000)) + 1


PROGRAMS = (chain, branches, calls, large)
SHARED = [tracejit.jit(p) for p in PROGRAMS]
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8, np.complex128)


def fresh(function: Any) -> Any:
    """The same function as one that was never compiled."""
    made = types.FunctionType(function.__code__, globals(), function.__name__)
    made.__kwdefaults__ = function.__kwdefaults__
    return tracejit.jit(made)


def check(f: Any, program: Any, x: Any) -> None:
    """A compiled call against NumPy."""
    if program is branches and x.dtype.kind == "c":
        return
    np.testing.assert_allclose(f(x), program(x), rtol=1e-5)


def work(choices: random.Random, shared: bool) -> None:
    """One call of a function, new or everybody's, for a kind of argument."""
    k = choices.randrange(len(PROGRAMS))
    f = SHARED[k] if shared else fresh(PROGRAMS[k])
    x = np.arange(choices.randrange(7, 12)).astype(choices.choice(DTYPES))
    check(f, PROGRAMS[k], x)
    if choices.random() < 0.2:
        np.testing.assert_allclose(
            tracejit.grad(lambda a: chain(a).sum())(np.ones(3)), 2 * np.cos(1) + 3
        )


def child(seed: int) -> None:
    """What a child does: everything that another thread may have been in the middle of."""
    choices = random.Random(seed)
    for _ in range(2):
        for k, program in enumerate(PROGRAMS):
            check(SHARED[k], program, np.arange(8.0))
        work(choices, shared=False)
        work(choices, shared=True)
    gc.collect()


def forked(act: Callable[[], None]) -> int:
    """A child process that runs `act`; its number."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        signal.alarm(int(PATIENCE))
        act()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def finish(number: int) -> None:
    """Wait for a child. Raises AssertionError where it hangs or fails."""
    _, status = os.waitpid(number, 0)
    how = "hangs" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else status
    assert status == 0, f"a child {how}"


def stress(seconds: float, seed: int = 0) -> int:
    """Fork and spawn from a process with busy threads; how many children there were."""
    stop = threading.Event()
    wrong: list[BaseException] = []

    def busy(own: int) -> None:
        choices = random.Random(seed * 1000 + own)
        try:
            while not stop.is_set():
                work(choices, shared=choices.random() < 0.3)
                if choices.random() < 0.1:
                    gc.collect()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=busy, args=(k,), daemon=True) for k in range(3)]
    for thread in threads:
        thread.start()
    count, end = 0, time.monotonic() + seconds
    choices = random.Random(seed)
    spawned = multiprocessing.get_context("spawn").Process(target=child, args=(seed,))
    spawned.start()
    while time.monotonic() < end and not wrong:
        time.sleep(choices.random() * 0.02)
        finish(forked(functools.partial(child, count)))
        count += 1
    spawned.join(4 * PATIENCE)
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not wrong, wrong
    assert not any(thread.is_alive() for thread in threads)
    assert spawned.exitcode == 0
    return count + 1


def first_compile(delay: float) -> None:
    """Fork while another thread imports the compiler and compiles for the first time."""
    thread = threading.Thread(target=SHARED[0], args=(np.ones(3),))
    thread.start()
    time.sleep(delay)
    number = forked(lambda: child(0))
    finish(number)
    thread.join(PATIENCE)
    assert not thread.is_alive()


class SlowImport:
    """A finder that another thread meets at one of the compiler's modules: it waits while the
    module is looked for, or while it is executed.
    """

    def __init__(self, while_found: bool) -> None:
        self.while_found, self.asleep = while_found, threading.Event()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        is_other = threading.current_thread() is not threading.main_thread()
        if is_other and name == "tracejit.frontend.interpreter.interpreter":
            if not self.while_found:
                return importlib.util.spec_from_loader(name, self)
            self.wait()
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        self.wait()

    def wait(self) -> None:
        self.asleep.set()
        time.sleep(1.5)


def slow_import(while_found: bool) -> None:
    """Fork while another thread imports the compiler for longer than a fork waits."""
    locks._PATIENCE = 0.2
    os.environ["TRACEJIT_CACHE"] = "off"
    finder = SlowImport(while_found)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    threading.Thread(target=SHARED[0], args=(np.ones(3),), daemon=True).start()
    assert finder.asleep.wait(PATIENCE)

    def act() -> None:
        tracejit.config.fallback = "warn"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check(SHARED[0], chain, np.arange(3.0))
            check(SHARED[3], large, np.arange(3.0))
        # Python itself does not fork while a module is looked for: that import may end in time.
        told = [str(w.message) for w in caught if "TJ035" in str(w.message)]
        assert len(told) == 2 or (while_found and not told), told
        if told:
            assert "imported tracejit." in told[0]
            grad = tracejit.grad(lambda x: (x * x).sum())
            try:
                grad(np.ones(3))
            except FallbackError as e:
                assert e.code == "TJ035"
            else:
                raise AssertionError("a gradient needs the compiler")
            tracejit.config.fallback = "ignore"
            finish(forked(lambda: check(SHARED[1], branches, np.arange(3.0))))

    finish(forked(act))


def import_that_is_looked_for() -> None:
    slow_import(while_found=True)


def import_that_is_executed() -> None:
    slow_import(while_found=False)


ARRIVED, GO_ON = threading.Event(), threading.Event()


def in_a_trace() -> None:
    """Fork while another thread traces, or has traced, which goes on only afterwards."""
    from tracejit.runtime.compile import specialize, stages

    for step in ("trace_function", "compile_and_publish"):
        f = fresh(chain)
        thread = threading.Thread(target=f, args=(np.ones(3),))
        module = stages if step == "trace_function" else specialize
        original = getattr(module, step)

        def waits(*args: Any, original: Any = original) -> Any:
            ARRIVED.set()
            GO_ON.wait(PATIENCE)
            return original(*args)

        ARRIVED.clear()
        GO_ON.clear()
        setattr(module, step, waits)
        thread.start()
        assert ARRIVED.wait(PATIENCE)
        setattr(module, step, original)

        def act(f: Any = f) -> None:
            for x in (np.ones(3), np.ones(4, np.float32)):
                np.testing.assert_allclose(f(x), chain(x), rtol=1e-6)
            assert f.report().fallbacks == []
            child(0)

        finish(forked(act))
        GO_ON.set()
        thread.join(PATIENCE)
        np.testing.assert_allclose(f(np.ones(3)), chain(np.ones(3)))


def forks(x: Any) -> Any:
    """A function that forks while it is traced."""
    number = os.fork()
    y = np.sin(x) * 2
    return y, number


def from_a_trace() -> None:
    """Fork in the middle of the own trace: parent and child both go on with it."""
    (y, number) = tracejit.jit(forks)(np.ones(3))
    assert np.allclose(y, 2 * np.sin(1))
    if number == 0:
        child(0)
        os._exit(0)
    finish(number)


GENERATOR = np.random.default_rng(7)


def draws(n: Any) -> Any:
    return GENERATOR.normal(size=3) * n


def streams() -> None:
    """A stream of random numbers goes on from where it was, in parent and child."""
    f = tracejit.jit(draws)
    for _ in range(3):
        f(2.0)
    twin = np.random.default_rng(7)
    for _ in range(3):
        twin.normal(size=3)
    expected = [twin.normal(size=3) * 2.0 for _ in range(2)]

    def act() -> None:
        for value in expected:
            assert np.array_equal(f(2.0), value)

    number = forked(act)
    act()
    finish(number)


def blocks() -> None:
    """The blocks that programs keep are each process's own."""
    f, x = tracejit.jit(large), np.arange(8.0)
    for _ in range(3):
        f(x)

    def act() -> None:
        for k in range(20):
            np.testing.assert_allclose(f(x + k), large(x + k))

    number = forked(act)
    act()
    finish(number)


@tracejit.jit
def sinks(n: Any) -> Any:
    """As deep as it is told; calls wait at the bottom until they may go on."""
    if n <= 0:
        ARRIVED.set()
        GO_ON.wait(PATIENCE)
        return 0
    return 1 + sinks(n - 1)


def deep_threads() -> None:
    """A child has none of the threads that run deep, or compile, when their process forks."""
    from tracejit.runtime.nesting import room

    def compiles() -> None:
        with room:
            GO_ON.wait(PATIENCE)

    limit, dispatch = sys.getrecursionlimit(), sinks._slow
    ARRIVED.clear()
    GO_ON.clear()
    threads = [threading.Thread(target=target) for target in (lambda: sinks(30), compiles)]
    for thread in threads:
        thread.start()
    assert ARRIVED.wait(PATIENCE)
    while sys.getrecursionlimit() == limit:
        time.sleep(0.001)
    assert sinks._slow is not dispatch

    def act() -> None:
        assert sys.getrecursionlimit() == limit
        assert sinks._slow is dispatch
        child(0)

    finish(forked(act))
    GO_ON.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert sys.getrecursionlimit() == limit
    assert sinks._slow is dispatch


def locks_are_known(planted: float = 0) -> None:
    """All locks that this package holds are those that a fork takes care of; `planted` is none."""
    from tracejit.base import locks, originals
    from tracejit.runtime import native

    if planted:
        native.__dict__["_mine"] = {"lock": [threading.RLock()]}
    f = tracejit.jit(chain)
    for _ in range(3):
        f(np.arange(8.0))
    tracejit.grad(lambda x: np.sin(x).sum())(np.ones(3))
    kinds = (type(threading.Lock()), type(threading.RLock()))
    own = f._lock  # A function that was answered from files has made none before.
    known = {id(lock) for lock in (*locks._SHORT, *locks._LONG)}
    seen: set[int] = set()
    todo: list[Any] = [f]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tracejit":
            todo += [v for k, v in vars(module).items() if k != "__builtins__"]
    unknown = []
    # Names of the user's modules are captured: what those hold is theirs.
    theirs = {id(vars(m)) for n, m in list(sys.modules.items()) if not n.startswith("tracejit")}
    theirs |= {id(held) for held in originals._HELD.values()}
    while todo:
        x = todo.pop()
        if id(x) in seen or isinstance(x, (types.ModuleType, types.FrameType)):
            continue
        if id(x) in theirs:
            continue
        seen.add(id(x))
        if isinstance(x, (logging.Logger, logging.Handler)):
            continue  # These see to forks themselves.
        if isinstance(x, kinds):
            if id(x) not in known:
                unknown.append(x)
            continue
        module = getattr(x, "__module__", None)
        if isinstance(x, (type, types.FunctionType)):
            # Not into the standard library and others by way of their functions' globals.
            if not isinstance(module, str) or module.partition(".")[0] != "tracejit":
                continue
        if isinstance(x, types.FunctionType):
            todo += [*(x.__closure__ or ()), x.__defaults__, x.__kwdefaults__]
            todo.append(vars(x))
            continue
        todo.extend(gc.get_referents(x))
    assert len(seen) > 10_000
    assert id(own) in known
    if planted:
        print(len(unknown), "unknown", flush=True)
        os._exit(0)
    assert unknown == []


PROGRAMS_OF_FORKS = (
    *("in_a_trace", "from_a_trace", "streams", "blocks", "deep_threads"),
    *("import_that_is_looked_for", "import_that_is_executed"),
)

if __name__ == "__main__":
    arguments = [float(a) for a in sys.argv[2:]]
    if sys.argv[1] == "stress":
        print(stress(arguments[0], int((*arguments, 0.0)[1])), "children")
    else:
        globals()[sys.argv[1]](*arguments)
        print("alive")

"""Programs that drop native objects in every order; each runs in a process of its own, which lives.

`python -m tests.runtime.native.handle_programs NAME` runs one.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tracejit.codegen.llvm import engine
from tracejit.link.places import Place

X = np.linspace(0.0, 1.0, 50_000)
TEXT = """
define i64 @twice(i64 %a) {
entry:
  %r = shl i64 %a, 1
  br label %last
last:
  ret i64 %r
}
"""


def compiles() -> int:
    """A value that a newly compiled function has computed; 42."""
    import ctypes

    library = engine.compile_module(TEXT, {}, ["twice"])
    twice = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("twice"))
    return int(twice(21))


def compiles_elsewhere() -> None:
    """Another thread compiles: no lock was left taken."""
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(compiles()), daemon=True)
    thread.start()
    thread.join(20)
    assert done == [42], done


def program(x: Any) -> Any:
    """A function whose temporaries are kept for the next call."""
    y = np.sort(x * 2)
    return np.sin(x) + np.cumsum(y[::-1])


def made() -> Any:
    """A compiled function of its own, which has been called."""
    code = types.FunctionType(program.__code__, globals(), "program")
    f = tracejit.jit(code)
    for _ in range(3):
        f(X)
    assert f.report().fallbacks == []
    return f


# Frames that someone keeps ------------------------------------------------------------------------


def frames_kept() -> None:
    """A profiler keeps every frame of a compile, in a cycle that is collected."""
    for event in ("call", "return", "c_call", "c_return"):
        kept: list[Any] = []

        def keep(
            frame: Any, found: str, _: Any, event: str = event, kept: list[Any] = kept
        ) -> None:
            if found == event:
                kept.append(frame)

        f = tracejit.jit(lambda x: np.sin(x))
        sys.setprofile(keep)
        f(np.ones(3))
        sys.setprofile(None)
        kept.append(kept)
        del kept, keep
        gc.collect()
        assert np.array_equal(f(np.ones(3)), np.sin(np.ones(3)))
    compiles_elsewhere()


def interrupts() -> None:
    """An interrupt at each event of a compile, its frames kept in a cycle that is collected."""
    compiles()
    for at in itertools.count():
        events = itertools.count()
        kept: list[Any] = []

        def strike(frame: Any, event: str, _: Any, at: int = at, events: Any = events) -> None:
            # The interpreter handles signals where a function begins and after calls.
            if event != "c_call" and next(events) == at:
                raise KeyboardInterrupt

        sys.setprofile(strike)
        try:
            compiles()
        except KeyboardInterrupt as error:
            kept.append(error)
        sys.setprofile(None)
        if next(events) < at:
            break
        kept.append(kept)
        del kept
        if at % 10 == 0:
            gc.collect()
            compiles_elsewhere()
    gc.collect()
    assert at > 100
    assert compiles() == 42


def refused_texts() -> None:
    """Texts that LLVM refuses leave nothing behind."""
    for text in ("nonsense", TEXT.replace("ret i64 %r", "ret i32 0"), "define void @f() {}"):
        kept: list[Any] = []
        try:
            engine.object_code(text)
        except engine.CompileError as error:
            kept += [error, kept]
        assert kept
    gc.collect()
    assert compiles() == 42


# Cycles with finalizers ---------------------------------------------------------------------------


class Finalizer:
    """Calls a function when it is finalized, and gives it to `saved`."""

    def __init__(self, function: Any, saved: list[Any]) -> None:
        self.function, self.saved, self.x = function, saved, X

    def __del__(self) -> None:
        self.saved.append((self.function, self.function(self.x)))


def finalizers() -> None:
    """A function of a garbage cycle is called by its finalizers, and comes back to life."""
    expected = program(X)
    for order in itertools.permutations(range(3)):
        saved: list[Any] = []
        parts: list[Any] = [[], [], []]
        f: Any = None
        for step in order:
            if step == 0:
                f = made()
            else:
                parts[step] = Finalizer(None, saved)
        cycle = [f, *parts]
        for part in parts[1:]:
            part.function = f
        f.__dict__["cycle"] = cycle
        cycle.append(cycle)
        del f, cycle, parts, part
        gc.collect()
        assert len(saved) == 2
        again = saved[0][0]
        gc.collect()
        junk = [made() for _ in range(2)]
        for result in (saved[0][1], saved[1][1], again(X), again(X[:9].repeat(5000))):
            assert result.shape == (len(result),)
        assert np.allclose(again(X), expected, rtol=1e-9)
        del junk, again, saved
        gc.collect()


def natives_of(f: Any) -> list[Any]:
    """Everything native that belongs to a function, and what owns it."""
    found: list[Any] = []
    seen: set[int] = set()
    todo: list[Any] = [f]
    kinds = (engine.Library, Place)
    names = ("Variant", "_Flat", "EntrySpec", "_Published")
    while todo:
        x = todo.pop()
        if id(x) in seen or isinstance(x, (types.ModuleType, type)) or x is globals():
            continue
        seen.add(id(x))
        if isinstance(x, kinds) or type(x).__name__ in names:
            found.append(x)
        todo.extend(gc.get_referents(x))
    return found


def every_order() -> None:
    """All that a function owns is dropped one by one, in many orders, alone and in cycles."""
    kinds = {type(x).__name__ for x in natives_of(made())}
    assert {"Library", "Place", "Variant", "EntrySpec"} <= kinds, kinds
    random = np.random.default_rng(0)
    for trial in range(40):
        f = made()
        parts = natives_of(f)
        random.shuffle(parts)  # type: ignore[arg-type]
        chain: Any = None
        if trial % 2:
            for part in parts:
                chain = [part, chain]
            last = chain
            chain.append(last)
            del last
        del f, chain
        if not trial % 2:
            while parts:
                parts.pop()
                gc.collect(0)
        else:
            del parts, part
        gc.collect()
    assert compiles() == 42


# Functions that are running -----------------------------------------------------------------------


class Stream:
    """A standard output whose `write` calls something."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act, self.encoding = act, "utf-8"

    def write(self, text: str) -> int:
        self.act()
        return len(text)

    def flush(self) -> None:
        pass


def says(x: Any) -> Any:
    """A function that calls Python in the middle."""
    y = np.sort(x * 2)
    print(x[0])
    return np.sin(x) + np.cumsum(y[::-1])


def dropped_while_it_runs() -> None:
    """The last reference goes while the function runs, from Python code that it calls itself."""
    for warm in range(1, 5):
        f = tracejit.jit(types.FunctionType(says.__code__, globals(), "says"))
        stdout = sys.stdout
        sys.stdout = Stream(lambda: None)  # type: ignore[assignment]
        for _ in range(warm):
            f(X)
        holder = functools.partial(f)
        del f

        def drop(holder: Any = holder) -> None:
            holder.__setstate__((len, (), {}, {}))
            gc.collect()
            for _ in range(3):
                compiles()

        sys.stdout = Stream(drop)  # type: ignore[assignment]
        result = holder(X)
        sys.stdout = stdout
        assert np.array_equal(result, np.sin(X) + np.cumsum(np.sort(X * 2)[::-1]))


def dropped_in_another_thread() -> None:
    """The last reference elsewhere goes while another thread runs the function."""
    expected = program(X)
    for _ in range(4):
        f = made()
        started = threading.Event()
        wrong: list[Any] = []

        def call(f: Any, started: Any = started, wrong: list[Any] = wrong) -> None:
            for _ in range(20):
                started.set()
                if not np.allclose(f(X), expected, rtol=1e-9):
                    wrong.append(1)

        thread = threading.Thread(target=call, args=(f,))
        thread.start()
        started.wait()
        del f
        gc.collect()
        compiles()
        thread.join()
        assert not wrong


def collected_in_a_compile() -> None:
    """Garbage with finalizers that compile is found at every moment of compiles in two threads."""
    functions = [made(), made()]

    class Waste:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            for k, f in enumerate(functions):
                assert f(X[: 100 + k].astype(np.float32)).shape == (100 + k,)

    def work(own: int) -> None:
        for dtype in (np.int32, np.int16, np.float32, np.uint8, np.complex64):
            for _ in range(20):
                Waste()
            functions[own](np.arange(own + 7).astype(dtype))

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(2)]
    before = gc.get_threshold()
    gc.set_threshold(50, 5, 5)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    gc.set_threshold(*before)
    assert not any(thread.is_alive() for thread in threads)


def shutdown() -> None:
    """The interpreter ends while threads compile and run, with cycles and calls left to do."""
    import atexit

    f = made()
    atexit.register(lambda: (f(X), made()(X)))

    def forever() -> None:
        while True:
            made()(X)

    for _ in range(2):
        threading.Thread(target=forever, daemon=True).start()
    cycle: list[Any] = [made(), Finalizer(f, [])]
    cycle.append(cycle)
    sys.modules["left"] = cycle  # type: ignore[assignment]
    globals()["left"] = Finalizer(made(), [])


PROGRAMS = (
    frames_kept,
    interrupts,
    refused_texts,
    finalizers,
    every_order,
    dropped_while_it_runs,
    dropped_in_another_thread,
    collected_in_a_compile,
    shutdown,
)

if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("alive", flush=True)

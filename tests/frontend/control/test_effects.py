"""Effects: what compiled functions print, and the exceptions that they raise."""

from __future__ import annotations

import io
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import tracejit
from tests.control_programs.observe import (
    Observation,
    Printed,
    assert_same_observation,
    observe,
)
from tests.control_programs.readers import READERS, Readers
from tests.frontend.control.effect_cases import BAILING, CASES
from tracejit.codegen.support import printing
from tracejit.errors import Bailout

# Programs ----------------------------------------------------------------------------------------

HERE = str(Path(__file__).parent)
CALLS = [
    pytest.param(f, k, id=f"{f.__name__}-{k}")
    for f, calls in CASES.items()
    for k in range(len(calls))
]


@pytest.fixture(scope="module")
def printed() -> Printed:
    return Printed()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_natively(f, printed: Printed) -> None:
    jitted = tracejit.jit(f)
    for args in [*CASES[f], *CASES[f]]:
        expected = observe(f, args, printed, HERE)
        assert_same_observation(expected, observe(jitted, args, printed, HERE))
    assert jitted.report().fallbacks == [], str(jitted.report())
    assert f in BAILING or jitted.report().bailouts == 0


@pytest.mark.sampled(10, kind=lambda f, **_: f.__name__)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("f", "k"), CALLS)
def test_readers(f, k: int, reader: str, printed: Printed) -> None:
    expected = observe(f, CASES[f][k], printed, HERE)
    with printed.collect() as text:
        try:
            outcome = Readers(f, CASES[f]).run(reader, CASES[f][k])
        except Bailout:
            assert f in BAILING
            return
    assert_same_observation(expected, Observation(outcome, text[0], expected.lines))


def prints_index(x, n):
    for i in range(n):
        print("at", i, x[i])
    return x


class Recorder(io.StringIO):
    """A stream that notes each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


def test_texts_are_written_together_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_DELAY", 1e9)
    jitted, out = tracejit.jit(prints_index), Recorder()
    with redirect_stdout(out):
        jitted(np.arange(3.0), 3)
    assert out.writes == ["at 0 0.0\nat 1 1.0\nat 2 2.0\n"]


@pytest.mark.compiles
@pytest.mark.parametrize("delay", [-1.0, 1e9])
def test_what_was_written_is_not_repeated(delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_DELAY", delay)
    jitted, x = tracejit.jit(prints_index), np.arange(3.0)
    jitted(x, 2)
    jitted(x, 3)
    outs = [Recorder(), Recorder()]
    for f, out in zip((prints_index, jitted), outs, strict=True):
        before = sys.stdout
        with redirect_stdout(out), pytest.raises(IndexError):
            f(x, 5)
        assert sys.stdout is before
    assert outs[0].getvalue() == outs[1].getvalue() == "at 0 0.0\nat 1 1.0\nat 2 2.0\n"
    assert jitted.report().bailouts == 1


def test_flushed_texts_are_written_at_once() -> None:
    @tracejit.jit
    def f(x, n):
        print("first", x[0], flush=True)
        print("second")
        print("index", x[n])
        return x

    out = Recorder()
    with redirect_stdout(out):
        f(np.arange(3.0), 1)
    assert out.writes == ["first 0.0\n", "second\nindex 1.0\n"]
    out = Recorder()
    with redirect_stdout(out), pytest.raises(IndexError):
        f(np.arange(3.0), 7)
    assert out.writes == ["first 0.0\n", "second", "\n"]
    assert f.report().fallbacks == []


def test_files_are_written_by_reference() -> None:
    log = io.StringIO()

    @tracejit.jit
    def f(x):
        print("x", x, file=log)
        print("y", end="", flush=True, file=log)
        return x

    f(np.ones(2))
    f(np.zeros(2))
    assert log.getvalue() == "x [1. 1.]\nyx [0. 0.]\ny"
    assert f.report().fallbacks == []


class Closed(io.StringIO):
    """A stream that takes a few texts."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def write(self, text: str) -> int:
        self.count -= 1
        if self.count < 0:
            raise BrokenPipeError("nobody reads")
        return super().write(text)


@pytest.mark.parametrize("delay", [-1.0, 1e9])
def test_streams_that_fail_raise_in_place_of_print(
    delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "_DELAY", delay)

    def f(x, n):
        for i in range(n):
            x[i] = -1.0
            print("at", i, "of", n)
        return x

    jitted = tracejit.jit(f)
    jitted(np.ones(4), 4)
    x = np.ones(4)
    with redirect_stdout(Closed(0)), pytest.raises(BrokenPipeError, match="nobody reads"):
        jitted(x, 4)
    assert x.tolist() == [-1.0, 1.0, 1.0, 1.0]
    assert jitted(np.ones(4), 4).tolist() == [-1.0] * 4


def test_no_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = tracejit.jit(prints_index)
    monkeypatch.setattr(sys, "stdout", None)
    jitted(np.ones(2), 2)


def test_streams_may_run_programs() -> None:
    @tracejit.jit
    def inner(x):
        print("inner", x[0], file=log)
        return x + 1

    log = io.StringIO()

    class Busy(io.StringIO):
        def write(self, text: str) -> int:
            inner(np.full(1, float(len(text))))
            return super().write(text)

    jitted, out = tracejit.jit(prints_index), Busy()
    with redirect_stdout(out):
        jitted(np.ones(2), 2)
    assert out.getvalue() == "at 0 1.0\nat 1 1.0\n"
    assert log.getvalue().startswith("inner ")


def test_threads_print_their_own_texts() -> None:
    @tracejit.jit
    def f(x, n):
        for i in range(n):
            print(x[0], i, file=sys.stderr, end=" ")
            if x[0] * i > 40:
                raise ValueError(x[0])
        return x

    def run(k: int) -> str:
        try:
            f(np.full(1, float(k)), 30)
        except ValueError as e:
            return repr(e)
        return "done"

    f(np.zeros(1), 1)
    with redirect_stderr(io.StringIO()) as out, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(8)))
    assert results == ["done", "done", *(f"ValueError(np.float64({k}.0))" for k in range(2, 8))]
    words = out.getvalue().split()
    for k in range(8):
        mine = [int(i) for x, i in zip(words[::2], words[1::2], strict=True) if float(x) == k]
        assert mine == list(range(30 if k < 2 else 40 // k + 2))


def test_tracebacks_show_the_line_of_the_raise() -> None:
    def f(x, n):
        if x[0] > n:
            raise ValueError(f"{x[0]} is above {n}")
        return x

    jitted = tracejit.jit(f)
    jitted(np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="2.5 is above 1.0") as caught:
        jitted(np.full(2, 2.5), 1.0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "f")
    assert last.line == 'raise ValueError(f"{x[0]} is above {n}")'
    assert caught.value.__context__ is None
    assert jitted(np.zeros(2), 1.0).tolist() == [0.0, 0.0]
    assert jitted.report().bailouts == 0


def test_functions_that_always_raise_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    @tracejit.jit
    def f(x):
        print("x", x)
        if x[0] > 0:
            raise ValueError(x[0])
        else:
            raise KeyError(f"{x[0]}") from None

    for value, error in ((1.0, ValueError), (-1.0, KeyError), (2.0, ValueError)):
        with pytest.raises(error, match=str(value)):
            f(np.full(1, value))
    assert capsys.readouterr().out == "x [1.]\nx [-1.]\nx [2.]\n"
    assert f.report().fallbacks == []
    assert f.report().bailouts == 0


def test_exits_leave_the_program() -> None:
    @tracejit.jit
    def f(x):
        sys.stdout.write(f"x is {x[0]}; ")
        if x[0] > 0:
            sys.stdout.flush()
            sys.exit("positive")
        return x

    for out, value in ((io.StringIO(), -1.0), (io.StringIO(), -2.0)):
        with redirect_stdout(out):
            f(np.full(1, value))
        assert out.getvalue() == f"x is {value}; "
    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit, match="positive"):
        f(np.ones(1))
    assert out.getvalue() == "x is 1.0; "
    assert len(f.report().compiles) == 1
    assert f.report().fallbacks == []


def test_exceptions_of_constructors_leave_the_program() -> None:
    class Strict(Exception):
        def __init__(self, value: float) -> None:
            raise KeyError(f"no {value}")

    @tracejit.jit
    def f(x):
        if x[0] > 1:
            raise Strict(x[0])
        return x

    f(np.zeros(1))
    with pytest.raises(KeyError, match="no 2.0"):
        f(np.full(1, 2.0))


def test_exceptions_hold_arrays_of_their_own() -> None:
    @tracejit.jit
    def f(x):
        y = x * 2
        if y[0] > 1:
            raise ValueError("too large", y)
        return y

    f(np.zeros(3))
    with pytest.raises(ValueError) as caught:
        f(np.ones(3))
    array = caught.value.args[1]
    assert array.flags.writeable and array.base is None
    assert array.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("f", "code"),
    [
        (lambda x: str(x[0]).split("."), "TJ021"),
        (lambda x: {f"{x[0]}": x}, "TJ021"),
        (lambda x: f"{x[0]}" == "1.0", "TJ021"),
        (lambda x: len(f"{x[0]}"), "TJ021"),
        (lambda x: float(f"{x[0]}"), "TJ021"),
        (lambda x: [c + "" for c in str(x)], "TJ021"),
    ],
)
def test_texts_whose_characters_are_needed(f, code: str) -> None:
    jitted = tracejit.jit(f)
    x = np.ones(2)
    assert repr(jitted(x)) == repr(f(x))
    assert [fallback.code for fallback in jitted.report().fallbacks] == [code]

"""Python's profilers see compiled functions by name; debuggers stop in the functions themselves;
neither changes what a program computes or what is compiled.
"""

from __future__ import annotations

import bdb
import cProfile
import pstats
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.runtime.entries.profiled import is_debugger

ROOT = Path(__file__).resolve().parents[2]
X = np.linspace(0.0, 1.0, 50)
old = sys.version_info < (3, 12)


@tracejit.jit
def doubled(x: Any, shift: float = 0.0) -> Any:
    y = x * 2
    return y + shift


class Model:
    @tracejit.jit
    def step(self, x: Any) -> Any:
        return x - 1


@pytest.mark.skipif(not old, reason="from Python 3.12 on, cProfile sees code of Python alone")
def test_cprofile_counts_calls_by_name() -> None:
    model = Model()
    doubled(X), doubled(X, shift=1.0), model.step(X)
    profile = cProfile.Profile()
    with profile:
        for _ in range(7):
            doubled(X)
            doubled(X, shift=1.0)
            model.step(X)
        method = model.step
        assert np.array_equal(method(X), X - 1)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    counts = {name: calls for (file, _, name), (calls, *_) in stats.items() if file == __file__}
    assert counts == {"doubled": 14, "step": 8}
    line = next(line for (_, line, name) in stats if name == "doubled")
    assert line == doubled.__code__.co_firstlineno
    assert len(doubled.report().compiles) <= 3 and not doubled.report().fallbacks
    compiles = len(doubled.report().compiles)
    with profile:
        # What has no entry yet is compiled, and what raises has the program's lines alone.
        assert np.array_equal(doubled(X.astype(np.float32)), X.astype(np.float32) * 2)
        with pytest.raises(ValueError, match="broadcast") as failed:
            doubled(X, np.ones(3))
    assert [f.name for f in failed.traceback] == [
        "test_cprofile_counts_calls_by_name",
        "doubled",
    ]
    assert len(doubled.report().compiles) > compiles


def test_a_function_set_by_setprofile_sees_calls() -> None:
    doubled(X)
    seen: list[str] = []

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename == __file__:
            seen.append(frame.f_code.co_name)

    def run() -> None:
        sys.setprofile(note)
        doubled(X)
        sys.setprofile(None)

    thread = threading.Thread(target=run)
    thread.start()
    doubled(X)
    thread.join()
    assert seen == ["doubled"]


def traced(function: Callable[[], Any], trace: Any) -> Any:
    """The result of a call under a trace function, which is then taken away."""
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return function()
    finally:
        sys.settrace(before)


def test_a_trace_function_that_is_no_debugger_changes_nothing() -> None:
    @tracejit.jit(strict=True)
    def f(x: Any) -> Any:
        return x * 3

    files: set[str] = set()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        files.add(frame.f_code.co_filename)

    assert np.array_equal(traced(lambda: f(X), trace), X * 3)
    assert len(f.report().compiles) == 1
    assert np.array_equal(traced(lambda: f(X), trace), X * 3)
    assert traced(lambda: f(2.0), trace) == 6.0
    assert len(f.report().compiles) == 2 and not is_debugger(trace)


class Stops(bdb.Bdb):
    """A debugger that notes what a variable is wherever it stops."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def user_line(self, frame: FrameType) -> None:
        if "y" in frame.f_locals:
            self.found.append(frame.f_locals["y"])
        self.set_continue()


@pytest.mark.compiles
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_debugger_stops_at_values(is_compiled: bool) -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        y = x * 2
        return y + 1

    if is_compiled:
        f(X)
    debugger = Stops()
    debugger.reset()
    assert debugger.set_break(__file__, f.__code__.co_firstlineno + 3) is None
    try:
        result = traced(lambda: f(X), debugger.trace_dispatch)
        assert is_debugger(debugger.trace_dispatch)
    finally:
        debugger.clear_all_breaks()
    assert np.array_equal(result, X * 2 + 1)
    (y,) = debugger.found
    assert type(y) is np.ndarray and np.array_equal(y, X * 2)
    assert len(f.report().compiles) == is_compiled and not f.report().fallbacks


def test_a_program_that_a_tool_runs_is_compiled_as_alone(tmp_path: Path) -> None:
    """There `__main__` is the tool's file, and the program's classes are still its own."""
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import numpy as np
        import tracejit

        class Model:
            def __init__(self):
                self.w = np.ones(3)

            @tracejit.jit(strict=True)
            def step(self, x):
                self.w = self.w * 0.5 + x
                return self.w.sum()

        model = Model()
        print([float(model.step(np.ones(3))) for _ in range(3)], len(model.step.report().compiles))
        """)
    )
    trace = ["-m", "trace", "-c", "-C", str(tmp_path)]
    for tool in (["-m", "cProfile", "-o", str(tmp_path / "stats")], trace):
        done = subprocess.run(
            [sys.executable, *tool, "program.py"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "[4.5, 5.25, 5.625] 1" in done.stdout, done.stderr

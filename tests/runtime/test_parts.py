"""Functions that run eagerly, whose loops and callees are compiled: nothing but speed changes"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.corpus.program import differences, picture
from tests.runtime import parts_programs as programs
from tracejit.runtime.parts import effort

#: What an earlier process has told of a function leaves its parts plain until they take long.
pytestmark = pytest.mark.compiles


@pytest.fixture(autouse=True)
def eagerness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are compiled after their first run."""
    monkeypatch.setattr(effort, "_WORTH", 0.0)
    monkeypatch.setattr(effort, "_SHORT", 0.0)
    monkeypatch.setattr(effort, "_EFFORT", 1e6)
    monkeypatch.setattr(effort, "_RATE", 1e9)
    monkeypatch.setattr(effort, "_TRIALS", 10**9)
    monkeypatch.setattr(tracejit.config, "fallback", "ignore")


def x(n: int = 6) -> Any:
    return np.linspace(0.0, 4.0, n)


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Result or exception with its line, what was printed, and the arguments afterwards."""
    file = programs.__file__
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            result: Any = f(*args)
            if isinstance(result, Iterator):
                result = list(result)
        except Exception as e:
            places = [s for s in traceback.extract_tb(e.__traceback__) if s.filename == file]
            result = type(e).__name__, e.args, places[-1].lineno, places[-1].name
    args = tuple(None if isinstance(a, Iterator) else a for a in args)
    return picture((result, args)), out.getvalue()


SAMPLES: list[tuple[str, Callable[[], tuple[Any, ...]]]] = [
    ("carried", lambda: (x(), 4)),
    ("left_unbound", lambda: (x(), 3)),
    ("left_unbound", lambda: (x(), 0)),
    ("kept_where_empty", lambda: (x(), 5)),
    ("kept_where_empty", lambda: (x(), 0)),
    ("found", lambda: (x(), 2.0)),
    ("found", lambda: (x(), 9.0)),
    ("found_nested", lambda: (x(12).reshape(3, 4), 2.0)),
    ("found_nested", lambda: (x(12).reshape(3, 4), 9.0)),
    ("found_in_finally", lambda: (x(), 2.0, [])),
    ("searched", lambda: (x(), 2.0)),
    ("searched", lambda: (x(), 9.0)),
    ("stores", lambda: (x(), 3)),
    ("raises", lambda: (x(), 2.0, [])),
    ("raises", lambda: (x(), 9.0, [])),
    ("handles", lambda: (x(), 2.0)),
    ("handles", lambda: (x(), 9.0)),
    ("handles_outside", lambda: (x(), 4)),
    ("handles_outside", lambda: (x(), 9)),
    ("suppressed", lambda: (x(), 2.0)),
    ("prints", lambda: (x(),)),
    ("prints_and_fails", lambda: (x(), 4)),
    ("prints_and_fails", lambda: (x(), 8)),
    ("flushes_and_fails", lambda: (x(), 8)),
    ("flushes_and_fails", lambda: (x(), 4)),
    ("calls_method", lambda: (programs.Model(), 4)),
    ("calls_method", lambda: (programs.Child(), 4)),
    ("Model.run", lambda: (programs.Model(), 4)),
    ("Model.run", lambda: (programs.Child(), 4)),
    ("Model.grow", lambda: (programs.Model(), x(40))),
    ("asks", lambda: (programs.Dynamic(), 4)),
    ("closure_reads", lambda: (4,)),
    ("closure_binds", lambda: (4,)),
    ("makes_closures", lambda: (4,)),
    ("makes_generators", lambda: (x(), 3)),
    ("consumes", lambda: (x(), 4)),
    ("of_dict", lambda: ({"a": [1], "b": []}, 3)),
    ("counted", lambda: (["a", "b", "a"],)),
    ("of_iterator", lambda: (iter([1.0, 2.0, 3.0, 4.0]), 2.0)),
    ("of_iterator", lambda: ((v for v in [1.0, 2.0, 3.0]), 1.5)),
    ("queued", lambda: (20,)),
    ("deletes", lambda: (x(),)),
    ("deleted_before", lambda: (x(), False)),
    ("deleted_before", lambda: (x(), True)),
    ("global_store", lambda: (5,)),
    ("imports", lambda: (5,)),
    ("local_view", lambda: (5,)),
    ("defaults", lambda: (x(),)),
    ("defaults", lambda: (x(), 3.0, 1, 2)),
    ("returns_view", lambda: (x(12).reshape(3, 4), 3)),
    ("swaps", lambda: (x(), x() * 2, 3)),
    ("same_list", lambda: ([1, 2], 4)),
    ("continues", lambda: (x(),)),
    ("breaks_outer_from_else", lambda: (x(), 4)),
    ("matched", lambda: (x(), ["add", ("scale", 2.0), "add"])),
    ("walrus", lambda: (x(),)),
    ("yields", lambda: (x(),)),
    ("uses_yields", lambda: (x(),)),
]
COMPILED = [
    *("carried", "left_unbound", "kept_where_empty", "found", "found_nested", "found_in_finally"),
    *("searched", "stores", "raises", "handles_outside", "prints", "calls_method", "Model.run"),
    *("Model.grow", "consumes", "imports", "defaults", "continues", "breaks_outer_from_else"),
    *("walrus", "swaps"),
]


def named(name: str) -> Any:
    found: Any = programs
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "name, make", SAMPLES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(SAMPLES)]
)
def test_all_calls_are_those_of_the_plain_function(
    name: str, make: Callable[[], tuple[Any, ...]]
) -> None:
    f = named(name)
    jitted = tracejit.jit(f)
    others = [other for n, other in SAMPLES if n == name]
    for arguments in [make, make, make, *others, make]:
        expected, printed = outcome(f, arguments())
        actual, shown = outcome(jitted, arguments())
        assert not list(differences(expected, actual))
        assert printed == shown
    report = jitted.report()
    assert report.fallbacks
    if name in COMPILED:
        assert any(part.is_compiled for part in report.parts), report


def test_the_report_tells_the_parts() -> None:
    jitted = tracejit.jit(programs.Model.run)
    for _ in range(4):
        jitted(programs.Model(), 4)
    report = jitted.report()
    found = {part.name: part for part in report.parts}
    line = programs.Model.run.__code__.co_firstlineno + 2
    assert {"loop", "Model.step"} <= found.keys() and found["loop"].is_compiled
    assert (found["loop"].line, found["loop"].file) == (line, programs.__file__)
    assert f"in parts  loop at line {line} (for k in range(n)): 1 compiled, " in str(report)
    assert [f.code for f in report.fallbacks] == ["TJ002"]


def test_a_loop_with_what_stops_a_compile_is_left_plain() -> None:
    jitted = tracejit.jit(programs.stopped)
    for _ in range(4):
        jitted(30)
    assert not any(part.is_compiled for part in jitted.report().parts)
    assert jitted._part.current() is programs.stopped


def test_an_eager_program_has_no_parts() -> None:
    jitted = tracejit.jit(programs.carried)
    with tracejit.eager():
        for _ in range(4):
            jitted(x(), 4)
    assert not jitted.report().parts and jitted._part is None


def test_strict_functions_raise_as_ever() -> None:
    strict = tracejit.jit(programs.carried, strict=True)
    for _ in range(3):
        with pytest.raises(tracejit.errors.FallbackError):
            strict(x(), 4)
    assert not strict.report().parts


def test_new_defaults_hold() -> None:
    jitted = tracejit.jit(programs.scaled)
    try:
        for _ in range(30):
            assert jitted(x()) == programs.scaled(x())
        programs.scaled.__defaults__ = (5.0,)
        assert jitted(x()) == programs.scaled(x()) == 5 * x().sum()
    finally:
        programs.scaled.__defaults__ = (2.0,)


def test_compiles_of_parts_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "_EFFORT", 0.0)
    monkeypatch.setattr(effort, "_PAID", 0)
    jitted = tracejit.jit(programs.carried)
    for _ in range(4):
        jitted(x(), 4)
    assert not any(part.is_compiled for part in jitted.report().parts)


def test_a_part_that_is_no_quicker_is_left_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "_TRIALS", 2)
    monkeypatch.setattr(effort, "_GAIN", 0.0)
    jitted = tracejit.jit(programs.stores)
    for _ in range(8):
        jitted(x(), 3)
    assert any(part.is_compiled for part in jitted.report().parts)
    assert not any(loop.is_open for loop in jitted._part._loops)


def test_a_part_that_gives_up_each_time_is_left_plain() -> None:
    jitted = tracejit.jit(programs.multiplied)
    factors = np.arange(1, 40)
    for _ in range(40):
        assert jitted(factors) == programs.multiplied(factors)
    assert [part.is_compiled for part in jitted.report().parts] == [True]
    assert not any(loop.is_open for loop in jitted._part._loops)


def test_a_part_that_is_quicker_is_called_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "_TRIALS", 2)
    monkeypatch.setattr(effort, "_GAIN", 1e9)
    jitted = tracejit.jit(programs.stores)
    for _ in range(8):
        expected, actual = x(), x()
        assert np.array_equal(jitted(actual, 3), programs.stores(expected, 3))
    (cell,) = [loop.compiled for loop in jitted._part._loops if loop.jitted is not None][:1]
    assert isinstance(cell.cell_contents, type(jitted))


def test_runs_in_parts_go_as_deep_as_plain_ones() -> None:
    jitted = tracejit.jit(programs.descends)
    limit = sys.getrecursionlimit()
    assert jitted(limit // 2) == limit // 2
    with pytest.raises(RecursionError):
        jitted(2 * limit)


def test_threads_run_the_same_parts() -> None:
    jitted = tracejit.jit(programs.Model.run)
    expected = programs.Model().run(6)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(8):
            found = jitted(programs.Model(), 6)
            wrong.extend(differences(picture(expected), picture(found)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

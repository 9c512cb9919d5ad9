"""The report: lines, reasons, seconds, fallbacks, repeated calls, and how it reads."""

from __future__ import annotations

import inspect
import linecache
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import tracejit
from tracejit.codegen.support import threads
from tracejit.errors import FallbackError, Where
from tracejit.frontend.tracing.notes import KINDS, Note
from tracejit.ir.op import OPS
from tracejit.runtime.compile import facilities
from tracejit.runtime.report.fitting import at_most, merged
from tracejit.runtime.report.lines import compiled_lines
from tracejit.runtime.report.report import Compile, Fallback, Line, Report

X = np.arange(1.0, 6.0)


def kinds(f: Any) -> dict[int, set[str]]:
    """The kinds of lines that a report names, by number counted from the line of `def`."""
    lines, first = inspect.getsourcelines(f.__tracejit__)
    found: dict[int, set[str]] = {}
    for line, kind, _ in f.report().lines:
        if first <= line < first + len(lines):
            found.setdefault(line - first, set()).add(kind)
    return found


def called(function: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    """A jitted function after some calls."""
    f = tracejit.jit(function)
    for args in calls:
        f(*args)
    return f


def why(f: Any, kind: str) -> list[str]:
    return [x.why for x in f.report().lines if x.kind == kind]


# Lines -------------------------------------------------------------------------------------------


def straight(x: Any) -> Any:
    y = np.sin(x)
    # Nothing is computed in a comment or by a name.
    z = y
    return z * 2


def inverted_by_numpy(x: Any) -> Any:
    y = x[:2].reshape(2, 1, 1) + 10
    return np.linalg.det(y) + 1


def alternating(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total = x[i % 5] - -total
    return total


def rolled(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += x[i % 5]
    return total


def branching(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return x


def unrolled(x: Any) -> Any:
    parts = [x, x * 2, "3"]
    total = x * 0
    for k in range(3):
        total = total + (parts[k] if k < 2 else len(parts[k]))
    return total


def unknown(x: Any) -> Any:
    y = x + 1
    return y + time.time()


def transformed(x: Any) -> Any:
    return np.partition(x + 1, 0)


def test_lines_that_compute_are_compiled() -> None:
    assert kinds(called(straight, (X,))) == {1: {"compiled"}, 4: {"compiled"}}


def test_ops_that_run_through_numpy_are_host_calls() -> None:
    f = called(inverted_by_numpy, (X,))
    assert kinds(f) == {1: {"compiled"}, 2: {"compiled", "host"}}
    assert why(f, "host") == ["lu_diagonal of float64 runs through NumPy"]


def test_a_rolled_loop() -> None:
    f = called(rolled, (X, 7), (X, 100_000))
    assert kinds(f)[2] == {"rolled"}
    assert kinds(f)[3] == {"compiled"}
    # Here it is negated as a Python float before the first iteration, as NumPy's from then on.
    assert kinds(called(alternating, (X, 7), (X, 100_000)))[2] == {"peeled", "rolled"}


def test_a_branch() -> None:
    f = called(branching, (X,), (-X,))
    assert len(f.report().compiles) == 1
    assert "branch" in kinds(f)[1] and "compiled" not in kinds(f)[1]
    assert kinds(f)[2] == {"compiled"}


def test_an_unrolled_loop_says_how_often_and_why() -> None:
    f = called(unrolled, (X,))
    assert kinds(f)[3] == {"unrolled"}
    (reason,) = why(f, "unrolled")
    assert "3" in reason and len(reason) > 5


def test_a_line_that_stops_the_compile_is_eager() -> None:
    f = called(unknown, (X,), (X,))
    assert kinds(f) == {2: {"eager"}}
    assert why(f, "eager") == ["TJ002: time.time"]
    assert f.report().fallbacks[0].where.column == 15


def test_a_line_that_calls_numpy_at_run_time() -> None:
    f = called(transformed, (X,), (X,))
    assert kinds(f)[1] == {"compiled", "host"}
    assert why(f, "host") == ["np.partition"]


def test_lines_of_helpers_are_listed_by_their_file() -> None:
    def outer(x: Any) -> Any:
        return straight(x) + 1

    f = called(outer, (X,))
    places = {(x.where.function, x.kind) for x in f.report().lines}
    assert places == {("outer", "compiled"), ("straight", "compiled")}


def test_every_kind_is_described() -> None:
    f = called(rolled, (X, 7))
    for g in (f, called(branching, (X,)), called(unrolled, (X,)), called(unknown, (X,))):
        assert {x.kind for x in g.report().lines} <= set(KINDS)


def test_what_a_note_says_goes_before_compiled() -> None:
    here = Where("a.py", 3, "f")
    graph_lines = compiled_lines(_graph(here), [Note("rolled", here, "n steps")], [])
    assert [tuple(x) for x in graph_lines] == [(3, "rolled", "n steps")]
    assert [tuple(x) for x in compiled_lines(_graph(here), [], [])] == [(3, "compiled", "")]
    assert compiled_lines(_graph(None), [Note("rolled", None)], []) == ()


def _graph(where: Where | None) -> Any:
    from tracejit.ir.graph import GraphBuilder
    from tracejit.ir.types import PYFLOAT

    builder = GraphBuilder("f")
    a = builder.input(PYFLOAT, "a")
    (b,) = builder.emit(OPS["py_multiply"], (a, a), {}, where=where)
    return builder.build([b])


# The whole ---------------------------------------------------------------------------------------


def test_seconds_by_stage_add_up() -> None:
    (compiled,) = called(straight, (X,)).report().variants
    assert set(compiled.stages) >= {"trace", "passes", "program", "machine code"}
    assert all(s >= 0 for s in compiled.stages.values())
    assert sum(compiled.stages.values()) <= compiled.seconds * 1.001


@pytest.mark.compiles
def test_repeated_calls_say_how_they_ended() -> None:
    def element(x: Any, i: int) -> Any:
        return x[i] * 2

    f = called(element, (X, 1), (X, 2))
    for _ in range(2):
        with pytest.raises(IndexError):
            f(X, 10)
    report = f.report()
    assert report.bailouts == 2
    ((how, count),) = report.repeats.items()
    assert how.startswith("IndexError at test_report.py:") and count == 2
    assert f"2 calls eagerly (TJ010): 2 {how}" in str(report)


def test_how_a_report_reads() -> None:
    place = Where(__file__, inspect.getsourcelines(straight)[1] + 1, "straight")
    report = Report("straight")
    assert str(report) == "straight: 0 compiled, 0 eager"
    lines = (Line(place, "rolled", "n times"), Line(place, "compiled"))
    report.variants.append(Compile("first call", "f64[5]", 0.0124, {"trace": 0.002}, lines))
    report.fallbacks.append(Fallback("TJ002", "open", place, ""))
    text = str(report).splitlines()
    assert text[:3] == [
        "straight: 1 compiled, 1 eager",
        "  compiled  f64[5]  (first call, 12 ms)",
        "  stages    trace 2.0 ms",
    ]
    assert f"            {report.fallbacks[0]}" in text
    block = text[text.index("  test_report.py") + 1 :]
    assert [line.split()[:2] for line in block] == [
        [str(place.line), kind] for kind in ("compiled", "eager", "rolled")
    ]
    assert block[0].split(None, 2)[2] == "y = np.sin(x)"
    assert block[2].endswith("# n times")


def test_a_report_says_what_is_off_and_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unless it is the user who wants it off."""
    f = tracejit.jit(straight, strict=True)
    f(X)
    assert f.report().off == () and "  off  " not in str(f.report())
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path))
    monkeypatch.setattr(facilities, "supported", lambda: False)
    monkeypatch.setattr(facilities.native, "why_not", lambda: "a reason")
    monkeypatch.setattr(threads, "_MACHINES", {})
    f = tracejit.jit(straight, strict=True)
    f(X)
    assert [what for what, _ in f.report().off] == ["native entries", "threads", "cache on disk"]
    for what, why in f.report().off:
        assert why and f"  off       {what}: {why}" in str(f.report()).splitlines()


@pytest.mark.compiles
def test_a_long_report_fits_a_screen(caplog: pytest.LogCaptureFixture) -> None:
    """What there is to see to comes first, the rest is merged and counted; the data has all."""
    lines = "\n".join(f"    x = np.sort(x * {k}.5)" for k in range(60))
    source = f"import numpy as np\n\ndef long(x):\n{lines}\n    return x\n"
    linecache.cache["long_report.py"] = len(source), None, source.splitlines(True), "long_report.py"
    space: dict[str, Any] = {}
    exec(compile(source, "long_report.py", "exec"), space)
    f = tracejit.jit(space["long"])
    with caplog.at_level(logging.DEBUG, "tracejit"):
        for dtype in (np.float64, np.float32, np.int64):
            f(np.ones(9, dtype))
    report = f.report()
    text = str(report).splitlines()
    assert len(text) <= 40 and len(report.lines) == 60
    assert sum(line.startswith("  compiled  ") for line in text) == 3
    assert any("(and " in line and "more)" in line for line in text)
    assert [r.levelname for r in caplog.records] == ["DEBUG"] * 3
    assert "long compiled for f64[9]: first call, " in caplog.records[0].getMessage()


def test_equal_lines_of_a_report_are_one() -> None:
    assert merged(["a", "b", "a"]) == ["2 x a", "b"]
    assert at_most(["a", "b", "c"], 2, "letters") == ["a", "  ... and 2 more letters"]


def test_what_is_measured_slower_than_numpy_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    report = tracejit.jit(lambda x: x).report()
    report.measured(1e-3, 2e-3)
    assert not caplog.records and "by plain NumPy 2 ms" in str(report)
    slow = tracejit.jit(lambda x: x).report()
    for _ in range(3):
        slow.measured(3e-3, 2e-3)
    (record,) = caplog.records
    assert "a call takes 3 ms, by plain NumPy 2 ms: compiled code is slower" in record.getMessage()
    assert record.levelname == "WARNING" and "is slower here" in str(slow)


# As the program names it -------------------------------------------------------------------------


def density(x: Any) -> Any:
    return scipy.stats.norm.pdf(x)


def there(x: Any) -> Any:
    return x if os.path.exists("/") else -x


@pytest.mark.parametrize(
    "function, name",
    [(density, ": scipy.stats.norm.pdf ("), (there, ": os.path.exists (")],
)
def test_calls_are_named_as_they_are_spelled(function: Callable[..., Any], name: str) -> None:
    f = called(function, (X,))
    for text in (f.report(), *f.all_reasons(X)):
        assert name in str(text)
    with pytest.raises(FallbackError) as failed:
        tracejit.jit(function, strict=True)(X)
    assert name in str(failed.value)

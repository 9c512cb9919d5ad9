"""Profiles: times add up, lines and kernels are named, results and programs stay as they are."""

from __future__ import annotations

import json
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.profiler.profiled import mixed, outer, store
from tracejit.cli import main
from tracejit.profiler import Profile
from tracejit.view.page import view

X = np.random.default_rng(0).random(3000)


def line_of(p: Profile, text: str) -> Any:
    (found,) = [x for x in p.lines if text in x.where.source() and not x.what]
    return found


def test_lines_add_up_to_the_whole() -> None:
    expected = mixed(X, X)
    with tracejit.profile() as p:
        for _ in range(3):
            assert mixed(X, X) == expected
    assert p.calls == {"mixed": 3} and 0 < p.compile_seconds < p.seconds
    assert sum(x.share for x in p.lines) == pytest.approx(1.0, abs=0.05)
    assert line_of(p, "np.partition").host > 0 and line_of(p, "np.exp").host == 0
    assert line_of(p, "total * 0.5").seconds > 0
    assert {x.what for x in p.lines} == {"", "compile", "call"}
    exp = next(k for k in p.kernels if k.what.startswith("exp"))
    assert exp.passes == 3 and exp.bytes == 3 * 3 * X.nbytes
    assert exp.operations >= 3 * 4 * X.size and {w.line for w in exp.lines} == {14, 15}
    text = str(p)
    assert "np.partition" in text and "% NumPy]" in text and "mixed x 3" in text


def test_programs_outside_have_no_clocks() -> None:
    before = len(mixed.report().variants)
    with tracejit.profile():
        mixed(X, X)
    assert len(mixed.report().variants) <= max(before, 1)
    assert "readcyclecounter" not in mixed.lower(X, X).text("llvm")


def test_a_second_block_compiles_again_and_a_second_call_does_not() -> None:
    with tracejit.profile() as p:
        mixed(X, X)
        first = p.compile_seconds
        mixed(X, X)
    assert p.compile_seconds == first > 0
    with tracejit.profile() as empty:
        pass
    assert empty.seconds == 0 and empty.lines == [] and "no calls" in str(empty)


def test_functions_that_run_eagerly_and_what_they_call() -> None:
    with warnings.catch_warnings(), tracejit.profile() as p:
        warnings.simplefilter("ignore")
        outer(X)
    assert p.calls == {"outer": 1, "mixed": 1}
    assert any(x.what == "run as plain Python" for x in p.lines)
    assert sum(x.share for x in p.lines) == pytest.approx(1.0, abs=0.05)


def test_stores_exceptions_and_eager_blocks() -> None:
    x = np.zeros(5)
    with tracejit.profile() as p:
        assert store(x) == 5.0 and x[0] == 1
        with pytest.raises(ValueError, match="large"):
            store(np.full(5, 200.0))
        with tracejit.eager():
            assert store(x) == 10.0
    assert p.calls == {"store": 2}


def test_gradients_and_other_threads() -> None:
    slope = tracejit.grad(lambda x: np.sin(x).sum())
    found = []
    with tracejit.profile() as p:
        slope(X)
        thread = threading.Thread(target=lambda: found.append(slope(X)))
        thread.start()
        thread.join()
    assert p.calls == {"Gradient.<lambda>": 1} or sum(p.calls.values()) == 1
    assert np.array_equal(found[0], np.cos(X)) or np.allclose(found[0], np.cos(X))


def test_a_function_by_itself() -> None:
    x = np.zeros(4)
    p = store.profile(x)
    assert x[0] == 0 and p.plain_seconds is not None and p.calls["store"] >= 1
    assert "by plain NumPy" in str(p)


def test_files_of_a_profile(tmp_path: Path) -> None:
    with tracejit.profile() as p:
        mixed(X, X)
    events = json.loads(p.save(tmp_path / "trace.json").read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"X"} and {e["tid"] for e in events} == {1, 2}
    assert json.loads(json.dumps(p.to_json()))["calls"] == {"mixed": 1}
    place = mixed.__code__.co_filename, 14
    assert p.costs()[place][1] > 0
    page = view(mixed, (X, X), costs=p.costs())
    assert " %  " in page.text
    p.tensorboard(tmp_path / "events")
    tags = tracejit.monitor.read(tmp_path / "events")
    assert any("profiled.py:14" in tag for run in tags.values() for tag in run)


def test_the_command(tmp_path: Path, capsys: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom tests.profiler.profiled import store\nimport numpy as np\n"
        "print(store(np.ones(3)), sys.argv[1:])\nsys.exit(3)\n"
    )
    out = tmp_path / "trace.json"
    assert main(["profile", "-o", str(out), str(script), "a", "-b"]) == 3
    printed = capsys.readouterr()
    assert printed.out == "6.0 ['a', '-b']\n" and "store x 1" in printed.err and out.exists()
    assert main(["profile", str(tmp_path / "none.py")]) == 1

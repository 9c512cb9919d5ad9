"""`tracejit bench` and `bisect`: who is right, who takes part, and what shows a wrong pass."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.cli import main
from tracejit.cli.comparing import compare_results
from tracejit.cli.peers import jax_peer
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.passes.manager import PASSES, run_passes

PROGRAM = """
import numpy as np

def scaled(x, k):
    return double(x * k)

def double(x):
    return x + x

def writes(x):
    x *= 2
    return x

def sums(x):
    return (x * 3.0).sum(), {"x": x + 1.0}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "my_sums.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("my_sums", None)


def bench(capsys: pytest.CaptureFixture[str], code: int, *argv: str) -> dict[str, Any]:
    command = ("bench", *argv, "--rounds", "1", "--against", "", "--here", "--json")
    assert main(command) == code
    data = json.loads(capsys.readouterr().out)
    return {row["name"]: row for row in data["rows"]}


def test_bench(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = bench(capsys, 0, "my_sums.py:scaled", "--args", "f64[100], 2.0")
    assert list(rows) == ["NumPy", "tracejit"]
    assert all(row["agrees"] and row["cpu"] > 0 and row["wall"] > 0 for row in rows.values())
    assert rows["NumPy"]["speedup"] == 1.0 and rows["tracejit"]["first_call"] > 0
    assert main(["bench", "my_sums.py:sums", "--args", "f64[9]", "--rounds", "1", "--here"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("my_sums.py:sums(f64[9])\n1 thread") and "\ntracejit " in out


def test_every_turn_of_a_bench_has_fresh_arguments(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = bench(capsys, 0, "my_sums.py:writes", "--args", "f64[3]")
    assert rows["tracejit"]["note"] == "equal to the last bit"


def test_a_bench_with_a_wrong_answer_fails(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(function: Any) -> Any:
        compiled = tracejit.jit(lambda x: function(x) + 1)
        return compiled

    monkeypatch.setattr("tracejit.cli.calls.jit", wrong)
    rows = bench(capsys, 1, "my_sums.py:writes", "--args", "f64[3]")
    assert not rows["tracejit"]["agrees"] and "DIFFERENT" in rows["tracejit"]["note"]


def test_another_compiler_sees_its_own_numpy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for JAX: which names the function gets, and what is static."""
    seen: dict[str, Any] = {}

    def compile(function: Any, static_argnums: Any, static_argnames: Any) -> Any:
        seen.update(static=static_argnums, names=static_argnames, globals=function.__globals__)
        return function

    fake = SimpleNamespace(asarray=lambda x: x.copy(), where=np.where)
    config = SimpleNamespace(update=lambda *_: None)
    jax = SimpleNamespace(numpy=fake, jit=compile, config=config, block_until_ready=lambda x: x)
    monkeypatch.setitem(sys.modules, "jax", jax)
    names = runpy.run_path("my_sums.py")
    call, args, kwargs = jax_peer(names["scaled"], (np.ones(2), 3), {})
    assert np.array_equal(call(*args, **kwargs), [6.0, 6.0])
    assert seen["static"] == [1] and seen["globals"]["np"] is fake
    assert seen["globals"]["double"].__globals__["np"] is fake
    with pytest.raises(TypeError, match="no function of Python"):
        jax_peer(np.sin, (1.0,), {})


def bisected(capsys: pytest.CaptureFixture[str], code: int, *argv: str) -> dict[str, Any]:
    assert main(["bisect", *argv, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_bisect_finds_nothing_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = bisected(capsys, 0, "my_sums.py:sums", "--args", "f64[9]")
    names = [stage["stage"] for stage in found["stages"]]
    assert names[0] == "trace" and names[-3:] == ["dataflow", "native code", "call"]
    assert "fuse" in names and found["first"] is None and list(folder.glob("bisect*")) == []


def wrong_cse(graph: Graph) -> Graph:
    return parse_graph(print_graph(graph).replace("multiply(", "divide("))


wrong_cse.__name__ = "cse"


def test_bisect_names_the_pass_and_writes_a_script(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [p if p.__name__ != "cse" else wrong_cse for p in PASSES]
    with monkeypatch.context() as patched:
        patched.setitem(run_passes.__kwdefaults__, "passes", steps)
        patched.setattr("tracejit.cli.commands.bisect.PASSES", steps)
        patched.setattr("tracejit.passes.manager.PASSES", steps)
        found = bisected(capsys, 1, "my_sums.py:sums", "--args", "f64[9]")
        assert found["first"] == "cse" and found["script"] == "bisect_sums.py"
        assert "DIFFERENT" in found["stages"][-1]["how"]
        with pytest.raises(SystemExit) as stopped:
            runpy.run_path("bisect_sums.py")
        assert stopped.value.code == 1
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path("bisect_sums.py")
    assert stopped.value.code == 0, "the script shows it where the pass is mended"


def test_bisect_sees_native_code_and_the_call(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            "tracejit.cli.commands.bisect.run_graph",
            lambda graph, inputs: [np.asarray(v) + 1 for v in inputs] * len(graph.outputs),
        )
        found = bisected(capsys, 1, "my_sums.py:scaled", "--args", "f64[9], 2.0")
    assert found["first"] == "native code"
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path("bisect_scaled.py")
    assert stopped.value.code == 0


def test_results_are_compared_with_all_that_they_hold() -> None:
    x = np.arange(3.0)
    thing = SimpleNamespace(x=x, f=len)
    thing.itself = thing
    same = SimpleNamespace(x=x.copy(), f=len)
    same.itself = same
    assert compare_results({"a": [thing, None]}, {"a": [same, None]})[0]
    same.x = x + 1
    agrees, text = compare_results({"a": [thing, None]}, {"a": [same, None]})
    assert not agrees and text.startswith("result['a'][0].x: DIFFERENT")
    assert not compare_results((1, 2), (1, 2, 3))[0]
    assert not compare_results([1.0], (1.0,))[0] and not compare_results("a", "b")[0]
    assert not compare_results(x, None)[0] and not compare_results(1, 1.0)[0]
    assert compare_results(x, [0, 1, 2], values_only=True)[0]

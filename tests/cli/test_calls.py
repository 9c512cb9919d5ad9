"""Calls as a command line says them: types, files, objects, expressions, records; and mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracejit.cli import main, parser
from tracejit.cli.calls import Call, read_call

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
import tracejit

def plain(x, y, axis=0):
    return np.where(x > 0, x * y, 0.0).sum(axis=axis)

class Net:
    def __init__(self, rng):
        self.w = rng.standard_normal((3, 3))
    @tracejit.jit
    def forward(self, x, *, scale=1.0):
        return np.tanh(self.w @ x) * scale
    def __call__(self, x):
        return self.w @ x

def apply(f, x):
    return f(x) + 1

def collect(x, *more, **options):
    return x + len(more) + options["k"]

@tracejit.jit
def through(x):
    return eval("x + 1")

def writes(x):
    x *= 2
    return x.sum()

net = Net(np.random.default_rng(1))
"""

SCRIPT = """
import sys
from my_calls import Net, collect, np
print("not to be seen")
x = np.arange(3.0)
Net(np.random.default_rng(5)).forward(x * int(sys.argv[1]), scale=3.0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "my_calls.py").write_text(PROGRAM)
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    yield tmp_path
    sys.modules.pop("my_calls", None)


def call_of(name: str, *argv: str) -> Call:
    return read_call(parser("report").parse_args([f"my_calls.py:{name}", *argv]))


def test_sizes_by_name_and_keywords(folder: Path) -> None:
    call = call_of("plain", "--args", "f64[n, m], f32[n], axis=m", "--sizes", "n=7")
    assert [x.shape for x in call.args] == [(7, 100), (7,)] and call.kwargs == {"axis": 100}
    again = call_of("plain", "--args", "f64[n, m], f32[n], axis=m", "--sizes", "n=7")
    other = call_of("plain", "--args", "f64[7, m], f32[7]", "--seed", "1")
    assert np.array_equal(call.args[0], again.args[0])
    assert not np.array_equal(call.args[0], other.args[0])


def test_expressions(folder: Path) -> None:
    call = call_of("apply", "--args", "lambda x: x * 3, np.eye(2)")
    assert np.array_equal(call.run(call.compiled), 3 * np.eye(2) + 1)
    assert call.compiled.report().compiles
    call = call_of("apply", "--setup", "k = 2\ndef f(x): return x * k", "--args", "f, net.w")
    assert np.array_equal(call.run(call.plain), 2 * call.args[1] + 1)


def test_methods(folder: Path) -> None:
    setup = ("--setup", "rng = np.random.default_rng(0)")
    want = np.random.default_rng(0).standard_normal((3, 3))
    call = call_of("Net.forward", "--self", "Net(rng)", *setup, "--args", "f64[3], scale=2.0")
    assert np.array_equal(call.args[0].w, want) and call.kwargs == {"scale": 2.0}
    for name, more in (("net.forward", ()), ("Net", ("--self", "net")), ("net", ())):
        call = call_of(name, *more, "--args", "f64[3]")
        assert call.run(call.compiled).shape == (3,)
        assert call.compiled.report().compiles


def test_files(folder: Path) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    np.savez(folder / "data.npz", y=y, x=x, axis=1)
    np.save(folder / "x.npy", x)
    call = call_of("plain", "--args", "data.npz")
    assert call.args == () and type(call.kwargs["axis"]) is int
    assert np.array_equal(call.run(call.plain), [3.0, 12.0])
    np.savez(folder / "places.npz", x, y)
    for files in ("places.npz", "x.npy,x.npy"):
        call = call_of("plain", "--args", files)
        assert call.run(call.plain).shape == (3,)


def test_the_first_call_of_a_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = call_of("Net.forward", "--record", "script.py 4")
    assert np.array_equal(call.args[1], 4 * np.arange(3.0)) and call.kwargs == {"scale": 3.0}
    assert np.array_equal(call.args[0].w, np.random.default_rng(5).standard_normal((3, 3)))
    assert capsys.readouterr().out == ""
    (folder / "script.py").write_text("import my_calls\nmy_calls.collect(1, 2, 3, k=4)\n")
    call = call_of("collect", "--record", "script.py")
    assert (call.args, call.kwargs, call.run(call.plain)) == ((1, 2, 3), {"k": 4}, 7)


BAD = [
    ("shwo my_calls.py:plain", 2, "did you mean show?"),
    ("show", 2, "MODULE:FUNCTION"),
    ("show my_calls.py:plain --nonsense", 2, "--nonsense"),
    ("show my_calls.py", 2, "is not MODULE:FUNCTION"),
    ("show my_calls.py:plian", 2, "did you mean plain?"),
    ("show my_calls.py:plain --args float64[3],f64[3]", 2, "did you mean f64[3]?"),
    ("show my_calls.py:plain --args f64[-1],f64[3]", 2, "negative"),
    ("show my_calls.py:plain --args f64[99999999999,99999],f64[3]", 2, "no array of type"),
    ("show my_calls.py:plain --args *x", 2, "no stars"),
    ("show my_calls.py:plain --args f64[3],nothing", 2, "'nothing' is not defined"),
    ("show my_calls.py:plain --args f64[n],f64[n] --sizes k=3", 2, "there is no size k"),
    ("show my_calls.py:plain --args f64[n],f64[n] --sizes n", 2, "--sizes cannot be read"),
    ("show my_calls.py:plain --args none.npz", 2, "there is no file none.npz"),
    ("show my_calls.py:plain --args broken.npz", 1, "is no file of numbers"),
    ("show my_calls.py:plain --args names.npz", 2, "did you mean axis?"),
    ("show my_calls.py:plain --args f64[3],f64[4]", 1, "ValueError"),
    ("show my_calls.py:Net.forward --args f64[3]", 2, "--self gives the object"),
    ("show my_calls.py:Net.forward --self Nett() --args f64[3]", 2, "Nett"),
    ("show my_calls.py:plain --setup 1/0", 2, "ZeroDivisionError"),
    ("show my_calls.py:plain --record a'b", 2, "--record cannot be read"),
    ("show exits.py:f", 1, "it ends the process (3)"),
    ("show syntax.py:f", 1, "SyntaxError"),
    ("show nowhere/at/all.py:f", 2, "tracejit: there is no file"),
    ("show my_calls.py:plain --record none.py", 2, "no file none.py"),
    ("show my_calls.py:plain --record script.py", 1, "IndexError"),
    ("show my_calls.py:plain --record my_calls.py", 1, "ends without a call"),
    ("show my_calls.py:plain --record my_calls.py --args 3", 2, "--record gives the arguments"),
    ("show my_calls.py:plain --args f64[3],f64[3] --stage fusee", 2, "did you mean fuse?"),
    ("explain TJ01", 2, "did you mean TJ0"),
    ("ops partion", 2, "did you mean partition?"),
    ("bench my_calls.py:plain --rounds 0", 2, "at least 1"),
    ("bench my_calls.py:plain --against jaxx", 2, "did you mean jax?"),
    ("bisect my_calls.py:through --args f64[3]", 1, "TJ002"),
    ("opt none.graph", 2, "there is no file none.graph"),
    ("run broken.npz --random", 1, "broken.npz is no text"),
    ("show my_calls.py:plain --seed -1", 2, "is not a number from 0"),
    ("show my_calls.py:plain --args x=1,x=2", 2, "a keyword is given twice"),
    ("show my_calls.py:plain --args exit(),2", 2, "SystemExit"),
    ("show my_calls.py:plain --setup exit()", 2, "SystemExit"),
    ("show my_calls.py:plain --args f64[3]@(0,0),f64[3]", 2, "neither a type nor a value"),
]


@pytest.mark.parametrize("command, code, message", BAD, ids=[c for c, _, _ in BAD])
def test_mistakes_are_told_in_a_few_lines(
    command: str, code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.npz").write_bytes(b"\xff\xfenonsense")
    (folder / "exits.py").write_text("raise SystemExit(3)")
    (folder / "syntax.py").write_text("def f(:")
    np.savez(folder / "names.npz", x=1.0, y=1.0, axsi=0)
    assert main(command.split()) == code
    out, err = capsys.readouterr()
    assert out == "" and message in err and err.startswith("tracejit: ")
    assert "Traceback" not in err and len(err.splitlines()) <= 6


def test_as_processes(folder: Path) -> None:
    for command, code, message in (BAD[0], BAD[9], BAD[16]):
        done = subprocess.run(
            [sys.executable, "-m", "tracejit", *command.split()],
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (code, "") and message in done.stderr


def as_json(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(argv) == 0
    return json.loads(capsys.readouterr().out)


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ("my_calls.py:plain", "--args", "f64[3], f64[3]")
    data = as_json(capsys, "report", *call, "--json")
    assert data["compiles"][0]["signature"] == "f64[3], f64[3]" and data["fallbacks"] == []
    data = as_json(capsys, "report", "my_calls.py:through", "--args", "f64[3]", "--json")
    assert [(f["code"], f["line"]) for f in data["fallbacks"]] == [("TJ002", 25)]
    assert "select" in as_json(capsys, "show", *call, "--stage", "trace", "--json")["trace"]
    ops = as_json(capsys, "ops", "erf", "np.partition", "--json")
    assert ops["ops"][0]["op"] == "erf" and ops["functions"] == {"np.partition": "host"}
    assert as_json(capsys, "explain", "TJ001", "--json")[0]["code"] == "TJ001"
    assert as_json(capsys, "doctor", "--json")["NumPy"] == np.__version__
    graph = "def f(x: f64[3]):\n    y: f64[3] = add(x, x)\n    return y\n"
    (folder / "g.graph").write_text(graph)
    assert len(as_json(capsys, "run", "g.graph", "--random", "--json")["y"]) == 3
    for how in ("--compare", "--each"):
        checks = as_json(capsys, "run", "g.graph", "--random", how, "--json")
        assert checks and all(check["agrees"] for check in checks)


def test_what_the_program_prints_is_no_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "loud.py").write_text(
        "print('module')\ndef f(x):\n    print('called')\n    return x\n"
    )
    for command in ("report", "bisect"):
        assert main([command, "loud.py:f", "--args", "f64[3]", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out) and "module" in err and "called" in err


def test_the_report_after_a_call(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "my_calls.py:net.forward", "--args", "f64[3]"]) == 0
    assert capsys.readouterr().out.startswith("Net.forward: 1 compiled, 0 eager\n")

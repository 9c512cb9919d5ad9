"""The command line: what it prints, its exit codes, and no traceback for a user's mistake."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.passes.test_passes import CSE, FOLD
from tracejit.cli import main, names
from tracejit.cli.arguments import parse_args
from tracejit.codegen.support import threads
from tracejit.errors import CODES
from tracejit.ir.graph import ConstArray, Graph, GraphBuilder
from tracejit.ir.op import OPS
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.passes.manager import PASSES, run_passes
from tracejit.runtime import native
from tracejit.runtime.compile.dump import dump_compile, graph_files

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
import tracejit

def plain(x, y):
    return np.where(x > 0, x * y, 0.0).sum()

@tracejit.jit
def decorated(x, k=2):
    return x * k

class Holder:
    @staticmethod
    def method(x):
        return x + 1.0

def raises(x):
    return x.reshape(7)

def eager_only(x):
    return open("nowhere")

number = 3
"""

GRAPH = """
def f(n: size, x: f64[n], y: f64[n], c: f64):
    all_c: f64[n] = broadcast_to(c, shape=(n,))
    d: f64[n] = multiply(x, all_c)
    e: f64[n] = add(d, y)
    s: f64[()] = reduce_sum(e, axes=(0,))
    return e, s
"""


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    code = main(argv)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert bool(err) == (code != 0)
    return code, out, err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with a program and a graph in it."""
    (tmp_path / "my_program.py").write_text(PROGRAM)
    (tmp_path / "g.graph").write_text(GRAPH)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    yield tmp_path
    sys.modules.pop("my_program", None)


@pytest.mark.parametrize(
    "target", ["my_program:plain", "my_program.py:plain", "./my_program.py:plain"]
)
def test_show_prints_a_stage(target: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", target, "--args", "f64[10], f64[10]", "--stage", "trace")
    assert code == 0 and "reduce_sum" in out and "# my_program.py:6" in out
    parse_graph(out)


def test_show_knows_every_stage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("show", "my_program:plain", "--args", "f64[1000], f64[1000]", "--stage")
    for stage in (step.__name__ for step in PASSES):
        code, out, _ = run(capsys, *command, stage)
        assert code == 0 and out.startswith("def plain(")
    assert "define" in run(capsys, *command, "llvm")[1]
    code, out, _ = run(capsys, *command, "all")
    assert code == 0 and "# trace" in out and "# kernel" in out and "# asm" in out
    code, _, err = run(capsys, *command, "nonsense")
    assert (
        code == 2
        and "there is no stage nonsense; there are trace, inline_calls, loops_at_once" in err
    )


def test_show_a_gradient(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("show", "my_program:plain", "--args", "f64[10], f64[10]", "--stage", "trace")
    code, out, _ = run(capsys, *command, "--grad")
    graph = parse_graph(out)
    assert code == 0 and [str(v.type) for v in graph.outputs[-2:]] == ["f64[10]"] * 2
    code, out, _ = run(capsys, *command, "--grad", "1")
    assert code == 0 and len(parse_graph(out).outputs) == len(graph.outputs) - 1
    for wrong in ("x", "2", "0,5"):
        assert run(capsys, *command, "--grad", wrong)[0] == 2


def test_show_takes_decorated_functions_and_methods(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for target, args in [("decorated", "f32[4, 5], 3"), ("Holder.method", "float")]:
        code, out, _ = run(capsys, "show", f"my_program:{target}", "--args", args)
        assert code == 0 and out.startswith(f"def {target.split('.')[-1]}(")


@pytest.mark.parametrize(
    "argv, code, message",
    [
        (["my_program"], 2, "is not MODULE:FUNCTION"),
        (["no_such_module:f"], 2, "cannot import no_such_module"),
        (["no_such_file.py:f"], 2, "there is no file"),
        (["my_program:nothing"], 2, "has no nothing"),
        (["my_program:number"], 2, "not a function"),
        (["my_program:plain", "--args", "f64[n], f64[m]", "--sizes", "k=2"], 2, "there are n, m"),
        (["my_program:plain", "--args", "f64["], 2, "cannot be read"),
        (["my_program:plain", "--args", "lis"], 2, "neither a type nor a value"),
        (["my_program:plain", "--args", "f64[3]"], 2, "missing a required argument"),
        (["my_program:raises", "--args", "f64[3]"], 1, "my_program.py"),
        (["my_program:eager_only", "--args", "f64[3]"], 1, "my_program.py"),
    ],
)
def test_show_explains_mistakes(
    argv: list[str], code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, "show", *argv)
    assert (found, out) == (code, "") and message in err


def test_a_module_that_fails_to_import(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.py").write_text("x = 1\nx.y\n")
    for target in ("broken:f", "broken.py:f"):
        code, _, err = run(capsys, "show", target)
        assert code == 1 and "AttributeError" in err and "line 2" in err


def test_example_arguments() -> None:
    (a, b, c, d, e, f), _ = parse_args('f32[4, 5] @ (1, 0,), u8, complex, -3, True, "mean"')
    assert a.dtype == np.float32 and a.shape == (4, 5) and a.flags.f_contiguous
    assert type(b) is np.uint8 and type(c) is complex
    assert (d, e, f) == (-3, True, "mean")
    assert parse_args("") == ([], {})
    (zero, point), _ = parse_args("i64[0, 3], f64[()]")
    assert zero.shape == (0, 3)
    assert isinstance(point, np.ndarray) and point.shape == ()


def test_opt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cse.graph").write_text(CSE)
    code, out, _ = run(capsys, "opt", "cse.graph", "-p", "cse,dce")
    passes = [step for step in PASSES if step.__name__ in ("cse", "dce")]
    assert code == 0 and out == print_graph(
        run_passes(parse_graph(CSE), verify=True, passes=passes)
    )
    code, out, _ = run(capsys, "opt", "cse.graph", "-p", "cse,dce", "--each")
    assert "--- before\n+++ cse\n" in out and "-    b: f64[n] = add(y, x)" in out
    assert "no change" in out
    code, _, err = run(capsys, "opt", "cse.graph", "-p", "nonsense")
    assert code == 2 and "there is no pass nonsense" in err


def test_constants_are_found_beside_the_text(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = GraphBuilder("f")
    value = builder.one(OPS["constant"], (), value=ConstArray(np.arange(99.0)), type="f64[99]")
    constants: dict[str, Any] = {}
    text = print_graph(builder.build([value]), constants)
    (folder / "big.graph").write_text(text)
    assert "not in the table" in run(capsys, "opt", "big.graph")[2]
    np.savez(folder / "big.npz", **constants)
    assert run(capsys, "opt", "big.graph", "-p", "dce")[1] == text


def test_lower(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "define" in run(capsys, "lower", "g.graph")[1]
    assert "def k0" in run(capsys, "lower", "g.graph", "--backend", "reference")[1]


def test_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(folder / "in.npz", x=np.arange(3.0), y=np.ones(3), c=np.float64(2))
    for backend in ("llvm", "numpy"):
        code, out, _ = run(capsys, "run", "g.graph", "--inputs", "in.npz", "--backend", backend)
        assert (code, out) == (0, "e = [1. 3. 5.]\ns = 9.\n")
    code, out, _ = run(capsys, "run", "g.graph", "--random", "--compare", "--sizes", "n=100")
    assert code == 0 and "e: equal to the last bit" in out


@pytest.mark.parametrize(
    "argv, code, message",
    [
        (["g.graph"], 2, "required"),
        (["g.graph", "--random", "--sizes", "m=3"], 2, "no size m"),
        (["g.graph", "--random", "--sizes", "n="], 2, "cannot be read"),
        (["g.graph", "--random", "--sizes", "n=-1"], 2, "not a number from 0"),
        (["g.graph", "--inputs", "none.npz"], 2, "none.npz"),
        (["g.graph", "--inputs", "g.graph"], 1, "is no file of arrays"),
        (["g.graph", "--inputs", "few.npz"], 1, "holds neither x nor arr_0"),
        (["g.graph", "--inputs", "bad.npz"], 1, "the size n is 3 and 4"),
        (["none.graph", "--random"], 2, "none.graph"),
        (["my_program.py", "--random"], 1, "my_program.py"),
    ],
)
def test_run_explains_mistakes(
    argv: list[str], code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(folder / "few.npz", z=np.ones(3))
    np.savez(folder / "bad.npz", x=np.ones(3), y=np.ones(4), c=np.float64(2))
    found, out, err = run(capsys, "run", *argv)
    assert (found, out) == (code, "") and message in err


def test_a_comparison_can_fail(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import tracejit.runtime.compile.graph_call

    def wrong(graph: Any, inputs: Any) -> Any:
        return np.nextafter(inputs[0] * inputs[2] + inputs[1], 9.0), np.array(1.0)

    monkeypatch.setattr(tracejit.runtime.compile.graph_call, "run_graph", wrong)
    assert main(["run", "g.graph", "--random", "--compare"]) == 1
    assert "s: DIFFERENT" in capsys.readouterr().out
    exact = GRAPH.replace("    s: f64[()] = reduce_sum(e, axes=(0,))\n", "").replace("e, s", "e")
    (folder / "exact.graph").write_text(exact)
    monkeypatch.setattr(
        tracejit.runtime.compile.graph_call, "run_graph", lambda g, x: wrong(g, x)[:1]
    )
    assert main(["run", "exact.graph", "--random", "--compare"]) == 1
    assert "e: DIFFERENT" in capsys.readouterr().out


def test_the_pass_that_changes_a_result_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = run(capsys, "run", "g.graph", "--random", "--each")
    assert code == 0 and out.endswith("fuse: the same\nnative code: the same\n")

    def wrong(graph: Graph) -> Graph:
        text = print_graph(graph).replace("multiply(x,", "divide(x,")
        return parse_graph(text)

    steps = [p if p.__name__ != "cse" else wrong for p in PASSES]
    monkeypatch.setattr("tracejit.cli.commands.run.PASSES", steps)
    assert main(["run", "g.graph", "--random", "--each"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("wrong: e: DIFFERENT")
    monkeypatch.setattr("tracejit.cli.commands.run.PASSES", PASSES)
    monkeypatch.setattr(
        "tracejit.runtime.compile.graph_call.run_graph", lambda g, x: (x[0], np.float64(0.0))
    )
    assert main(["run", "g.graph", "--random", "--each"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("native code: e: DIFFERENT")


class Stages:
    """A compile as the dump sees it."""

    def __init__(self, name: str = "f") -> None:
        self.graphs = {"trace": parse_graph(FOLD.replace("def f(", f"def {name}("))}
        run_passes(
            self.graphs["trace"],
            verify=True,
            observe=lambda stage, graph, _: self.graphs.update({stage: graph}),
        )
        self.seconds = {"fold": 0.001}

    def text(self, stage: str) -> str:
        if stage == "asm":
            raise ValueError("no assembler")
        return f"{stage} text\n"


def test_a_dump_holds_every_stage_and_diff_shows_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dump_compile(str(folder / "dumps"), Stages(), "first call", "f64[n]")
    assert dump is not None
    stages = ["trace", *(step.__name__ for step in PASSES)]
    assert [p.name for p in graph_files(dump)] == [
        f"{k:02}-{s}.graph" for k, s in enumerate(stages)
    ]
    assert (dump / "llvm.ll").read_text() == "llvm text\n"
    assert (dump / "asm.s").read_text() == "ValueError: no assembler\n"
    assert "first call" in (dump / "report.txt").read_text()
    assert [p for p in dump.parent.iterdir() if p.name.startswith(".")] == []
    for where in (dump, dump.parent):
        code, out, _ = run(capsys, "diff", str(where))
        assert code == 0 and "+++ 04-fold" in out and "-    c: f64 = add(a, b)" in out
    assert run(capsys, "opt", str(dump / "00-trace.graph"))[0] == 0
    assert run(capsys, "diff", str(folder))[0] == 1
    assert run(capsys, "diff", "nowhere")[0] == 2


def test_dumps_of_many_threads_do_not_meet(tmp_path: Path) -> None:
    stages = Stages()
    threads = [
        threading.Thread(target=dump_compile, args=(str(tmp_path), stages, "r", "s"))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = list(tmp_path.iterdir())
    assert len(found) == 8
    assert all(len(graph_files(p)) == len(stages.graphs) for p in found)


def test_a_dump_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert dump_compile(str(tmp_path / "file"), Stages(), "r", "s") is None
    assert "TRACEJIT_DUMP" in str(caught[0].message)


def test_ops(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "ops")
    assert code == 0
    table, hosts = out.split("\n\n", 1)
    assert {line.split()[0] for line in table.splitlines()[1:]} == set(OPS)
    assert "partition" in hosts and "\nscipy.linalg:\n" in hosts and " erf " not in hosts
    assert "The error function" in run(capsys, "ops", "erf")[1]
    assert run(capsys, "ops", "nonsense")[0] == 2


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "explain", "tj003", "TJ021")[1]
    assert "TJ003: " in out and "TJ021: " in out and "What to do: " in out
    assert "    @jit\n" in out and "This compiles:" in out
    everything = run(capsys, "explain")[1]
    assert all(f"{code}  {what}\n" in everything for code, (what, _) in CODES.items())
    assert run(capsys, "explain", "TJ999")[0] == 2


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert np.__version__ in out and re.search("^compiling +works$", out, re.MULTILINE)


def test_doctor_says_what_is_off_and_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "why_not", lambda: "a reason")
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(threads, "_MACHINES", {})
    code, out, _ = run(capsys, "doctor")
    said = {line[:22].strip(): line[23:] for line in out.splitlines()}
    assert code == 0 and said["native entry"] == "off: a reason"
    assert said["threads"].startswith("off: there is no pool of threads for ")


def test_doctor_finds_what_the_environment_says_wrongly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJIT_FALBACK", "error")
    monkeypatch.setenv("TRACEJIT_DEVICE", "gpu")
    code, out, err = run(capsys, "doctor")
    assert code == 1 and err == "tracejit: 3 of these failed\n"
    assert "FAILED: there is no variable TRACEJIT_FALBACK; did you mean TRACEJIT_FALLBACK?" in out
    assert "there is no device gpu; did you mean cpu?" in out


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys)[0] == 2
    assert run(capsys, "nonsense")[0] == 2
    assert "show" in run(capsys, "--help")[1]
    for command in names():
        assert command in run(capsys, "--help")[1]
        assert f"usage: tracejit {command}" in run(capsys, command, "--help")[1]
    assert run(capsys, "--version")[1] == f"tracejit {tracejit.__version__}\n"
    assert "did you mean show?" in run(capsys, "shwo")[2]
    code, _, err = run(capsys, "show")
    assert code == 2 and len(err.splitlines()) == 1


def test_as_a_module_with_a_reader_that_stops() -> None:
    """`python -m tracejit ops | head -1` ends quietly."""
    command = f'"{sys.executable}" -m tracejit ops | head -n 1'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.startswith("op ") and done.stderr == ""


def test_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, tracejit.cli as c; c.main(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    heavy = {"llvmlite", "scipy", "numba", "sklearn", "PIL", "tracejit.passes.manager"}
    assert heavy.isdisjoint(done.stdout.split())

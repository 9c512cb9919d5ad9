"""`tracejit compile`: a folder that is there, what is said of it, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.libraries import NEEDS_CC, load
from tracejit.cli import main
from tracejit.export import Exported

pytestmark = NEEDS_CC

PROGRAM = """
import numpy as np

def scaled(x, y, k=2):
    return (x * y).sum() * k

def prints(x):
    y = x * 2
    print(y)
    return y

def opens(x):
    return x + len(open("nowhere").read())
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_library.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "my_library.py"


def test_several_signatures(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", f"{program}:scaled", "--args", "f64[n], f64[n]"]
    assert main([*command, "--args", "f32[n], f32[n], k=3", "-o", "out"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "scaled(x: f64[n], y: f64[n]) -> f64, where n >= 2",
        "scaled_2(x: f32[n], y: f32[n], k = 3) -> f32, where n >= 2",
        *("out/libscaled.so", "out/scaled.h", "out/scaled.py", "out/example.c"),
    ]
    scaled = load(Exported("scaled", Path("out"), {})).scaled
    x = np.arange(4.0)
    assert scaled(x, x) == 28.0
    assert scaled(x.astype(np.float32), x.astype(np.float32), k=3) == 42.0


def test_gradients_and_json(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", f"{program}:scaled", "--args", "f64[n], f64[n]", "--grad", "1", "--json"]
    assert main([*command, "--name", "slope", "--target", "x86-64-v2"]) == 0
    said = json.loads(capsys.readouterr().out)
    text = "(x: f64[n], y: f64[n]) -> f64, f64[n], where n >= 2"
    assert said == {"folder": ".", "functions": {"slope": text}}
    value, slope = load(Exported("slope", Path("."), {})).slope(np.arange(3.0), np.ones(3))
    assert value == 6.0 and slope.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(
    "function, options, code, said",
    [
        ("prints", ["--args", "f64[n]"], 1, "line 9"),
        ("opens", ["--args", "f64[n]"], 1, "opens"),
        ("scaled", ["--args", "f64[n]"], 2, "missing a required argument"),
        ("scaled", ["--args", "f64[n], f64[n"], 2, "not a signature"),
        ("scaled", ["--args", "f64[n], f64[n]", "--sizes", "m=3"], 2, "there is no size m"),
        ("scaled", ["--args", "f64[n], f64[n]", "--name", "sin"], 2, "cannot be named 'sin'"),
        ("scaled", ["--args", "f64[n], f64[n]", "--target", "pentium"], 2, "invalid choice"),
        ("scaled", ["--args", "f64[n], f64[n]", "--cc", "no-such-cc"], 1, "there is no no-such-cc"),
        ("scaled", ["--args", "f64[n], f64[n]", "--grad", "7"], 2, "--grad"),
        ("scaled", [], 2, "--args"),
    ],
)
def test_mistakes(
    program: Path,
    capsys: pytest.CaptureFixture[str],
    function: str,
    options: list[str],
    code: int,
    said: str,
) -> None:
    assert main(["compile", f"{program}:{function}", *options]) == code
    found = capsys.readouterr()
    assert said in found.err and found.err.startswith("tracejit: ") and not found.out
    assert "Traceback" not in found.err

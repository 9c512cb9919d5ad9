"""The notebooks run from top to bottom, each code cell in a file of its own, in one namespace."""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path: Path) -> list[str]:
    """The source of each code cell, in order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 8


@EACH
def test_is_a_notebook_without_outputs(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in book["cells"]]
    assert len(set(names)) == len(names)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
        else:
            assert cell["cell_type"] == "markdown" and "outputs" not in cell


@pytest.mark.sampled(7)
@EACH
def test_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pictures are drawn where nobody sees them, and files are written where nobody keeps them.
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib")
    # As in a session of IPython, the cells are the main module.
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    shown, printed = vars(main), []
    for k, source in enumerate(code_cells(path)):
        file = tmp_path / f"{path.stem}_{k}.py"
        file.write_text(source, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, str(file), "exec"), shown)
        printed.append(out.getvalue())
    if path.stem == "fit_damped_oscillator":
        lines = {tuple(x.splitlines()[:-1]) for x in printed[-2:]}
        assert len(lines) == 1, "eager and compiled print the same"
        (steps,) = lines
        assert any("refused" in x for x in steps) and any("accepted" in x for x in steps)
    elif path.stem == "train_digits":
        assert shown["accuracy"] >= 0.97 and shown["confusion"].sum() == len(shown["named"])
        assert len(shown["step"].report().compiles) == 1
    jitted = [f for f in shown.values() if hasattr(f, "report") and hasattr(f, "lower")]
    assert all(not f.report().fallbacks or f.__name__ == "with_a_table" for f in jitted)
    assert jitted and shown["plt"].get_fignums()
    shown["plt"].close("all")


def test_functions_of_a_session_are_compiled() -> None:
    """IPython keeps the source of a cell in `linecache` alone, under a name that is no file's."""
    name, source = "<ipython-input-7-0123456789ab>", "def f(x):\n    return (x * x).sum()\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    shown: dict[str, Any] = {}
    exec(compile(source, name, "exec"), shown)
    gradient = tracejit.grad(shown["f"])
    assert np.array_equal(gradient(np.arange(3.0)), [0.0, 2.0, 4.0])
    assert gradient.report().compiles and not gradient.report().fallbacks

"""Code is known by its contents: what it is from has another name, or lies elsewhere, as it may."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.cache.processes import python
from tracejit.runtime.cache import environment

CELL = """
import signal, traceback
import numpy as np
import tracejit

class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by

scale = Scale(0.5)

def last(x, k):
    return x[k]

@tracejit.jit
def f(x, n):
    total = 0.0
    for i in range(n):
        total = scale(total) + last(x, i % 3)
    if total < 0:
        raise ValueError(f"{n} is too much")
    return total

def interrupt(*_):
    raise KeyboardInterrupt

def place(call):
    try:
        call()
    except BaseException as e:
        frames = traceback.extract_tb(e.__traceback__)
        files = [frame.filename for frame in frames if frame.name != "interrupt"]
        return type(e).__name__, str(e), files[-1]

def run():
    found = [f(np.arange(3.0), 6), place(lambda: f(-np.ones(3), 5))]
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    found.append(place(lambda: f(np.ones(3), 2**40)))
    report = f.report()
    files = sorted({line.where.file for line in report.lines})
    return found, files, [c.recalled for c in report.variants]
"""

RUN = """
import json, linecache, sys
name, text = sys.argv[1:]
linecache.cache[name] = len(text), None, text.splitlines(True), name
names = {"__name__": "of_no_module"}
exec(compile(text, name, "exec"), names)
print(json.dumps(names["run"]()))
"""


def run(name: str, text: str, folder: Path) -> Any:
    """What a process finds that runs a cell of this name."""
    return json.loads(python("-c", RUN, name, text, cache=folder / "cache", cwd=folder))


def test_a_cell_of_a_notebook(tmp_path: Path) -> None:
    """It has another name in each process, which errors, interrupts and reports show."""
    for name, is_warm in (("<cell 1>", False), ("<cell of another>", True), ("/gone.py", True)):
        found, files, recalled = run(name, CELL, tmp_path)
        value, raised, interrupted = found
        assert value == 2.8125 and raised[2] == name == interrupted[2]
        assert raised[:2] == ["ValueError", "5 is too much"]
        assert interrupted[0] == "KeyboardInterrupt" and files == [name]
        assert recalled[0] is is_warm
    # Other text is other code, under whatever name.
    found, _, recalled = run("<cell 1>", CELL.replace("x * self.by", "x / 4"), tmp_path)
    assert not any(recalled) and found[0] != value


def test_a_helper_that_lies_elsewhere_and_is_another_one(tmp_path: Path) -> None:
    program = "import helper\nimport tracejit\n@tracejit.jit\ndef f(x):\n    return helper.g(x)\n"
    program += "print(f(1.0), f._state is None, __file__)\n"
    helper = "def g(x):\n    return x + {}\n"
    for folder, added, is_warm in (
        ("a", 1, False),
        ("b", 1, True),
        ("b", 2, False),
        ("a", 1, True),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "app.py").write_text(program)
        (tmp_path / folder / "helper.py").write_text(helper.format(added))
        printed = python("app.py", cache=tmp_path / "cache", cwd=tmp_path / folder).split()
        assert printed[:2] == [str(1.0 + added), str(is_warm)]


def test_numpy_is_known_by_its_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = np._core._multiarray_umath.__file__  # type: ignore[attr-defined]
    root = Path(np.__file__).parents[1]
    known = environment._library(path)
    # Without the list that its installer has left, or with an older one, contents are read.
    copy = tmp_path / Path(path).relative_to(root)
    copy.parent.mkdir(parents=True)
    shutil.copyfile(path, copy)
    monkeypatch.setattr(np, "__file__", str(tmp_path / "numpy" / "__init__.py"))
    assert environment._library(str(copy)) == known
    info = tmp_path / "numpy-0.dist-info"
    info.mkdir()
    name = copy.relative_to(tmp_path)
    (info / "RECORD").write_text(f"a,,\n{name},sha256=x,1\n")
    assert environment._library(str(copy)) == ("sha256=x", 1)
    os.utime(info / "RECORD", ns=(0, 0))
    assert environment._library(str(copy)) == known
    with open(copy, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    assert environment._library(str(copy)) != known

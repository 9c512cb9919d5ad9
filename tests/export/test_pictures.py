"""DOT, SVG and event files of the graphs of compiled functions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tracejit
from tests.support.chromium import MISSING, browser
from tracejit.errors import TraceError
from tracejit.export import dot, svg

SVG = "{http://www.w3.org/2000/svg}"


def looped(x: Any, n: Any) -> Any:
    y = np.tanh(x) * 2
    for _ in range(n):
        if y.sum() > 3:
            y = y - x.mean()
        else:
            y = np.sort(y)
    return {'<y> & "z"': y, "sum": y.sum()}


X = np.ones(4)


@pytest.mark.parametrize("stage", ["fuse", "dataflow", "trace"])
def test_boxes_and_arrows_are_those_of_both(stage: str, tmp_path: Path) -> None:
    text = dot(looped, X, 3, stage=stage, path=tmp_path / "a.dot")
    picture = ElementTree.fromstring(svg(looped, X, 3, stage=stage, path=tmp_path / "a.svg"))
    assert (tmp_path / "a.dot").read_text() == text
    boxes = re.findall(r"^ +n\d+ \[", text, re.M)
    arrows = re.findall(r"^ +n\d+ -> n\d+ \[", text, re.M)
    groups = [g for g in picture.iter(f"{SVG}g") if g.find(f"{SVG}title") is not None]
    assert len(boxes) == len(groups) > 8
    assert len(arrows) == len([p for p in picture.iter(f"{SVG}path") if "marker-end" in p.attrib])
    assert "x: f64[4], 32 bytes" in text
    labels = {t.text for t in picture.iter(f"{SVG}text")}
    expected = {"switch", "merge", "enter", "exit", "next_iteration"}
    assert expected <= labels if stage == "dataflow" else "while_loop: body" in labels
    if program := shutil.which("dot"):
        done = subprocess.run([program, "-Tsvg"], input=text, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr


def test_a_stage_that_is_no_graph_and_a_function_that_runs_eagerly() -> None:
    with pytest.raises(ValueError, match="there is no stage with a graph llvm"):
        dot(looped, X, 3, stage="llvm")
    with pytest.raises(TraceError, match="TJ002"):
        svg(lambda x: eval("x + 1"), X)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[str]:
    """The address of a TensorBoard that shows a folder."""
    pytest.importorskip("tensorboard")
    tracejit.export.tensorboard(looped, (X, 3), tmp_path)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path), "--port=0"]
    process = subprocess.Popen(
        [*command, "--host=127.0.0.1", "--load_fast=false"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        yield next(m[0] for m in (re.search(r"http://\S+", x) for x in process.stderr) if m)
    finally:
        process.kill()
        process.communicate()


_NAMES = """(() => {
    const found = [], walk = root => {
        for (const e of root.querySelectorAll("*")) {
            if (e.dataset && e.dataset.name) found.push(e.dataset.name);
            if (e.shadowRoot) walk(e.shadowRoot);
        }
    };
    walk(document);
    return found;
})()"""


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_tensorboard_draws_the_graph(board: str) -> None:
    with browser() as b:
        b.open(f"{board}#graphs")
        end = time.monotonic() + 30
        while not (names := b.run(_NAMES)) and time.monotonic() < end:
            time.sleep(0.2)
    assert {"x", "looped", "result_0", "result_1"} <= set(names)

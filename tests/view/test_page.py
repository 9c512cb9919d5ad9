"""The page holds what it shows: source, stages, places, kernels, memory, drawings."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.view.viewed import blurred, norm, norm_and_one, with_a_class
from tracejit.cli import main
from tracejit.runtime.compile.dump import dump_compile
from tracejit.view.page import Page, view, view_both, view_dump

IMAGE = np.random.default_rng(0).random((12, 15))


def data_of(page: Page) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.text, re.S)
    assert found
    return json.loads(found[1])


def test_everything_is_in_one_file() -> None:
    f = tracejit.jit(blurred)
    f(IMAGE, 0.1)
    page = f.view()
    assert len(page.text) < 2_000_000
    assert not re.search(r"(src|href)=|@import|url\([^#]|fetch\(|XMLHttp|import\(", page.text)
    assert "%DATA%" not in page.text and page._repr_html_().startswith("<iframe")
    data = data_of(page)
    names = [s["name"] for s in data["stages"]]
    assert names[0] == "trace" and names[-5:] == ["dataflow", "kernel", "llvm", "optimized", "asm"]
    assert data["compiles"][0]["reason"] == "first call"
    (file,) = data["files"]
    assert file["name"] == "viewed.py"
    assert any("np.hypot" in line for line in file["lines"])
    for s in data["stages"]:
        assert len(s["text"]) == len(s["at"]) and max(s["at"]) < len(data["places"])
    hypot = file["first"] + next(k for k, x in enumerate(file["lines"]) if "np.hypot" in x)
    number = data["places"].index([0, hypot])
    assert all(number in s["at"] for s in data["stages"])
    assert {m["kind"] for m in data["marks"]} == {"compiled", "rolled", "branch"}
    whys = " ".join(k["why"] for k in data["kernels"])
    assert "a loop or branch needs it in memory" in whys and "sort needs" in whys
    assert sum(b["kind"] == "slot" for b in data["memory"]["buffers"]) >= 1


def test_drawings_have_every_node() -> None:
    f = tracejit.jit(blurred)
    data = data_of(f.view(IMAGE, 0.1))
    lowered = f.lower(IMAGE, 0.1)
    flat = next(d for d in data["drawings"] if d["name"] == "dataflow")
    ends = len(lowered.dataflow.inputs) + len(lowered.dataflow.outputs)
    assert len(flat["nodes"]) == len(list(lowered.dataflow.nodes())) + ends
    assert [c["label"] for c in flat["clusters"]] and any(e["back"] for e in flat["edges"])


def test_what_runs_eagerly_says_why() -> None:
    f = tracejit.jit(with_a_class)
    data = data_of(view(f, (np.ones(3),)))
    (mark,) = data["marks"]
    assert mark["kind"] == "eager" and "TJ008" in mark["why"] and "What to do" in mark["explain"]
    assert data["summary"].startswith("runs eagerly")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(np.ones(3))
    assert "TJ008" in data_of(f.view())["summary"]
    assert data_of(tracejit.jit(lambda: np.arange(3) + 1).view())["stages"]
    with pytest.raises(ValueError, match="norm has not been called"):
        tracejit.jit(norm).view()


def test_gradients_devices_and_costs() -> None:
    gradient = tracejit.grad(norm)
    assert data_of(gradient.view(np.ones(4)))["stages"][-1]["name"] == "asm"
    place = norm.__code__.co_filename, norm.__code__.co_firstlineno + 1
    data = data_of(view(norm, (np.ones(4),), costs={place: (0.002, 3e6, 0.75)}))
    assert [c["text"] for c in data["costs"].values()] == ["75 %  2.00 ms  3.0 MB"]
    moved = tracejit.jit(norm, device="cuda-sim")
    assert {"cuda", "ptx"} <= {s["name"] for s in data_of(moved.view(np.ones(4)))["stages"]}


def test_side_by_side() -> None:
    data = data_of(view_both((norm, (np.ones(9),)), (norm_and_one, (np.ones(9),))))
    assert data["compare"]["names"] == ["norm", "norm_and_one"]
    source = data["compare"]["stages"][0]["text"]
    assert [text[0] for text in source] == [
        "def norm(x: Any) -> Any:",
        "def norm_and_one(y: Any) -> Any:",
    ]
    fuse = next(s for s in data["compare"]["stages"] if s["name"] == "trace")
    alike = [(a, b) for a, b, same in fuse["rows"] if same]
    # The names of arguments and values differ; what is done with them does not.
    first, second = fuse["text"]
    assert any("multiply" in first[a] and "multiply" in second[b] for a, b in alike)
    assert any(a < 0 and "1.0" in fuse["text"][1][b] for a, b, _ in fuse["rows"])
    for side in (0, 1):
        shown = [row[side] for row in fuse["rows"] if row[side] >= 0]
        assert shown == list(range(len(fuse["text"][side])))


def test_a_dump(tmp_path: Path) -> None:
    dump_compile(str(tmp_path), tracejit.jit(norm).lower(np.ones(4)), "first call", "f64[4]")
    (folder,) = tmp_path.iterdir()
    data = data_of(view_dump(folder))
    assert data["stages"][0]["name"] == "trace" and data["stages"][-1]["name"] == "asm"
    assert data["places"] and data["files"][0]["name"] == "viewed.py"
    with pytest.raises(ValueError, match="holds no dump"):
        view_dump(tmp_path)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    target = f"{Path(__file__).parent}/viewed.py"
    assert main(["view", f"{target}:norm", "--args", "f64[5]"]) == 0
    assert capsys.readouterr().out == "norm.html\n"
    assert "norm_and_one" not in (tmp_path / "norm.html").read_text()
    both = ["view", f"{target}:norm", f"{target}:norm_and_one", "--args", "f64[5]", "-o", "b.html"]
    assert main(both) == 0 and (tmp_path / "b.html").exists()
    assert main(["view", f"{target}:norm", "--args", "f64[5]", "-o", "no/folder/x.html"]) == 1
    assert main(["view", str(tmp_path)]) == 1
    assert "holds no dump" in capsys.readouterr().err

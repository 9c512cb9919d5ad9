"""The texts of stages know the user's lines, and looking at code does not change it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import PROGRAMS
from tests.programs.program import Program
from tracejit.codegen.llvm.debug_info import instruction_places
from tracejit.inspect.stages import Stage, lowered_stages, stages

BODY = """\
import numpy as np

def norms(x, y):
    scaled = np.exp(x) * y
    total = 0.0
    for v in scaled:
        if v > 1.0:
            total += v
    return np.sqrt(total), (scaled @ y), scaled.cumsum()
"""


def found(stage: Stage) -> set[int]:
    return {place.line for places in stage.lines for place in places}


def norms(folder: Path, name: str = "norms.py") -> Any:
    path = folder / name
    path.write_text(BODY, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(BODY, str(path), "exec"), space)
    return space["norms"], str(path)


def test_each_stage_names_the_lines(tmp_path: Path) -> None:
    f, file = norms(tmp_path, 'a "name" with\\ and é.py')
    by_name = {s.name: s for s in stages(f, (np.ones(40), np.ones(40)))}
    assert list(by_name)[0] == "trace" and list(by_name)[-3:] == ["llvm", "optimized", "asm"]
    for name, stage in by_name.items():
        assert len(stage.text.splitlines()) == len(stage.lines), name
        assert {place.file for places in stage.lines for place in places} == {file}, name
        # The branch becomes a choice.
        wanted = {4, 9} if name in ("kernel", "optimized", "asm") else {4, 6, 7, 8, 9}
        assert wanted <= found(stage) <= {3, 4, 5, 6, 7, 8, 9}, name
    assert by_name["trace"].changed and not by_name["inline_calls"].changed
    assert by_name["fuse"].changed and by_name["fuse"].seconds is not None


def test_a_line_of_assembly_is_found_from_a_line_of_source(tmp_path: Path) -> None:
    f, _ = norms(tmp_path)
    stage = stages(f, (np.ones(40), np.ones(40)))[-1]
    lines = zip(stage.text.splitlines(), stage.lines, strict=True)
    roots = [line for line, places in lines if any(p.line == 9 for p in places)]
    assert any("sqrt" in line for line in roots)
    assert not re.search(r"\.loc|\.file|debug|Ltmp", stage.text)


def test_gradients_and_devices() -> None:
    def loss(w, x):
        return (np.tanh(x @ w) ** 2).sum()

    given = np.ones(3), np.ones((5, 3))
    gradient = stages(loss, given, grad=0)[-1]
    assert found(gradient) and "asm" == gradient.name
    assert [s.name for s in stages(loss, given, device="cuda-sim")][-4:-1] == [
        "kernel",
        "cuda",
        "ptx",
    ]


@pytest.mark.sampled(27)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_looked_at_is_what_runs(program: Program) -> None:
    """With places or without, the machine code is the same."""
    lowered = tracejit.jit(program.f).lower(*program.arguments(40))
    looked_at = lowered_stages(lowered)
    by_name = {s.name: s.text for s in looked_at}
    assert by_name["asm"].rstrip("\n") == lowered.text("asm").rstrip("\n")
    assert by_name["llvm"].splitlines() == lowered.text("llvm").splitlines()
    assert all(
        place is None or place[1] > 0 for _, place in instruction_places(lowered.text("llvm"))
    )

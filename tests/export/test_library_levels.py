"""Libraries for each level of processors give the same bits, and have no later instructions."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.export import library_programs as programs
from tests.support.compare import assert_same
from tests.support.libraries import NEEDS_CC, load
from tracejit.codegen.llvm.engine import host_target
from tracejit.codegen.llvm.targets import LEVELS, target_of

pytestmark = [
    NEEDS_CC,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are those of x86-64"),
]
SIGNATURE = "f64[n, m], f64[a, b, c], f64[c, d]"
#: Registers of vectors that a level does not have.
LATER = {"x86-64-v2": r"%[yz]mm", "x86-64-v3": r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]\b"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("levels")
    return {
        level: tracejit.export(programs.many, SIGNATURE, out=folder / level, target=level)
        for level in LEVELS
    }


def test_all_levels_give_the_same_bits(made: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    args = rng.random((70, 131)) * 30, rng.random((3, 20, 70)), rng.random((70, 33))
    args[0][0, :3] = np.nan, np.inf, -0.0
    with np.errstate(all="ignore"):
        expected = programs.many(*args)
    results = {}
    for level, library in made.items():
        if LEVELS[level][0] <= host_target().features:
            results[level] = load(library).many(*args)
            assert_same(expected, results[level], "order", ulp=64, scale=1e4)
    assert "x86-64-v2" in results
    first, *others = results.values()
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.skipif(shutil.which("objdump") is None, reason="there is no disassembler")
@pytest.mark.parametrize("level", LATER)
def test_a_level_has_no_later_instructions(made: dict[str, Any], level: str) -> None:
    shown = ["objdump", "-d", str(made[level].library)]
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    assert re.search(r"%xmm", text) and not re.search(LATER[level], text)
    newer = subprocess.run(
        ["objdump", "-d", str(made["x86-64-v4"].library)], capture_output=True, text=True
    )
    assert re.search(LATER[level], newer.stdout)


def test_a_processor_without_the_instructions_is_refused(tmp_path: Path) -> None:
    """As a host that lacks what the C part asks for."""
    made = tracejit.export(programs.even, "f64[n]", out=tmp_path)
    text = made.loader.read_text()
    assert "self._require(getattr" in text
    made.loader.write_text(text.replace("self._require(getattr", "self._require(5 or getattr"))
    with pytest.raises(RuntimeError, match="this processor lacks instructions"):
        load(made).even(np.ones(4))


def test_unknown_targets() -> None:
    with pytest.raises(ValueError, match="there is no target x86-64-v9; did you mean"):
        target_of("x86-64-v9")

"""The corpus: each program does compiled what it does in Python, and runs as its table says."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import pytest

import tracejit
from benchmarks import corpus
from benchmarks.corpus import FAMILIES, PROGRAMS, Program
from benchmarks.corpus.eager import EAGER
from benchmarks.corpus.program import differences, outcome, picture, standing
from tracejit.runtime.compile import worth

FAMILY = {id(program): name for name, family in FAMILIES.items() for program in family}


@pytest.mark.sampled(302, kind=lambda program: FAMILY[id(program)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_leaves_what_python_leaves(program: Program, monkeypatch: Any) -> None:
    """Called twice on the same objects, then on others; whole programs have no other way."""
    # What plain Python answers from its second call on never meets what runs eagerly.
    monkeypatch.setattr(worth, "_OPERATION", float("inf"))
    jitted = tracejit.jit(program.f, strict=program.name not in EAGER)
    for make in program.inputs:
        plain, compiled = make(), make()
        assert not [*differences(picture(plain), picture(compiled))], "makers make the same"
        for _ in range(2):
            found = [*differences(outcome(program.f, plain), outcome(jitted, compiled))]
            assert not found, "\n".join(found[:5])
    assert standing(jitted.report()) == EAGER.get(program.name, "whole"), str(jitted.report())


def test_the_table_and_the_files() -> None:
    names = collections.Counter(program.name for program in PROGRAMS)
    assert set(names.values()) == {1} and set(EAGER) <= set(names)
    assert len(PROGRAMS) >= 150 and all(len(p.inputs) >= 1 for p in PROGRAMS)
    files = {path.stem for path in Path(corpus.__file__).parent.glob("*.py")}
    assert files == {"__init__", "program", "eager", *FAMILIES}

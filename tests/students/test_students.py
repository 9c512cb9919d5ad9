"""Programs as students write them: compiled, they do what they do in Python."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

import tracejit
from tests.students import FAMILIES, PROGRAMS
from tests.students.program import Program, check, observe

FAMILY = {id(program): name for name, family in FAMILIES.items() for program in family}


@pytest.mark.plain_calls
@pytest.mark.sampled(54, kind=lambda program: FAMILY[id(program)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_does_what_it_does_in_python(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With default settings: the cache is on, and short calls are left to Python."""
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path))
    monkeypatch.setattr(tracejit.config, "fallback", "ignore")
    verdict = check(program, tracejit.jit)
    if verdict.difference:
        pytest.fail(verdict.difference)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_inputs_differ(program: Program) -> None:
    """Each input says something of its own, and says it again when the program is called again."""
    seen = [observe(program.f, given) for given in program.inputs]
    assert [observe(program.f, given) for given in program.inputs] == seen
    assert len(set(map(repr, program.inputs))) == 4


def test_the_programs_are_many_and_have_names() -> None:
    names = collections.Counter(program.name for program in PROGRAMS)
    assert set(names.values()) == {1}
    assert len(PROGRAMS) >= 50
    files = {path.stem for path in Path(__file__).parent.glob("*.py")}
    assert files == {"__init__", "__main__", "program", "test_students", *FAMILIES}

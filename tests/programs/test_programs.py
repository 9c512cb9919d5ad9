"""Whole NumPy programs: compiled, they answer what plain NumPy answers."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tracejit
from tests.programs import PROGRAMS
from tests.programs.program import Program
from tests.support.compare import assert_parity, leaves, run
from tests.support.layouts import LAYOUTS, lay_out
from tracejit.errors import FallbackError

IN_SCOPE = [program for program in PROGRAMS if program.in_scope]


def by_name(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.name)


def takes_sizes_as_ints(program: Program) -> bool:
    """Whether a Python int among the arguments depends on the size: each may compile anew."""
    first, second = (
        [x for x in leaves(program.arguments(size)) if type(x) is int] for size in (11, 12)
    )
    return first != second


@by_name(PROGRAMS)
def test_the_program_itself_says_something(program: Program) -> None:
    args = program.arguments(program.sizes[-1])
    outcome = run(program.f, args)
    assert outcome.exception is None
    numbers = [np.asarray(x) for x in leaves((outcome.value, outcome.args)) if x is not None]
    assert any(x.size and x.dtype.kind in "biufc" and x.any() for x in numbers)


@pytest.mark.sampled(48)
@by_name(PROGRAMS)
def test_sizes(program: Program) -> None:
    jitted = tracejit.jit(program.f)
    for size in program.sizes:
        args = program.arguments(size)
        assert_parity(program.f, *args, jitted=jitted, **program.allowed(args))
    assert "TJ013" not in str(jitted.report()), str(jitted.report())
    if program.in_scope:
        assert jitted.report().fallbacks == [], str(jitted.report())
        assert jitted.report().compiles
    if program.in_scope and not takes_sizes_as_ints(program):
        compiled = len(jitted.report().compiles)
        for size in (program.sizes[-1] + 4, program.sizes[-1] + 7):
            args = program.arguments(size)
            assert_parity(program.f, *args, jitted=jitted, **program.allowed(args))
        assert len(jitted.report().compiles) == compiled, str(jitted.report())


@pytest.mark.sampled(32)
@by_name(PROGRAMS)
def test_layouts(program: Program) -> None:
    args = program.arguments(program.sizes[0])
    names = sorted(LAYOUTS)
    start = len(program.name) % len(names)
    chosen = [names[(start + 2 * i) % len(names)] for i in range(3)]
    others = [lay_out(args, LAYOUTS[name]) for name in chosen]
    assert_parity(program.f, *args, also=others, calls=1, **program.allowed(args))


@pytest.mark.sampled(24)
@by_name(IN_SCOPE)
def test_strict_accepts_what_calls_nothing(program: Program) -> None:
    plain, jitted = tracejit.jit(program.f), tracejit.jit(program.f, strict=True)
    args = program.arguments(program.sizes[0])
    plain(*copy.deepcopy(args))
    if any(line.kind == "host" for line in plain.report().lines):
        with pytest.raises(FallbackError):
            jitted(*args)
        return
    assert_parity(program.f, *args, jitted=jitted, calls=1, **program.allowed(args))

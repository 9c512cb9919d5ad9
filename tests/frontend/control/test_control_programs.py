"""Control flow as users write it: plain Python, natively, evaluated and executed, all the same."""

from __future__ import annotations

import collections
import linecache

import pytest

import tracejit
from tests.control_programs import PROGRAMS
from tests.control_programs.observe import (
    Observation,
    Printed,
    assert_same_observation,
    lines_of,
    lines_run,
    observe,
    plain_function,
)
from tests.control_programs.program import Program
from tests.control_programs.readers import (
    READERS,
    NotForReadersError,
    NotTracedError,
    RaisedInTraceError,
    Readers,
    same_error,
)
from tests.support.compare import Mismatch
from tracejit.errors import Bailout

#: Stores through names that are bound anew in a branch or a loop once went astray.
ONCE_WRONG = {
    "store_or_rebind",
    "store_into_a_choice_on_one_side",
    "store_after_loop_rebinds",
    "swap_after_while_rebinds",
}
FINDINGS = [f"test_native[{p.name}]" for p in PROGRAMS if p.name.split("-")[-1] in ONCE_WRONG]
NAMED = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def test_programs_are_many_and_have_names() -> None:
    assert len(PROGRAMS) >= 120
    names = collections.Counter(program.name for program in PROGRAMS)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.sampled(16)
@NAMED
def test_calls_take_every_path(program: Program) -> None:
    """Each line of the program runs in plain Python, but for those that say `never`."""
    code = plain_function(program.f).__code__
    printed = Printed()
    with lines_run(code.co_filename) as run:
        for args in program.calls:
            observe(program.f, args, printed)
    source = {line: linecache.getline(code.co_filename, line) for line in lines_of(code) - run}
    assert [text for text in source.values() if not text.rstrip().endswith("# never")] == []
    assert len(program.calls) >= 2


@pytest.mark.compiles
@pytest.mark.sampled(270, kind=lambda program: program.theme, always=FINDINGS)
@NAMED
def test_native(program: Program) -> None:
    """Every call twice, on one compiled function; nothing runs eagerly that should not."""
    jitted = tracejit.jit(program.f)
    printed = Printed()
    raised = 0
    for number, args in [*enumerate(program.calls)] * 2:
        expected = observe(program.f, args, printed)
        actual = observe(jitted, args, printed)
        try:
            assert_same_observation(expected, actual, parity=program.parity, ulp=program.ulp)
        except Mismatch as mismatch:
            mismatch.add_note(f"call {number} of {program.name}: {args}\n{jitted.report()}")
            raise
        raised += expected.outcome.exception is not None
    if not program.eager:
        report = jitted.report()
        assert report.fallbacks == [], str(report)
        assert report.compiles or raised == 2 * len(program.calls)
        assert program.repeats or report.bailouts <= raised, str(report)


@pytest.mark.compiles
@pytest.mark.sampled(180, kind=lambda program: program.theme)
@NAMED
def test_readers(program: Program) -> None:
    """The graph, and its dataflow form, mean what the program means."""
    readers = Readers(program.f, program.calls)
    printed = Printed()
    for number, args in enumerate(program.calls):
        expected = observe(program.f, args, printed)
        for reader in READERS:
            try:
                with printed.collect() as text:
                    outcome = readers.run(reader, args)
            except NotForReadersError:
                continue
            except NotTracedError:
                assert program.eager
                continue
            except RaisedInTraceError as e:
                assert same_error(expected.outcome.exception, e.__cause__)
                continue
            except Bailout:
                assert program.repeats or expected.outcome.exception is not None
                continue
            actual = Observation(outcome, text[0], expected.lines)
            try:
                assert_same_observation(
                    expected, actual, parity=program.parity, ulp=program.ulp, check_alias=False
                )
            except Mismatch as mismatch:
                mismatch.add_note(f"{reader}, call {number} of {program.name}: {args}")
                raise

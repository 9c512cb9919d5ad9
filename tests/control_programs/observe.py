"""Runs a program once: its result or exception, its arguments afterwards, what it printed, where.

Two of these are compared by `assert_same_observation`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.compare import Mismatch, Outcome, assert_same, assert_same_outcome, run

HERE = str(Path(__file__).parent)


@dataclasses.dataclass
class Observation:
    """An outcome, the printed text, and the program's lines in the exception's traceback."""

    outcome: Outcome
    printed: str
    lines: list[tuple[str, int]]


class Printed:
    """One text stream for all runs: a compiled function may hold on to `sys.stdout`."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @contextlib.contextmanager
    def collect(self) -> Iterator[list[str]]:
        """Adds what is printed inside to the list."""
        self.stream.seek(0)
        self.stream.truncate()
        found: list[str] = []
        with contextlib.redirect_stdout(self.stream):
            yield found
        found.append(self.stream.getvalue())


def observe(
    f: Callable[..., Any], args: Sequence[Any], printed: Printed, folder: str = HERE
) -> Observation:
    """Call `f` on copies of the arguments; lines are those of files in `folder`."""
    with printed.collect() as text:
        outcome = run(f, args)
    return Observation(outcome, text[0], program_lines(outcome.exception, folder))


def program_lines(exception: BaseException | None, folder: str = HERE) -> list[tuple[str, int]]:
    """File and line of each frame of the traceback that lies in `folder`, outermost first."""
    found = []
    at = exception.__traceback__ if exception is not None else None
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if file.startswith(folder) and file != __file__:
            found.append((Path(file).name, at.tb_lineno))
        at = at.tb_next
    return found


def assert_same_observation(expected: Observation, actual: Observation, **allowed: Any) -> None:
    """Raise `Mismatch` where a user could tell the two apart; `allowed` is for the results."""
    if expected.printed != actual.printed:
        raise Mismatch(f"expected to print\n{expected.printed}\ngot\n{actual.printed}")
    assert_same_outcome(expected.outcome, actual.outcome, **allowed)
    wanted, got = expected.outcome.exception, actual.outcome.exception
    if wanted is None or got is None:
        return
    if str(wanted) != str(got):
        raise Mismatch(f"expected {wanted!r}, got {got!r}") from got
    assert_same(wanted.args, got.args, where="the exception's arguments")
    assert_same(vars(wanted), vars(got), where="the exception's attributes")
    if type(wanted.__cause__) is not type(got.__cause__):
        raise Mismatch(f"expected the cause {wanted.__cause__!r}, got {got.__cause__!r}")
    if expected.lines[-1:] != actual.lines[-1:]:
        raise Mismatch(
            f"{got!r} should come from {expected.lines[-1:]}; the traceback has {actual.lines}"
        ) from got


def plain_function(f: Any) -> types.FunctionType:
    """The Python function behind a partial, a method, a wrapper or a callable object."""
    while not isinstance(f, types.FunctionType):
        if isinstance(f, functools.partial):
            f = f.func
        elif isinstance(f, types.MethodType):
            f = f.__func__
        else:
            f = type(f).__call__
    return f


def lines_of(code: types.CodeType) -> set[int]:
    """The lines on which a function and the functions in it do something."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    lines.discard(code.co_firstlineno)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            lines |= lines_of(constant)
    return lines


@contextlib.contextmanager
def lines_run(file: str) -> Iterator[set[int]]:
    """Adds the lines of a file that are executed inside to the set."""
    found: set[int] = set()

    def note(frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            found.add(frame.f_lineno)
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield found
    finally:
        sys.settrace(before)

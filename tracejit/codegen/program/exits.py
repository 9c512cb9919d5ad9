"""Where a program under emission is left with a pending exception: what it has stored stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.support.python_calls import BAIL, LEAVE
from tracejit.ir.graph import Value

__all__ = ["call_python", "holding", "leave_if"]


@contextmanager
def holding(e: ProgramContext, states: Sequence[tuple[int, Value]]) -> Iterator[None]:
    """Where the program leaves, the memory of these inputs holds these values."""
    e.states, outer = list(states), e.states
    yield
    e.states = outer


def leave_if(e: ProgramContext, condition: str) -> None:
    """Leave the program with a pending exception where the i1 holds."""
    leaving, after = e.fb.fresh_label("leaving"), e.fb.fresh_label("stays")
    e.fb.cond_br(condition, leaving if e.states else "leave", after)
    if e.states:
        e.fb.block(leaving)
        states = e.states
        # A copy that fails leaves at once.
        with e.leaving(), holding(e, ()):
            e.pointer.write_arguments(states)
        e.fb.br("leave")
    e.fb.block(after)


def call_python(e: ProgramContext, function: Callable[..., int], *arguments: str) -> None:
    """A call of Python that may end in any way."""
    status = e.call_plainly(function, *arguments)
    e.fb.check(e.fb.emit(f"icmp eq i64 {status}, {BAIL}"))
    leave_if(e, e.fb.emit(f"icmp eq i64 {status}, {LEAVE}"))

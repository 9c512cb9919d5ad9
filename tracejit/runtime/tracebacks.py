"""Tracebacks: from the frames that an exception has passed to those of the user's program.

A call of a compiled function shows as one of the function itself would: the lines of the program,
and those of the libraries that it calls. TRACEJIT_TRACEBACK=full keeps the compiler's own.
"""

from __future__ import annotations

from types import TracebackType

from tracejit import config
from tracejit.errors import PACKAGE, Bailout, TraceError, Unbatchable, Underivable

__all__ = ["show_users_lines"]

#: What the compiler raises and handles by itself.
_INTERNAL = (Bailout, TraceError, Unbatchable, Underivable)


def show_users_lines(error: BaseException) -> None:
    """Take the compiler's frames from the traceback of an exception, and of those it came of.

    A bare `raise` that follows in an `except` clause adds none.
    """
    if config.has_full_tracebacks():
        return
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        e = pending.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        e.__traceback__ = _users(e.__traceback__)
        if isinstance(e.__context__, _INTERNAL) and e.__cause__ is None:
            e.__suppress_context__ = True
        pending += [e.__cause__, e.__context__]


def _users(traceback: TracebackType | None) -> TracebackType | None:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    found: TracebackType | None = None
    for entry in reversed(entries):
        if entry.tb_frame.f_code.co_filename.startswith(PACKAGE):
            continue
        if entry.tb_next is not found:
            entry = TracebackType(found, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        found = entry
    return found

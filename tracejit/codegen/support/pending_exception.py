"""The exception that a compiled program leaves by, from where it arises to where it is raised.

Native code cannot raise. A callback that has an exception for the user stores it here and tells the
program to leave; whoever called the program then finds it, before anything else is tried.
"""

from __future__ import annotations

import threading

__all__ = ["PENDING", "set_pending", "take_pending"]


class _Pending(threading.local):
    exception: BaseException | None = None


#: Native code sets its attribute itself.
PENDING = _Pending()


def set_pending(exception: BaseException) -> None:
    """Store the exception that this thread's program leaves by; an earlier one stays."""
    if PENDING.exception is None:
        PENDING.exception = exception


def take_pending() -> BaseException | None:
    """This thread's exception, which is forgotten, or None."""
    exception, PENDING.exception = PENDING.exception, None
    return exception

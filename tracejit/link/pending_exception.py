"""The exception that a compiled program leaves by, from where it arises to where it is raised.

Native code cannot raise. A callback that has an exception for the user stores it here and tells the
program to leave; whoever called the program then finds it, before anything else is tried.
"""

from __future__ import annotations

import ast
import threading
from functools import lru_cache
from types import CodeType

from tracejit.errors import Where

__all__ = ["PENDING", "raised_at", "set_pending", "take_pending"]


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


def raised_at(error: BaseException, where: Where | None) -> BaseException:
    """`error` as if it had been raised at a place of the user's program."""
    if where is None:
        return error
    names = {"error": error}
    try:
        exec(_raise_code(where.file, where.line, where.function or "?"), names)
    except BaseException as e:
        assert e.__traceback__ is not None
        names.clear()
        return e.with_traceback(e.__traceback__.tb_next)
    raise AssertionError("an exception was not raised")


@lru_cache(maxsize=256)
def _raise_code(file: str, line: int, function: str) -> CodeType:
    """Code that raises the exception `error` on a line of a file."""
    text = Where(file, line).source()
    place = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": len(text)}
    name = ast.Name("error", ast.Load(), **place)
    module = ast.Module([ast.Raise(name, None, **place)], [])
    code: CodeType = compile(module, file, "exec")
    return code.replace(co_name=function, co_qualname=function)

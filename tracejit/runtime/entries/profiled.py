"""Compiled functions in the eyes of Python's profilers and debuggers, which see functions of Python
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any, cast

from tracejit.runtime.entries.answers import MISS
from tracejit.runtime.entries.jit_type import JitBase

__all__ = ["is_debugger", "shown"]

#: The modules of what stops at lines, and shows variables.
_DEBUGGERS = frozenset({"bdb", "pydevd", "pydevd_tracing", "_pydevd_bundle"})


def is_debugger(trace: Any) -> bool:
    """Whether what `sys.gettrace()` gives may stop in a function."""
    owner = getattr(trace, "__self__", trace)
    modules = [cls.__module__ for cls in type(owner).__mro__]
    modules.append(getattr(trace, "__module__", None) or "")
    return any(str(name).partition(".")[0] in _DEBUGGERS for name in modules)


def shown(compiled: JitBase, run: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python under the name, file and line of what was compiled: it calls `run`, the
    entries, which it keeps as an attribute, or else the slow path.
    """
    code = _SHOWN.__code__
    plain = getattr(getattr(compiled, "_function", None), "__code__", None)
    if plain is not None:
        code = code.replace(
            co_name=plain.co_name,
            co_qualname=plain.co_qualname,
            co_filename=plain.co_filename,
            co_firstlineno=plain.co_firstlineno,
        )
    cells = {"compiled": compiled, "run": run}
    made = FunctionType(
        code, _SHOWN.__globals__, closure=tuple(CellType(cells[n]) for n in code.co_freevars)
    )
    made.__dict__["run"] = run
    return made


def _template(compiled: JitBase, run: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            result = run(*args, **kwargs)
            return compiled._slow(*args, **kwargs) if result is MISS else result
        except BaseException as e:
            # It has no line of the program.
            e.__traceback__ = e.__traceback__ and e.__traceback__.tb_next
            raise

    return function


_SHOWN = cast(FunctionType, _template(JitBase(len), len))

"""Compiled functions in pickles: by name where they can be imported, else as the plain function.

Machine code stays where it was made. What arrives is compiled there, when it is called. That takes
its source, which goes with it, and so does that of functions it names which have to go, too.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from tracejit.frontend.rewrite.source import bring_source, is_library_file

__all__ = ["reduced"]

#: Functions that are looked through for others.
_MOST = 2000


def reduced(compiled: Any, name: str, function: Any, options: Any) -> Any:
    """What `__reduce__` gives for a compiled function.

    Plain pickle takes `__main__` to be the same program elsewhere, as `multiprocessing` makes it;
    cloudpickle, which joblib, Dask and Ray use, does not.
    """
    module = getattr(compiled, "__module__", None)
    if _found(module, name) is compiled and not (module == "__main__" and _for_anywhere()):
        return name
    # First the object, then what it is of: a function that calls itself has it in its globals.
    state = function, replace(options, timers=None), _sources(function)
    return _empty, (type(compiled),), state, None, None, _fill


def _found(module: str | None, name: str) -> Any:
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _for_anywhere() -> bool:
    """Whether the pickler is one of cloudpickle's, whose module may lie in another package."""
    frame = sys._getframe(3)
    return "cloudpickle" in frame.f_globals.get("__name__", "")


def _empty(cls: Any) -> Any:
    return cls.__new__(cls)


def _fill(compiled: Any, state: tuple[Any, Any, tuple[str, ...]]) -> None:
    function, options, sources = state
    for text in sources:
        bring_source(text)
    compiled.__init__(function, options)


# Sources -----------------------------------------------------------------------------------------


def _sources(function: Any) -> tuple[str, ...]:
    """The texts of the files that a function, and what it names, stands in."""
    files: dict[str, None] = {}
    seen: set[int] = set()
    pending = [function]
    while pending and len(seen) < _MOST:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, FunctionType):
            if not is_library_file(x.__code__.co_filename):
                files[x.__code__.co_filename] = None
                pending += _named(x)
        elif isinstance(x, type):
            pending += [v for v in vars(x).values() if callable(v) or hasattr(v, "__func__")]
        else:
            # A compiled or transformed function, a partial, a method, an object that is called.
            held = (getattr(x, a, None) for a in ("__tracejit__", "__func__", "func", "function"))
            pending += [v for v in held if v is not None]
            called = vars(type(x)).get("__call__")
            pending += [called] if isinstance(called, FunctionType) else []
    texts = ("".join(linecache.getlines(name)) for name in files)
    return tuple(text for text in texts if text)


def _named(function: FunctionType) -> Iterator[Any]:
    """What a function names in its globals, and has in its closure, that may be code."""
    for name in _names(function.__code__):
        found = function.__globals__.get(name)
        if callable(found):
            yield found
    for cell in function.__closure__ or ():
        try:
            found = cell.cell_contents
        except ValueError:
            continue
        if callable(found):
            yield found


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)

"""Arrays that a function's code names from outside: globals and closure cells."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from tracejit.frontend.source import is_library_file

__all__ = ["reached_arrays"]

#: Functions that call functions, and containers in containers, are followed so deep.
_DEPTH = 6


def reached_arrays(f: Callable[..., Any]) -> list[np.ndarray[Any, Any]]:
    """The arrays that `f`, or a function of the program that its code names, may read by a name
    from outside; also those in containers and attributes found there.
    """
    seen: set[int] = set()
    return list(_arrays(f, seen, _DEPTH))


def _arrays(x: Any, seen: set[int], depth: int) -> Iterator[np.ndarray[Any, Any]]:
    if id(x) in seen or depth < 0:
        return
    seen.add(id(x))
    if isinstance(x, np.ndarray):
        yield x
        return
    for part in _parts(x):
        yield from _arrays(part, seen, depth - 1)


def _parts(x: Any) -> Iterator[Any]:
    if isinstance(x, FunctionType):
        if not is_library_file(x.__code__.co_filename):
            yield from _named(x)
    elif isinstance(x, MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, functools.partial):
        yield from (x.func, *x.args, *x.keywords.values())
    elif isinstance(x, (list, tuple, set)):
        yield from x
    elif isinstance(x, dict):
        yield from x.values()
    elif hasattr(x, "__tracejit__"):
        yield x.__tracejit__
    elif type(x).__module__ not in ("builtins", "numpy") and not isinstance(x, type):
        yield from getattr(x, "__dict__", {}).values()


def _named(f: FunctionType) -> Iterator[Any]:
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
    yield from (f.__defaults__ or ())
    yield from (f.__kwdefaults__ or {}).values()
    for name in _names(f.__code__):
        if name in f.__globals__:
            found = f.__globals__[name]
            if not hasattr(found, "__spec__"):
                yield found


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))

"""What a function's code names from outside: globals, closure cells, and what they hold."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.frontend.rewrite.source import is_library_file, is_library_module

__all__ = ["captured_arrays", "captured_state"]

#: Functions that call functions, and containers in containers, are followed so deep.
_DEPTH = 9


def captured_arrays(f: Any, *objects: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays that `f`, or a function of the program that its code names, may read by a name
    from outside; also those in containers, attributes and classes found there, or in `objects`.
    """
    return [x for x in captured_state(f, *objects) if isinstance(x, np.ndarray)]


def captured_state(f: Any, *objects: Any) -> list[Any]:
    """As `captured_arrays`, with lists, dicts and sets; the dict of an object is one of these."""
    seen: dict[int, int] = {}
    return [found for x in (f, *objects) for found in _state(x, seen, _DEPTH)]


def _state(x: Any, seen: dict[int, int], depth: int) -> Iterator[Any]:
    if depth <= seen.get(id(x), -1):
        return
    seen[id(x)] = depth
    if issubclass(type(x), np.ndarray):
        yield x
        if not x.dtype.hasobject:
            return
    elif type(x) in (list, dict, set):
        yield x
    for part in _parts(x):
        yield from _state(part, seen, depth - 1)


def _parts(x: Any) -> Iterator[Any]:
    # By the class that an object has: the one that it shows may be computed, and raise.
    cls = type(x)
    if cls is FunctionType:
        if not is_library_file(x.__code__.co_filename):
            yield from _named(x)
    elif cls in METHODS:
        yield from (x.__func__, x.__self__)
    elif issubclass(cls, np.ndarray):
        yield from x.ravel().tolist()
    elif issubclass(cls, functools.partial):
        yield from (x.func, *x.args, *x.keywords.values())
    elif hasattr(cls, "__tracejit__"):
        yield x.__tracejit__
    elif issubclass(cls, type):
        if _is_of_program(x):
            yield from (v for base in x.__mro__ if _is_of_program(base) for v in _held(base))
    elif issubclass(cls, weakref.ref):
        yield x()
    elif cls in weakref.ProxyTypes:
        # Every attribute is that of what the proxy stands for.
        with suppress(ReferenceError):
            yield x.__repr__.__self__
    elif cls is memoryview:
        with suppress(ValueError):
            yield x.obj
    elif not issubclass(cls, ModuleType):
        # Whatever an object holds, be it a container, an iterator or a descriptor, and its class.
        yield from gc.get_referents(x)


def _is_of_program(cls: type) -> bool:
    """Whether a class is the program's own; a module of a prompt has no file."""
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
        return False
    return not is_library_module(cls.__module__)


def _held(cls: type) -> Iterator[Any]:
    return (v for name, v in vars(cls).items() if name not in ("__dict__", "__weakref__"))


def _named(f: FunctionType) -> Iterator[Any]:
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
    yield from (f.__defaults__ or ())
    yield from (f.__kwdefaults__ or {}).values()
    names = _names(f.__code__)
    modules, done = [f.__globals__], set()
    while modules:
        held = modules.pop()
        done.add(id(held))
        for found in (held[name] for name in names if name in held):
            if not issubclass(type(found), ModuleType):
                yield found
            elif id(vars(found)) not in done:
                modules.append(vars(found))


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))

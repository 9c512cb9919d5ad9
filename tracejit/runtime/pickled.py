"""Compiled functions in pickles: by name where they can be imported, else as the plain function.

Machine code stays where it was made. What arrives is compiled there, when it is called. That takes
its source, which goes with it, and so does that of functions it names which have to go, too.
"""

from __future__ import annotations

import linecache
import pickle
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType, ModuleType
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
    pickler = _cloudpickle()
    if _found(module, name) is compiled and not (module == "__main__" and pickler is not None):
        return name
    if id(compiled) in _STATE.saving:
        # A function that calls itself has itself in its globals.
        return _itself, (id(compiled),)
    dumps = pickle.dumps if pickler is None else pickler.dumps
    _STATE.saving.add(id(compiled))
    try:
        state = dumps((function, replace(options, timers=None)))
    finally:
        _STATE.saving.discard(id(compiled))
    return _arrived, (type(compiled), id(compiled), state, _sources(function))


def _found(module: str | None, name: str) -> Any:
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _cloudpickle() -> Any:
    """The module that pickles, if it is a cloudpickle, which may lie in another package."""
    name = sys._getframe(3).f_globals.get("__name__", "")
    return sys.modules[name] if "cloudpickle" in name else None


class _State(threading.local):
    """What this thread is pickling, by identity, and what it is making of pickles, by that."""

    def __init__(self) -> None:
        self.saving: set[int] = set()
        self.making: dict[int, Any] = {}


_STATE = _State()
#: By pickle: what has been made of it, up to so many.
_MADE: OrderedDict[bytes, Any] = OrderedDict()
_KEPT = 128


def _itself(number: int) -> Any:
    return _STATE.making[number]


def _arrived(cls: Any, number: int, state: bytes, sources: tuple[str, ...]) -> Any:
    """The compiled function of a pickle; the same as before, with what it has compiled, where the
    same pickle comes again.
    """
    for text in sources:
        bring_source(text)
    made = _STATE.making[number] = cls.__new__(cls)
    try:
        function, options = pickle.loads(state)
    finally:
        del _STATE.making[number]
    known = _MADE.get(state)
    if known is not None and _begin_anew(known.__tracejit__, function):
        _MADE.move_to_end(state)
        return known
    made.__init__(function, options)
    _MADE[state] = made
    while len(_MADE) > _KEPT:
        _MADE.popitem(last=False)
    return made


def _begin_anew(known: Any, fresh: Any) -> bool:
    """Give a function what another one of the same pickle has: values that calls have changed are
    again what they were. False where that cannot be done.
    """
    while not isinstance(known, FunctionType):
        known, fresh = (
            getattr(x, "function", None) or getattr(x, "__tracejit__", None) for x in (known, fresh)
        )
        if known is None or fresh is None:
            return False
    for name, value in fresh.__globals__.items():
        if _is_value(name, value):
            known.__globals__[name] = value
    for old, new in zip(known.__closure__ or (), fresh.__closure__ or (), strict=True):
        try:
            value = new.cell_contents
        except ValueError:
            continue
        if _is_value("", value):
            old.cell_contents = value
    return True


def _is_value(name: str, x: Any) -> bool:
    code = isinstance(x, (FunctionType, type, ModuleType)) or hasattr(x, "__tracejit__")
    return not code and not (name.startswith("__") and name.endswith("__"))


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

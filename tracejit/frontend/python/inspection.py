"""Python's builtins that ask for an object's class, length and attributes, and what they do with
tracers."""

from __future__ import annotations

import abc
import enum
import itertools
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.capture.paths import MISSING, class_lookup
from tracejit.frontend.control.unions import leaves_of
from tracejit.frontend.numpy.stores import TracedFlat
from tracejit.frontend.python.objects import special
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown, size_of
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items, is_range_or_view
from tracejit.frontend.tracing.positions import Position
from tracejit.frontend.tracing.raised import TracedError
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, user_line

__all__ = ["OBJECT_CALLS"]

_REQUIRED: Any = object()


def _len(interpreter: Interpreter, x: Any) -> Any:
    if is_grown(x):
        return size_of(x)
    if isinstance(x, TracedArray) and x.ndim:
        return x.shape[0]
    if isinstance(x, (Tracer, SymInt)):
        raise TypeError(f"object of type '{class_of(x).__name__}' has no len()")
    if type(x).__module__ == "builtins":
        interpreter.known(x)
        return len(x)
    if is_range_or_view(x) or isinstance(x, TracedFlat):
        return x.length
    if isinstance(x, (type, TracedText)):
        return interpreter.call(interpreter.attribute(x, "__len__"))
    method = special(interpreter, x, "__len__")
    if method is None and class_lookup(class_of(x), "__len__") is MISSING:
        raise TypeError(f"object of type '{class_of(x).__name__}' has no len()")
    return interpreter.call(method or interpreter.attribute(x, "__len__"))


def _type(interpreter: Interpreter, x: Any, *more: Any) -> Any:
    if more:
        raise TraceError("TJ002", "type() with three arguments", user_line())
    cls = class_of(x)
    source = interpreter.capture.source_of(x)
    if source is not None and not isinstance(x, type):
        interpreter.capture.guard_type(source, cls)
    return cls


def _require_class(cls: Any) -> None:
    """Raise TraceError for a class that decides by code of the program what its instances are."""
    if isinstance(cls, tuple):
        for c in cls:
            _require_class(c)
        return
    if isinstance(cls, types.UnionType):
        _require_class(typing.get_args(cls))
        return
    meta = type(cls)
    top = getattr(cls, "__module__", "").partition(".")[0]
    known = top == "numpy" or top in sys.stdlib_module_names
    if (
        meta is not type
        and not issubclass(meta, enum.EnumMeta)
        and not (issubclass(meta, abc.ABCMeta) and known)
    ):
        raise TraceError("TJ008", f"isinstance() with {cls!r}", user_line())


#: What the items of a loop, and iterators, may be in Python.
_WALKING = (
    *(enumerate, filter, map, range, reversed, zip, itertools.chain, itertools.islice),
    *map(type, map(iter, ((), [], {}, "", b"", set(), range(0), {}.values(), {}.items()))),
    *(types.GeneratorType, np.flatiter, np.ndenumerate, np.ndindex),
)


def _isinstance(interpreter: Interpreter, x: Any, cls: Any) -> bool:
    _require_class(cls)
    if isinstance(x, (Items, Position)):
        answers = {issubclass(c, cls) for c in _WALKING}
        return answers.pop() if len(answers) == 1 else issubclass(class_of(x), cls)
    if isinstance(x, (Tracer, SymInt, TracedError, TracedText, GeneratorCall, StandIn)):
        return issubclass(class_of(x), cls)
    _type(interpreter, x)
    return isinstance(x, cls)


def _issubclass(interpreter: Interpreter, x: Any, cls: Any) -> bool:
    _require_class(cls)
    return issubclass(x, cls)


def _getattr(interpreter: Interpreter, x: Any, name: str, default: Any = _REQUIRED) -> Any:
    if default is not _REQUIRED:
        for leaf in leaves_of(x):
            _require_no_code(leaf, name)
    try:
        return interpreter.attribute(x, name)
    except AttributeError:
        if default is _REQUIRED:
            raise
        return default


def _require_no_code(x: Any, name: str) -> None:
    """Raises TraceError where code of the program gives an attribute: it may raise what ends it."""
    if isinstance(class_lookup(type(x), name), property) and is_instance(x):
        raise TraceError("TJ024", f"a property, {name}, that may raise AttributeError", user_line())


def _hasattr(interpreter: Interpreter, x: Any, name: str) -> bool:
    return _getattr(interpreter, x, name, _REQUIRED.__class__) is not _REQUIRED.__class__


def _setattr(interpreter: Interpreter, x: Any, name: str, value: Any) -> None:
    interpreter.store_attribute(value, x, name)


def _delattr(interpreter: Interpreter, x: Any, name: str) -> None:
    interpreter.delete_attribute(x, name)


def _callable(interpreter: Interpreter, x: Any) -> bool:
    if isinstance(x, StandIn):
        return class_lookup(x.stands_for, "__call__") is not MISSING
    interpreter.capture.guard_methods(x, "__call__")
    return not isinstance(x, (Tracer, SymInt)) and callable(x)


#: Callee -> what a call of it does: (interpreter, *args, **kwargs) -> result.
OBJECT_CALLS: dict[Any, Callable[..., Any]] = {
    len: _len,
    type: _type,
    isinstance: _isinstance,
    issubclass: _issubclass,
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    delattr: _delattr,
    callable: _callable,
}

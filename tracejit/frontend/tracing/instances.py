"""Instances of the program's own classes: objects that are what their attributes are.

They are known by the way that leads to them and by their class, not by identity: code that is
compiled for one serves every other one. So are sets, into which no trace looks, and functions of
the program that are given to others, by their code: a lambda is a new object whenever it is made.
"""

from __future__ import annotations

import abc
import sys
import weakref
from collections.abc import Callable
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

from tracejit.base.late_table import LateTable
from tracejit.frontend.rewrite.source import is_library_file, is_library_module

__all__ = [
    "FROM_OUTSIDE",
    "HEAP_TYPE",
    "buffers_of",
    "is_instance",
    "is_instance_class",
    "is_own_function",
    "is_own_method",
    "is_placed",
    "is_stream",
]

#: A class made by a class statement (CPython's object.h).
HEAP_TYPE = 1 << 9

#: The classes of objects that random numbers are drawn from, by name: their modules.
_STREAMS = {
    "Generator": "numpy.random._generator",
    "RandomState": "numpy.random.mtrand",
    "Random": "random",
}

#: Class of NumPy's -> what makes the stand-in for an object of it from outside, which is known in
#: the same way: (interpreter, source, object).
FROM_OUTSIDE: LateTable[type, Callable[..., Any]] = LateTable()

_KNOWN: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def is_instance(x: Any) -> bool:
    """Whether `x` is an object of a class of the program that keeps nothing but attributes."""
    return is_instance_class(type(x))


def is_instance_class(cls: type) -> bool:
    """Whether a class is one of the program whose objects keep nothing but attributes."""
    known = _KNOWN.get(cls)
    if known is None:
        known = _KNOWN[cls] = cls is SimpleNamespace or _is_of_program(cls)
    return known


def buffers_of(cls: type) -> frozenset[str]:
    """The attributes that a class, or one it comes from, names in `__buffers__`: arrays of state,
    which nobody derives by."""
    return frozenset(name for base in cls.__mro__ for name in base.__dict__.get("__buffers__", ()))


def is_stream(x: Any) -> bool:
    """Whether `x` is a stream of random numbers: NumPy's Generator or RandomState, or Random."""
    cls = type(x)
    module = sys.modules.get(_STREAMS.get(cls.__name__, ""))
    return module is not None and getattr(module, cls.__name__, None) is cls


def is_placed(x: Any) -> bool:
    """Whether `x` from outside is known by its class and the way to it, not by identity."""
    if is_instance(x) or type(x) is set or is_stream(x) or type(x) in FROM_OUTSIDE:
        return True
    return is_own_function(x) or is_own_method(x)


def is_own_function(x: Any) -> bool:
    """Whether `x` is a function of the program, written in Python."""
    return type(x) is FunctionType and not is_library_file(x.__code__.co_filename)


def is_own_method(x: Any) -> bool:
    """Whether `x` is a function of the program bound to an instance: made anew at each look-up."""
    return type(x) is MethodType and is_instance(x.__self__) and is_own_function(x.__func__)


def _is_of_program(cls: type) -> bool:
    if type(cls) not in (type, abc.ABCMeta) or not all(map(_is_plain, cls.__mro__[:-1])):
        return False
    if cls.__module__ in sys.builtin_module_names:
        return False
    return not is_library_module(cls.__module__)


def _is_plain(base: type) -> bool:
    """Whether instances have no memory besides their dict and slots."""
    new = base.__dict__.get("__new__")
    made_in_python = new is None or isinstance(getattr(new, "__func__", None), FunctionType)
    return bool(base.__flags__ & HEAP_TYPE) and made_in_python

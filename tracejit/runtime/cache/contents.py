"""Classes become digests: equal ones mean the same to whoever traces them."""

from __future__ import annotations

from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any

from tracejit.link.constants import recipe_of
from tracejit.link.digests import code_digest, digest

__all__ = ["class_digest"]

#: What a class's dict holds that says nothing about the program.
_UNTOLD = frozenset("__dict__ __weakref__ __module__ __abstractmethods__ _abc_impl".split())


def class_digest(cls: type) -> str:
    """A digest of a class: its bases, its layout, and what it holds itself, functions by their
    code, constants by value, other objects by their classes.
    """
    return digest(repr(_class(cls, ())).encode())


def _class(cls: type, inside: tuple[type, ...]) -> Any:
    name = (cls.__module__, cls.__qualname__)
    if cls in inside or recipe_of(cls) is not None:
        return name
    inside = (*inside, cls)
    held = sorted((k, v) for k, v in vars(cls).items() if k not in _UNTOLD)
    layout = (cls.__basicsize__, cls.__itemsize__, cls.__dictoffset__)
    bases = [_class(base, inside) for base in cls.__bases__]
    told = [(k, _held(v, inside)) for k, v in held]
    return (name, _class(type(cls), inside), layout, bases, told)


def _held(x: Any, inside: tuple[type, ...]) -> Any:
    """What is told of something that a class holds."""
    function = getattr(x, "__tracejit__", x)
    if isinstance(function, FunctionType):
        defaults = _held(function.__defaults__, inside), _held(function.__kwdefaults__, inside)
        return (type(x).__qualname__, code_digest(function.__code__), defaults)
    if isinstance(x, (staticmethod, classmethod)):
        return (type(x).__name__, _held(x.__func__, inside))
    if isinstance(x, property):
        return ("property", [_held(f, inside) for f in (x.fget, x.fset, x.fdel)])
    if isinstance(x, Enum):
        return ("member", x.name, _held(x.value, inside))
    if isinstance(x, type):
        return ("class", _class(x, inside))
    if isinstance(x, (tuple, list)):
        return (type(x).__qualname__, [_held(item, inside) for item in x])
    if isinstance(x, dict):
        return ("dict", [(_held(k, inside), _held(v, inside)) for k, v in x.items()])
    if type(x) in (bool, int, float, complex, str, bytes, type(None)):
        return (type(x).__name__, repr(x))
    recipe = recipe_of(x) if isinstance(x, BuiltinFunctionType) else None
    if recipe is not None:
        return tuple(recipe)
    # A field of a dataclass, an array, a descriptor: what matters of it is guarded by the code.
    name = (type(x).__module__, type(x).__qualname__)
    slots = getattr(type(x), "__slots__", ())
    if name == ("dataclasses", "Field"):
        return (name, [(k, _held(getattr(x, k, None), inside)) for k in slots if k != "metadata"])
    return name

"""What a compiled function is known by in the cache, and a call: names of folders and files."""

from __future__ import annotations

import functools
import re
from inspect import getattr_static
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.link.constants import recipe_of
from tracejit.link.digests import code_digest, digest

__all__ = ["Key", "NotCached", "call_kind", "key_of", "told_of"]


class NotCached(Exception):
    """A function that has no description by its content."""


class Key(NamedTuple):
    """The folder of a function, the beginning of the names of files that are for its code and
    options, and the functions that it is made of.
    """

    folder: str
    prefix: str
    roots: tuple[FunctionType, ...]
    label: str


def key_of(function: Any, options: tuple[Any, ...]) -> Key:
    """The key of what is compiled of a function with these options. Raises NotCached."""
    roots: list[FunctionType] = []
    told = _of_object(function, roots) or _told(function, roots, of_key=True)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    label = f"{getattr(function, '__module__', '')}.{name}"
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", label)[:80].strip("-.")
    whole = digest(repr((told, options)).encode())
    return Key(f"{readable}-{digest(label.encode())[:10]}", whole[:20], tuple(roots), label)


def _of_object(function: Any, roots: list[FunctionType]) -> Any:
    """What is told of an object of the program whose class says how it is called; the attributes
    that are read then are checked at each call."""
    if getattr(function, "_transform", None) is not None:
        return None  # What it stands for needs the compiler.
    found = getattr(function, "__tracejit__", None)
    call = getattr_static(type(found), "__call__", None)
    lookup: Any = type(found).__getattribute__
    is_plain = type(call) is FunctionType and lookup is object.__getattribute__
    if not is_plain or hasattr(found, "traced_call") or recipe_of(found) is not None:
        return None
    return (type(found).__module__, type(found).__qualname__, _told(call, roots))


def told_of(function: Any) -> Any:
    """What a callable is made of: code, by digests, and constants. Raises NotCached."""
    return _told(function, [])


def _told(function: Any, roots: list[FunctionType], of_key: bool = False) -> Any:
    """What is told of a function: by all that it is made of.

    In the key of code that checks at each call what it reads of the object of a method, that is
    told by its function.
    """
    transform = getattr(function, "_transform", None)
    if transform is not None:
        inner, *given = transform.arguments
        named = {str(k): x for k, x in enumerate(given)}
        return (transform.module, transform.cls, _values(named, roots), _told(inner, roots, of_key))
    inner = getattr(function, "__tracejit__", None)
    if inner is not None:
        return _told(inner, roots, of_key)
    if type(function) in METHODS and of_key:
        return ("method", _told(function.__func__, roots, of_key))
    if isinstance(function, FunctionType):
        roots.append(function)
        return (function.__qualname__, code_digest(function.__code__))
    if hasattr(function, "traced_call") and hasattr(function, "function"):
        own = {k: v for k, v in vars(function).items() if not k.startswith("__")}
        inside = _told(own.pop("function"), roots)
        return (type(function).__module__, type(function).__qualname__, _values(own, roots), inside)
    if type(function) is functools.partial:
        given = {str(k): x for k, x in enumerate(function.args)} | dict(function.keywords)
        return ("partial", _values(given, roots), _told(function.func, roots))
    recipe = recipe_of(function)
    if recipe is None:
        raise NotCached(f"an object of the class {type(function).__qualname__} is called")
    return tuple(recipe)


def _values(named: dict[str, Any], roots: list[FunctionType]) -> list[Any]:
    found: list[Any] = []
    for name, x in sorted(named.items()):
        told: Any = recipe_of(x)
        if told is None and isinstance(x, FunctionType):
            told = _told(x, roots)
        if told is None:
            raise NotCached(f"{name} is no constant")
        found.append((name, told))
    return found


def call_kind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What the names of files tell of the calls that they are for: a guess, which spares reading
    those that cannot be of use.
    """
    kinds = [[_kind(x) for x in args], [(name, _kind(x)) for name, x in kwargs.items()]]
    return digest(repr(kinds).encode())[:12]


def _kind(x: Any) -> Any:
    if type(x) is np.ndarray:
        return (x.dtype.str, x.ndim)
    if type(x) is FunctionType:
        return ("function", code_digest(x.__code__))
    if type(x) in (list, tuple, dict):
        return (type(x).__name__, len(x) if type(x) is not list else -1)
    return (type(x).__module__, type(x).__qualname__)

"""Paths from the names of a module to what containers, classes and objects there hold."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import CodeType, FunctionType, GetSetDescriptorType, ModuleType
from typing import Any

from tracejit.link.digests import code_digest, digest
from tracejit.runtime.cache.keys import NotCached, told_of
from tracejit.runtime.entries.jit_type import JitBase

__all__ = ["contents_digest", "follow", "names_of_arguments", "options_of", "path_to"]

Path = tuple[tuple[str, Any], ...]
#: How many steps a path has at most, and how many objects are looked through for one.
_STEPS, _OBJECTS = 5, 20_000
_HEAP_TYPE = 1 << 9
_KEYS = (str, int, float, bool, bytes, type(None))


def names_of_arguments(given: tuple[tuple[Any, ...], dict[str, Any]]) -> dict[str, Any]:
    """The arguments of a call, by names that paths begin with."""
    args, kwargs = given
    return {"args": args, "kwargs": kwargs}


def path_to(x: Any, names: dict[str, Any]) -> Path | None:
    """The shortest path from the names of a module to `x`; None where there is none."""
    queue: deque[tuple[Any, Path]] = deque([(names, ())])
    seen = {id(names)}
    while queue and len(seen) < _OBJECTS:
        holder, path = queue.popleft()
        for step, held in _steps(holder):
            if held is x:
                return (*path, step)
            if id(held) not in seen and len(path) + 1 < _STEPS:
                seen.add(id(held))
                queue.append((held, (*path, step)))
    return None


def follow(holder: Any, path: Sequence[tuple[str, Any]]) -> Any:
    """What is at the end of a path. Raises LookupError."""
    for wanted in path:
        # Keys may be equal and yet of other types, as 1 and True are.
        found = [held for step, held in _steps(holder) if repr(step) == repr(tuple(wanted))]
        if not found:
            raise LookupError(f"nothing is held by the name {wanted[1]}")
        holder = found[0]
    return holder


def contents_digest(x: Any) -> str:
    """A digest of the code and the constants of which a callable is made. Raises LookupError."""
    if isinstance(x, CodeType):
        return code_digest(x)
    if type(x) is object:
        return "object"  # It has no contents: a program asks for nothing but which one it is.
    try:
        options = options_of(x) if isinstance(x, JitBase) else ()
        return digest(repr((told_of(x), options)).encode())
    except NotCached as e:
        raise LookupError(str(e)) from None


def options_of(x: Any) -> tuple[Any, ...]:
    """What a compiled function was told that matters to code that calls it."""
    options = x._options
    return options.strict, options.bounds_check, options.threads, options.moves, options.devices


def _steps(holder: Any) -> Iterator[tuple[tuple[str, Any], Any]]:
    """What is held, by steps that lead there: no code of the program runs."""
    # Even the class that an object shows may be computed.
    cls = type(holder)
    if cls is dict:
        for key, held in list(holder.items()):
            if type(key) in _KEYS:
                yield ("item", key), held
    elif cls in (list, tuple):
        for k, held in enumerate(holder):
            yield ("item", k), held
    elif cls is functools.partial:
        yield ("attribute", "func"), holder.func
    elif cls in (staticmethod, classmethod):
        yield ("attribute", "__func__"), holder.__func__
    elif issubclass(cls, JitBase):
        yield ("attribute", "__tracejit__"), getattr(holder, "__tracejit__")  # noqa: B009
    elif cls is FunctionType:
        yield ("attribute", "__code__"), holder.__code__
        for k, cell in enumerate(holder.__closure__ or ()):
            with suppress(ValueError):  # which has no contents
                yield ("cell", k), cell.cell_contents
    elif cls is CodeType:
        for k, constant in enumerate(holder.co_consts):
            if type(constant) is CodeType:
                yield ("constant", k), constant
    elif issubclass(cls, type):
        for name, held in list(vars(holder).items()):
            yield ("attribute", name), held
    elif not issubclass(cls, ModuleType) and _is_plain(cls):
        for name, held in list(getattr(holder, "__dict__", {}).items()):
            yield ("attribute", name), held


def _is_plain(cls: type) -> bool:
    """Whether objects of a class show what they hold in their dict, without code of their own."""
    lookup: Any = cls.__getattribute__
    held = [vars(base)["__dict__"] for base in cls.__mro__ if "__dict__" in vars(base)]
    is_own = all(type(x) is GetSetDescriptorType for x in held)
    return lookup is object.__getattribute__ and is_own and bool(cls.__flags__ & _HEAP_TYPE)

"""A tree of objects becomes a description and arrays by name: what is to be written.

Nothing is copied. Objects are described by their attributes, those that have `state_dict` and
`load_state_dict` by these, streams of random numbers by their states. What is one object or one
array in several places is one part.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from enum import Enum
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from tracejit.checkpoint import random_state
from tracejit.checkpoint.errors import StorageError
from tracejit.checkpoint.parts import PLAIN, Part, part_step
from tracejit.nn.module import Module

__all__ = [
    "ARRAYS",
    "LISTS",
    "MAPPINGS",
    "attributes",
    "by_state_dict",
    "class_name",
    "code_name",
    "describe",
    "is_plain",
    "key_of",
]

ARRAYS = (np.ndarray, np.memmap)
LISTS = (list, deque)
MAPPINGS = (dict, OrderedDict, defaultdict)
#: The flag of classes that are made at run time, and the bytes of a slot.
_HEAP_TYPE, _POINTER = 1 << 9, np.dtype(np.intp).itemsize
_CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, np.ufunc, np.dtype, Enum)


def describe(tree: dict[str, Any]) -> tuple[Part, dict[str, Any]]:
    """The description of what a dict holds, and its arrays by the names that they get.

    Raises StorageError for what cannot be described.
    """
    describer = _Describer()
    root = describer.part(tree, ())
    if describer.refused:
        what = "\n".join(f"    {line}" for line in describer.refused[:20])
        raise StorageError(
            f"no checkpoint can hold this:\n{what}\nA class whose objects have more than"
            " attributes is saved by its methods state_dict() and load_state_dict(state)."
        )
    return root, describer.arrays


def is_plain(x: Any) -> bool:
    """Whether `x` is a number, a text or another value that is replaced, not changed."""
    return type(x) in PLAIN or isinstance(x, PurePath) or _is_numpy_scalar(x)


def _is_numpy_scalar(x: Any) -> bool:
    return isinstance(x, np.generic) and not isinstance(x, (np.object_, np.void))


def code_name(x: Any) -> str | None:
    """The name of a thing that the program itself has, a function or a class; None for others."""
    if isinstance(x, Enum):
        return f"{class_name(type(x))}.{x.name}"
    if isinstance(x, np.dtype):
        return f"dtype {x}"
    if isinstance(x, functools.partial):
        return f"partial {code_name(x.func)}"
    # What decorators give has the name of a function as an attribute.
    named = hasattr(x, "__tracejit__") or "__qualname__" in getattr(x, "__dict__", ())
    if named or isinstance(x, _CODE):
        return str(getattr(x, "__qualname__", None) or getattr(x, "__name__", type(x).__name__))
    return None


def class_name(cls: type) -> str:
    """The name of a class within its module, which may be `__main__` one day and not the next."""
    return cls.__qualname__


def by_state_dict(x: Any) -> bool:
    """Whether `x` is saved by `state_dict`: that of modules has their arrays alone."""
    cls = type(x)
    own = getattr(cls, "state_dict", None)
    both = callable(own) and callable(getattr(cls, "load_state_dict", None))
    return both and own is not Module.state_dict


def attributes(x: Any) -> dict[str, Any] | None:
    """The attributes of an object that keeps nothing else; None for other values."""
    if type(x) is not SimpleNamespace and not _has_attributes_alone(type(x)):
        return None
    found = dict(getattr(x, "__dict__", {}))
    for cls in type(x).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{cls.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                found[name] = getattr(x, name)
    return found


def _has_attributes_alone(cls: type) -> bool:
    """False where a class written in C keeps something of its own: its objects have more bytes than
    their slots take, or a number of items.
    """
    made = cls.__mro__[:-1]
    slots = [
        v
        for c in made
        if "__slots__" in vars(c)
        for v in vars(c).values()
        if isinstance(v, MemberDescriptorType)
    ]
    # Those that are negative lie before the object.
    tables = [n for n in (cls.__dictoffset__, cls.__weakrefoffset__) if n > 0]
    size = object.__basicsize__ + _POINTER * (len(slots) + len(tables))
    is_static = any(not c.__flags__ & _HEAP_TYPE for c in made)
    return not is_static and not cls.__itemsize__ and cls.__basicsize__ == size


def key_of(array: Any) -> Any:
    """What is equal for arrays that are one and the same piece of memory, seen in one way."""
    if not array.size:
        return id(array)
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


class _Describer:
    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.refused: list[str] = []
        self._parts: dict[Any, Part] = {}
        #: Identities are those of objects that are alive.
        self._kept: list[Any] = []

    def part(self, x: Any, path: tuple[str, ...]) -> Part:
        if is_plain(x):
            return Part("plain", x)
        key = key_of(x) if type(x) in ARRAYS else id(x)
        if key not in self._parts:
            self._kept.append(x)
            found = self._parts[key] = Part("plain")
            self._fill(found, x, path)
        return self._parts[key]

    def _fill(self, part: Part, x: Any, path: tuple[str, ...]) -> None:
        cls = type(x)
        items: Iterable[tuple[str, Any]] = ()
        if cls in ARRAYS and not x.dtype.hasobject:
            part.kind, part.data = "array", [self._name(x, path), x.dtype.str, list(x.shape)]
            if x.dtype.names:
                part.data[1] = repr(x.dtype.descr)
        elif (name := code_name(x)) is not None:
            part.kind, part.data = "code", name
        elif (kind := random_state.kind_of(x)) is not None:
            part.kind, part.data = "random", kind
            items = [("state", random_state.get_state(x))]
        elif cls in MAPPINGS:
            part.kind, part.data = "dict", class_name(cls)
            self._mapping(part, x, path)
        elif cls in LISTS or cls is tuple or (isinstance(x, tuple) and hasattr(cls, "_fields")):
            part.kind, part.data = "list" if cls in LISTS else "tuple", class_name(cls)
            items = [(str(k), v) for k, v in enumerate(x)]
        elif cls in (set, frozenset) and all(map(is_plain, x)):
            part.kind, part.data = "set", class_name(cls)
            items = [(str(k), v) for k, v in enumerate(sorted(x, key=repr))]
        elif by_state_dict(x):
            part.kind, part.data = "state", class_name(cls)
            items = [("state", x.state_dict())]
        elif (found := attributes(x)) is not None:
            part.kind, part.data = "object", class_name(cls)
            items = list(found.items())
        else:
            what = f"{cls.__module__}.{cls.__qualname__}"
            dtype = f" of the dtype {x.dtype}" if isinstance(x, np.ndarray) else ""
            self.refused.append(f"{'.'.join(path)} is a {what}{dtype}")
        for step, value in items:
            part.parts[step] = self.part(value, (*path, step))

    def _mapping(self, part: Part, x: Any, path: tuple[str, ...]) -> None:
        for key, value in x.items():
            step = part_step(part, key)
            if not _is_key(key):
                self.refused.append(f"{'.'.join(path)} has a {type(key).__name__} as a key")
                continue
            part.keys[step], part.parts[step] = key, self.part(value, (*path, step))

    def _name(self, array: Any, path: tuple[str, ...]) -> str:
        name = wanted = ".".join(path)
        count = 1
        while name in self.arrays:
            count += 1
            name = f"{wanted}~{count}"
        self.arrays[name] = array
        return name


def _is_key(x: Any) -> bool:
    return is_plain(x) or (type(x) is tuple and all(map(_is_key, x)))

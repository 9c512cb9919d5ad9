"""Reads and checks of values from outside a trace that say what they are.

`Capture` takes any function as a read or a check. These can also be told apart, so that machine
code can be written that does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any

import numpy as np

from tracejit.frontend.tracing.packed import PackedForm, columns_of
from tracejit.frontend.tracing.pytree import Static, dataclass_fields
from tracejit.own_attributes import has_own

__all__ = [
    "MISSING",
    "AddressRead",
    "ArgumentRead",
    "AttributeRead",
    "BoundTo",
    "CellRead",
    "ClassHas",
    "ClassRead",
    "ClosureRead",
    "DefaultRead",
    "Distinct",
    "EqualTo",
    "GlobalRead",
    "HasFields",
    "HasFields",
    "HasKeys",
    "HasSize",
    "IsFalse",
    "ItemRead",
    "LeafRead",
    "ObjectRead",
    "OfClass",
    "OfCode",
    "OwnRead",
    "PackedRead",
    "SameAs",
    "class_lookup",
    "is_single",
]
#: What a lookup gives that finds nothing.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()


def class_lookup(cls: type, name: str, after: type | None = None) -> Any:
    """What `cls` and its bases (those `after` one) hold under `name`, or MISSING."""
    mro = cls.__mro__
    for base in mro if after is None else mro[mro.index(after) + 1 :]:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


class GlobalRead:
    """A global name of a module."""

    __slots__ = ("name", "namespace")

    def __init__(self, namespace: dict[str, Any], name: str) -> None:
        self.namespace, self.name = namespace, name

    def __call__(self, _: Any) -> Any:
        return self.namespace[self.name]


class CellRead:
    """The contents of a closure's cell."""

    __slots__ = ("cell",)

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def __call__(self, _: Any) -> Any:
        return self.cell.cell_contents


class ClosureRead:
    """The contents of one of the `count` cells of a function."""

    __slots__ = ("count", "index")

    def __init__(self, index: int, count: int) -> None:
        self.index, self.count = index, count

    def __call__(self, f: Any) -> Any:
        return f.__closure__[self.index].cell_contents


class ObjectRead:
    """An object by a reference to it, which gives None when it has died."""

    __slots__ = ("get",)

    def __init__(self, get: Callable[[], Any]) -> None:
        self.get = get

    def __call__(self, _: Any) -> Any:
        return self.get()


class DefaultRead:
    """A default of a function: by its place from the end, or by its name if it is keyword-only."""

    __slots__ = ("key",)

    def __init__(self, key: int | str) -> None:
        self.key = key

    def __call__(self, f: Any) -> Any:
        return (f.__kwdefaults__ if isinstance(self.key, str) else f.__defaults__)[self.key]


class AttributeRead:
    """An attribute."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, obj: Any) -> Any:
        return getattr(obj, self.name)


class ItemRead:
    """An item of a container."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __call__(self, container: Any) -> Any:
        return container[self.key]


class LeafRead:
    """A leaf of the call's arguments."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __call__(self, call: Any) -> Any:
        return call[0][self.index]


class AddressRead:
    """Where an object lies in memory."""

    __slots__ = ()

    def __call__(self, obj: Any) -> Any:
        return np.uint64(id(obj))


class ArgumentRead:
    """What is at a path in the arguments, (args, kwargs): keys, or names of a dataclass's fields.

    Each step says whether it is a name.
    """

    __slots__ = ("path",)

    def __init__(self, path: tuple[tuple[bool, Any], ...]) -> None:
        self.path = path

    def __call__(self, call: Any) -> Any:
        x = call[1]
        for is_name, key in self.path:
            x = getattr(x, key) if is_name else x[key]
        return x


class PackedRead:
    """A column of a list whose elements all have a form. Raises TypeError for any other."""

    __slots__ = ("column", "form")

    def __init__(self, form: PackedForm, column: int) -> None:
        self.form, self.column = form, column

    def __call__(self, x: Any) -> Any:
        arrays = columns_of(x, self.form)
        if arrays is None:
            raise TypeError("a list of other elements")
        return arrays[self.column]


class ClassHas:
    """Whether a class or a base of it holds anything under a name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, cls: Any) -> bool:
        return class_lookup(cls, self.name) is not MISSING


class Distinct:
    """No two of the values with these numbers are one object."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = tuple(numbers)

    def __call__(self, _: Any, values: Sequence[Any]) -> bool:
        return len({id(values[k]) for k in self.numbers}) == len(self.numbers)


class ClassRead:
    """What a class and its bases (those `after` one) hold under a name."""

    __slots__ = ("after", "name")

    def __init__(self, name: str, after: type | None) -> None:
        self.name, self.after = name, after

    def __call__(self, cls: Any) -> Any:
        return class_lookup(cls, self.name, self.after)


class OwnRead:
    """Whether an object itself has an attribute in its dict."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, obj: Any) -> Any:
        return has_own(obj, self.name)


def is_single(dtype: Any) -> bool:
    """Whether a dtype is the one that NumPy gives for its name."""
    return np.dtype(dtype.str) is dtype


class EqualTo:
    """The same type and value, where 0.0 and -0.0 differ; a NaN is equal to nothing but itself.

    Python looks at which object it is, as in `x in (math.nan, 1.0)`. So it may be with a dtype of
    which NumPy has but one; others that are equal may differ in what they show.
    """

    __slots__ = ("_by_identity", "_cls", "_text", "value")

    def __init__(self, value: Any) -> None:
        self.value, self._cls = value, type(value)
        is_dtype = isinstance(value, np.dtype)
        self._by_identity = value != value or is_dtype and is_single(value)
        by_text = self._cls in (complex, slice, range) or self._cls is float and value == 0
        self._text = repr(value) if by_text or is_dtype else None

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        if type(value) is not self._cls:
            return False
        if self._by_identity:
            return value is self.value
        return bool(value == self.value) if self._text is None else repr(value) == self._text


class SameAs:
    """The very object that a reference gives, as long as it gives one."""

    __slots__ = ("get",)

    def __init__(self, get: Callable[[], Any]) -> None:
        self.get = get

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        return value is not None and value is self.get()


class OfClass:
    """An object of exactly this class."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        return type(value) is self.cls


class OfCode:
    """A function of Python with this code and these globals."""

    __slots__ = ("code", "namespace")

    def __init__(self, function: FunctionType) -> None:
        self.code, self.namespace = function.__code__, function.__globals__

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        if type(value) is not FunctionType or value.__code__ is not self.code:
            return False
        return value.__globals__ is self.namespace


class HasSize:
    """A list or tuple of exactly this class and size."""

    __slots__ = ("cls", "size")

    def __init__(self, cls: Any, size: int) -> None:
        self.cls, self.size = cls, size

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        return type(value) is self.cls and len(value) == self.size


class HasKeys:
    """A dict with these keys, of these types and in this order."""

    __slots__ = ("_types", "keys")

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.keys, self._types = keys, tuple(map(type, keys))

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        if type(value) is not dict or tuple(map(type, value)) != self._types:
            return False
        keys = tuple(value)
        # Equal tuples may hold numbers of different types.
        return keys == self.keys and (tuple not in self._types or Static(keys) == Static(self.keys))


class HasFields:
    """An instance of exactly this dataclass on which these fields, and nothing else, are set."""

    __slots__ = ("cls", "names")

    def __init__(self, cls: type, names: tuple[str, ...]) -> None:
        self.cls, self.names = cls, names

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        return type(value) is self.cls and dataclass_fields(value) == self.names


class BoundTo:
    """A method that binds this function."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        return getattr(value, "__func__", None) is self.function


class IsFalse:
    """False."""

    __slots__ = ()

    def __call__(self, value: Any, _: Sequence[Any]) -> bool:
        return not value

"""Guards: what must be found at the end of an access path (`paths.py`) for a trace to hold.

Each class says in Python whether it holds, and writes the machine code that checks it, which goes
on only where it does. The two agree, but that machine code may refuse what Python would take.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, MemberDescriptorType, MethodType
from typing import Any, Protocol

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.frontend.capture.paths import MISSING, InClass, Item, Object, Path, Reference, Writer
from tracejit.frontend.tracing.pytree import dataclass_fields, reads_plainly, same_object
from tracejit.ir.types import DTYPES
from tracejit.link.cpython.own_attributes import COUNT, dict_offset, offset, own_fit, place

__all__ = [
    "Absent",
    "Bound",
    "Distinct",
    "Equal",
    "Fields",
    "Guard",
    "Identical",
    "Keys",
    "OfClass",
    "OfCode",
    "OwnNames",
    "Same",
    "SameMethod",
    "Size",
    "identity_guard",
    "is_single",
    "same_value",
]

_WORD = 8
_EQ = 2
_MAX_TUPLE = 16
_SCALAR_TYPES = frozenset(dtype.type for dtype in DTYPES.values()) - {np.bool_}
#: Types whose constants are equal where they show the same.
_BY_TEXT = (slice, range)
#: Types whose equality is sameness.
_COMPARABLE = (int, str, bytes, set)


class Values(Protocol):
    """What is at paths."""

    def __getitem__(self, path: Path, /) -> Any: ...


class Guard:
    """A condition on what is found at the end of a path."""

    __slots__ = ()

    def holds(self, value: Any, values: Values) -> bool:
        """Whether it holds for a value; `values` are what is at other paths."""
        raise NotImplementedError

    def emit(self, writer: Writer, path: Path) -> None:
        """Machine code that goes on only where it holds."""
        raise NotImplementedError

    def on(self, paths: Mapping[Path, Path]) -> Guard:
        """The same guard where other paths have become others."""
        return self


# Constants and identity --------------------------------------------------------------------------


def is_single(dtype: Any) -> bool:
    """Whether a dtype is the one that NumPy gives for its name."""
    return np.dtype(dtype.str) is dtype


def _bits(value: Any) -> bytes | None:
    """The bytes in which a number of one width keeps its value; None for any other, and NaN."""
    if isinstance(value, (float, complex, np.generic)) and value != value:
        return None
    if type(value) is float:
        return struct.pack("=d", value)
    if type(value) is complex:
        return struct.pack("=dd", value.real, value.imag)
    if isinstance(value, np.generic) and type(value) in _SCALAR_TYPES:
        return value.tobytes()
    return None


def same_value(a: Any, b: Any) -> bool:
    """Whether constants are the same: of one type and equal, where 0.0 and -0.0 differ.

    A NaN is equal to nothing but itself: Python looks at which object it is, as in
    `x in (math.nan, 1.0)`. So it may be with a dtype of which NumPy has but one; others that are
    equal may differ in what they show.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if (bits := _bits(b)) is not None:
        return _bits(a) == bits
    if type(b) is tuple:
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(b, np.dtype):
        return not is_single(b) and repr(a) == repr(b)
    if type(b) in _BY_TEXT:
        return repr(a) == repr(b)
    return type(b) in _COMPARABLE and bool(a == b)


def emit_equal(writer: Writer, obj: str, value: Any) -> None:
    """Machine code that goes on only for a constant, by identity where it has no other way."""
    text = writer.text
    same = text.op(f"icmp eq ptr {obj}, {text.object(value)}")
    comparable = type(value) in _COMPARABLE or _bits(value) is not None
    if not (comparable or type(value) is tuple and _static_size(value) <= _MAX_TUPLE):
        writer.require(same)
        return
    known = text.fresh("known")
    compare = writer.later("compare", lambda: _compare(writer, obj, value, known))
    text.do(f"br i1 {same}, label %{known}, label %{compare}")
    text.label(known)


def _static_size(value: Any) -> int:
    return sum(map(_static_size, value)) + 1 if type(value) is tuple else 1


def _compare(writer: Writer, obj: str, value: Any, known: str) -> None:
    text, layout = writer.text, writer.layout
    require_type(writer, obj, type(value))
    if type(value) is tuple:
        size = text.field(obj, layout.tuple_size, "i64")
        writer.require(text.op(f"icmp eq i64 {size}, {len(value)}"))
        for k, item in enumerate(value):
            emit_equal(writer, text.field(obj, layout.tuple_items + _WORD * k, "ptr"), item)
    elif (memory := _bits(value)) is not None:
        places = {float: layout.float_value, complex: layout.complex_value}
        at = places.get(type(value), layout.scalar_value)
        for k in range(0, len(memory), _WORD):
            part = memory[k : k + _WORD]
            found = text.field(obj, at + k, f"i{8 * len(part)}")
            wanted = int.from_bytes(part, "little")
            writer.require(text.op(f"icmp eq i{8 * len(part)} {found}, {wanted}"))
    else:
        given = f"ptr {obj}", f"ptr {text.object(value)}", f"i32 {_EQ}"
        equal = text.call("PyObject_RichCompareBool", *given)
        text.require(text.op(f"icmp eq i32 {equal}, 1"), writer.miss_with_error())
    text.do(f"br label %{known}")


def require_type(writer: Writer, obj: str, cls: type) -> None:
    """Machine code that goes on only for an object of a class that lives on."""
    found = writer.text.field(obj, writer.layout.type, "ptr")
    writer.require(writer.text.op(f"icmp eq ptr {found}, {writer.text.object(cls)}"))


def _require_class(writer: Writer, obj: str, cls: Reference) -> None:
    found = writer.text.field(obj, writer.layout.type, "ptr")
    writer.require(writer.text.op(f"icmp eq ptr {found}, {writer.reference(cls)}"))


class Equal(Guard):
    """The same constant, see `same_value`."""

    __slots__ = ("value",)
    __match_args__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def holds(self, value: Any, _: Any) -> bool:
        return same_value(value, self.value)

    def emit(self, writer: Writer, path: Path) -> None:
        emit_equal(writer, writer.get(path), self.value)


class Same(Guard):
    """The very object, as long as it lives."""

    __slots__ = ("of",)

    def __init__(self, obj: Any) -> None:
        self.of = Reference(obj)

    def holds(self, value: Any, _: Any) -> bool:
        found = self.of.get()
        return value is found and (found is not None or self.of.watched is None)

    def emit(self, writer: Writer, path: Path) -> None:
        wanted = writer.reference(self.of)
        writer.require(writer.text.op(f"icmp eq ptr {writer.get(path)}, {wanted}"))


class SameMethod(Guard):
    """A bound method of the same function and the same object: each look-up makes another one."""

    __slots__ = ("cls", "of")

    def __init__(self, method: Any) -> None:
        self.cls, self.of = type(method), Reference(method)

    def holds(self, value: Any, _: Any) -> bool:
        wanted = self.of.get()
        return wanted is not None and same_object(value, wanted)

    def emit(self, writer: Writer, path: Path) -> None:
        text, layout, obj = writer.text, writer.layout, writer.get(path)
        require_type(writer, obj, self.cls)
        for at, name in (layout.method_self, "__self__"), (layout.method_function, "__func__"):
            found, wanted = text.field(obj, at, "ptr"), writer.reference(self.of.parts[name])
            writer.require(text.op(f"icmp eq ptr {found}, {wanted}"))


def identity_guard(obj: Any) -> Guard:
    """The guard that an object is the very one; a bound method is made anew at each look-up."""
    return SameMethod(obj) if type(obj) in METHODS else Same(obj)


class Identical(Guard):
    """The object that is at another path, too."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def holds(self, value: Any, values: Values) -> bool:
        return value is values[self.path]

    def emit(self, writer: Writer, path: Path) -> None:
        wanted = writer.get(self.path)
        writer.require(writer.text.op(f"icmp eq ptr {writer.get(path)}, {wanted}"))

    def on(self, paths: Mapping[Path, Path]) -> Guard:
        return Identical(paths[self.path])


class Distinct(Guard):
    """No two of the values at these paths are one object; what it is a guard of, does not count."""

    __slots__ = ("paths",)

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)

    def holds(self, value: Any, values: Values) -> bool:
        return len({id(values[path]) for path in self.paths}) == len(self.paths)


class Absent(Guard):
    """Nothing: no such name, or no such attribute."""

    __slots__ = ()

    def holds(self, value: Any, _: Any) -> bool:
        return value is MISSING

    def emit(self, writer: Writer, path: Path) -> None:
        path.emit_absent(writer)


# Classes and functions ---------------------------------------------------------------------------


class OfClass(Guard):
    """An object of exactly this class, which the guard does not keep alive."""

    __slots__ = ("of",)

    def __init__(self, cls: type) -> None:
        self.of = Reference(cls)

    @property
    def cls(self) -> Any:
        """The class, or None when it has died."""
        return self.of.get()

    def holds(self, value: Any, _: Any) -> bool:
        return type(value) is self.of.get()

    def emit(self, writer: Writer, path: Path) -> None:
        _require_class(writer, writer.get(path), self.of)


class OfCode(Guard):
    """A function of Python with this code and these globals."""

    __slots__ = ("code", "namespace")

    def __init__(self, function: FunctionType, code: CodeType | None = None) -> None:
        self.code, self.namespace = code or function.__code__, function.__globals__

    def holds(self, value: Any, _: Any) -> bool:
        if type(value) is not FunctionType or value.__code__ is not self.code:
            return False
        return value.__globals__ is self.namespace

    def emit(self, writer: Writer, path: Path) -> None:
        # Fields are looked at that other objects do not have.
        if not path.is_kept and not isinstance(path, Object):
            writer.pin(path)
        text, layout, obj = writer.text, writer.layout, writer.get(path)
        require_type(writer, obj, FunctionType)
        parts = (layout.function_code, self.code), (layout.function_globals, self.namespace)
        for at, wanted in parts:
            found = text.field(obj, at, "ptr")
            writer.require(text.op(f"icmp eq ptr {found}, {text.object(wanted)}"))


class Bound(Guard):
    """A method that binds this function."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = Reference(function)

    def holds(self, value: Any, _: Any) -> bool:
        return type(value) is MethodType and value.__func__ is self.function.get()

    def emit(self, writer: Writer, path: Path) -> None:
        text, obj = writer.text, writer.get(path)
        require_type(writer, obj, MethodType)
        found = text.field(obj, writer.layout.method_function, "ptr")
        writer.require(text.op(f"icmp eq ptr {found}, {writer.reference(self.function)}"))


# Containers and instances ------------------------------------------------------------------------


class Size(Guard):
    """An object of exactly this class, which is list, tuple or a subclass of tuple, and size."""

    __slots__ = ("cls", "size")

    def __init__(self, cls: Any, size: int) -> None:
        self.cls, self.size = cls, size

    def holds(self, value: Any, _: Any) -> bool:
        return type(value) is self.cls and len(value) == self.size

    def emit(self, writer: Writer, path: Path) -> None:
        text, obj = writer.text, writer.get(path)
        require_type(writer, obj, self.cls)
        # Tuples and lists keep their size where all objects of variable size do.
        size = text.field(obj, writer.layout.tuple_size, "i64")
        writer.require(text.op(f"icmp eq i64 {size}, {self.size}"))
        writer.enter(path, self)

    def has(self, item: Item) -> bool:
        """Whether a container of this size has an item."""
        return type(item.key) is int and 0 <= item.key < self.size


class Keys(Guard):
    """A dict (no subclass) with these keys, of these types and in this order."""

    __slots__ = ("keys",)

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.keys = keys

    def holds(self, value: Any, _: Any) -> bool:
        if type(value) is not dict or len(value) != len(self.keys):
            return False
        return all(map(_same_key, value, self.keys))

    def emit(self, writer: Writer, path: Path) -> None:
        text, obj = writer.text, writer.get(path)
        require_type(writer, obj, dict)
        size = text.call("PyDict_Size", f"ptr {obj}")
        writer.require(text.op(f"icmp eq i64 {size}, {len(self.keys)}"))
        writer.enter(path, self)
        text.do(f"store i64 0, ptr {CURSOR}")
        places = text.at(CURSOR, _WORD), text.at(CURSOR, 2 * _WORD)
        given = f"ptr {obj}", f"ptr {CURSOR}", *(f"ptr {place}" for place in places)
        values = []
        for wanted in self.keys:
            more = text.call("PyDict_Next", *given)
            writer.require(text.op(f"icmp ne i32 {more}, 0"))
            key, value = (text.op(f"load ptr, ptr {place}") for place in places)
            emit_equal(writer, key, wanted)
            values.append(value)
        writer.elements(path, self.keys, values)

    def has(self, item: Item) -> bool:
        """Whether a dict with these keys has an item."""
        return any(key is item.key for key in self.keys)


#: Three words on the stack: PyDict_Next's position, key and value.
CURSOR = "%cursor"


def _same_key(a: Any, b: Any) -> bool:
    return same_value(a, b)


def _ask(writer: Writer, function: Callable[..., bool], *arguments: str) -> None:
    """Machine code that goes on only where a function of ours, which runs no code of the program,
    returns True."""
    text = writer.text
    given = text.op(f"alloca [{len(arguments)} x ptr]")
    for k, x in enumerate(arguments):
        text.do(f"store ptr {x}, ptr {text.at(given, _WORD * k)}")
    callee = f"ptr {text.object(function)}"
    answer = text.call(
        "PyObject_Vectorcall", callee, f"ptr {given}", f"i64 {len(arguments)}", "ptr null"
    )
    text.require(text.op(f"icmp ne ptr {answer}, null"), writer.miss_with_error())
    text.call("Py_DecRef", f"ptr {answer}")
    writer.require(text.op(f"icmp eq ptr {answer}, {text.object(True)}"))


class OwnNames(Guard):
    """An instance of a class that has these attributes itself, and no others; if it `lacks` them,
    it has none of these."""

    __slots__ = ("lacks", "names", "of")

    def __init__(self, cls: type, names: tuple[str, ...], lacks: bool = False) -> None:
        self.of, self.names, self.lacks = Reference(cls), names, lacks

    def holds(self, value: Any, _: Any) -> bool:
        return type(value) is self.of.get() and own_fit(value, self.names, self.lacks)

    @property
    def places(self) -> tuple[int, ...] | None:
        """What `own_attributes.place` says of the names; None where only the dict tells."""
        found = tuple([place(self.of.get(), name) for name in self.names])
        known = tuple([p for p in found if p is not None])
        return known if known and len(known) == len(found) else None

    def emit(self, writer: Writer, path: Path) -> None:
        obj, cls = writer.get(path), self.of.get()
        _require_class(writer, obj, self.of)
        if not cls.__dictoffset__:
            return  # which has no attributes of its own but in slots
        places = self.places
        if places is None:
            self._look_up(writer, writer.own_dict(path))
            return
        text = writer.text
        inline, known = text.fresh("inline"), text.fresh("known")
        asked = writer.later("asked", lambda: self._in_dict(writer, obj, known))
        values = text.field(obj, offset() or 0, "ptr")
        has_values = text.op(f"icmp ne ptr {values}, null")
        text.do(f"br i1 {has_values}, label %{inline}, label %{asked}")
        text.label(inline)
        for k in places:
            value = text.field(values, _WORD * k, "ptr")
            writer.require(text.op(f"icmp {'eq' if self.lacks else 'ne'} ptr {value}, null"))
        if not self.lacks:
            count = text.field(values, COUNT, "i8")
            writer.require(text.op(f"icmp eq i8 {count}, {len(self.names)}"))
        text.do(f"br label %{known}")
        text.label(known)

    def _in_dict(self, writer: Writer, obj: str, known: str) -> None:
        """Look in an instance's dict, or have Python look where that is no plain one."""
        text = writer.text
        if (at := dict_offset()) is None:
            self._ask(writer, obj, known)
            return
        own, exists = text.field(obj, at, "ptr"), text.fresh("exists")
        plain, asked = text.fresh("plain"), text.fresh("ask")
        has_dict = text.op(f"icmp ne ptr {own}, null")
        text.do(f"br i1 {has_dict}, label %{exists}, label %{asked}")
        text.label(exists)
        cls = text.field(own, writer.layout.type, "ptr")
        is_plain = text.op(f"icmp eq ptr {cls}, {text.object(dict)}")
        text.do(f"br i1 {is_plain}, label %{plain}, label %{asked}")
        text.label(plain)
        self._look_up(writer, own)
        text.do(f"br label %{known}")
        text.label(asked)
        self._ask(writer, obj, known)

    def _ask(self, writer: Writer, obj: str, known: str) -> None:
        text = writer.text
        _ask(writer, own_fit, obj, text.object(self.names), text.object(self.lacks))
        text.do(f"br label %{known}")

    def _look_up(self, writer: Writer, own: str) -> None:
        """Look in a dict."""
        if not self.lacks:
            size = writer.text.call("PyDict_Size", f"ptr {own}")
            writer.require(writer.text.op(f"icmp eq i64 {size}, {len(self.names)}"))
        for name in self.names:
            found = writer.lookup(own, name)
            (writer.require_absent if self.lacks else writer.require_found)(found)


class Fields(Guard):
    """An instance of exactly this dataclass on which these fields, and nothing else, are set, and
    are read without code of the program."""

    __slots__ = ("own",)

    def __init__(self, cls: type, names: tuple[str, ...]) -> None:
        #: What machine code checks of it.
        self.own = OwnNames(cls, names)

    def holds(self, value: Any, _: Any) -> bool:
        return type(value) is self.own.of.get() and dataclass_fields(value) == self.own.names

    @property
    def is_native(self) -> bool:
        """Whether all fields are set, and lie where machine code looks."""
        cls, names = self.own.of.get(), self.own.names
        slots = [isinstance(getattr(cls, name, None), MemberDescriptorType) for name in names]
        all_set = tuple(f.name for f in dataclasses.fields(cls)) == names
        return all_set and not (cls.__dictoffset__ and any(slots))

    def emit(self, writer: Writer, path: Path) -> None:
        self.own.emit(writer, path)
        obj, names = writer.get(path), writer.text.object(self.own.names)
        writer.unless_unchanged(self.own.of, lambda: _ask(writer, reads_plainly, obj, names))


def guard_of_class(path: Path, guard: Any) -> Guard | None:
    """A guard that holds or not by the state of a class alone; None for any other."""
    by_class = isinstance(path, InClass) and isinstance(guard, (Same, Equal, Absent))
    return guard if by_class else None

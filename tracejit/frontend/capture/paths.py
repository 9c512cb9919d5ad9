"""Access paths: how a value from outside a trace is reached, at each call.

A path is a root, or a step from its parent. Each class says how Python goes there (`read`) and
writes the machine code that does (`emit`). What must be found there is said by guards
(`guards.py`). In another process the objects that the machine code is linked with are described
and found again (`runtime/cache`), and the same code reads them.

What code of the program binds, or does not bind, may be absent: a read gives `MISSING` then, or
raises one of the path's `absence`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, Protocol

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.frontend.tracing.packed import PackedForm, columns_of
from tracejit.link.watch import Watched, watch

__all__ = [
    "MISSING",
    "Address",
    "Argument",
    "Attribute",
    "Cell",
    "Contents",
    "Default",
    "Global",
    "InClass",
    "Item",
    "Leaf",
    "Object",
    "Packed",
    "Path",
    "Positional",
    "Reference",
    "Reread",
    "Writer",
    "class_lookup",
    "is_argument",
    "runs_program",
]

#: What a lookup gives that finds nothing.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()
_WORD = 8
# Flags of classes that nothing can change (CPython's object.h).
_IMMUTABLE, _HEAP_TYPE = 1 << 8, 1 << 9


def class_lookup(cls: type, name: str, after: type | None = None) -> Any:
    """What `cls` and its bases (those `after` one) hold under `name`, or MISSING."""
    mro = cls.__mro__
    for base in mro if after is None else mro[mro.index(after) + 1 :]:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


class Reference:
    """An object known by identity. It is kept alive only if it takes no weak references.

    `get()` gives it, or None when it has died. A bound method, which each look-up makes anew, is
    its `parts`: the object and the function.
    """

    __slots__ = ("get", "parts", "watched")

    get: Callable[[], Any]

    def __init__(self, obj: Any) -> None:
        self.watched: Watched | None = None
        self.parts: dict[str, Reference] = {}
        if type(obj) in METHODS:
            self.parts = {name: Reference(getattr(obj, name)) for name in ("__self__", "__func__")}
            self.get = functools.partial(_bound, type(obj), *self.parts.values())
            return
        try:
            self.watched = watch(obj)
            self.get = self.watched.get
        except TypeError:
            self.get = lambda: obj


def _bound(cls: Any, owner: Reference, function: Reference) -> Any:
    """A bound method, or None where what it binds has died."""
    a, b = owner.get(), function.get()
    return None if a is None or b is None else cls(b, a)


class Writer(Protocol):
    """What paths and guards write machine code with: `runtime/native/fetch.py`.

    Names of references are borrowed ones, which last until code of the program runs.
    """

    text: Any
    layout: Any
    miss: str

    def get(self, path: Path) -> str:
        """The object that a path leads to."""

    def require(self, condition: str) -> None:
        """Go on only if an i1 holds."""

    def require_found(self, obj: str) -> None:
        """Go on only if a lookup has found something and has raised nothing."""

    def require_absent(self, obj: str) -> None:
        """Go on only if a lookup has found nothing and has raised nothing."""

    def reference(self, reference: Reference) -> str:
        """A referenced object, or null where it has died."""

    def lookup(self, items: str, key: Any) -> str:
        """What a dict holds under a key, or null."""

    def element(self, path: Item) -> str:
        """The item of a container, which a guard has checked."""

    def column(self, path: Packed) -> str:
        """A new array of a column of a list, owned by the entry."""

    def value(self, index: int) -> str:
        """What Python has read again for a `Reread`."""

    def own_dict(self, path: Path) -> str:
        """The dict of an instance."""

    def new(self, function: str, *arguments: str) -> str:
        """A new reference, owned by the entry, by a call that may run code of the program."""

    def ran_program(self) -> None:
        """Note that code of the program may have run."""

    def pin(self, path: Path) -> None:
        """Own the object at a path, and take it for what is there until the entry ends."""

    def later(self, hint: str, emit: Callable[[], None]) -> str:
        """The label of a block that calls rarely reach."""

    def miss_with_error(self) -> str:
        """The label of a miss that first clears an exception."""

    def unless_unchanged(self, owner: Reference, check: Callable[[], None]) -> None:
        """Write a check that is skipped as long as a class is as it was when it last held."""

    def enter(self, path: Path, container: Any) -> None:
        """Note what a guard has found out about a container."""

    def elements(self, path: Path, keys: Sequence[Any], values: Sequence[str]) -> None:
        """Note the values of a dict."""


class Path:
    """A root, or a step from `parent`. Paths are equal only to themselves."""

    __slots__ = ("parent",)

    #: Whether the step may run code of the program.
    runs_program = False
    #: Whether what is found lives as long as the call, without a reference of the entry's own.
    is_kept = False
    #: What a read raises where nothing is there, if that can be noted.
    absence: tuple[type[Exception], ...] = ()

    def __init__(self, parent: Path | None = None) -> None:
        self.parent = parent

    def read(self, parent: Any) -> Any:
        """The object, from its parent; for a root, from the call."""
        raise NotImplementedError

    def emit(self, writer: Writer) -> str:
        """Machine code that fetches the object; a miss where there is none."""
        raise NotImplementedError

    def emit_absent(self, writer: Writer) -> None:
        """Machine code that goes on only where nothing is there."""
        raise NotImplementedError

    def on(self, parent: Path | None) -> Path:
        """The same step from another parent."""
        new = copy.copy(self)
        new.parent = parent
        return new


def runs_program(path: Path) -> bool:
    """Whether going to a path may run code of the program."""
    return path.runs_program or path.parent is not None and runs_program(path.parent)


def is_argument(path: Path) -> bool:
    """Whether a path leads to an argument or an element of one, without attributes."""
    if isinstance(path, (Item, Packed)) and path.parent is not None:
        return is_argument(path.parent)
    return isinstance(path, Positional)


# Roots -------------------------------------------------------------------------------------------


class Positional(Path):
    """Argument number `index`: positional ones first, then keywords in the call's order."""

    __slots__ = ("index",)
    is_kept = True

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def read(self, call: Any) -> Any:
        return call.given[self.index]

    def emit(self, writer: Writer) -> str:
        return str(writer.text.field("%args", _WORD * self.index, "ptr"))


class Leaf(Path):
    """A leaf of the call's arguments: each form of call has it at a place of its own."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def read(self, call: Any) -> Any:
        return call.leaves[self.index]


class Argument(Path):
    """What is at a path in the arguments, (args, kwargs): keys, or names of a dataclass's fields.

    Each step says whether it is a name. Each form of call has it at a place of its own.
    """

    __slots__ = ("path",)

    def __init__(self, path: tuple[tuple[bool, Any], ...]) -> None:
        super().__init__()
        self.path = path

    def read(self, call: Any) -> Any:
        x = call.arguments
        for is_name, key in self.path:
            x = getattr(x, key) if is_name else x[key]
        return x


class Reread(Path):
    """Item `index` of what Python reads again, where machine code cannot."""

    __slots__ = ("index",)
    runs_program = True
    is_kept = True

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def read(self, call: Any) -> Any:
        return call.values[self.index]

    def emit(self, writer: Writer) -> str:
        return writer.value(self.index)


class Global(Path):
    """A name in a dict of globals."""

    __slots__ = ("name", "namespace")
    absence = (KeyError,)

    def __init__(self, namespace: dict[str, Any], name: str) -> None:
        super().__init__()
        self.namespace, self.name = namespace, name

    def read(self, _: Any) -> Any:
        return self.namespace[self.name]

    def emit(self, writer: Writer) -> str:
        found = self._lookup(writer)
        writer.require_found(found)
        return found

    def emit_absent(self, writer: Writer) -> None:
        writer.require_absent(self._lookup(writer))

    def _lookup(self, writer: Writer) -> str:
        return writer.lookup(writer.text.object(self.namespace), self.name)


class Cell(Path):
    """The contents of a closure's cell."""

    __slots__ = ("cell",)

    def __init__(self, cell: CellType) -> None:
        super().__init__()
        self.cell = cell

    def read(self, _: Any) -> Any:
        return self.cell.cell_contents

    def emit(self, writer: Writer) -> str:
        return _field(writer, writer.text.object(self.cell), writer.layout.cell_contents)


class Object(Path):
    """An object by identity."""

    __slots__ = ("of",)

    def __init__(self, obj: Any) -> None:
        super().__init__()
        self.of = Reference(obj)

    def read(self, _: Any) -> Any:
        return self.of.get()

    def emit(self, writer: Writer) -> str:
        found = writer.reference(self.of)
        writer.require(writer.text.op(f"icmp ne ptr {found}, null"))
        return found


# Steps -------------------------------------------------------------------------------------------


class Attribute(Path):
    """An attribute."""

    __slots__ = ("name",)
    runs_program = True
    is_kept = True
    absence = (AttributeError,)

    def __init__(self, parent: Path | None, name: str) -> None:
        super().__init__(parent)
        self.name = name

    def read(self, obj: Any) -> Any:
        return getattr(obj, self.name)

    def emit(self, writer: Writer) -> str:
        name = writer.text.object(self.name)
        return writer.new("PyObject_GetAttr", f"ptr {self._owner(writer)}", f"ptr {name}")

    def emit_absent(self, writer: Writer) -> None:
        text = writer.text
        given = f"ptr {self._owner(writer)}", f"ptr {text.object(self.name)}"
        writer.ran_program()
        found = text.call("PyObject_GetAttr", *given)

        def drop() -> None:
            text.call("Py_DecRef", f"ptr {found}")
            text.do(f"br label %{writer.miss}")

        text.require(text.op(f"icmp eq ptr {found}, null"), writer.later("found", drop))
        error = text.object(AttributeError)
        matches = text.call("PyErr_ExceptionMatches", f"ptr {error}")
        text.require(text.op(f"icmp ne i32 {matches}, 0"), writer.miss_with_error())
        text.call("PyErr_Clear")

    def _owner(self, writer: Writer) -> str:
        assert self.parent is not None
        if not self.parent.is_kept:
            writer.pin(self.parent)
        return writer.get(self.parent)


class Item(Path):
    """An item of a list, tuple or dict, of which a guard tells the size or the keys."""

    __slots__ = ("key",)

    def __init__(self, parent: Path | None, key: Any) -> None:
        super().__init__(parent)
        self.key = key

    def read(self, container: Any) -> Any:
        return container[self.key]

    def emit(self, writer: Writer) -> str:
        return writer.element(self)


class Packed(Path):
    """A column of a list whose elements all have a form. Raises TypeError for any other."""

    __slots__ = ("column", "form")

    def __init__(self, parent: Path | None, form: PackedForm, column: int) -> None:
        super().__init__(parent)
        self.form, self.column = form, column

    def read(self, x: Any) -> Any:
        arrays = columns_of(x, self.form)
        if arrays is None:
            raise TypeError("a list of other elements")
        return arrays[self.column]

    def emit(self, writer: Writer) -> str:
        return writer.column(self)


class Address(Path):
    """Where an object lies in memory. Machine code gives the object itself."""

    __slots__ = ()

    def read(self, obj: Any) -> Any:
        return np.uint64(id(obj))

    def emit(self, writer: Writer) -> str:
        assert self.parent is not None
        return writer.get(self.parent)


class Default(Path):
    """A default of a function: by its place from the end, or by its name if it is keyword-only."""

    __slots__ = ("key",)

    def __init__(self, parent: Path | None, key: int | str) -> None:
        if isinstance(key, int) and key >= 0:
            raise ValueError("the place of a default counts from the end")
        super().__init__(parent)
        self.key = key

    def read(self, f: Any) -> Any:
        return (f.__kwdefaults__ if isinstance(self.key, str) else f.__defaults__)[self.key]

    def emit(self, writer: Writer) -> str:
        assert self.parent is not None
        function, layout = writer.get(self.parent), writer.layout
        if isinstance(self.key, str):
            found = writer.lookup(_field(writer, function, layout.function_kwdefaults), self.key)
            writer.require_found(found)
            return found
        return _from_end(writer, _field(writer, function, layout.function_defaults), self.key)


class Contents(Path):
    """What one of the `count` cells of a function holds."""

    __slots__ = ("count", "index")

    def __init__(self, parent: Path | None, index: int, count: int) -> None:
        super().__init__(parent)
        self.index, self.count = index, count

    def read(self, f: Any) -> Any:
        return f.__closure__[self.index].cell_contents

    def emit(self, writer: Writer) -> str:
        assert self.parent is not None
        cells = _field(writer, writer.get(self.parent), writer.layout.function_closure)
        cell = _from_end(writer, cells, self.index - self.count)
        return _field(writer, cell, writer.layout.cell_contents)


class InClass(Path):
    """What a class and its bases, those `after` one, hold under a name, or MISSING."""

    __slots__ = ("after", "cls", "name")

    def __init__(self, parent: Path | None, cls: type, name: str, after: type | None) -> None:
        super().__init__(parent)
        self.cls, self.name, self.after = Reference(cls), name, after

    def read(self, cls: Any) -> Any:
        return class_lookup(cls, self.name, self.after)

    @property
    def fixed(self) -> Any:
        """What a class holds in which nothing can be bound, if that is found; else MISSING."""
        *_, holder = self._bases()
        return holder.__dict__.get(self.name, MISSING) if _is_fixed(holder) else MISSING

    def emit(self, writer: Writer) -> str:
        *_, holder = self._bases()
        if _is_fixed(holder):
            return str(writer.text.object(holder.__dict__[self.name]))
        found = self._lookup(writer, holder)
        writer.require_found(found)
        return found

    def emit_absent(self, writer: Writer) -> None:
        mro = self.cls.get().__mro__
        for base in mro if self.after is None else mro[mro.index(self.after) + 1 :]:
            if not _is_fixed(base):
                writer.require_absent(self._lookup(writer, base))

    def emit_bases(self, writer: Writer) -> None:
        """Machine code that goes on only where the class has the bases that it had."""
        text, layout, cls = writer.text, writer.layout, self.cls.get()
        bases = _field(writer, writer.reference(self.cls), layout.class_mro)
        size = text.field(bases, layout.tuple_size, "i64")
        writer.require(text.op(f"icmp eq i64 {size}, {len(cls.__mro__)}"))
        for k, base in enumerate(cls.__mro__):
            found = text.field(bases, layout.tuple_items + _WORD * k, "ptr")
            wanted = writer.reference(Reference(base))
            writer.require(text.op(f"icmp eq ptr {found}, {wanted}"))

    def emit_way(self, writer: Writer) -> None:
        """Machine code that goes on only where no base holds the name before the one that did."""
        for base in self._bases():
            if self.name not in base.__dict__ and not _is_fixed(base):
                writer.require_absent(self._lookup(writer, base))

    def _bases(self) -> list[type]:
        """The bases up to that which holds the name, or all of them."""
        mro = self.cls.get().__mro__
        first = 0 if self.after is None else mro.index(self.after) + 1
        out: list[type] = []
        for base in mro[first:]:
            out.append(base)
            if self.name in base.__dict__:
                break
        return out

    def _lookup(self, writer: Writer, base: type) -> str:
        owner = writer.reference(Reference(base))
        return writer.lookup(_field(writer, owner, writer.layout.class_dict), self.name)


def _is_fixed(cls: type) -> bool:
    """Whether nothing can be bound in a class."""
    return bool(cls.__flags__ & _IMMUTABLE) or not cls.__flags__ & _HEAP_TYPE


def _field(writer: Writer, obj: str, offset: int) -> str:
    """A field of an object; a miss where it is null."""
    found = str(writer.text.field(obj, offset, "ptr"))
    writer.require(writer.text.op(f"icmp ne ptr {found}, null"))
    return found


def _from_end(writer: Writer, items: str, index: int) -> str:
    """Item `index` of a tuple, from its end; a miss if there are not so many."""
    text, layout = writer.text, writer.layout
    size = text.field(items, layout.tuple_size, "i64")
    writer.require(text.op(f"icmp sge i64 {size}, {-index}"))
    offset = text.op(f"shl i64 {text.op(f'add i64 {size}, {index}')}, 3")
    item = text.op(f"getelementptr i8, ptr {items}, i64 {offset}")
    return str(text.field(item, layout.tuple_items, "ptr"))

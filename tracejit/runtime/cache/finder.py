"""Descriptions of objects become the objects of this process: what machine code is linked with.

A description is a tuple that `marshal` can write. What is found by it is the same by content: a
constant is equal, code has the same digest, a class too. Code that compares with such objects means
the same here and there.

Roots are the functions that a compiled one is made of, numbered: what hangs on them (globals,
cells, code) is found from there, so that it need not have a name.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from tracejit.base.late import imported
from tracejit.errors import Where
from tracejit.link.addresses import Recipe, resolve
from tracejit.link.constants import is_versioned
from tracejit.link.digests import code_digest
from tracejit.link.finding import Kept
from tracejit.link.host_sites import host_site
from tracejit.link.interrupted import place_bytes
from tracejit.link.later import later
from tracejit.link.library_names import names_of
from tracejit.link.watch import watch
from tracejit.runtime.cache.contents import class_digest
from tracejit.runtime.cache.paths import contents_digest, follow, names_of_arguments, options_of
from tracejit.runtime.entries.jit_type import JitBase

__all__ = ["Description", "Finder", "contents_of", "found_by_name", "plain"]

Description = tuple[Any, ...]
#: Descriptions of what is as good as anything equal.
_BY_CONTENTS = frozenset({"recipe", "slice", "tuple", "bytes"})
#: The module that makes objects of the compiler again.
_PORTABLE = "tracejit.link.portable"
#: Machine code reads constants in vectors.
_ALIGNMENT = 64


def plain(x: Any) -> Any:
    """The function inside of what stands for it."""
    while True:
        # Other objects are asked for nothing: what they answer may be anything.
        inner = getattr(x, "__tracejit__", None) if isinstance(x, JitBase) else None
        if inner is None and isinstance(x, (staticmethod, classmethod)):
            inner = x.__func__
        if inner is None and isinstance(x, property):
            inner = x.fget
        if inner is None:
            return x
        x = inner


def contents_of(cell: CellType) -> Any:
    """What a cell holds; None where that is nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _by_name(
    module: str, path: Sequence[str], namespaces: Sequence[dict[str, Any]]
) -> Iterator[Any]:
    """What a module holds under a qualified name: objects, or code where it is inside a function.

    `namespaces` are those of functions, which need not be of modules that are imported. Raises
    LookupError where there is nothing of the name.
    """
    held = [names for names in namespaces if names.get("__name__") == module]
    if module in sys.modules:
        held.append(vars(sys.modules[module]))
    if not held:
        raise LookupError(f"{module} is not imported")
    found: list[Any] = [names[path[0]] for names in held if path[:1] and path[0] in names]
    for name in path[1:]:
        if name == "<locals>":
            continue
        inside: list[Any] = []
        for x in found:
            function = plain(x)
            code = function.__code__ if isinstance(function, FunctionType) else function
            if isinstance(code, CodeType):
                inner = (c for c in code.co_consts if isinstance(c, CodeType))
                inside += [c for c in inner if c.co_name == name]
            elif name in getattr(x, "__dict__", ()):
                inside.append(vars(x)[name])
        found = inside
    yield from found


class _StandIn:
    """In the place of a transform, whose class is not imported: what a program reads of it."""

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Any) -> None:
        self.function = function


def found_by_name(
    module: str, path: Sequence[str], namespaces: Sequence[dict[str, Any]]
) -> list[Any]:
    try:
        return list(_by_name(module, path, namespaces))
    except LookupError:
        return []


class Finder:
    """Finds what is described, for one function of this process."""

    def __init__(
        self,
        roots: Sequence[FunctionType],
        jitted: Any = None,
        files: Sequence[tuple[str, Description | None]] = (),
        given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {}),
    ) -> None:
        self._names_of_arguments = names_of_arguments(given)
        self._namespaces = [root.__globals__ for root in roots]
        self.roots, self.jitted, self._files = roots, jitted, files
        self._levels: list[_StandIn] = []
        #: id -> what was found, by which description.
        self._described: dict[int, tuple[Any, Description]] = {}
        #: What must live as long as the code.
        self.keep: list[Any] = [self._levels]

    def addresses(self, descriptions: Iterable[Description]) -> list[int]:
        """The addresses that code is linked with. Raises LookupError for what is not here."""
        return [self._address(d) for d in descriptions]

    def _address(self, d: Description) -> int:
        if d[0] == "recipe":
            address, kept = resolve(Recipe(*d[1:]))
            self.keep.append(kept)
            return address
        if d[0] == "bytes":
            return self._bytes(d[1])
        if d[0] == "place":
            return self._bytes(place_bytes(Where(self.file(d[1]), *d[2:])))
        if d[0] in ("site", "later"):
            *targets, (module, name, arguments, files) = d[1:]
            retold = module, name, arguments, tuple(map(self.file, files))
            address, kept = later(retold) if not targets else host_site(targets[0], retold)
            self.keep.append(kept)
            return address
        if d[0] == "word":
            found = self.object(d[1])
            if isinstance(found, type):
                # A class has no number before something has been looked up in it.
                getattr(found, "__doc__", None)
            watched = watch(found)
            self.keep.append(watched)
            return watched.address
        found = self.object(d) if d[0] != "made" else self._made(*d[1:])
        self.keep.append(found)
        return id(found)

    def _made(
        self,
        path: tuple[str, str, str],
        data: bytes,
        meant: Sequence[Description],
        files: Sequence[int],
    ) -> Any:
        """A method of an object of the compiler, made when it is first called."""
        objects = tuple(map(self.object, meant))
        self.keep.append(objects)
        given = (*path, data, objects)
        return later((_PORTABLE, "method", given, tuple(map(self.file, files)))).what

    def _bytes(self, data: bytes) -> int:
        memory = ctypes.create_string_buffer(len(data) + _ALIGNMENT)
        self.keep.append(memory)
        address = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
        ctypes.memmove(address, data, len(data))
        return address

    def file(self, number: int) -> str:
        """What a file is called here. Raises LookupError where the code from there is not here."""
        name, described = self._files[number]
        if described is None:
            return name
        found = self.object(described)
        code: CodeType = getattr(found, "__code__", found)
        return code.co_filename

    def object(self, d: Description) -> Any:
        """What is described. Raises LookupError where it is not here, or is something else.

        What were two objects must not be one.
        """
        found = getattr(self, f"_{d[0].replace(' ', '_')}")(*d[1:])
        if d[0] not in _BY_CONTENTS:
            _, known = self._described.setdefault(id(found), (found, d))
            if known != d:
                raise LookupError(f"{d} and {known} are one object here")
        return found

    def relate(self, function: Description, k: int | None, described: Description) -> None:
        """Raise LookupError where a function has other globals (None), or another cell `k`."""
        f = self.object(function)
        place = f.__globals__ if k is None else (f.__closure__ or ())[k]
        if place is not self.object(described):
            raise LookupError(f"{f.__qualname__} has other names around it")

    def _recipe(self, *recipe: Any) -> Any:
        module, function, arguments = recipe
        found = getattr(imported(module), function)(*arguments)
        if not isinstance(found, Kept):
            raise LookupError(f"{function}{arguments} is no object")
        return found.what

    def _slice(self, parts: Sequence[Description]) -> Any:
        return slice(*map(self.object, parts))

    def _tuple(self, items: Sequence[Description]) -> Any:
        return tuple([self.object(d) for d in items])

    def _root(self, k: int) -> Any:
        return self.roots[k]

    def _compiled(self) -> Any:
        return self.jitted.__tracejit__

    def _given(self) -> Any:
        return self.jitted._transform.arguments[0]

    def _attribute(self, parent: Description, name: str) -> Any:
        return getattr(self.object(parent), name)

    def _stand_in(self, level: int, count: int) -> Any:
        if not self._levels:
            inner = self._given()
            for _ in range(count):
                inner = _StandIn(inner)
                self._levels.insert(0, inner)
        return self._levels[level]

    def _globals(self, function: Description) -> Any:
        return self.object(function).__globals__

    def _code(self, function: Description) -> Any:
        return self.object(function).__code__

    def _inner_code(self, function: Description, path: Sequence[int]) -> Any:
        code = self.object(function).__code__
        for k in path:
            code = code.co_consts[k]
        return code

    def _member(self, cls: Description, name: str) -> Any:
        return getattr(self.object(cls), name)

    def _held(self, cls: Description, name: str) -> Any:
        found = vars(self.object(cls)).get(name)
        if found is None:
            raise LookupError(f"a class holds no {name}")
        return found

    def _cell(self, function: Description, k: int) -> Any:
        return (self.object(function).__closure__ or ())[k]

    def _at(self, place: Description, path: Sequence[tuple[str, Any]], digest: str) -> Any:
        found = follow(self.object(place), path)
        if contents_digest(found) != digest:
            raise LookupError("what a container holds has other contents")
        return found

    def _arguments(self) -> dict[str, Any]:
        return self._names_of_arguments

    def _names(self, described: Description) -> Any:
        return names_of(self.object(described))

    def _namespace(self, name: str) -> Any:
        return vars(self._module(name))

    def _dict(self, module: str, name: str) -> Any:
        found = vars(self._module(module)).get(name)
        if type(found) is not dict:
            raise LookupError(f"{module} holds no dict {name}")
        return found

    def _module(self, name: str) -> Any:
        found = sys.modules.get(name)
        if found is None and is_versioned(name):
            found = imported(name)
        if found is None:
            raise LookupError(f"{name} is not imported")
        return found

    def _class(self, module: str, path: Sequence[str], digest: str) -> Any:
        for x in _by_name(module, path, self._namespaces):
            if isinstance(x, type) and class_digest(x) == digest:
                return x
        raise LookupError(f"the class {'.'.join(path)} of {module} is another one")

    def _function(self, module: str, path: Sequence[str], digest: str) -> Any:
        for x in _by_name(module, path, self._namespaces):
            inner = plain(x)
            if isinstance(inner, FunctionType) and code_digest(inner.__code__) == digest:
                return inner
        raise LookupError(f"{'.'.join(path)} of {module} has other code")

    def _enclosed(self, holder: Description, k: int, digest: str) -> Any:
        found = plain(contents_of((self.object(holder).__closure__ or ())[k]))
        if not isinstance(found, FunctionType) or code_digest(found.__code__) != digest:
            raise LookupError("a function in a closure has other code")
        return found

    def _jitted(self, module: str, path: Sequence[str], digest: str, options: Any) -> Any:
        for x in _by_name(module, path, self._namespaces):
            function = getattr(x, "__tracejit__", None) if isinstance(x, JitBase) else None
            code = function.__code__ if isinstance(function, FunctionType) else None
            if code is not None and code_digest(code) == digest and options_of(x) == options:
                return x
        raise LookupError(f"{'.'.join(path)} of {module} is another compiled function")

    def _code_by_name(self, module: str, path: Sequence[str], digest: str) -> Any:
        for x in _by_name(module, path, self._namespaces):
            inner = plain(x)
            code = inner if isinstance(inner, CodeType) else getattr(inner, "__code__", None)
            if isinstance(code, CodeType) and code_digest(code) == digest:
                return code
        raise LookupError(f"{'.'.join(path)} of {module} has other code")

"""Objects that machine code is linked with, as descriptions by which another process finds its own.

A description is a tuple that `marshal` can write. What is found by it is the same by content: a
constant is equal, code has the same digest, a class too. Code that compares with such objects means
the same here and there.

Roots are the functions that a compiled one is made of, numbered: what hangs on them (globals,
cells, code) is found from there, so that it need not have a name.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.link.addresses import Address, Recipe, This, resolve
from tracejit.link.constants import is_versioned, recipe_of
from tracejit.link.digests import code_digest
from tracejit.link.finding import Kept
from tracejit.link.host_sites import host_site
from tracejit.link.later import later
from tracejit.runtime.cache.contents import class_digest
from tracejit.runtime.entries.jit_type import JitBase
from tracejit.runtime.entries.watch import watch

__all__ = ["Describer", "Description", "Finder", "Undescribed"]

Description = tuple[Any, ...]
#: Machine code reads constants in vectors.
_ALIGNMENT = 64
#: What is not imported for machine code to be loaded.
_COMPILER = ("tracejit.codegen.", "tracejit.frontend.", "tracejit.ops.", "tracejit.runtime.compile")


class Undescribed(Exception):
    """Something of this process alone."""


def _plain(x: Any) -> Any:
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


def _contents(cell: CellType) -> Any:
    """What a cell holds; None where that is nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _by_name(module: str, path: Sequence[str]) -> Iterator[Any]:
    """What a module holds under a qualified name: objects, or code where it is inside a function.

    Raises LookupError where there is nothing of the name.
    """
    held = sys.modules.get(module)
    if held is None:
        raise LookupError(f"{module} is not imported")
    found: list[Any] = [held]
    for name in path:
        if name == "<locals>":
            continue
        inside: list[Any] = []
        for x in found:
            function = _plain(x)
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


def _chain(jitted: Any) -> dict[int, Description]:
    """By identity, what a compiled function is made of, from the outside to the inside."""
    found: dict[int, Description] = {}
    x: Any = jitted.__tracejit__
    described: Description = ("compiled",)
    if jitted._transform is not None:
        given, levels = jitted._transform.arguments[0], []
        while x is not given:
            levels.append(x)
            x = x.function
        for k, level in enumerate(levels):
            found[id(level)] = ("stand in", k, len(levels))
        described = ("given",)
    while True:
        found[id(x)] = described
        for name in ("__tracejit__", "function", "func"):
            if hasattr(x, name) and not isinstance(x, FunctionType):
                x, described = getattr(x, name), ("attribute", described, name)
                break
        else:
            return found


class Describer:
    """Describes objects for one function, whose roots are given."""

    def __init__(self, roots: Sequence[FunctionType], jitted: Any = None) -> None:
        self.roots = roots
        self._chain = {} if jitted is None else _chain(jitted)
        #: What is being described.
        self._sought: list[FunctionType] = []
        self._functions: list[tuple[Description, FunctionType]] = [
            (("root", k), f) for k, f in enumerate(roots)
        ]

    def address(self, name: str, address: int) -> Description:
        """What an address is that the code is linked with. Raises Undescribed."""
        if not isinstance(address, Address):
            raise Undescribed(f"the address of {name}")
        of = address.of
        if isinstance(of, Recipe):
            return ("recipe", *of)
        assert isinstance(of, This)
        if of.kind == "bytes":
            return ("bytes", np.ascontiguousarray(of.what).tobytes())
        if of.kind == "site":
            targets, retold = of.what
            told = retold()
            if told is None:
                raise Undescribed(f"what {name} calls")
            return ("recipe", host_site.__module__, "host_site", (targets, told))
        if of.kind == "word":
            watched = of.what.get()
            if watched is None:
                raise Undescribed("an object that has died")
            return ("word", self.object(watched))
        return self._called_later(of.what) or self.object(of.what)

    def object(self, x: Any) -> Description:
        """A description of an object. Raises Undescribed."""
        found = self._of_roots(x) or self._chain.get(id(x)) or self._of_modules(x)
        if found is None:
            recipe = recipe_of(x)
            found = None if recipe is None else ("recipe", *recipe)
        if found is None and type(x) is tuple:
            found = ("tuple", tuple(self.object(item) for item in x))
        if found is None:
            raise Undescribed(_said(x))
        return found

    def _called_later(self, x: Any) -> Description | None:
        """What the compiler has programs call: it is found when it is called."""
        told: Any = None
        if isinstance(x, MethodType) and hasattr(x.__self__, "retold"):
            told = x.__self__.retold(x.__name__)
        elif isinstance(x, FunctionType) and x.__module__.startswith(_COMPILER):
            told = None if "<" in x.__qualname__ else (x.__module__, x.__qualname__, None)
        return None if told is None else ("recipe", later.__module__, "later", told)

    def namespace(self, x: dict[str, Any]) -> Description:
        """A description of a module's dict. Raises Undescribed."""
        for k, f in enumerate(self.roots):
            if x is f.__globals__:
                return ("globals", ("root", k))
        name = x.get("__name__")
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is None or vars(module) is not x:
            raise Undescribed(f"the globals of {name}")
        return ("namespace", name)

    def _of_roots(self, x: Any) -> Description | None:
        for described, f in self._functions:
            if x is f:
                return described
            if x is f.__code__:
                return ("code", described)
            if isinstance(x, CellType):
                for k, cell in enumerate(f.__closure__ or ()):
                    if x is cell:
                        return ("cell", described, k)
        if isinstance(x, CellType):
            return self._cell(x)
        return None

    def _cell(self, x: CellType) -> Description | None:
        """A cell of a function that a root can see."""
        for seen in list(self._seen()):
            for k, cell in enumerate(seen.__closure__ or ()):
                if cell is x:
                    return ("cell", self._function(seen), k)
        return None

    def _seen(self) -> Iterator[FunctionType]:
        for _, f in self._functions:
            held = [*f.__globals__.values()]
            held += [_contents(cell) for cell in f.__closure__ or ()]
            for x in held:
                inner = _plain(x)
                if isinstance(inner, FunctionType):
                    yield inner

    def _of_modules(self, x: Any) -> Description | None:
        if isinstance(x, dict):
            return self.namespace(x)
        if isinstance(x, ModuleType):
            if sys.modules.get(x.__name__) is not x:
                return None
            return ("module", x.__name__)
        if isinstance(x, CodeType):
            return self._code(x)
        if isinstance(x, FunctionType) and not is_versioned(x.__module__):
            return self._function(x)
        if isinstance(x, JitBase):
            return self._jitted(x)
        if isinstance(x, Enum) and not is_versioned(type(x).__module__):
            return ("member", self.object(type(x)), x.name)
        if isinstance(x, (property, staticmethod, classmethod)):
            return self._descriptor(x)
        if isinstance(x, type) and not is_versioned(x.__module__):
            path = tuple(x.__qualname__.split("."))
            if not any(c is x for c in _found(x.__module__, path)):
                raise Undescribed(f"the class {x.__qualname__}, which its module does not hold")
            return ("class", x.__module__, path, class_digest(x))
        return None

    def _jitted(self, x: Any) -> Description | None:
        """A compiled function that a module or a class holds."""
        function = x.__tracejit__
        if not isinstance(function, FunctionType):
            return None
        for module, path in self._names(function):
            if any(y is x for y in _found(module, path)):
                return ("jitted", module, path, code_digest(function.__code__), _options(x))
        raise Undescribed(f"the function {function.__qualname__}, which its module does not hold")

    def _descriptor(self, x: Any) -> Description | None:
        """What a class holds, whose digest tells of it: found by the function inside."""
        function = _plain(x)
        name = getattr(function, "__qualname__", "")
        for owner in _found(getattr(function, "__module__", ""), name.split(".")[:-1]):
            held = vars(owner) if isinstance(owner, type) else {}
            for key, value in held.items():
                if value is x:
                    return ("held", self.object(owner), key)
        return None

    def _function(self, x: FunctionType) -> Description:
        for module, path in self._names(x):
            if any(_plain(f) is x for f in _found(module, path)):
                described = ("function", module, path, code_digest(x.__code__))
                self._functions.append((described, x))
                return described
        enclosed = self._enclosed(x)
        if enclosed is None:
            raise Undescribed(f"the function {x.__qualname__}, which its module does not hold")
        self._functions.append((enclosed, x))
        return enclosed

    def _enclosed(self, x: FunctionType) -> Description | None:
        """A function that another one has in its closure, such as one that was decorated."""
        if any(x is f for f in self._sought):
            return None
        self._sought.append(x)
        try:
            known = {id(f) for _, f in self._functions}
            for f in [*(f for _, f in self._functions), *self._seen()]:
                for k, cell in enumerate(f.__closure__ or ()):
                    if _plain(_contents(cell)) is x:
                        holder = self._function(f) if id(f) not in known else self.object(f)
                        return ("enclosed", holder, k, code_digest(x.__code__))
        except Undescribed:
            return None
        finally:
            self._sought.pop()
        return None

    def _names(self, x: FunctionType) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Where a function may be found: under its name, or another one that its users know."""
        yield x.__module__, tuple(x.__qualname__.split("."))
        for _, f in list(self._functions):
            module = f.__globals__.get("__name__")
            if isinstance(module, str):
                held = [name for name, y in list(f.__globals__.items()) if _plain(y) is x]
                yield from ((module, (name,)) for name in sorted(held))

    def _code(self, x: CodeType) -> Description:
        """Code inside a root, or of a function of a module that is loaded, or inside of one."""
        for k, root in enumerate(self.roots):
            inside = _path_to(x, root.__code__)
            if inside is not None:
                return ("inner code", ("root", k), inside)
        path = tuple(x.co_qualname.split("."))
        modules = dict.fromkeys(
            name
            for name, module in list(sys.modules.items())
            if getattr(module, "__file__", None) == x.co_filename
        )
        modules |= dict.fromkeys(f.__module__ for f in self.roots)
        for module in modules:
            for found in _found(module, path):
                inner = _plain(found)
                if inner is x or getattr(inner, "__code__", None) is x:
                    return ("code by name", module, path, code_digest(x))
        raise Undescribed(f"the code of {x.co_qualname}, which no module holds")


def _options(x: Any) -> tuple[Any, ...]:
    """What a compiled function was told that matters to code that calls it."""
    options = x._options
    return options.strict, options.bounds_check, options.threads, options.moves, options.devices


def _path_to(x: CodeType, code: CodeType) -> tuple[int, ...] | None:
    """The numbers of constants that lead from code to code inside of it."""
    for k, constant in enumerate(code.co_consts):
        if constant is x:
            return (k,)
        if isinstance(constant, CodeType) and (more := _path_to(x, constant)) is not None:
            return (k, *more)
    return None


def _found(module: str, path: Sequence[str]) -> list[Any]:
    try:
        return list(_by_name(module, path))
    except LookupError:
        return []


def _said(x: Any) -> str:
    cls = type(x)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    what = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
    return f"{name} (an object of the class {what})" if name else f"an object of the class {what}"


class Finder:
    """Finds what is described, for one function of this process."""

    def __init__(self, roots: Sequence[FunctionType], jitted: Any = None) -> None:
        self.roots, self.jitted = roots, jitted
        self._levels: list[_StandIn] = []
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
        if d[0] == "word":
            found = self.object(d[1])
            if isinstance(found, type):
                # A class has no number before something has been looked up in it.
                getattr(found, "__doc__", None)
            watched = watch(found)
            self.keep.append(watched)
            return watched.address
        found = self.object(d)
        self.keep.append(found)
        return id(found)

    def _bytes(self, data: bytes) -> int:
        memory = ctypes.create_string_buffer(len(data) + _ALIGNMENT)
        self.keep.append(memory)
        address = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
        ctypes.memmove(address, data, len(data))
        return address

    def object(self, d: Description) -> Any:
        """What is described. Raises LookupError where it is not here, or is something else."""
        found = getattr(self, f"_{d[0].replace(' ', '_')}")(*d[1:])
        return found

    def _recipe(self, *recipe: Any) -> Any:
        module, function, arguments = recipe
        found = getattr(importlib.import_module(module), function)(*arguments)
        if not isinstance(found, Kept):
            raise LookupError(f"{function}{arguments} is no object")
        return found.what

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

    def _namespace(self, name: str) -> Any:
        return vars(self._module(name))

    def _module(self, name: str) -> Any:
        found = sys.modules.get(name)
        if found is None and is_versioned(name):
            found = importlib.import_module(name)
        if found is None:
            raise LookupError(f"{name} is not imported")
        return found

    def _class(self, module: str, path: Sequence[str], digest: str) -> Any:
        for x in _by_name(module, path):
            if isinstance(x, type) and class_digest(x) == digest:
                return x
        raise LookupError(f"the class {'.'.join(path)} of {module} is another one")

    def _function(self, module: str, path: Sequence[str], digest: str) -> Any:
        for x in _by_name(module, path):
            inner = _plain(x)
            if isinstance(inner, FunctionType) and code_digest(inner.__code__) == digest:
                return inner
        raise LookupError(f"{'.'.join(path)} of {module} has other code")

    def _enclosed(self, holder: Description, k: int, digest: str) -> Any:
        found = _plain(_contents((self.object(holder).__closure__ or ())[k]))
        if not isinstance(found, FunctionType) or code_digest(found.__code__) != digest:
            raise LookupError("a function in a closure has other code")
        return found

    def _jitted(self, module: str, path: Sequence[str], digest: str, options: Any) -> Any:
        for x in _by_name(module, path):
            function = getattr(x, "__tracejit__", None) if isinstance(x, JitBase) else None
            code = function.__code__ if isinstance(function, FunctionType) else None
            if code is not None and code_digest(code) == digest and _options(x) == options:
                return x
        raise LookupError(f"{'.'.join(path)} of {module} is another compiled function")

    def _code_by_name(self, module: str, path: Sequence[str], digest: str) -> Any:
        for x in _by_name(module, path):
            inner = _plain(x)
            code = inner if isinstance(inner, CodeType) else getattr(inner, "__code__", None)
            if isinstance(code, CodeType) and code_digest(code) == digest:
                return code
        raise LookupError(f"{'.'.join(path)} of {module} has other code")

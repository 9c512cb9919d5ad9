"""Objects that machine code is linked with become descriptions, by which `finder.py` finds those of
another process.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from types import CellType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.errors import Where
from tracejit.link.addresses import Address, Recipe, This
from tracejit.link.constants import is_versioned, recipe_of
from tracejit.link.digests import code_digest
from tracejit.link.later import Retold
from tracejit.link.library_names import class_of
from tracejit.runtime.cache.contents import class_digest
from tracejit.runtime.cache.finder import (
    Description,
    contents_of,
    found_by_name,
    plain,
)
from tracejit.runtime.cache.paths import (
    contents_digest,
    names_of_arguments,
    options_of,
    path_to,
)
from tracejit.runtime.entries.jit_type import JitBase

__all__ = ["Describer", "Undescribed"]

#: What is not imported for machine code to be loaded.
_COMPILER = ("tracejit.codegen.", "tracejit.frontend.", "tracejit.ops.", "tracejit.runtime.compile")


class Undescribed(Exception):
    """Something of this process alone."""


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
        if type(x) in METHODS:
            found[id(x.__self__)] = ("attribute", described, "__self__")
            x, described = x.__func__, ("attribute", described, "__func__")
            continue
        for name in ("__tracejit__", "function", "func"):
            if hasattr(x, name) and not isinstance(x, FunctionType):
                x, described = getattr(x, name), ("attribute", described, name)
                break
        else:
            return found


class Describer:
    """Describes objects for one function, whose roots are given."""

    def __init__(
        self,
        roots: Sequence[FunctionType],
        jitted: Any = None,
        given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {}),
    ) -> None:
        self.roots = roots
        self._holders: list[tuple[Description, dict[str, Any]]] = [
            *((("globals", ("root", k)), root.__globals__) for k, root in enumerate(roots)),
            (("arguments",), names_of_arguments(given)),
        ]
        self._chain = {} if jitted is None else _chain(jitted)
        #: What is being described.
        self._sought: list[FunctionType] = []
        self._functions: list[tuple[Description, FunctionType]] = [
            (("root", k), f) for k, f in enumerate(roots)
        ]
        #: id -> (cell or dict of globals, description), of those that have been described.
        self._places: dict[int, tuple[Any, Description]] = {}
        #: The files that places of the program are of, each with its number.
        self._files: dict[str, int] = {}
        #: Files, and by which descriptions code is found that is from there.
        self._code_files = {f.__code__.co_filename: d for d, f in self._functions}

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
        if of.kind == "place":
            where: Where | None = of.what[0]
            if where is None:
                return ("bytes", of.what[1].tobytes())
            return ("place", self._file(where.file), where.line, where.function)
        if of.kind == "site":
            targets, retold = of.what
            told = retold()
            if told is None:
                raise Undescribed(f"what {name} calls")
            return ("site", targets, self._retold(told))
        if of.kind == "word":
            watched = of.what.get()
            if watched is None:
                raise Undescribed("an object that has died")
            return ("word", self.object(watched))
        return self._called_later(of.what) or self.object(of.what)

    def _retold(self, told: Retold) -> Description:
        module, name, arguments, files = told
        return (module, name, arguments, tuple(map(self._file, files)))

    def _file(self, name: str) -> int:
        return self._files.setdefault(name, len(self._files))

    def files(self) -> Iterator[tuple[str, Description | None]]:
        """The files that numbers mean, then others of the program: by code that is from there,
        None for what is no file of the program."""
        for _, f in self._functions:
            self._file(f.__code__.co_filename)
        for file in self._files:
            yield file, self._code_files.get(file)

    def relations(self) -> Iterator[tuple[Description, int | None, Description]]:
        """Which cells, and which globals (None), functions have that are described otherwise.

        What was one place for two functions has to be one wherever the code is loaded.
        """
        for described, f in list(self._functions):
            for k, place in [(None, f.__globals__), *enumerate(f.__closure__ or ())]:
                known = self._places.get(id(place))
                own = ("globals", described) if k is None else ("cell", described, k)
                if known is not None and known[1] != own:
                    yield described, k, known[1]

    def object(self, x: Any) -> Description:
        """A description of an object. Raises Undescribed."""
        found = self._object(x)
        if isinstance(x, (CellType, dict)):
            self._places[id(x)] = x, found
        return found

    def _object(self, x: Any) -> Description:
        found = self._of_roots(x) or self._chain.get(id(x)) or self._of_modules(x)
        if found is None:
            recipe = recipe_of(x)
            found = None if recipe is None else ("recipe", *recipe)
        if found is None and type(x) is slice:
            found = ("slice", tuple(map(self.object, (x.start, x.stop, x.step))))
        if found is None and type(x) is tuple:
            found = ("tuple", tuple(self.object(item) for item in x))
        if found is None:
            raise Undescribed(_said(x))
        return found

    def _called_later(self, x: Any) -> Description | None:
        """What the compiler has programs call: it is found when it is called."""
        told: Retold | None = None
        if isinstance(x, MethodType) and hasattr(x.__self__, "portable"):
            return self._made(x.__self__, x.__name__)
        if isinstance(x, MethodType) and hasattr(x.__self__, "retold"):
            told = x.__self__.retold(x.__name__)
        elif isinstance(x, FunctionType) and x.__module__.startswith(_COMPILER):
            told = None if "<" in x.__qualname__ else (x.__module__, x.__qualname__, None, ())
        return None if told is None else ("later", self._retold(told))

    def _made(self, x: Any, name: str) -> Description:
        """A method of an object of the compiler, which is made again."""
        try:
            data, files, objects = x.portable()
        except Exception as e:
            raise Undescribed(f"what makes the results: {e}") from None
        meant = tuple(map(self.object, objects))
        cls = type(x)
        path = (cls.__module__, cls.__qualname__, name)
        return ("made", path, data, meant, tuple(map(self._file, files)))

    def namespace(self, x: dict[str, Any]) -> Description:
        """A description of the dict of a module or of a library's class. Raises Undescribed."""
        # One place has one description, whatever functions become known.
        if id(x) not in self._places:
            self._places[id(x)] = x, self._namespace(x)
        return self._places[id(x)][1]

    def _by_name(self, module: str, path: Sequence[str]) -> list[Any]:
        return found_by_name(module, path, [root.__globals__ for root in self.roots])

    def _namespace(self, x: dict[str, Any]) -> Description:
        for k, f in enumerate(self.roots):
            if x is f.__globals__:
                return ("globals", ("root", k))
        cls = class_of(x)
        if cls is not None:
            return ("names", self.object(cls))
        name = x.get("__name__")
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is not None and vars(module) is x:
            return ("namespace", name)
        for other, module in list(sys.modules.items()):
            for key, held in list(vars(module).items()) if is_versioned(other) else ():
                if held is x:
                    return ("dict", other, key)
        for described, f in self._functions:
            if x is f.__globals__:
                return ("globals", described)
        raise Undescribed(f"the globals of {name}")

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
            held += [contents_of(cell) for cell in f.__closure__ or ()]
            for x in held:
                inner = plain(x)
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
        is_held = isinstance(x, functools.partial) or hasattr(type(x), "traced_call")
        if is_held or type(x) is object:
            return self._held(x)
        if isinstance(x, Enum) and not is_versioned(type(x).__module__):
            return ("member", self.object(type(x)), x.name)
        if isinstance(x, (property, staticmethod, classmethod)):
            return self._descriptor(x)
        if isinstance(x, MemberDescriptorType) and not is_versioned(x.__objclass__.__module__):
            return ("held", self.object(x.__objclass__), x.__name__)
        if isinstance(x, type) and not is_versioned(x.__module__):
            path = tuple(x.__qualname__.split("."))
            if not any(c is x for c in self._by_name(x.__module__, path)):
                raise Undescribed(f"the class {x.__qualname__}, which its module does not hold")
            return ("class", x.__module__, path, class_digest(x))
        return None

    def _jitted(self, x: Any) -> Description | None:
        """A compiled function that a module or a class holds."""
        function = x.__tracejit__
        for module, path in self._names(function) if isinstance(function, FunctionType) else ():
            if any(y is x for y in self._by_name(module, path)):
                return ("jitted", module, path, code_digest(function.__code__), options_of(x))
        found = self._held(x)
        if found is None:
            raise Undescribed(f"the function {x!r}, which its module does not hold")
        return found

    def _held(self, x: Any) -> Description | None:
        """What a container, a class or an object holds that a root can see, or an argument."""
        for place, names in self._holders:
            path = path_to(x, names)
            if path is not None:
                try:
                    return ("at", place, path, contents_digest(x))
                except LookupError as e:
                    raise Undescribed(f"what a {type(x).__qualname__} is made of: {e}") from None
        return None

    def _descriptor(self, x: Any) -> Description | None:
        """What a class holds, whose digest tells of it: found by the function inside."""
        function = plain(x)
        name = getattr(function, "__qualname__", "")
        for owner in self._by_name(getattr(function, "__module__", ""), name.split(".")[:-1]):
            held = vars(owner) if isinstance(owner, type) else {}
            for key, value in held.items():
                if value is x:
                    return ("held", self.object(owner), key)
        return None

    def _function(self, x: FunctionType) -> Description:
        for module, path in self._names(x):
            if any(plain(f) is x for f in self._by_name(module, path)):
                return self._known(("function", module, path, code_digest(x.__code__)), x)
        enclosed = self._enclosed(x) or self._held(x)
        if enclosed is None:
            raise Undescribed(f"the function {x.__qualname__}, which its module does not hold")
        return self._known(enclosed, x)

    def _known(self, described: Description, x: FunctionType) -> Description:
        self._functions.append((described, x))
        self._code_files.setdefault(x.__code__.co_filename, described)
        return described

    def _enclosed(self, x: FunctionType) -> Description | None:
        """A function that another one has in its closure, such as one that was decorated."""
        if any(x is f for f in self._sought):
            return None
        self._sought.append(x)
        try:
            known = {id(f) for _, f in self._functions}
            for f in [*(f for _, f in self._functions), *self._seen()]:
                for k, cell in enumerate(f.__closure__ or ()):
                    if plain(contents_of(cell)) is x:
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
                held = [name for name, y in list(f.__globals__.items()) if plain(y) is x]
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
            for found in self._by_name(module, path):
                inner = plain(found)
                if inner is x or getattr(inner, "__code__", None) is x:
                    described = ("code by name", module, path, code_digest(x))
                    self._code_files.setdefault(x.co_filename, described)
                    return described
        held = self._held(x)
        if held is None:
            raise Undescribed(f"the code of {x.co_qualname}, which no module holds")
        return held


def _path_to(x: CodeType, code: CodeType) -> tuple[int, ...] | None:
    """The numbers of constants that lead from code to code inside of it."""
    for k, constant in enumerate(code.co_consts):
        if constant is x:
            return (k,)
        if isinstance(constant, CodeType) and (more := _path_to(x, constant)) is not None:
            return (k, *more)
    return None


def _said(x: Any) -> str:
    cls = type(x)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    what = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
    return f"{name} (an object of the class {what})" if name else f"an object of the class {what}"

"""Objects that are the same in every process: numbers and texts, dtypes, and what modules hold.

`recipe_of` says how another process finds an equal object, or the same one of its modules.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.link.addresses import Recipe
from tracejit.link.digests import code_digest, digest
from tracejit.link.finding import Kept, kept_object
from tracejit.link.ufunc_loops import UFUNC_MODULES

__all__ = [
    "constant",
    "dtype",
    "is_versioned",
    "library_object",
    "number",
    "recipe_of",
    "sequence",
    "set_of",
]

#: What `marshal` writes and equal objects can stand for; a NaN equals nothing but itself.
_PLAIN = (bool, int, str, bytes, float, complex, type(None), type(Ellipsis))
#: Packages whose classes and functions are known by name: their versions are known.
_VERSIONED = ("numpy", "scipy", "tracejit")
#: The flag of classes that are made while a process runs: `Py_TPFLAGS_HEAPTYPE`.
_HEAP_TYPE = 1 << 9
#: Where the standard library lies.
_LIBRARY = os.path.dirname(os.__file__) + os.sep


def constant(value: Any) -> Kept:
    """A number, a text, None: names are interned, since calls compare them by identity."""
    kept = sys.intern(value) if type(value) is str else value
    return Kept(id(kept), kept)


def sequence(*recipes: tuple[Any, ...]) -> Kept:
    """A tuple of what recipes find."""
    made = tuple([_found(r) for r in recipes])
    return Kept(id(made), made)


def set_of(*recipes: tuple[Any, ...]) -> Kept:
    """A set of what recipes find."""
    made = set(map(_found, recipes))
    return Kept(id(made), made)


def dtype(description: Any) -> Kept:
    """A dtype without fields."""
    made = np.dtype(description)
    return Kept(id(made), made)


def number(description: str, memory: bytes) -> Kept:
    """A NumPy scalar."""
    made = np.frombuffer(memory, description)[0]
    return Kept(id(made), made)


def _found(recipe: tuple[Any, ...]) -> Any:
    module, function, arguments = recipe
    return getattr(imported(module), function)(*arguments).what


def recipe_of(obj: Any) -> Recipe | None:
    """How any process finds the object, or one that is equal to it; None for an object that is not
    of this kind.
    """
    cls = type(obj)
    if cls in _PLAIN:
        if obj == obj:
            return Recipe(__name__, "constant", (obj,))
        nan = Recipe(kept_object.__module__, "kept_object", ("numpy", "nan"))
        return nan if obj is np.nan else None
    if cls in (tuple, set):
        parts = [tuple(found) for x in obj if (found := recipe_of(x)) is not None]
        if len(parts) < len(obj):
            return None
        if cls is set:
            return Recipe(__name__, "set_of", tuple(sorted(parts, key=repr)))
        return Recipe(__name__, "sequence", tuple(parts))
    if isinstance(obj, np.dtype):
        known = obj.names is None and obj.metadata is None and obj.subdtype is None
        return Recipe(__name__, "dtype", (obj.str,)) if known and np.dtype(obj.str) is obj else None
    if isinstance(obj, np.generic) and cls.__module__ == "numpy":
        if obj != obj:
            return None
        plain = obj.dtype.kind in "biufc"
        return Recipe(__name__, "number", (obj.dtype.str, obj.tobytes())) if plain else None
    return _of_module(obj)


def is_versioned(module: Any) -> bool:
    """Whether a module, by its name, is of a package whose version is known: it holds the same in
    every process.
    """
    package = module.partition(".")[0] if isinstance(module, str) else ""
    if package in _VERSIONED:
        return True
    if package not in sys.stdlib_module_names:
        return False
    # A program's own module may have such a name, too.
    file = getattr(sys.modules.get(package), "__file__", None) or _LIBRARY
    return file.startswith(_LIBRARY) and "site-packages" not in file


def library_object(mark: tuple[str, ...], module: str, *path: str) -> Kept:
    """An object of a package, by where it is. Raises LookupError where it has been replaced."""
    try:
        found = kept_object(module, *path)
    except AttributeError as e:
        raise LookupError(str(e)) from None
    if _mark(found.what) != mark:
        raise LookupError(f"{module}.{'.'.join(path)} has been replaced")
    return found


def _mark(obj: Any) -> tuple[str, ...]:
    """What tells an object of a package from one that a program puts in its place, perhaps under
    the same name.
    """
    if isinstance(obj, type) and obj.__flags__ & _HEAP_TYPE:
        return ("class", obj.__module__, obj.__qualname__, digest(repr(_functions(obj)).encode()))
    function = getattr(obj, "_implementation", obj)
    code = getattr(function, "__code__", None)
    cls = type(obj)
    names = [str(getattr(obj, name, "")) for name in ("__module__", "__qualname__", "__name__")]
    names += _owner(obj)
    return (
        f"{cls.__module__}.{cls.__qualname__}",
        *names,
        code_digest(code) if isinstance(code, CodeType) else "",
    )


def _owner(obj: Any) -> list[str]:
    """Which single object of a package a method is bound to."""
    owner = getattr(obj, "__self__", None)
    if owner is None or callable(owner) or isinstance(owner, types.ModuleType):
        return []
    return [".".join(place) for place in _places(owner)]


def _functions(cls: type) -> list[Any]:
    """The functions of a class that Python code has made, by their code, and those of its bases."""
    own = []
    for name, held in sorted(vars(cls).items()):
        function = getattr(held, "__func__", None) or getattr(held, "fget", None) or held
        if isinstance(code := getattr(function, "__code__", None), CodeType):
            own.append((name, code_digest(code)))
    return [own, *map(_mark, cls.__bases__)]


def _of_module(obj: Any) -> Recipe | None:
    """The place of a class or a function of a package whose version is known."""
    if not callable(obj) and not is_versioned(type(obj).__module__):
        return None
    mark = _mark(obj)
    for module, *path in _places(obj):
        try:
            found = kept_object(module, *path)
        except (ImportError, AttributeError):
            continue
        if found.what is obj:
            return Recipe(__name__, "library_object", (mark, module, *path))
    return None


def _places(obj: Any) -> Iterator[tuple[str, ...]]:
    """Where an object of a package may be found."""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if not callable(obj):
        # A single object, such as `np.mgrid`.
        own = type(obj).__module__
        for where in {own: 0, own.partition(".")[0]: 0}:
            held = vars(sys.modules[where]) if where in sys.modules else {}
            yield from ((where, other) for other, x in list(held.items()) if x is obj)
        return
    if not isinstance(name, str) or "<" in name:
        return
    if isinstance(obj, np.ufunc):
        yield from ((module, name) for module in UFUNC_MODULES if module in sys.modules)
        return
    owner = getattr(obj, "__self__", None)
    if _owner(obj) and is_versioned(own := type(owner).__module__):
        # A method of a single object, such as `random.random`.
        held = vars(sys.modules[own])
        yield from ((own, other) for other, x in list(held.items()) if x is obj)
    if isinstance(obj, BuiltinFunctionType) and isinstance(owner, type):
        yield (owner.__module__, *owner.__qualname__.split("."), name.rpartition(".")[2])
    module = getattr(obj, "__module__", None)
    if isinstance(module, str) and is_versioned(module):
        yield (module, *name.split("."))
    if module == "builtins" and isinstance(obj, type):
        yield from (("types", other) for other, held in vars(types).items() if held is obj)

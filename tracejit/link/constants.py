"""Objects that are the same in every process: numbers and texts, dtypes, and what modules hold.

`recipe_of` says how another process finds an equal object, or the same one of its modules.
"""

from __future__ import annotations

import importlib
import sys
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from tracejit.link.addresses import Recipe
from tracejit.link.finding import Kept, kept_object

__all__ = ["constant", "dtype", "number", "recipe_of", "sequence"]

#: What `marshal` writes and equal objects can stand for; a NaN equals nothing but itself.
_PLAIN = (bool, int, str, bytes, float, complex, type(None), type(Ellipsis))
#: Packages whose classes and functions are known by name: their versions are known.
_VERSIONED = ("builtins", "numpy", "scipy", "tracejit")


def constant(value: Any) -> Kept:
    """A number, a text, None: names are interned, since calls compare them by identity."""
    kept = sys.intern(value) if type(value) is str else value
    return Kept(id(kept), kept)


def sequence(*recipes: Recipe) -> Kept:
    """A tuple of what recipes find."""
    made = tuple([_found(r) for r in recipes])
    return Kept(id(made), made)


def dtype(description: Any) -> Kept:
    """A dtype without fields."""
    made = np.dtype(description)
    return Kept(id(made), made)


def number(description: str, memory: bytes) -> Kept:
    """A NumPy scalar."""
    made = np.frombuffer(memory, description)[0]
    return Kept(id(made), made)


def _found(recipe: Recipe) -> Any:
    module, function, arguments = recipe
    return getattr(importlib.import_module(module), function)(*arguments).what


def recipe_of(obj: Any) -> Recipe | None:
    """How any process finds the object, or one that is equal to it; None for an object that is not
    of this kind.
    """
    cls = type(obj)
    if cls in _PLAIN:
        return Recipe(__name__, "constant", (obj,)) if obj == obj else None
    if cls is tuple:
        parts = [recipe_of(x) for x in obj]
        return None if None in parts else Recipe(__name__, "sequence", tuple(parts))
    if isinstance(obj, np.dtype):
        known = obj.names is None and obj.metadata is None and obj.subdtype is None
        return Recipe(__name__, "dtype", (obj.str,)) if known and np.dtype(obj.str) is obj else None
    if isinstance(obj, np.generic) and cls.__module__ == "numpy" and obj == obj:
        plain = obj.dtype.kind in "biufc"
        return Recipe(__name__, "number", (obj.dtype.str, obj.tobytes())) if plain else None
    return _of_module(obj)


def _of_module(obj: Any) -> Recipe | None:
    """The place of a class or a function of a package whose version is known."""
    if not isinstance(obj, (type, BuiltinFunctionType, np.ufunc)) and not callable(obj):
        return None
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    module = "numpy" if isinstance(obj, np.ufunc) else getattr(obj, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str) or "<" in name:
        return None
    package = module.partition(".")[0]
    if (
        package not in _VERSIONED
        and package not in sys.stdlib_module_names
        or package == "__main__"
    ):
        return None
    path = (module, *name.split("."))
    try:
        found = kept_object(*path)
    except (ImportError, AttributeError):
        return None
    return Recipe(kept_object.__module__, "kept_object", path) if found.what is obj else None

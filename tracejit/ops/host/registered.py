"""Which functions of NumPy and SciPy may be called from inside a program, and how they are found.

They depend on their arguments alone and change nothing. That is so for the public functions of both
libraries but for a closed list: files, settings, random numbers, what stores into its arguments,
what calls a function that it is given, and what tells how arrays lie in memory.

The text of a graph, which may come from anywhere, names no function but these, under public names,
and the package's own that are registered here.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeVar

import numpy as np

from tracejit.base.originals import is_of_library
from tracejit.ops.host.functions import find_function

__all__ = ["host_path", "is_registered", "registered"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: The paths of functions of this package that programs call.
_REGISTERED: set[str] = set()
#: Where these are.
_OWN = f"{__package__}."
_LIBRARIES = ("numpy", "scipy")
#: Modules whose functions have effects, draw random numbers or give objects of their own.
_MODULES = frozenset(
    (
        "_format_impl _pytesttester char core ctypeslib datasets distutils dtypes exceptions f2py "
        "format io lapack_lite ma memmap misc odr random rec sparse strings testing typing version"
    ).split()
)
_NAMES = frozenset(
    (
        # files and texts
        "fromfile fromregex fromstring frombuffer from_dlpack genfromtxt get_include info load "
        "loadtxt save savetxt savez savez_compressed show_config show_runtime test who source "
        "array2string array_repr array_str "
        # stores into an argument
        "copyto fill_diagonal place put put_along_axis putmask shuffle "
        # calls of a function
        "apply_along_axis apply_over_axes fromfunction fromiter frompyfunc nested_iters piecewise "
        "vectorize "
        # the layout of memory, and what may be the argument itself
        "asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray as_strided "
        "broadcast_arrays byte_bounds isfortran may_share_memory real_if_close require "
        "shares_memory sliding_window_view trim_zeros "
        # settings, and what is printed
        "add_docstring add_newdoc show show_options skip_backend "
        "getbufsize geterr geterrcall geterrobj get_printoptions printoptions errstate"
    ).split()
)
_PREFIXES = ("_", "set", "register_", "get_")
#: Set operations are no settings.
_ALLOWED = frozenset(("setdiff1d", "setxor1d", "get_window"))
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.sum))
_METHODS = ("reduce", "accumulate", "reduceat", "outer")
#: A parameter of one of these names gives random numbers.
_RANDOM = frozenset(("rng", "random_state", "seed", "generator"))


def registered(f: _F) -> _F:
    """Decorator of the package's own functions that programs call."""
    _REGISTERED.add(f"{f.__module__}:{f.__name__}")
    return f


@lru_cache(maxsize=1024)
def is_registered(path: str) -> bool:
    """True for the path of a function that the text of a graph may name.

    Imports no modules but those of the two libraries and this package's.
    """
    module, _, names = path.partition(":")
    parts, (name, *rest) = module.split("."), names.split(".")
    is_own, is_theirs = module.startswith(_OWN), parts[0] in _LIBRARIES
    if not (is_own or (is_theirs and _MODULES.isdisjoint(parts))) or "__" in module:
        return False
    try:
        f = find_function(f"{module}:{name}")
    except Exception:
        return False
    if is_own:
        return path in _REGISTERED
    if rest and (not isinstance(f, np.ufunc) or len(rest) > 1 or rest[0] not in _METHODS):
        return False
    if host_path(f, *rest) is None:
        return False
    return any(
        vars(m).get(name) is f
        for spelled, m in list(sys.modules.items())
        if spelled.partition(".")[0] in _LIBRARIES and "._" not in spelled and m is not None
    )


def host_path(f: Any, method: str = "__call__") -> str | None:
    """The path by which a function is found again; None for one that is not known to be pure."""
    if isinstance(f, np.ufunc):
        return _ufunc_path(f, method)
    # Objects of the program are neither asked for anything nor kept.
    if isinstance(f, _FUNCTIONS) or type(f).__module__ == "uarray":
        package = str(f.__module__).partition(".")[0]
        if package in _LIBRARIES and is_of_library(f, package):
            return _path(f)
    return None


@lru_cache(maxsize=1024)
def _path(f: Any) -> str | None:
    module, name = getattr(f, "__module__", None), getattr(f, "__qualname__", None)
    if name is None:
        name = getattr(f, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or isinstance(f, type):
        return None
    if not _MODULES.isdisjoint(module.split(".")):
        return None
    if name in _NAMES or not name.isidentifier():
        return None
    if name.startswith(_PREFIXES) and name not in _ALLOWED:
        return None
    try:
        if not _RANDOM.isdisjoint(inspect.signature(f).parameters):
            return None
    except (TypeError, ValueError):
        pass
    return _checked(f"{module}:{name}", f)


def _ufunc_path(f: np.ufunc, method: str) -> str | None:
    if method == "at":
        return None
    for module in ("numpy", "scipy.special"):
        if getattr(sys.modules.get(module), f.__name__, None) is f:
            path = f"{module}:{f.__name__}"
            return path if method == "__call__" else f"{path}.{method}"
    return None


def _checked(path: str, f: Any) -> str | None:
    try:
        return path if find_function(path) is f else None
    except (ImportError, AttributeError):
        return None

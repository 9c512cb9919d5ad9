"""Which functions of NumPy and SciPy may be called from inside a program, and how they are found.

They depend on their arguments alone and change nothing. That is so for the public functions of both
libraries but for a closed list: files, settings, random numbers, what stores into its arguments,
what calls a function that it is given, and what tells how arrays lie in memory.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from tracejit.ops.host.exchange import EXCHANGED, EXCHANGED_FOR_GOOD
from tracejit.ops.host.functions import find_function
from tracejit.ops.host.random import DRAW, DRAWN, START

__all__ = ["host_path", "may_crash", "spelled", "spelled_call", "takes_keywords"]

#: Modules whose functions have effects, draw random numbers or give objects of their own.
_MODULES = frozenset(
    (
        "char core ctypeslib datasets distutils dtypes exceptions f2py io ma memmap misc odr "
        "random rec sparse strings testing typing version _pytesttester"
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
        # settings
        "getbufsize geterr geterrcall geterrobj get_printoptions printoptions errstate"
    ).split()
)
_PREFIXES = ("_", "set", "register_", "get_")
#: Set operations are no settings.
_ALLOWED = frozenset(("setdiff1d", "setxor1d", "get_window"))
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.sum))
#: A parameter of one of these names gives random numbers.
_RANDOM = frozenset(("rng", "random_state", "seed", "generator"))


def host_path(f: Any, method: str = "__call__") -> str | None:
    """The path by which a function is found again; None for one that is not known to be pure."""
    if isinstance(f, np.ufunc):
        return _ufunc_path(f, method)
    # Objects of the program are neither asked for anything nor kept.
    if isinstance(f, _FUNCTIONS) or type(f).__module__ == "uarray":
        if str(f.__module__).partition(".")[0] in ("numpy", "scipy"):
            return _path(f)
    return None


def may_crash(path: str) -> bool:
    """Whether a function may trust what it is given: SciPy's but for ufuncs. NumPy's look at it."""
    f = find_function(path) if path.startswith("scipy") else None
    return f is not None and not isinstance(getattr(f, "__self__", f), np.ufunc)


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


def takes_keywords(names: Any) -> bool:
    """Whether no argument of these names is memory that the function writes to."""
    return not any(
        name in ("out", "output", "like", "dst") or name.startswith("overwrite") for name in names
    )


def spelled_call(attrs: Mapping[str, Any]) -> str:
    """The function of a call with these attributes as its users write it."""
    if attrs["function"] in (DRAW, DRAWN):
        return f"random numbers: {attrs['arguments'][attrs['function'] == DRAWN][1]}"
    if attrs["function"] in (EXCHANGED, EXCHANGED_FOR_GOOD):
        return f"tracejit.dist.{attrs['arguments'][0][1]}"
    return "np.random.default_rng" if attrs["function"] == START else spelled(attrs["function"])


def spelled(path: str) -> str:
    """The function of a path as its users write it."""
    module, _, name = path.partition(":")
    public = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join(["np" if public[0] == "numpy" else public[0], *public[1:], name])

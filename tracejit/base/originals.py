"""Functions of libraries as modules held them before a program replaced any, by `unittest.mock` for
instance: the compiler, whose parts are imported when they are needed, means those.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from tracejit.base.late import imported

__all__ = ["hold", "import_compiler", "is_of_library", "originals"]

#: The modules whose functions the compiler knows.
_MODULES = """builtins bisect cmath collections copy functools heapq itertools math operator random
time numpy numpy.fft numpy.linalg numpy.random scipy.linalg scipy.special""".split()
#: Where the standard library lies.
_LIBRARY = os.path.dirname(os.__file__) + os.sep
#: What they hold, by name.
_HELD: dict[str, dict[str, Any]] = {}

#: What the compiler consists of, and the parts that need packages of their own.
_PACKAGES = "ir ops loops frontend transforms passes codegen runtime".split()
_APART = ("tracejit.codegen.cuda", "tracejit.codegen.device", "tracejit.runtime.device")
_whole: list[bool] = []


def hold() -> None:
    """Note what modules hold that have been imported since: with the package, which may import the
    rest of itself when something is replaced already, and where a function is decorated.
    """
    for name in _MODULES:
        if name not in _HELD and name in sys.modules:
            held = list(vars(sys.modules[name]).items())
            _HELD[name] = {key: _original(x, name.partition(".")[0]) for key, x in held}


def _original(x: Any, package: str) -> Any:
    """What a program has put a function around, which has the name of it from `functools.wraps`."""
    while not is_of_library(x, package) and "__wrapped__" in vars(x):
        x = vars(x)["__wrapped__"]
    return x


def is_of_library(x: Any, package: str) -> bool:
    """Returns False for a function of Python that is neither from a file of a package nor of the
    standard library: a program has given it the name of one that is.
    """
    if type(x) is not FunctionType:
        return True
    file = x.__code__.co_filename
    if file.startswith(_LIBRARY) and "site-packages" not in file:
        return True
    folder = os.path.dirname(getattr(sys.modules.get(package), "__file__", None) or os.__file__)
    return file.startswith((folder + os.sep, "<frozen"))


def _replaced() -> list[tuple[dict[str, Any], str, Any, Any]]:
    """(dict, name, original, what is there) of what a program has replaced."""
    return [
        (vars(sys.modules[module]), name, original, vars(sys.modules[module])[name])
        for module, held in _HELD.items()
        for name, original in held.items()
        if callable(original) and vars(sys.modules[module]).get(name, original) is not original
    ]


def import_compiler() -> None:
    """Where something is replaced, import all of the compiler with the originals in place: nothing
    that is imported later takes what is there now for what a library holds.
    """
    if _whole or not _replaced():
        return
    with originals():
        for name in _PACKAGES:
            package = imported(f"tracejit.{name}")
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if not found.name.startswith(_APART):
                    imported(found.name)
    _whole.append(True)


@contextmanager
def originals() -> Iterator[bool]:
    """Within the block modules hold what they held before; whether that is something else."""
    replaced = _replaced()
    for namespace, name, original, _ in replaced:
        namespace[name] = original
    try:
        yield bool(replaced)
    finally:
        for namespace, name, original, present in replaced:
            if namespace.get(name) is original:
                namespace[name] = present

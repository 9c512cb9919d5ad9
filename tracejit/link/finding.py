"""Addresses of what every process has: functions of Python, NumPy and C, and objects of modules."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import config
from tracejit.base.late import imported
from tracejit.base.locks import once
from tracejit.link import library_names
from tracejit.link.addresses import Address, Recipe, described

__all__ = [
    "Kept",
    "eager_word",
    "kept_object",
    "names_table",
    "c_address",
    "object_address",
    "numpy_address",
    "numpy_table",
    "pointer_in",
    "python_address",
    "thread_word",
]

#: What NumPy's ABI 2 has in these slots of `_ARRAY_API`.
_VERSION, _ARRAY_TYPE, _DTYPE_TYPE = 0, 2, 3


class Kept(NamedTuple):
    """An address, and what lies there or keeps it."""

    address: int
    what: Any


def _address(function: Any) -> int | None:
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


@described
def python_address(name: str) -> int:
    """A function of Python's C API. Raises KeyError if it has none of this name."""
    found = _address(getattr(ctypes.pythonapi, name, None))
    if found is None:
        raise KeyError(name)
    return found


@described
def c_address(name: str) -> int:
    """A function of the C library or its mathematics, or of what else the process has loaded.

    Raises KeyError where there is none.
    """
    for library in (_mathematics(), _process()):
        found = _address(getattr(library, name, None))
        if found is not None:
            return found
    raise KeyError(name)


@once
def _process() -> ctypes.CDLL:
    return ctypes.CDLL("kernel32" if sys.platform == "win32" else None)


@once
def _mathematics() -> ctypes.CDLL:
    """The C mathematics library, made visible to the whole process."""
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    if sys.platform == "darwin":
        return ctypes.CDLL("/usr/lib/libSystem.B.dylib", mode=ctypes.RTLD_GLOBAL)
    # glibc's names first: find_library starts a compiler or ldconfig to answer.
    for name in ("libm.so.6", f"libc.musl-{platform.machine()}.so.1"):
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    name = imported("ctypes.util").find_library("m")
    return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)


def pointer_in(capsule: Any) -> int:
    """The pointer that a capsule holds."""
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    pointer: int = pointer_of(capsule, name_of(capsule))
    return pointer


@once
def numpy_table() -> Callable[[int], int] | None:
    """What is in each slot of the table of NumPy's C API; None where it is not that of ABI 2."""
    table = pointer_in(imported("numpy._core._multiarray_umath")._ARRAY_API)
    word = ctypes.sizeof(ctypes.c_size_t)

    def slot(index: int) -> int:
        return ctypes.c_size_t.from_address(table + word * index).value

    if slot(_ARRAY_TYPE) != id(np.ndarray) or slot(_DTYPE_TYPE) != id(np.dtype):
        return None
    return slot if ctypes.PYFUNCTYPE(ctypes.c_uint)(slot(_VERSION))() >> 24 == 2 else None


@described
def numpy_address(slot: int) -> int:
    """What is in a slot of the table of NumPy's C API. Raises KeyError where it has no ABI 2."""
    table = numpy_table()
    if table is None:
        raise KeyError(slot)
    return table(slot)


def kept_object(module: str, *path: str) -> Kept:
    """An object by its module and the names that lead to it."""
    found: Any = imported(module)
    for name in path:
        found = getattr(found, name)
    return Kept(id(found), found)


def object_address(module: str, *path: str) -> Address:
    """Where an object lies that a module holds for good. Raises AttributeError for none."""
    at = Recipe(__name__, "kept_object", (module, *path))
    return Address(kept_object(module, *path).address, at)


@described
def thread_word(n: int | None) -> int:
    """The word that says how many threads share a long kernel: see `config.thread_word`."""
    return config.thread_word(n)


@described
def eager_word() -> int:
    """The word `config.eager_opened`."""
    return config.eager_opened.buffer_info()[0]


@described
def names_table() -> int:
    """The table `library_names.TABLE`."""
    return library_names.TABLE.buffer_info()[0]

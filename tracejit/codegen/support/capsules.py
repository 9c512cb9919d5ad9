"""Pointers that modules hand out in capsules: NumPy's table of C functions, and others."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.locks import once

__all__ = ["numpy_table", "pointer_in"]

#: What NumPy's ABI 2 has in these slots of `_ARRAY_API`.
_VERSION, _ARRAY_TYPE, _DTYPE_TYPE = 0, 2, 3


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
    table = pointer_in(importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API)
    word = ctypes.sizeof(ctypes.c_size_t)

    def slot(index: int) -> int:
        return ctypes.c_size_t.from_address(table + word * index).value

    if slot(_ARRAY_TYPE) != id(np.ndarray) or slot(_DTYPE_TYPE) != id(np.dtype):
        return None
    return slot if ctypes.PYFUNCTYPE(ctypes.c_uint)(slot(_VERSION))() >> 24 == 2 else None

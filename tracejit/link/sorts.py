"""NumPy's own sorts of one line by address: the loops that `np.sort` and `np.argsort` run.

`i32 sort(ptr line, i64 n, ptr)` sorts in place, `i32 argsort(ptr line, ptr places, i64 n, ptr)`
permutes places that are 0, 1, ...; a negative result is a failed allocation. They stand in the
table of functions that each dtype has in NumPy's C API; a NumPy whose table says otherwise gives no
address, and its sorts are called from Python.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.link.addresses import described
from tracejit.link.finding import numpy_table

__all__ = ["sort_address"]

#: NumPy's ABI 2: a slot of `_ARRAY_API`, and the words of `PyArray_ArrFuncs` by what they hold.
_GET_FUNCTIONS = 365
_SORTS, _ARGSORTS = 33, 36
#: Among each: any order of equal elements, and theirs.
_QUICK, _STABLE = 0, 2


@described
@lru_cache(maxsize=64)
def sort_address(dtype: str, positions: bool, stable: bool) -> int | None:
    """The address of a sort, or argsort for `positions`, of lines of the dtype that NumPy calls
    `dtype`; None without one.
    """
    d = np.dtype(dtype)
    functions = _functions(d)
    if functions is None:
        return None
    which = (_ARGSORTS if positions else _SORTS) + (_STABLE if stable else _QUICK)
    address = ctypes.c_size_t.from_address(functions + ctypes.sizeof(ctypes.c_size_t) * which).value
    return address if address and _sorts(address, d, positions) else None


def _functions(d: np.dtype[Any]) -> int | None:
    """Where a dtype's functions are."""
    slot = numpy_table()
    if slot is None:
        return None
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(slot(_GET_FUNCTIONS))
    found: int | None = get(d)
    return found


def _sorts(address: int, d: np.dtype[Any], positions: bool) -> bool:
    """Whether the function at an address does what it should on a few elements."""
    line = np.array([1, 0, 1, 0, 0], d)
    places = np.arange(line.size)
    pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
    if positions:
        status = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, size, pointer)(address)(
            line.ctypes.data, places.ctypes.data, line.size, None
        )
        return bool(status == 0 and line[places].tolist() == np.sort(line).tolist())
    status = ctypes.CFUNCTYPE(ctypes.c_int, pointer, size, pointer)(address)(
        line.ctypes.data, line.size, None
    )
    return bool(status == 0 and line.tolist() == np.array([0, 0, 0, 1, 1], d).tolist())

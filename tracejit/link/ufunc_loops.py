"""The inner loops of NumPy's compiled ufuncs by address: what they run for arrays of some dtypes.

`void loop(ptr operands, ptr sizes, ptr steps, ptr data)`: `operands` are the addresses of all
operands and results. `sizes` is how often the loop runs, then its core sizes as the signature names
them. `steps` are how far apart in bytes the operands of one turn and the next lie, then those along
the core axes of each. A ufunc whose object lies otherwise than is known here gives no loop.
"""

from __future__ import annotations

import ctypes
import sys
from typing import NamedTuple

import numpy as np

from tracejit.base.late import imported
from tracejit.link.addresses import Address, Recipe

__all__ = ["UFUNC_MODULES", "Loop", "loop_of"]

#: Where ufuncs are to be found by their names.
UFUNC_MODULES = (
    "numpy",
    "numpy.fft._pocketfft_umath",
    "numpy.linalg._umath_linalg",
    "scipy.special",
)
#: Where a ufunc keeps how many operands and results it has, and its tables of loops.
_COUNTS, _FUNCTIONS, _DATA, _NTYPES, _TYPES = 16, 32, 40, 48, 64


class Loop(NamedTuple):
    """A loop: its address, and that of what it is given besides (0 for nothing)."""

    address: int
    data: int


def loop_of(ufunc: np.ufunc, types: str) -> Loop | None:
    """The loop of a ufunc for types such as "dd->D"; None where it has none."""
    if types not in ufunc.types or not _lies_as_known(ufunc):
        return None
    k = ufunc.types.index(types)
    functions, given = (_word(id(ufunc) + at) for at in (_FUNCTIONS, _DATA))
    function = _word(functions + 8 * k)
    data = _word(given + 8 * k) if given else 0
    if not function:
        return None
    module = next(
        (m for m in UFUNC_MODULES if getattr(sys.modules.get(m), ufunc.__name__, None) is ufunc), ""
    )
    if not module:
        return Loop(function, data)
    at = [Recipe(__name__, "word_of_loop", (module, ufunc.__name__, types, k)) for k in range(2)]
    return Loop(Address(function, at[0]), Address(data, at[1]) if data else 0)


def word_of_loop(module: str, name: str, types: str, number: int) -> int | None:
    """The address of a loop (number 0) of a module's ufunc, or of what it is given (1)."""
    loop = loop_of(getattr(imported(module), name), types)
    return None if loop is None else loop[number]


def _lies_as_known(ufunc: np.ufunc) -> bool:
    counts = (ctypes.c_int * 3).from_address(id(ufunc) + _COUNTS)
    if tuple(counts) != (ufunc.nin, ufunc.nout, ufunc.nargs):
        return False
    if ctypes.c_int.from_address(id(ufunc) + _NTYPES).value != ufunc.ntypes:
        return False
    numbers = b"".join(
        bytes([np.dtype(c).num for c in types.replace("->", "")]) for types in ufunc.types
    )
    return ctypes.string_at(_word(id(ufunc) + _TYPES), len(numbers)) == numbers


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value

"""The inner loops of NumPy's compiled ufuncs by address: what they run for arrays of some dtypes.

`void loop(ptr operands, ptr sizes, ptr steps, ptr data)`: `operands` are the addresses of all
operands and results. `sizes` is how often the loop runs, then its core sizes as the signature names
them. `steps` are how far apart in bytes the operands of one turn and the next lie, then those along
the core axes of each. A ufunc whose object lies otherwise than is known here gives no loop.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

__all__ = ["Loop", "loop_of"]

#: Where a ufunc keeps how many operands and results it has, and its tables of loops.
_COUNTS, _FUNCTIONS, _DATA, _NTYPES, _TYPES = 16, 32, 40, 48, 64


@dataclass(frozen=True)
class Loop:
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
    return Loop(function, data) if function else None


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

"""Results whose size is known only when they are ready: the program has NumPy make them then.

The out-slot of such a result holds the new array, a reference of its own, instead of an address.
Whoever calls the program sets it to zero, and gives the reference up where the program refuses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container
from typing import Any

import numpy as np

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import call_python
from tracejit.codegen.support.python_calls import BAIL, DONE
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, type_sizes

__all__ = ["emit_new_array", "is_made_late"]


def is_made_late(v: Value, known: Container[str]) -> bool:
    """Whether a result has a size that is not known when the program begins."""
    return isinstance(v.type, ArrayType) and any(s not in known for s in type_sizes(v.type))


class _Maker:
    """Makes arrays of one type."""

    def __init__(self, t: ArrayType) -> None:
        self.dtype, self.order = t.dtype, t.order
        self._sizes = ctypes.c_int64 * t.ndim
        self._is_c = t.is_c

    def __call__(self, shape: int, slot: int, data: int) -> int:
        """Write a new array to `slot`, and the address of its memory to `data`; BAIL without it."""
        sizes = tuple(self._sizes.from_address(shape))
        try:
            array = self._empty(sizes)
        except (MemoryError, ValueError):
            return BAIL
        ctypes.c_int64.from_address(data).value = array.ctypes.data
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
        ctypes.c_int64.from_address(slot).value = id(array)
        return DONE

    def _empty(self, sizes: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if self._is_c:
            return np.empty(sizes, self.dtype)
        strides, step = [0] * len(sizes), self.dtype.itemsize
        for axis in reversed(self.order):
            strides[axis] = step
            step *= max(sizes[axis], 1)
        return np.ndarray(sizes, self.dtype, strides=strides)


def emit_new_array(e: ProgramContext, v: Value, slot: str) -> str:
    """Make the array for a result; the register of its memory. A run without memory bails out."""
    fb, t = e.fb, v.type
    assert isinstance(t, ArrayType)
    shape, data = fb.alloca(f"[{t.ndim} x i64]", 8), fb.alloca("ptr", 8)
    for axis, d in enumerate(t.shape):
        at = fb.emit(f"getelementptr i64, ptr {shape}, i64 {axis}")
        fb.line(f"store i64 {e.checked_dim(d)}, ptr {at}")
    numbers = [fb.emit(f"ptrtoint ptr {p} to i64") for p in (shape, slot, data)]
    call_python(e, _Maker(t), *numbers)
    return fb.emit(f"load ptr, ptr {data}")

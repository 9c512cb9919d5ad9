"""Results whose size is known only when they are ready: the program makes arrays for them then.

The out-slot of such a result holds the new array, a reference of its own, instead of an address.
Whoever calls the program sets it to zero, and gives the reference up where the program refuses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container
from typing import Any

import numpy as np

from tracejit.codegen.program.context import ProgramContext
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_name, type_sizes
from tracejit.link.addresses import address_of

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

        from tracejit.codegen.support.python_calls import BAIL, DONE

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


def emit_new_array(e: ProgramContext, v: Value, slot: str, maker: int) -> str:
    """Make the array for a result; the register of its memory. A run without memory bails out.

    `maker` is the address of `tj_late_array` (see `runtime/native/result_memory.py`), or 0.
    """

    from tracejit.codegen.program.exits import call_python

    fb, t = e.fb, v.type
    assert isinstance(t, ArrayType)
    shape = fb.alloca(f"[{t.ndim} x i64]", 8)
    sizes = [e.checked_dim(d) for d in t.shape]
    for axis, size in enumerate(sizes):
        fb.line(f"store i64 {size}, ptr {fb.emit(f'getelementptr i64, ptr {shape}, i64 {axis}')}")
    if maker:
        return _call_maker(e, t, sizes, shape, slot, maker)
    data = fb.alloca("ptr", 8)
    numbers = [fb.emit(f"ptrtoint ptr {p} to i64") for p in (shape, slot, data)]
    call_python(e, _Maker(t), *numbers)
    return fb.emit(f"load ptr, ptr {data}")


def _call_maker(
    e: ProgramContext, t: ArrayType, sizes: list[str], shape: str, slot: str, maker: int
) -> str:
    fb = e.fb
    strides, fortran = "null", int(t.ndim > 1 and t.order == tuple(reversed(range(t.ndim))))
    if not (t.is_c or fortran):
        strides, step = fb.alloca(f"[{t.ndim} x i64]", 8), str(t.dtype.itemsize)
        for axis in reversed(t.order):
            fb.line(
                f"store i64 {step}, ptr {fb.emit(f'getelementptr i64, ptr {strides}, i64 {axis}')}"
            )
            empty = fb.emit(f"icmp eq i64 {sizes[axis]}, 0")
            step = fb.emit(
                f"mul i64 {step}, {fb.emit(f'select i1 {empty}, i64 1, i64 {sizes[axis]}')}"
            )
    descr = f"tj_{dtype_name(t.dtype)}"
    if descr not in e.symbols:
        e.module.add_global(descr, "external global i8")
        e.symbols[descr] = address_of(t.dtype)
        e.keep.append(t.dtype)
    e.module.declare("tj_late_array", "ptr", ["ptr", "i32", "ptr", "ptr", "i32", "ptr"])
    e.symbols["tj_late_array"] = maker
    given = f"ptr @{descr}, i32 {t.ndim}, ptr {shape}, ptr {strides}, i32 {fortran}, ptr {slot}"
    data = fb.emit(f"call ptr @tj_late_array({given})")
    fb.check(fb.emit(f"icmp eq ptr {data}, null"))
    return data

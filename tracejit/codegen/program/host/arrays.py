"""The values at a program's slots as NumPy's: read once, or arrays that stay and are set by places.

A place is (field, slot, mask): see `support/host_call_text.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tracejit.codegen.support.host_call_text import array_fields
from tracejit.ir.dims import Dim, Poly, evaluate
from tracejit.ir.types import TOKEN, ArrayType, NpScalar, PyScalar, Type, dtype_of

__all__ = ["Staying", "array_at", "byte_strides", "reader", "scalar_at"]


def byte_strides(t: ArrayType) -> tuple[Dim, ...]:
    """How far apart elements of a dense array in C order lie, by axis."""
    out: list[Dim] = []
    step: Dim = t.dtype.itemsize
    for d in reversed(t.shape):
        out.append(step)
        step = step * d
    return tuple(reversed(out))


class Staying:
    """Arrays whose memory native code sets, and where `words` has slots for sizes, their shapes."""

    def __init__(self, slots: int, words: Mapping[Dim, int]) -> None:
        self.slots, self.words = slots, words
        self.places: list[tuple[int, int, int]] = []
        #: All arrays whose fields the places are.
        self.arrays: list[np.ndarray[Any, Any]] = []
        #: Whether NumPy's fields are elsewhere; whether these sizes make unusual arrays.
        self.misplaced = self.unusual = False

    def value(
        self,
        t: Type,
        at: int,
        sizes: dict[str, int],
        strides: tuple[Dim, ...] | None = None,
    ) -> np.ndarray[Any, Any] | None:
        """What stands for the value at an offset from the slots: an array; None for a token."""
        if t == TOKEN:
            return None
        address = self.slots + at
        if not isinstance(t, ArrayType):
            return self._stays(scalar_at(t, address), ~at, 0)
        address = ctypes.c_int64.from_address(address).value
        out = self._stays(array_at(t, address, sizes, strides), at, t.dtype.alignment - 1)
        if any(isinstance(d, Poly) for d in t.shape) and self.words:
            # The flags tell which axes are longer than 1, and an empty array has its own memory.
            lengths = [n for n, d in zip(out.shape, t.shape, strict=True) if isinstance(d, Poly)]
            self.unusual = self.unusual or out.size == 0 or out.ndim > 1 and min(lengths) < 2
            self._shape(out, t.shape, byte_strides(t))
        return out

    def model(self, shape: tuple[Dim, ...], sizes: dict[str, int]) -> np.ndarray[Any, Any]:
        """An array that has a shape and no more."""
        concrete = tuple(evaluate(d, sizes) for d in shape)
        steps = (0,) * len(shape)
        out: np.ndarray[Any, Any] = np.ndarray(concrete, np.int8, b"\0", 0, steps)
        self._shape(out, shape, steps)
        self.arrays.append(out)
        return out

    def numbers(self, at: int, count: int) -> np.ndarray[Any, Any]:
        """The integers in slots."""
        memory: Any = (ctypes.c_int64 * count).from_address(self.slots + at)
        return self._stays(np.ndarray((count,), np.int64, memory), ~at, 0)

    def _stays(self, x: np.ndarray[Any, Any], slot: int, mask: int) -> np.ndarray[Any, Any]:
        fields = array_fields(x)
        if fields is None:
            self.misplaced = True
        elif x.size:
            self.places.append((fields.data, slot, mask))
        self.arrays.append(x)
        return x

    def _shape(
        self, x: np.ndarray[Any, Any], shape: tuple[Dim, ...], strides: tuple[Dim, ...]
    ) -> None:
        fields = array_fields(x)
        if fields is None:
            self.misplaced = True
            return
        for at, numbers in ((fields.shape, shape), (fields.strides, strides)):
            for axis, d in enumerate(numbers):
                if isinstance(d, Poly):
                    self.places.append((at + 8 * axis, self.words[d], 0))


class _ArrayMemory:
    """How an array of a type lies for certain sizes; element strides are None where it is dense."""

    def __init__(
        self, t: ArrayType, sizes: dict[str, int], strides: tuple[Dim, ...] | None
    ) -> None:
        self.dtype, item = t.dtype, t.dtype.itemsize
        self.shape = tuple(evaluate(d, sizes) for d in t.shape)
        if strides is None:
            steps, step = [0] * t.ndim, item
            for axis in reversed(t.order):
                steps[axis] = step
                step *= self.shape[axis]
        else:
            steps = [evaluate(s, sizes) * item for s in strides]
        self.empty = 0 in self.shape
        reach = [0] if self.empty else [(n - 1) * s for n, s in zip(self.shape, steps, strict=True)]
        self.low = sum(r for r in reach if r < 0)
        self.memory = ctypes.c_char * (sum(map(abs, reach)) + item)
        self.steps = tuple(steps)

    def at(self, address: int) -> np.ndarray[Any, Any]:
        """The array at an address: a view of the memory."""
        if self.empty:
            return np.empty(self.shape, self.dtype)
        memory: Any = self.memory.from_address(address + self.low)
        return np.ndarray(self.shape, self.dtype, memory, -self.low, self.steps)


def array_at(
    t: ArrayType, address: int, sizes: dict[str, int], strides: tuple[Dim, ...] | None
) -> np.ndarray[Any, Any]:
    """The array at an address: a view of the memory. Element strides are None where it is dense."""
    return _ArrayMemory(t, sizes, strides).at(address)


def reader(t: Type, sizes: dict[str, int], strides: tuple[Dim, ...] | None) -> Callable[[int], Any]:
    """A function from the address of a value's slots to the value; an array is read-only."""
    if t == TOKEN:
        return lambda address: None
    word = ctypes.c_int64.from_address
    if isinstance(t, ArrayType):
        array = _ArrayMemory(t, sizes, strides).at

        def read(address: int) -> Any:
            out = array(word(address).value)
            out.setflags(write=False)
            return out

        return read
    if isinstance(t, PyScalar):
        return lambda address: scalar_at(t, address).item()
    return lambda address: scalar_at(t, address)[()]


def scalar_at(t: Type, address: int) -> np.ndarray[Any, Any]:
    """A scalar's slots as an array without axes."""
    assert isinstance(t, (NpScalar, PyScalar))
    dtype = dtype_of(t)
    memory: Any = (ctypes.c_char * dtype.itemsize).from_address(address)
    return np.ndarray((), dtype, memory)

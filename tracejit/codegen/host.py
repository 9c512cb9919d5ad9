"""Host calls: an op without native code runs through NumPy, on the compiled program's own memory.

A program calls `void tj_host(i64 site, ptr slots)`. The slots of a site are, in order: its inputs
(arrays: data pointer; scalars: their bits, two slots), the sizes it mentions, its outputs (arrays:
data pointer; scalars: two slots to write to), and how the call went: `DONE`, `BAIL` where the run
must bail out, or `LEAVE` where an exception is pending. It is `BAIL` beforehand, as it stays where
a signal comes just before Python code could run.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.codegen.pending import set_pending
from tracejit.ir.dims import Dim, evaluate, free_symbols
from tracejit.ir.evaluate import concrete_attrs
from tracejit.ir.graph import Node
from tracejit.ir.types import TOKEN, ArrayType, NpScalar, PyScalar, Type, dtype_of, type_sizes

__all__ = ["HostCall", "array_at", "host_entry", "slot_count", "write_scalar"]

_SITES: weakref.WeakValueDictionary[int, HostCall] = weakref.WeakValueDictionary()
_IDS = itertools.count(1)


def slot_count(t: Type) -> int:
    """How many slots a value takes."""
    if t == TOKEN:
        return 0
    return 1 if isinstance(t, ArrayType) else 2


class HostCall:
    """One call site. `strides` gives the element strides of inputs that are not dense."""

    DONE, BAIL, LEAVE = 0, 1, 2

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        self.id = next(_IDS)
        self.node = node
        self.strides = strides
        sizes = node.sizes()
        for v in (*node.inputs, *node.outputs):
            sizes |= type_sizes(v.type)
        for s in strides:
            sizes |= set().union(*(free_symbols(d) for d in s or ()))
        self.sizes = tuple(sorted(sizes - set(node.binds)))
        _SITES[self.id] = self

    def run(self, slots: int) -> None:
        """Evaluate the op on the memory that the slots point to. Raises Bailout."""
        node = self.node
        with np.errstate(all="ignore"):
            results = self.results(slots)
        sizes = self._sizes(slots)
        cursor = slots + 8 * (self._given + len(self.sizes))
        for v, result in zip(node.outputs, results, strict=True):
            _write(v.type, cursor, sizes, result)
            cursor += 8 * slot_count(v.type)

    def results(self, slots: int) -> tuple[Any, ...]:
        """What the op gives for the operands that the slots point to. Raises Bailout."""
        node = self.node
        sizes = self._sizes(slots)
        inputs = []
        cursor = slots
        for v, strides in zip(node.inputs, self.strides, strict=True):
            inputs.append(_read(v.type, cursor, sizes, strides))
            cursor += 8 * slot_count(v.type)
        return node.op.evaluate(inputs, concrete_attrs(node, sizes))

    def _sizes(self, slots: int) -> dict[str, int]:
        at = slots + 8 * self._given
        raw = (ctypes.c_int64 * len(self.sizes)).from_address(at) if self.sizes else ()
        return dict(zip(self.sizes, raw, strict=True))

    @property
    def _given(self) -> int:
        return sum(slot_count(v.type) for v in self.node.inputs)

    @property
    def slots(self) -> int:
        """How many slots there are before the last, which says how the call went."""
        values = (*self.node.inputs, *self.node.outputs)
        return sum(slot_count(v.type) for v in values) + len(self.sizes)


def _memory(address: int, nbytes: int) -> Any:
    return (ctypes.c_char * nbytes).from_address(address)


def array_at(
    t: ArrayType, address: int, sizes: dict[str, int], strides: tuple[Dim, ...] | None
) -> np.ndarray[Any, Any]:
    """The array at an address: a view of the memory. Element strides are None where it is dense."""
    shape = tuple(evaluate(d, sizes) for d in t.shape)
    if 0 in shape:
        return np.empty(shape, t.dtype)
    if strides is None:
        memory_shape = tuple(shape[a] for a in t.order)
        flat = np.frombuffer(_memory(address, int(np.prod(shape)) * t.dtype.itemsize), t.dtype)
        inverse = [t.order.index(a) for a in range(t.ndim)]
        return flat.reshape(memory_shape).transpose(inverse)
    steps = [evaluate(s, sizes) * t.dtype.itemsize for s in strides]
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, steps, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, steps, strict=True))
    memory = _memory(address + low, high - low + t.dtype.itemsize)
    return np.ndarray(shape, t.dtype, memory, offset=-low, strides=steps)


def _read(t: Type, address: int, sizes: dict[str, int], strides: tuple[Dim, ...] | None) -> Any:
    if t == TOKEN:
        return None
    if isinstance(t, ArrayType):
        data = ctypes.c_int64.from_address(address).value
        out = array_at(t, data, sizes, strides)
        out.flags.writeable = False
        return out
    dtype = dtype_of(t)
    scalar = np.frombuffer(_memory(address, dtype.itemsize), dtype)[0]
    return scalar.item() if isinstance(t, PyScalar) else scalar


def _write(t: Type, address: int, sizes: dict[str, int], value: Any) -> None:
    if isinstance(t, ArrayType):
        array_at(t, ctypes.c_int64.from_address(address).value, sizes, None)[...] = value
        return
    write_scalar(t, address, value)


def write_scalar(t: Type, address: int, value: Any) -> None:
    """Write a scalar to its slots."""
    assert isinstance(t, (NpScalar, PyScalar))
    dtype = dtype_of(t)
    np.frombuffer(_memory(address, dtype.itemsize), dtype)[...] = value


def _dispatch(site: int, slots: int) -> None:
    try:
        call = _SITES[site]
        call.run(slots)
        status = call.DONE
    except Exception:
        # The eager run that follows a bail-out raises the user's own error.
        return
    except BaseException as interruption:
        set_pending(interruption)
        status = HostCall.LEAVE
    ctypes.c_int64.from_address(slots + 8 * call.slots).value = status


@lru_cache(maxsize=1)
def _callback() -> tuple[Callable[..., None], int]:
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(_dispatch)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return function, address


def host_entry() -> int:
    """The address of `tj_host`."""
    return _callback()[1]

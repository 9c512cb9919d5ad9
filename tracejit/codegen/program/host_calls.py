"""Host calls: an op without native code runs through NumPy, on the compiled program's own memory.

A program calls `tj_host` (see `support/host_call_text.py`). The slots of a site are, in order: its
inputs (arrays: data pointer; scalars: their bits, two slots), the sizes it mentions, and its
outputs (arrays: data pointer; scalars: two slots that the call writes to).

`HostCallSite` is the general way: it looks at the slots and evaluates the op. Once it has seen the
same sizes often it prepares a function for them, which `host_functions.py` makes.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.codegen.program.host_functions import make_function, settle, ufunc_of
from tracejit.codegen.support.host_call_text import HostSite, data_field
from tracejit.codegen.support.quiet import quietly
from tracejit.ir.dims import Dim, evaluate, free_symbols
from tracejit.ir.evaluate import concrete_attrs
from tracejit.ir.graph import Node
from tracejit.ir.types import (
    TOKEN,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_of,
    shape_of,
    type_sizes,
)

__all__ = ["PATIENCE", "HostCallSite", "array_at", "slot_count"]

#: After how many calls for the same sizes a function is prepared, which takes as long as they do.
PATIENCE = 16


def slot_count(t: Type) -> int:
    """How many slots a value takes."""
    if t == TOKEN:
        return 0
    return 1 if isinstance(t, ArrayType) else 2


@dataclass(frozen=True)
class _Layout:
    """What a site's slots mean for certain sizes: made once, as most sites see the same again."""

    key: tuple[int, ...]
    sizes: dict[str, int]
    attrs: dict[str, Any]
    readers: tuple[Callable[[int], Any], ...]


class HostCallSite:
    """One call site. `strides` gives the element strides of inputs that are not dense."""

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        self.node = node
        self.strides = strides
        sizes = node.sizes()
        for v in (*node.inputs, *node.outputs):
            sizes |= type_sizes(v.type)
        for s in strides:
            sizes |= set().union(*(free_symbols(d) for d in s or ()))
        self.sizes = tuple(sorted(sizes - set(node.binds)))
        given, written = ([slot_count(v.type) for v in vs] for vs in (node.inputs, node.outputs))
        ends = list(itertools.accumulate((*given, len(self.sizes), *written), initial=0))
        #: Where each input, the sizes and each output lie, in bytes.
        places = [8 * end for end in ends]
        self._inputs = tuple(places[: len(given)])
        self._sizes_at = places[len(given)]
        self._outputs = tuple(places[len(given) + 1 : -1])
        self.slots = ends[-1]
        self._key_type = ctypes.c_int64 * len(self.sizes)
        self._layout: _Layout | None = None
        outputs = list(zip(node.outputs, self._outputs, strict=True))
        self.native = HostSite([at for v, at in outputs if isinstance(v.type, ArrayType)])
        self._scalars = [
            (v.type, at)
            for v, at in outputs
            if v.type != TOKEN and not isinstance(v.type, ArrayType)
        ]
        self._preparing = threading.Lock()
        #: How many calls there have been in a row for the sizes of the layout.
        self._seen = 0

    def run(self, slots: int) -> tuple[np.ndarray[Any, Any], ...] | None:
        """Evaluate the op for the operands that the slots point to, and write its scalars there.

        The arrays among the results, dense as their types say; None where the run must bail out.
        """
        try:
            key: tuple[int, ...] = ()
            if self.sizes:
                key = tuple(self._key_type.from_address(slots + self._sizes_at))
            layout = self._layout
            is_known = layout is not None and layout.key == key
            if layout is None or not is_known:
                # Threads may each make one: any of them will do.
                layout = self._layout = self._make_layout(key)
            inputs = [
                read(slots + at) for read, at in zip(layout.readers, self._inputs, strict=True)
            ]
            with quietly():
                results = self.node.op.evaluate(inputs, dict(layout.attrs))
            arrays, scalars = settle(self.node.outputs, results, layout.sizes)
            for (t, at), x in zip(self._scalars, scalars, strict=True):
                _scalar_at(t, slots + at)[()] = x
            self._seen = self._seen + 1 if is_known else 0
            if self._seen >= PATIENCE:
                self._prepare(layout, slots)
        except Exception:
            # The eager run that follows raises the user's own error.
            return None
        return arrays

    def _make_layout(self, key: tuple[int, ...]) -> _Layout:
        sizes = dict(zip(self.sizes, key, strict=True))
        node = self.node
        readers = tuple(
            _reader(v.type, sizes, strides)
            for v, strides in zip(node.inputs, self.strides, strict=True)
        )
        return _Layout(key, sizes, concrete_attrs(node, sizes), readers)

    def _prepare(self, layout: _Layout, slots: int) -> None:
        """Have native code call a function for these sizes; the slots are those of this call."""
        if self.native.serves(layout.key) or not self._preparing.acquire(blocking=False):
            return
        try:
            stays = _Staying(slots)
            inputs = zip(self.node.inputs, self._inputs, self.strides, strict=True)
            operands = [stays.value(v.type, at, layout.sizes, steps) for v, at, steps in inputs]
            scalars = [stays.value(t, at) for t, at in self._scalars]
            out = []
            if self._fills(layout.sizes):
                out = [stays.value(self.node.outputs[0].type, self._outputs[0], layout.sizes)]
            lists = operands, scalars, out
            forget = self.native.forgetter()
            function = make_function(self.node, layout.attrs, layout.sizes, lists, forget)
            if function is None or stays.misplaced:
                self.native.give_up()
            else:
                self.native.prepare(function, layout.key, self._sizes_at, stays.places)
        finally:
            self._preparing.release()

    def _fills(self, sizes: dict[str, int]) -> bool:
        """Whether a ufunc can write its result where it belongs: no operand is broadcast."""
        if ufunc_of(self.node) is None:
            return False
        shapes = [
            [evaluate(d, sizes) for d in shape_of(v.type)]
            for v in (*self.node.inputs, *self.node.outputs)
        ]
        return all(shape == shapes[0] for shape in shapes)


class _Staying:
    """Arrays whose memory native code sets: the places say where from."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.places: list[tuple[int, int, int]] = []
        self.misplaced = False

    def value(
        self,
        t: Type,
        at: int,
        sizes: dict[str, int] | None = None,
        strides: tuple[Dim, ...] | None = None,
    ) -> np.ndarray[Any, Any] | None:
        """What stands for the value at an offset from the slots: an array; None for a token."""
        if t == TOKEN:
            return None
        address, slot, mask = self.slots + at, ~at, 0
        if isinstance(t, ArrayType):
            address, slot = ctypes.c_int64.from_address(address).value, at
            mask = t.dtype.alignment - 1
            out = array_at(t, address, sizes or {}, strides)
        else:
            out = _scalar_at(t, address)
        field = data_field(out)
        if field is None:
            self.misplaced = True
        elif out.size:
            self.places.append((field, slot, mask))
        return out


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


def _reader(
    t: Type, sizes: dict[str, int], strides: tuple[Dim, ...] | None
) -> Callable[[int], Any]:
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
        return lambda address: _scalar_at(t, address).item()
    return lambda address: _scalar_at(t, address)[()]


def _scalar_at(t: Type, address: int) -> np.ndarray[Any, Any]:
    """A scalar's slots as an array without axes."""
    assert isinstance(t, (NpScalar, PyScalar))
    dtype = dtype_of(t)
    memory: Any = (ctypes.c_char * dtype.itemsize).from_address(address)
    return np.ndarray((), dtype, memory)

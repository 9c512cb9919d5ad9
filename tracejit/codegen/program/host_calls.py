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
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.codegen.support.pending_exception import set_pending
from tracejit.codegen.support.quiet import quietly
from tracejit.ir.dims import Dim, evaluate, free_symbols
from tracejit.ir.evaluate import concrete_attrs
from tracejit.ir.graph import Node
from tracejit.ir.types import TOKEN, ArrayType, NpScalar, PyScalar, Type, dtype_of, type_sizes
from tracejit.locks import once
from tracejit.ops.host.call import HostCall
from tracejit.ops.host.functions import find_function

__all__ = ["HostCallSite", "array_at", "host_entry", "slot_count", "write_scalar"]

_SITES: weakref.WeakValueDictionary[int, HostCallSite] = weakref.WeakValueDictionary()
_IDS = itertools.count(1)


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
    writers: tuple[Callable[[int, Any], None], ...]
    #: The memory of the one result of a ufunc, at an address.
    result: Callable[[int], Any] | None = None


class HostCallSite:
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
        given, written = ([slot_count(v.type) for v in vs] for vs in (node.inputs, node.outputs))
        ends = list(itertools.accumulate((*given, len(self.sizes), *written), initial=0))
        #: Where each input, the sizes, each output and the status lie, in bytes.
        places = [8 * end for end in ends]
        self._inputs = tuple(places[: len(given)])
        self._sizes_at = places[len(given)]
        self._outputs = tuple(places[len(given) + 1 : -1])
        self.slots = ends[-1]
        self._key_type = ctypes.c_int64 * len(self.sizes)
        self._layout: _Layout | None = None
        self._ufunc = _ufunc_of(node)
        _SITES[self.id] = self

    def run(self, slots: int) -> None:
        """Evaluate the op on the memory that the slots point to. Raises Bailout."""
        layout = self._layout_of(slots)
        with quietly():
            if self._ufunc is not None and self._fill(self._ufunc, slots, layout):
                return
            results = self._results(slots, layout)
        for write, at, result in zip(layout.writers, self._outputs, results, strict=True):
            write(slots + at, result)

    def results(self, slots: int) -> tuple[Any, ...]:
        """What the op gives for the operands that the slots point to. Raises Bailout."""
        return self._results(slots, self._layout_of(slots))

    def _fill(self, ufunc: Any, slots: int, layout: _Layout) -> bool:
        """Have a ufunc write its result where it belongs; False where the sizes are not those."""
        inputs = [read(slots + at) for read, at in zip(layout.readers, self._inputs, strict=True)]
        assert layout.result is not None
        out = layout.result(ctypes.c_int64.from_address(slots + self._outputs[0]).value)
        if any(x.shape != out.shape for x in inputs):
            return False
        ufunc(*inputs, out=out)
        return True

    def _results(self, slots: int, layout: _Layout) -> tuple[Any, ...]:
        inputs = [read(slots + at) for read, at in zip(layout.readers, self._inputs, strict=True)]
        return self.node.op.evaluate(inputs, dict(layout.attrs))

    def _layout_of(self, slots: int) -> _Layout:
        key: tuple[int, ...] = ()
        if self.sizes:
            key = tuple(self._key_type.from_address(slots + self._sizes_at))
        layout = self._layout
        if layout is None or layout.key != key:
            # Threads may each make one: any of them will do.
            layout = self._layout = self._make_layout(key)
        return layout

    def _make_layout(self, key: tuple[int, ...]) -> _Layout:
        sizes = dict(zip(self.sizes, key, strict=True))
        node = self.node
        readers = [
            _reader(v.type, sizes, strides)
            for v, strides in zip(node.inputs, self.strides, strict=True)
        ]
        # The sizes of some results are known only after the call.
        writers = () if node.binds else tuple(_writer(v.type, sizes) for v in node.outputs)
        result = None
        if self._ufunc is not None and isinstance(t := node.outputs[0].type, ArrayType):
            result = _ArrayMemory(t, sizes, None).at
        return _Layout(key, sizes, concrete_attrs(node, sizes), tuple(readers), writers, result)


def _ufunc_of(node: Node) -> Any:
    """The ufunc that a node applies to arrays and does nothing else, or None."""
    types = [v.type for v in (*node.inputs, *node.outputs)]
    if len(node.outputs) != 1 or node.binds or not all(isinstance(t, ArrayType) for t in types):
        return None
    attrs = node.attrs
    if isinstance(node.op, HostCall):
        operands = tuple(("operand", k) for k in range(len(node.inputs)))
        if (attrs["arguments"], attrs["keywords"]) != (operands, ()):
            return None
        ufunc = find_function(attrs["function"]) if attrs["result"] == ("operand", 0) else None
    else:
        ufunc = None if attrs else getattr(node.op, "numpy", None)
    if not isinstance(ufunc, np.ufunc) or ufunc.signature or ufunc.nin != len(node.inputs):
        return None
    dtypes = [dtype_of(t) for t in types]
    try:
        fits = ufunc.resolve_dtypes((*dtypes[:-1], None))[-1] == dtypes[-1]
    except TypeError:
        return None
    return ufunc if fits and ufunc.nout == 1 else None


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
    dtype = dtype_of(t)
    memory: Any = ctypes.c_char * dtype.itemsize
    if isinstance(t, PyScalar):
        return lambda address: np.frombuffer(memory.from_address(address), dtype)[0].item()
    return lambda address: np.frombuffer(memory.from_address(address), dtype)[0]


def _writer(t: Type, sizes: dict[str, int]) -> Callable[[int, Any], None]:
    """A function that writes a result where the slots at an address say."""
    word = ctypes.c_int64.from_address
    if isinstance(t, ArrayType):
        array = _ArrayMemory(t, sizes, None).at

        def write(address: int, value: Any) -> None:
            array(word(address).value)[...] = value

        return write
    return lambda address, value: write_scalar(t, address, value)


def write_scalar(t: Type, address: int, value: Any) -> None:
    """Write a scalar to its slots."""
    assert isinstance(t, (NpScalar, PyScalar))
    dtype = dtype_of(t)
    memory: Any = (ctypes.c_char * dtype.itemsize).from_address(address)
    np.frombuffer(memory, dtype)[...] = value


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
        status = HostCallSite.LEAVE
    ctypes.c_int64.from_address(slots + 8 * call.slots).value = status


@once
def _callback() -> tuple[Callable[..., None], int]:
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(_dispatch)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return function, address


def host_entry() -> int:
    """The address of `tj_host`."""
    return _callback()[1]

"""One node as a graph, compiled: run on operands as they lie in memory, natively and as a kernel.

    node = NativeNode(OPS["add"], types, {}, strides=(None, (symbol("s0"),)), sizes=("n", "s0"))
    node(inputs, {"n": 7, "s0": -2})

Results lie between guard bytes that must survive, in memory that is filled with a pattern first:
an element that is not written, or one too many, is seen.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tests.support.compare import Mismatch
from tracejit.codegen.llvm.engine import compile_module, host_target
from tracejit.codegen.lowering.fusion import lower_fusion
from tracejit.codegen.program.emit import InputSlot, Program, emit_program
from tracejit.codegen.reference import OutOfRange, run_kernel
from tracejit.codegen.support.printing import leave_run
from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import Dim, evaluate, symbol
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.kernel import Kernel
from tracejit.ir.op import OPS, Op
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, type_sizes
from tracejit.passes.manager import run_passes

__all__ = ["NativeNode", "Strides", "one_node"]

#: The element strides of an operand that is not dense in its type's axis order, else None.
Strides = tuple[Dim, ...] | None

_GUARD = 240
_PATTERN = 0xA5
_SLOTS = {"complex": 2}


def one_node(
    op: Op, types: Sequence[Type], attrs: Mapping[str, Any], sizes: Sequence[str] = ()
) -> Graph:
    """The graph of one node. Sizes that it binds are outputs, each by a node of its own.

    Raises GraphError where the type rule does not take the operands.
    """
    builder = GraphBuilder("one_node", sizes)
    inputs = [builder.input(t, f"x{k}") for k, t in enumerate(types)]
    # The op says how many sizes it binds by what it takes.
    for count in range(3):
        binds = tuple(f"bound{k}" for k in range(count))
        try:
            outputs = builder.emit(op, inputs, dict(attrs), binds=binds)
            break
        except GraphError:
            if count == 2:
                raise
    bound = [builder.one(OPS["dim_value"], (), dim=symbol(s)) for s in binds]
    return builder.build((*outputs, *bound))


class NativeNode:
    """The machine code of one node. `sizes` are the symbols of the types and of the strides.

    Raises GraphError where the type rule does not take the operands.
    """

    def __init__(
        self,
        op: Op,
        types: Sequence[Type],
        attrs: Mapping[str, Any],
        strides: Sequence[Strides] = (),
        sizes: Sequence[str] = (),
    ) -> None:
        self.strides = tuple(strides) or (None,) * len(types)
        in_types = set().union(*map(type_sizes, types))
        self.sizes = tuple(sizes)
        self.graph = one_node(op, types, attrs, [s for s in sizes if s in in_types])
        self.fused = run_passes(self.graph, verify=True)
        slots, end = _slots([v.type for v in self.graph.inputs])
        self._in_slots, self._size_slot = slots, end
        self._out_slots, self._out_count = _slots([v.type for v in self.fused.outputs])
        program = self._program(
            [InputSlot(k, s) for k, s in zip(slots, self.strides, strict=True)],
            {s: end + k for k, s in enumerate(self.sizes)},
        )
        #: How often the reference has run.
        self.runs = 0
        self._library = compile_module(program.text, program.symbols, ["program"], keep=program)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
            self._library.address("program")
        )

    def _program(self, slots: Sequence[InputSlot], sizes: Mapping[str, int]) -> Program:
        return emit_program(self.fused, slots, self._out_slots, sizes, "program", host_target())

    def __call__(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> tuple[Any, ...]:
        """The results. Raises Bailout, and Mismatch where memory beside a result was written."""
        memory = bytearray(8 * (self._size_slot + len(self.sizes) + 1))
        given_inputs = [self._given(x) for x in inputs]
        for slot, x in zip(self._in_slots, given_inputs, strict=True):
            packed = _packed(x)
            memory[8 * slot : 8 * slot + len(packed)] = packed
        values = [sizes[s] for s in self.sizes]
        struct.pack_into(f"={len(values)}q", memory, 8 * self._size_slot, *values)
        given = (ctypes.c_char * len(memory)).from_buffer(memory)
        out = (ctypes.c_uint64 * (self._out_count + 1))()
        guarded = {}
        for slot, v in zip(self._out_slots, self.fused.outputs, strict=True):
            if isinstance(v.type, ArrayType) and not self._is_made_late(v.type):
                shape = tuple(evaluate(d, sizes) for d in v.type.shape)
                guarded[slot] = _Guarded(v.type, shape)
                out[slot] = guarded[slot].address
        if self._call(ctypes.addressof(given), ctypes.addressof(out)):
            leave_run()
            raise Bailout("the program cannot finish")
        results = []
        for slot, v in zip(self._out_slots, self.fused.outputs, strict=True):
            if slot in guarded:
                results.append(guarded[slot].checked())
            elif isinstance(v.type, ArrayType):
                results.append(self._result(_taken(out[slot])))
            else:
                results.append(_unpacked(v.type, bytes(out)[8 * slot :]))
        return tuple(results)

    def _given(self, x: Any) -> Any:
        return x

    def _result(self, x: Any) -> Any:
        return x

    #: Whether positions that sort have NumPy's order of equal elements where any order would do.
    keeps_order = True

    def allowed(self, op: Op, bound: dict[str, Any]) -> dict[str, Any]:
        """The bound of `assert_same` for results of this code, from the op's own."""
        return bound

    def _is_made_late(self, t: ArrayType) -> bool:
        return not type_sizes(t) <= set(self.sizes)

    def kernel_result(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """What the reference makes of the node's kernel; None where the node is not one kernel.

        Raises Bailout, and Mismatch where the kernel leaves its buffers.
        """
        if self._kernel is None:
            return None
        kernel, places, inner = self._kernel
        t = self.fused.outputs[0].type
        assert isinstance(t, ArrayType)
        result = _Guarded(t, tuple(evaluate(d, sizes) for d in t.shape))
        arrays = [inputs[k] for k in places if isinstance(inputs[k], np.ndarray)]
        buffers = [_Elements(x) for x in (*arrays, result.array)]
        numbers = [part for k in places for part in _scalar_parts(inputs[k])]
        known = {s: evaluate(inner.get(s, symbol(s)), sizes) for s in kernel.sizes}
        scalars = {v.name: x for v, x in zip(kernel.scalars, numbers, strict=True)}
        named = dict(zip((p.name for p in kernel.params), buffers, strict=True))
        try:
            run_kernel(kernel, named, known, scalars, host_target())  # type: ignore[arg-type]
        except OutOfRange:
            raise Bailout("an index is out of range") from None
        return result.checked()

    @cached_property
    def _kernel(self) -> tuple[Kernel, list[int], dict[str, Dim]] | None:
        """The kernel, the numbers of its operands, and what its sizes are."""
        if [n.op.kind for n in self.fused.nodes] != ["fusion"] or len(self.fused.outputs) != 1:
            return None
        (node,), (v,) = self.fused.nodes, self.fused.outputs
        if node.outputs != self.fused.outputs or not isinstance(v.type, ArrayType):
            return None
        (region,) = node.regions
        number = {v: k for k, v in enumerate(self.fused.inputs)}
        places = [number[v] for v in node.inputs]
        strides = {
            r: s
            for k, r in zip(places, region.inputs, strict=True)
            if (s := self.strides[k]) is not None
        }
        inner = dict(zip(region.sizes, node.attrs["sizes"][0], strict=True))
        return lower_fusion(region, strides), places, inner


def _slots(types: Sequence[Type]) -> tuple[list[int], int]:
    starts, end = [], 0
    for t in types:
        starts.append(end)
        if isinstance(t, NpScalar):
            end += -(-t.dtype.itemsize // 8)
        else:
            end += _SLOTS.get(t.kind, 1) if isinstance(t, PyScalar) else 1
    return starts, end


def _packed(x: Any) -> bytes:
    if isinstance(x, np.ndarray):
        return struct.pack("=Q", x.ctypes.data)
    if isinstance(x, np.generic):
        return bytes(x.tobytes())
    if isinstance(x, complex):
        return struct.pack("=dd", x.real, x.imag)
    return struct.pack("=d" if isinstance(x, float) else "=q", x)


def _unpacked(t: Type, slots: bytes) -> Any:
    if isinstance(t, NpScalar):
        return np.frombuffer(slots[: t.dtype.itemsize], t.dtype)[0]
    assert isinstance(t, PyScalar)
    match t.kind:
        case "int":
            return struct.unpack_from("=q", slots)[0]
        case "bool":
            return struct.unpack_from("=q", slots)[0] != 0
        case "float":
            return struct.unpack_from("=d", slots)[0]
    return complex(*struct.unpack_from("=dd", slots))


def _taken(address: int) -> Any:
    """The array whose reference a program has left in a slot."""
    array = ctypes.cast(ctypes.c_void_p(address), ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    return array


def _scalar_parts(x: Any) -> list[Any]:
    if isinstance(x, np.ndarray):
        return []
    return [x.real, x.imag] if isinstance(x, (complex, np.complexfloating)) else [x]


class _Guarded:
    """An array, dense in its type's axis order, between bytes that must stay as they are."""

    def __init__(self, t: ArrayType, shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape)) * t.dtype.itemsize
        self.memory = np.full(size + 2 * _GUARD, _PATTERN, np.uint8)
        inner = self.memory[_GUARD : _GUARD + size].view(t.dtype)
        dense = inner.reshape([shape[axis] for axis in t.order])
        self.array = dense.transpose(np.argsort(t.order)) if shape else dense
        self.address = inner.ctypes.data
        self._size = size

    def checked(self) -> np.ndarray[Any, Any]:
        """The array. Raises Mismatch where a guard has changed."""
        for guard in (self.memory[:_GUARD], self.memory[_GUARD + self._size :]):
            if (guard != _PATTERN).any():
                raise Mismatch("result: memory beside it was written")
        if self.array.dtype == bool and (self.array.view(np.uint8) > 1).any():
            raise Mismatch("result: a bool is neither 0 nor 1")
        return self.array


class _Elements:
    """The elements of an array by their distance from its first one, as kernels count them."""

    def __init__(self, x: np.ndarray[Any, Any]) -> None:
        low, high = np.lib.array_utils.byte_bounds(x)
        part = x.real.dtype
        count = (high - low) // part.itemsize if x.size else 0
        start = x.ctypes.data if x.size == 0 else low
        self._first = (x.ctypes.data - start) // part.itemsize
        memory = (ctypes.c_char * (count * part.itemsize)).from_address(start)
        self._elements = np.frombuffer(memory, part) if count else np.empty(0, part)
        self._keep = x

    def _place(self, k: int) -> int:
        place = int(k) + self._first
        if not 0 <= place < len(self._elements):
            raise Mismatch(f"the kernel reads or writes element {k}, which is not there")
        return place

    def __getitem__(self, k: int) -> Any:
        return self._elements[self._place(k)]

    def __setitem__(self, k: int, value: Any) -> None:
        self._elements[self._place(k)] = value

"""A fused graph becomes a program of a device: the same flat form, plan and blocks as for the host.

    i32 program(ptr in, ptr out)

Data pointers in `in` are addresses of the device, and the program makes all arrays of its results
itself, by Python. A word of its function's calls holds the stream that it runs on. It returns when
all is launched; where the graph has indices to check it waits for the end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit import config
from tracejit.codegen.analysis.buffer_plan import plan_buffers
from tracejit.codegen.analysis.size_ranges import size_ranges
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.device.element_loops import lower_element_loop
from tracejit.codegen.device.graph_flow import GraphFlow, LoopIsNoGraph, loops_to_try
from tracejit.codegen.device.memory import DeviceMemory
from tracejit.codegen.device.nodes import emit_device_node
from tracejit.codegen.device.parallel import lower_parallel, may_fail
from tracejit.codegen.device.stacks import DeviceStacks
from tracejit.codegen.device.target import Device, Trips
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.control_flow import Flow
from tracejit.codegen.program.emit import InputSlot, Program, ProgramWriter
from tracejit.codegen.program.exits import call_python
from tracejit.codegen.program.memory import ProgramMemory
from tracejit.codegen.program.scalars import part_dtypes
from tracejit.codegen.program.stacks import Stacks
from tracejit.codegen.support.python_calls import BAIL, DONE
from tracejit.ir.dataflow import DataflowGraph, Frame
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, dtype_of
from tracejit.ops.array.indexing import Gather, Scatter
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.ops.control.parallel import ParallelLoop

__all__ = ["DeviceProgram", "emit_device_program"]

#: Makes an array of a dtype, shape and order on the device, which may stand for a scalar: an object
#: for it, and its address.
Maker = Callable[[Any, tuple[int, ...], tuple[int, ...], bool], tuple[Any, int]]


class DeviceProgram(Program):
    """A program, and what it does besides launching kernels."""

    trips: Trips

    @property
    def host_nodes(self) -> list[Node]:
        """The nodes that go to the host and back."""
        return list(self.trips.host)


def emit_device_program(
    flat: DataflowGraph,
    inputs: Sequence[InputSlot],
    out_slots: Sequence[int],
    sizes: Mapping[str, int],
    name: str,
    target: Any,
    device: Device,
    make: Maker,
    staying: set[Value],
) -> DeviceProgram:
    """The program of a flat graph for a device; `staying` are scalars that stay there.

    `make` makes the arrays of its results, and of scalars that are results. Raises TraceError for
    what has no code.
    """
    strides = {k: i.strides for k, i in enumerate(inputs) if i.strides is not None}
    loops = loops_to_try(flat) if device.has_graphs and config.cuda_graphs() else set()
    while True:
        plan = plan_buffers(flat, frozenset(sizes), strides, apart=True)
        e = DeviceContext(flat, plan, size_ranges(flat, strides), (), name, target)
        e.begin(device)
        if loops or _has_checks(flat):
            e.flag = "pending"
        writer = _Writer(e, inputs, out_slots, sizes, 0)
        writer.make, writer.staying, writer.loops = make, staying, loops
        try:
            writer.run()
            break
        except LoopIsNoGraph as refused:
            # Whether a loop can be a graph is known when its last node is written.
            loops.discard(refused.frame)
    writer.device_memory.finish()
    program = DeviceProgram(name, e.module.text(), e.symbols, e.kernels, plan, e.keep)
    program.trips = e.trips
    return program


def _has_checks(flat: DataflowGraph) -> bool:
    """Whether a kernel may find an index outside."""
    nodes = [n for s in flat.sections for n in s.nodes]
    loops = [n for n in nodes if isinstance(n.op, ParallelLoop)]
    regions = [r for n in nodes for r in n.regions]
    return any(map(_loop_fails, loops)) or any(
        isinstance(n.op, (Gather, Scatter, ScatterApply)) and n.attrs.get("checked", True)
        for r in regions
        for n in r.nodes
    )


def _loop_fails(node: Node) -> bool:
    found = lower_element_loop(node, {}) or lower_parallel(node, {})
    return may_fail(found.kernel.body)


class _Writer(ProgramWriter):
    e: DeviceContext
    make: Maker
    staying: set[Value]
    loops: set[Frame]

    def _memory(self, e: ProgramContext) -> ProgramMemory:
        assert isinstance(e, DeviceContext)
        self.device_memory = DeviceMemory(e)
        return self.device_memory

    def _stacks(self, e: ProgramContext) -> Stacks:
        return DeviceStacks(e)

    def _emit_node(self, e: ProgramContext, node: Node, stacks: Stacks) -> None:
        assert isinstance(e, DeviceContext)
        emit_device_node(e, node, stacks, self.device_memory, self.staying)

    def _flow(self, e: ProgramContext) -> Flow:
        assert isinstance(e, DeviceContext)
        given = (self.device_memory, self.stacks, self._finish)
        return GraphFlow(e, *given, self.loops, self.staying)

    def _output(self, v: Value, slot: str) -> str:
        return self._made(v, slot)

    def _late_output(self, v: Value, slot: str) -> str:
        return self._made(v, slot)

    def _made(self, v: Value, slot: str) -> str:
        """Have Python make the array of a result; its address on the device."""
        e, fb, t = self.e, self.e.fb, v.type
        shape = t.shape if isinstance(t, ArrayType) else ()
        room = fb.alloca(f"[{max(len(shape), 1)} x i64]", 8)
        for axis, d in enumerate(shape):
            at = fb.emit(f"getelementptr i64, ptr {room}, i64 {axis}")
            fb.line(f"store i64 {e.checked_dim(d)}, ptr {at}")
        data = fb.alloca("ptr", 8)
        numbers = [fb.emit(f"ptrtoint ptr {p} to i64") for p in (room, slot, data)]
        order = t.order if isinstance(t, ArrayType) else ()
        function = _Made(self.make, dtype_of(t), order, not isinstance(t, ArrayType))
        if e.section is None:
            status = e.call_plainly(function, *numbers)
            fb.check(fb.emit(f"icmp ne i64 {status}, {DONE}"))
        else:
            call_python(e, function, *numbers)
        return fb.emit(f"load ptr, ptr {data}")

    def _scalar_result(self, v: Value, slot: str) -> None:
        if v not in self.staying:
            super()._scalar_result(v, slot)
            return
        self.e.store_element(self.e.scalars[v], part_dtypes(v), self._made(v, slot))

    def _last_checks(self) -> None:
        if self.e.flag is not None:
            self.e.wait(None)


_Word = ctypes.c_int64
_incref = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


class _Made:
    """Makes arrays of one type."""

    def __init__(self, make: Maker, dtype: Any, order: tuple[int, ...], scalar: bool) -> None:
        self._make, self._dtype, self._order, self._scalar = make, dtype, order, scalar
        self._sizes = ctypes.c_int64 * len(order)

    def __call__(self, shape: int, slot: int, data: int) -> int:
        """Write a new array to `slot`, and its address to `data`. Raises MemoryError.

        BAIL for a shape that no array has.
        """
        try:
            sizes = tuple(self._sizes.from_address(shape))
            array, address = self._make(self._dtype, sizes, self._order, self._scalar)
        except ValueError:
            return BAIL
        _Word.from_address(data).value = address
        _incref(array)
        _Word.from_address(slot).value = id(array)
        return DONE

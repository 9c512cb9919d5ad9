"""The code of nodes on a device: what stays there, what the host does, what goes there and back.

- Fusions are launches, single elements too; other names and views of memory are what they are.
- Scalars of the host are registers, those of the device lie there: see `placement.py`.
- Any other node that reads or writes arrays runs on the host: these are copied there, and its
  results back. The report tells of each such round trip.
"""

from __future__ import annotations

from collections.abc import Iterable

from tracejit.codegen.analysis.buffer_plan import byte_count
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.device.draws import emit_device_draw
from tracejit.codegen.device.element_loops import lower_element_loop
from tracejit.codegen.device.memory import DeviceMemory
from tracejit.codegen.device.parallel import lower_parallel
from tracejit.codegen.device.results import dense_room, place
from tracejit.codegen.device.routines import emit_routine
from tracejit.codegen.program.copies import copy_array, copy_elements
from tracejit.codegen.program.nodes import emit_node
from tracejit.codegen.program.scalars import (
    element_address,
    part_dtypes,
    scalar_rule,
)
from tracejit.codegen.program.stacks import Stacks
from tracejit.errors import TraceError
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, c_order
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element
from tracejit.ops.control.effects import StartToken, Undefined
from tracejit.ops.control.parallel import ParallelLoop
from tracejit.ops.control.recursion import Recurse, RecursiveCall

__all__ = ["emit_device_node"]


def emit_device_node(
    e: DeviceContext, node: Node, stacks: Stacks, memory: DeviceMemory, staying: set[Value]
) -> None:
    """Write a node's code; `staying` are the scalars that stay on the device."""
    op = node.op
    if op.kind != "fusion" and any(map(is_array, (*node.inputs, *node.outputs))):
        e.flush()
    if isinstance(op, (RecursiveCall, Recurse)):
        raise TraceError(
            "TJ015", "a function that calls itself has no code on a device", node.where
        )
    if isinstance(op, Constant) and is_array(node.outputs[0]):
        _constant(e, node)
    elif isinstance(op, (ReadItem, Element)) and is_array(node.inputs[0]):
        _read(e, node, staying)
    elif isinstance(op, WriteItem):
        _write(e, node)
    elif len(node.outputs) == 1 and node.outputs[0] in staying:
        rule = scalar_rule(node, [e.scalars[v] for v in node.inputs])
        assert rule is not None
        e.scalars[node.outputs[0]] = rule[0]
    elif op.kind in ("fusion", "stack") or isinstance(op, (Undefined, StartToken)):
        emit_node(e, node, stacks)
    elif isinstance(op, ParallelLoop):
        _parallel(e, node)
    elif emit_routine(e, node) or emit_device_draw(e, node, memory):
        return
    elif any(map(is_array, _operands(node))) or any(map(is_array, node.outputs)):
        _on_host(e, node, stacks, memory)
    else:
        with e.hosting():
            emit_node(e, node, stacks)


def _parallel(e: DeviceContext, node: Node) -> None:
    carried = node.attrs["carried"]
    overwritten = e.plan.overwritten(node)
    for out, old in zip(node.outputs, node.inputs[:carried], strict=True):
        if out not in overwritten:
            e.pointer.require(out)
        place(e, out)
        if out not in overwritten:
            copy_elements(
                e, old, e.pointer[old], e.pointer[out], e.strides.get(old), e.strides.get(out)
            )
    # The memory of a carried array is that of its last state.
    lies = (*node.outputs, *node.inputs[carried:])
    if any(v in e.scattered for v in lies):
        raise TraceError("TJ015", "a view that no strides describe, in a thread", node.where)
    strides = {k: s for k, v in enumerate(lies) if (s := e.strides.get(v)) is not None}
    found = lower_element_loop(node, strides) or lower_parallel(node, strides)
    pointers = [e.pointer[lies[k]] for k in found.buffers]
    e.call_kernel(found.kernel, pointers, [e.scalars[lies[k]] for k in found.scalars], {})
    for v in node.outputs:
        e.pointer.stores(v)


def _operands(node: Node) -> list[Value]:
    """What a node reads besides the states of arguments that it may leave behind."""
    return list(node.inputs[: len(node.inputs) - len(node.attrs.get("states", ()))])


def _constant(e: DeviceContext, node: Node) -> None:
    """A copy of the compiler's array that is on the device from the compile on."""
    (out,) = node.outputs
    address, kept = e.device.constant(node.attrs["value"].array)
    e.keep.append(kept)
    e.pointer[out] = f"inttoptr (i64 {address} to ptr)"


def _read(e: DeviceContext, node: Node, staying: set[Value]) -> None:
    (out,) = node.outputs
    source = node.inputs[0]
    if isinstance(node.op, Element):
        address = e.pointer[source]
    else:
        address = element_address(e, source, node.inputs[1:], node)
    if out in staying:
        e.scalars[out] = e.keep_scalar(address, part_dtypes(out))
    else:
        e.scalars[out] = e.fetch(address, part_dtypes(out), node)


def _write(e: DeviceContext, node: Node) -> None:
    old, v = node.inputs[:2]
    (out,) = node.outputs
    if not e.plan.overwritten(node):
        e.pointer.require(out)
        place(e, out)
        copy_elements(
            e, old, e.pointer[old], e.pointer[out], e.strides.get(old), e.strides.get(out)
        )
    else:
        place(e, out)
    address = element_address(e, out, node.inputs[2:], node)
    e.store_element(e.scalars[v], part_dtypes(v), address)
    e.pointer.stores(out)


def _on_host(e: DeviceContext, node: Node, stacks: Stacks, memory: DeviceMemory) -> None:
    """Copy the arrays that a node reads to the host, run it there, and copy its results back."""
    e.trips.host.append(node)
    overwritten = e.plan.overwritten(node)
    moved = {v: _to_host(e, v, memory) for v in _arrays((*_operands(node), *overwritten.values()))}
    if moved:
        e.wait(node)
    there = {out: (e.pointer[out], moved[old]) for out, old in overwritten.items()}
    hidden = e.lie = e.strides, e.scattered
    e.strides = {v: s for v, s in e.strides.items() if v not in moved}
    e.scattered = {v: s for v, s in e.scattered.items() if v not in moved}
    for v, here in moved.items():
        memory.hide(v, here)
    for out, old in overwritten.items():
        memory.hide(out, moved[old])
    with e.hosting():
        emit_node(e, node, stacks)
    e.strides, e.scattered = hidden
    e.lie = None
    there |= memory.results
    memory.results = {}
    for v in (*moved, *there):
        memory.reveal(v)
    for v, (target, here) in there.items():
        _back(e, v, target, here)


def _back(e: DeviceContext, v: Value, target: str, here: str) -> None:
    """Copy a result from the host, where it is dense."""
    place(e, v)
    with dense_room(e, v, target) as room:
        e.to_device(room, here, e.dim(byte_count(v)))


def _arrays(values: Iterable[Value]) -> list[Value]:
    return list(dict.fromkeys(v for v in values if is_array(v)))


def _to_host(e: DeviceContext, v: Value, memory: DeviceMemory) -> str:
    """A copy of an array in memory of the host, dense in its own order, after the next wait."""
    assert isinstance(v.type, ArrayType)
    size = e.dim(byte_count(v))
    here = memory.host_block(size)
    if v not in e.strides and v not in e.scattered:
        e.to_host(here, e.pointer[v], size)
        return here
    block = e.allocate("", size)
    whole = e.scattered.get(v)
    if whole is None:
        copy_array(e, v, block, v.type.order)
    else:
        assert isinstance(whole.type, ArrayType)
        if not v.type.is_c:
            raise TraceError("TJ015", "such a view is not copied from a device")
        copy_array(e, whole, block, c_order(whole.type.ndim))
    e.to_host(here, block, size)
    e.release("", block)
    return here

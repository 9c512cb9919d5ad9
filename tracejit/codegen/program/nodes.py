"""The code of a program's nodes: kernels, constants, library and host calls, checks, effects.

Scalars and single elements are those of `scalars.py`; effects those of `effects.py`.
"""

from __future__ import annotations

from tracejit.base.deadlines import require
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.kernel.early_exits import fails_first
from tracejit.codegen.lowering.fusion import lower_fusion
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.scalars import emit_scalar_node
from tracejit.codegen.program.stacks import Stacks
from tracejit.errors import TraceError
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Const
from tracejit.ir.types import NONE, TOKEN, dtype_name, dtype_of
from tracejit.link.addresses import Address, This
from tracejit.ops.array.creation import BindSize, Constant
from tracejit.ops.array.elementwise import parts_dtype
from tracejit.ops.array.items import WriteItem
from tracejit.ops.array.linalg import MatMulBoth
from tracejit.ops.control.effects import Check, StartToken, Undefined
from tracejit.ops.host.call import HostCall
from tracejit.ops.host.effect import HostEffect

__all__ = ["emit_node"]


def emit_node(e: ProgramContext, node: Node, stacks: Stacks) -> None:
    """Write a node's code. Raises TraceError where it has none."""
    require()
    op = node.op
    if isinstance(op, Undefined):
        _undefined(e, node)
        return
    if isinstance(op, Constant) and is_array(node.outputs[0]):
        _constant(e, node)
        return
    if isinstance(op, HostCall) and _draws(e, node):
        return
    if op.kind == "call":
        from tracejit.codegen.program.recursion import emit_recursive_call

        emit_recursive_call(e, node)
        return
    if isinstance(op, HostEffect) or node.binds and op.gives_sizes:
        _host_call(e, node)
        return
    overwritten = e.plan.overwritten(node)
    for v in node.outputs:
        if is_array(v):
            _prepare(e, v, v in overwritten)
    if node in e.zeroed:
        e.pointer.stores(node.outputs[0])
    elif op.kind == "fusion":
        _fusion(e, node, overwritten)
    elif isinstance(op, WriteItem):
        if not overwritten:
            _copy_first(e, node)
        emit_scalar_node(e, node)
        e.pointer.stores(node.outputs[0])
    elif isinstance(op, StartToken):
        return
    elif isinstance(op, Check):
        (register,) = e.registers(e.scalars[node.inputs[0]])
        e.fb.check(e.fb.emit(f"xor i1 {register}, true"))
    elif isinstance(op, BindSize):
        _bind_size(e, node)
    elif op.kind == "stack":
        stacks.emit(node)
    elif op.kind == "effect":
        _effect(e, node)
    elif emit_scalar_node(e, node):
        return
    elif node.binds:
        raise TraceError("TJ015", f"{op.name} has no native code yet", node.where)
    else:
        _other(e, node)


def _draws(e: ProgramContext, node: Node) -> bool:
    """Write a node that draws random numbers, or starts a stream of them, if it is one."""
    from tracejit.codegen.program.random.draws import emit_draw
    from tracejit.codegen.program.random.own_streams import emit_start

    return emit_draw(e, node) or emit_start(e, node)


def _host_call(e: ProgramContext, node: Node) -> None:
    from tracejit.codegen.program.host.results import emit_host_call

    emit_host_call(e, node)


def _prepare(e: ProgramContext, v: Value, overwrites: bool) -> None:
    """Room for a result."""
    if not overwrites:
        e.pointer.require(v)
    allocation = e.plan.of(v)
    if allocation is not None and allocation.strides is not None and not e.on_host:
        e.strides[v] = allocation.strides


def _undefined(e: ProgramContext, node: Node) -> None:
    """A value that nobody reads: zero, or memory as it is."""
    (out,) = node.outputs
    if is_array(out) or out.type == NONE:
        return
    dtype = "i64" if out.type == TOKEN else dtype_name(dtype_of(out.type))
    part = parts_dtype(dtype)
    zero = Const(False if part == "b1" else 0 if part[0] in "iu" else 0.0, part)
    e.scalars[out] = zero if part == dtype else (zero, zero)


def _constant(e: ProgramContext, node: Node) -> None:
    """An array of the compiler's own memory."""
    (out,) = node.outputs
    array = node.attrs["value"].array
    name = e.fresh("const")
    e.module.add_global(name, "external global i8")
    e.symbols[name] = Address(array.ctypes.data, This("bytes", array))
    e.keep.append(array)
    e.pointer[out] = f"@{name}"


def _bind_size(e: ProgramContext, node: Node) -> None:
    (register,) = e.registers(e.scalars[node.inputs[0]])
    (size,) = node.binds
    (low, high), most = e.int_ranges.of(node.inputs[0]), e.ranges[size][1]
    assert most is not None
    if low < 0 or high > most:
        e.fb.check(e.fb.emit(f"icmp ugt i64 {register}, {most}"))
    e.env[size] = register


def _copy_first(e: ProgramContext, node: Node) -> None:
    """The old array, for an update of one element to go on from."""
    from tracejit.codegen.program.copies import copy_elements

    old, (out,) = node.inputs[0], node.outputs
    source, target = e.pointer[old], e.pointer[out]
    copy_elements(e, old, source, target, e.strides.get(old), e.strides.get(out))


def _fusion(e: ProgramContext, node: Node, overwritten: dict[Value, Value]) -> None:
    (region,) = node.regions
    inner = dict(zip(node.inputs, region.inputs, strict=True))
    strides = {
        r: e.strides[v]
        for v, r in (
            *zip(node.inputs, region.inputs, strict=True),
            *zip(node.outputs, region.outputs, strict=True),
        )
        if v in e.strides
    }
    overwrites = {
        r: inner[overwritten[v]]
        for v, r in zip(node.outputs, region.outputs, strict=True)
        if v in overwritten
    }
    kernel = lower_fusion(region, strides, overwrites=overwrites)
    sizes = dict(zip(region.sizes, node.attrs["sizes"][0], strict=True))
    inputs = [v for v in node.inputs if v not in overwritten.values()]
    arrays = [v for v in (*inputs, *node.outputs) if is_array(v)]
    pointers = [e.pointer[v] for v in arrays]
    scalars = [e.scalars[v] for v in inputs if not is_array(v)]
    first = fails_first(kernel.body)
    if not first:
        _note_stores(e, node)
    e.call_kernel(kernel, pointers, scalars, sizes, arrays, node)
    if first:
        _note_stores(e, node)


def _note_stores(e: ProgramContext, node: Node) -> None:
    for v in node.outputs:
        e.pointer.stores(v)


def _effect(e: ProgramContext, node: Node) -> None:
    from tracejit.codegen.program.effects import emit_effect
    from tracejit.codegen.program.exits import holding

    states = node.attrs.get("states", ())
    values = node.inputs[len(node.inputs) - len(states) :]
    with holding(e, list(zip(states, values, strict=True))):
        emit_effect(e, node)


def _other(e: ProgramContext, node: Node) -> None:
    """A library call, or a call of NumPy."""
    for v in node.outputs:
        e.pointer.stores(v)
    scratch = e.plan.live.scratch.get(node, ())
    for v in scratch:
        e.pointer.require(v)
    e.scratch[node] = [e.pointer[v] for v in scratch]
    if isinstance(node.op, MatMulBoth):
        from tracejit.codegen.program.matvec import emit_both

        emit_both(e, node, lambda product: _library(e, product))
    else:
        _library(e, node)


def _library(e: ProgramContext, node: Node) -> None:
    from tracejit.codegen.program.library_calls import emit_library
    from tracejit.codegen.program.ufunc_loops import emit_loops

    if not (emit_library(e, node) or emit_loops(e, node)):
        _host_call(e, node)

"""Which scalars stay on the device: those that only kernels, stores and results there read.

    v1: f32[()] = fusion(x)        on the device, as every array
    v2: f32 = read_item(v1)        stays there: the next kernel loads it itself
    v3: f32 = divide(v2, n)        computed by whoever reads it
    v4 = fusion(x, v3)

A scalar that the host needs, for a branch, a size, an index, a check, a loop's carry, is copied
where it is read, and the host waits for that.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from tracejit.codegen.program.scalars import scalar_rule
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Var
from tracejit.ir.types import ArrayType, NpScalar, dtype_name, dtype_of
from tracejit.ops.array.elementwise import Element, parts_dtype
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element as ElementOp

__all__ = ["device_scalars"]


def device_scalars(graph: DataflowGraph, results: Container[Value]) -> set[Value]:
    """The scalars that stay on the device; `results` are those that may be given from there."""
    nodes = [n for section in graph.sections for n in section.nodes]
    found: set[Value] = set()
    for node in nodes:
        if _may_stay(node, found):
            found.update(node.outputs)
    uses: dict[Value, list[Node]] = {}
    for node in nodes:
        for v in node.inputs:
            if v in found:
                uses.setdefault(v, []).append(node)
    branches = {s.branch for s in graph.sections if s.branch is not None}
    outputs = {v for v in graph.outputs if v not in results}
    changed = True
    while changed:
        needed = {
            v
            for v in found
            if v in branches or v in outputs or any(_needs(n, v, found) for n in uses.get(v, ()))
        }
        # What is computed from numbers of the host alone is computed there.
        needed |= {v for n in nodes for v in n.outputs if v in found and not _may_stay(n, found)}
        changed = bool(needed)
        found -= needed
    return found


def _may_stay(node: Node, found: Container[Value]) -> bool:
    if len(node.outputs) != 1 or node.binds:
        return node.op.renames and not node.binds and node.inputs[0] in found
    if node.op.renames:
        return node.inputs[0] in found
    (out,) = node.outputs
    if not isinstance(out.type, NpScalar):
        return False
    if isinstance(node.op, (ReadItem, ElementOp)):
        return isinstance(node.inputs[0].type, ArrayType)
    return any(v in found for v in node.inputs) and _has_rule(node)


def _has_rule(node: Node) -> bool:
    """Whether it is an expression of its operands that never bails out."""
    if any(isinstance(v.type, ArrayType) for v in node.inputs):
        return False
    rule = scalar_rule(node, list(_operands(node)))
    return rule is not None and rule[1] is None


def _operands(node: Node) -> Iterator[Element]:
    for v in node.inputs:
        dtype = dtype_name(dtype_of(v.type))
        part = Var("x", parts_dtype(dtype))
        yield part if part.dtype == dtype else (part, part)


def _needs(node: Node, v: Value, found: Container[Value]) -> bool:
    """Whether a node needs a scalar on the host."""
    if node.op.kind == "fusion":
        return False
    if isinstance(node.op, WriteItem):
        return v in node.inputs[2:]
    if isinstance(node.op, ReadItem):
        return v in node.inputs[1:]
    return not all(out in found for out in node.outputs) or not node.outputs

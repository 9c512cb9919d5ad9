"""Results that begin as zeros: they are allocated so, and no kernel fills them.

The system hands out large blocks of zeros without writing them: a gradient that loops then update
in place costs only what they write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.shape import BroadcastTo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracejit.codegen.analysis.buffer_plan import BufferPlan
    from tracejit.ir.dataflow import DataflowGraph, Section

__all__ = ["zero_results"]


def zero_results(graph: DataflowGraph, plan: BufferPlan) -> dict[Node, int]:
    """The nodes that fill the memory of a result with zeros, before anything else is written there
    and once, not in a branch; each with the number of that output.
    """
    first: dict[int, tuple[Node, Section]] = {}
    for section, node, v in _written(graph, plan):
        allocation = plan.of(v)
        if allocation is not None and allocation.output is not None:
            first.setdefault(allocation.output, (node, section))
    out: dict[Node, int] = {}
    for number, (node, section) in first.items():
        conditional = section.frame.parent is not None or section.kind in ("then", "else")
        if not conditional and _fills_with_zeros(node):
            allocation = plan.of(node.outputs[0])
            assert allocation is not None
            dense = _is_c_or_fortran(graph.outputs[number])
            if dense and not allocation.moves and allocation.strides is None:
                out[node] = number
    return out


def _written(graph: DataflowGraph, plan: BufferPlan) -> Iterator[tuple[Section, Node, Value]]:
    """What is written, in the order of the code: no section runs before one in front of it, except
    in a loop.
    """
    for section in graph.sections:
        for node in section.nodes:
            for v in (*node.outputs, *plan.live.scratch.get(node, ())):
                yield section, node, v


def _fills_with_zeros(node: Node) -> bool:
    """Whether a kernel fills one array, in C or Fortran order, with bytes of zeros."""
    if node.op.kind != "fusion" or len(node.outputs) != 1:
        return False
    t = node.outputs[0].type
    assert isinstance(t, ArrayType)
    if not _is_c_or_fortran(node.outputs[0]):
        return False
    (region,) = node.regions
    producer = region.producers()
    fill = producer[region.outputs[0]]
    number = producer.get(fill.inputs[0]) if isinstance(fill.op, BroadcastTo) else None
    if (
        number is None
        or not isinstance(number.op, Constant)
        or isinstance(number.outputs[0].type, ArrayType)
    ):
        return False
    return not any(np.asarray(number.attrs["value"], t.dtype).tobytes())


def _is_c_or_fortran(v: Value) -> bool:
    """Whether NumPy can make the array of zeros."""
    t = v.type
    assert isinstance(t, ArrayType)
    return t.order in (tuple(range(t.ndim)), tuple(reversed(range(t.ndim))))

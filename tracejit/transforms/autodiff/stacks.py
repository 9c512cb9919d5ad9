"""Which stack a token stands for, where it comes from outside a block."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.regions import nested
from tracejit.ir.types import TOKEN
from tracejit.ops.control.regions import Cond
from tracejit.ops.control.stack import StackPop
from tracejit.transforms.autodiff.residuals import Block

__all__ = ["find_stack", "pops_records", "stack_of"]


def stack_of(block: Block, v: Value) -> str:
    """The name of the stack of a token of a block."""
    found = find_stack(block, v)
    assert found is not None, "a token of no stack"
    return found


def find_stack(block: Block, v: Value) -> str | None:
    """As `stack_of`; None for a token of effects."""
    node = block.producers.get(v)
    found = _of_result(node, v) if node is not None else None
    return found or _of_reader(block.nodes, v)


def pops_records(block: Block, node: Node) -> bool:
    """Whether a node takes records from a stack that have cotangents: each record gets one."""
    if not any(v.type == TOKEN and v in block.active for v in node.inputs):
        return False
    return any(isinstance(n.op, StackPop) for n in nested([node]))


def _of_result(node: Node, v: Value) -> str | None:
    if node.op.kind == "stack":
        return str(node.attrs["stack"])
    k = node.outputs.index(v)
    for region in reversed(node.regions):
        if k < len(region.outputs):
            found = _in_graph(region, region.outputs[k])
            if found is not None:
                return found
    return None


def _of_reader(nodes: Sequence[Node], v: Value) -> str | None:
    for node in nodes:
        if v not in node.inputs:
            continue
        if node.op.kind == "stack":
            return str(node.attrs["stack"])
        k = node.inputs.index(v) - (isinstance(node.op, Cond))
        for region in node.regions:
            found = _of_reader(region.nodes, region.inputs[k])
            if found is not None:
                return found
    return None


def _in_graph(graph: Graph, v: Value) -> str | None:
    for node in graph.nodes:
        if v in node.outputs:
            return _of_result(node, v)
    return _of_reader(graph.nodes, v)

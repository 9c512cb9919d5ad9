"""Arrays that are stored into: which values are states of one array, the later ones first."""

from __future__ import annotations

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.transforms.autodiff.residuals import Block, overwrites

__all__ = ["chains_of", "previous_state", "states_of"]


def states_of(block: Block, v: Value) -> list[Value]:
    """The values that are the array `v` before the stores into it, `v` first."""
    out = [v]
    while (node := block.producers.get(out[-1])) is not None:
        k = previous_state(node, out[-1])
        if k is None:
            break
        out.append(node.inputs[k])
    return out


def previous_state(node: Node, v: Value) -> int | None:
    """The operand that is the array `v`, a result of the node, before the node stores into it."""
    if overwrites(node):
        return 0
    if isinstance(node.op, WhileLoop):
        k = node.outputs.index(v)
        return k if k < node.attrs["carried"] and k in chains_of(node.regions[1]) else None
    if isinstance(node.op, Cond):
        k = node.outputs.index(v)
        ends = {_begin(r, k) for r in node.regions}
        (end,) = ends if len(ends) == 1 else (None,)
        return None if end is None else end + 1
    return None


def _begin(graph: Graph, k: int) -> int | None:
    """The input that output k is a later state of."""
    block = Block(graph.inputs, graph.nodes, graph.outputs)
    last = states_of(block, graph.outputs[k])[-1]
    return graph.inputs.index(last) if last in graph.inputs else None


def chains_of(body: Graph) -> dict[int, int]:
    """The carried arrays of a loop's body that it stores into: number -> number, the same."""
    out = {}
    for k, v in enumerate(body.outputs):
        if isinstance(v.type, ArrayType) and v is not body.inputs[k] and _begin(body, k) == k:
            out[k] = k
    return out

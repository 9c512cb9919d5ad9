"""Why a kernel ends where it does: the rules of fusion, asked of a fused graph."""

from __future__ import annotations

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.items import ReadItem
from tracejit.ops.array.reduction import Reduction
from tracejit.ops.array.scan import CumProd, CumSum
from tracejit.passes.analysis.fusable import is_root_op

__all__ = ["why_not_fused"]


def why_not_fused(graph: Graph, node: Node) -> str:
    """Why what reads a node's arrays is not one loop with it; "" where nothing does.

    The rules are those of `passes/fusion/fuse.py`, in the order in which it asks them.
    """
    #: What a value, under any name, is read as.
    names: dict[Value, Value] = {v: v for v in node.outputs if isinstance(v.type, ArrayType)}
    found = []
    for other in graph.nodes:
        for v in other.inputs:
            if v not in names:
                continue
            if other.op.renames:
                names |= dict.fromkeys(other.outputs, names[v])
            else:
                found.append(_between(node, names[v], other))
    if any(v in names for v in graph.outputs):
        found.append("it is a result")
    return "; ".join(dict.fromkeys(x for x in found if x))


def _between(node: Node, v: Value, reader: Node) -> str:
    if isinstance(reader.op, ReadItem):
        return "an element of it is read" if v.type.size != 1 else ""  # type: ignore[union-attr]
    if reader.op.kind != "fusion":
        what = "a loop or branch" if reader.regions else reader.op.name
        return f"{what} needs it in memory"
    if node.op.kind != "fusion":
        return f"{node.op.name} is no loop over elements of its own"
    maker = _maker(node, v)
    if maker is not None and isinstance(maker.op, Reduction):
        return "a reduction has to be done before its result is read"
    if maker is not None and isinstance(maker.op, (CumSum, CumProd)):
        return "a scan runs in order along its axis"
    if maker is not None and maker.op.updates:
        return "a store is done before the array is read"
    if maker is not None and is_root_op(maker):
        return f"{maker.op.name} is a loop of its own"
    return "computing it again where it is read would cost more than to load it"


def _maker(node: Node, v: Value) -> Node | None:
    (region,) = node.regions
    inner = region.outputs[node.outputs.index(v)]
    return region.producers().get(inner)

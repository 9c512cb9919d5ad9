"""Reads of what lies in memory where a mask holds: the elements are moved together at once.

    p = true_positions(mask); y = gather(x, p)   ->  y = compress(x, mask)

What is computed for the read alone stays a gather: only what is picked is computed then. So does
every read where something else needs the positions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import shape_of
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.masks import TruePositions
from tracejit.ops.array.shape import Reshape
from tracejit.passes.analysis.fusable import fusable, is_root_op
from tracejit.passes.simplify.dce import dce

__all__ = ["compressed"]


def compressed(graph: Graph) -> Graph:
    """Make reads of masked elements one step, in regions, too."""
    after = _compressed(graph)
    return graph if after is graph else dce(after)


def _compressed(graph: Graph) -> Graph:
    masks = _masks(graph)

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        positions = masks.get(node.inputs[-1]) if node.inputs else None
        if positions is None:
            return keep(builder, node)
        (mask,) = positions.inputs
        return builder.emit(OPS["compress"], (inputs[0], mask), positions.attrs)

    return replay(graph, emit, region=_compressed)


def _masks(graph: Graph) -> dict[Value, Node]:
    """Positions that only reads of whole stored vectors need -> the nodes that give them."""
    producer = graph.producers()
    found = {
        n.outputs[0]: n
        for n in graph.nodes
        if isinstance(n.op, TruePositions) and n.outputs[0] not in graph.outputs
    }
    for n in graph.nodes:
        for k, v in enumerate(n.inputs):
            if v in found and not (k == 1 and _is_read(n, found[v], producer)):
                del found[v]
    return found


def _is_read(node: Node, positions: Node, producer: dict[Value, Node]) -> bool:
    if not isinstance(node.op, Gather) or len(node.inputs) != 2:
        return False
    x, (mask,) = node.inputs[0], positions.inputs
    return shape_of(x.type) == shape_of(mask.type) and _is_stored(x, producer)


def _is_stored(v: Value, producer: dict[Value, Node]) -> bool:
    """Whether an array, or what it is a view of, lies in memory anyway."""
    node = producer.get(v)
    while node is not None and isinstance(node.op, Reshape) and "assume" not in node.attrs:
        (source,) = node.inputs
        if not getattr(source.type, "is_c", False):
            return False
        node = producer.get(source)
    return node is None or not fusable(node) or is_root_op(node)

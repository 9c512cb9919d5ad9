"""Contractions computed in the order in which their result is copied afterwards, without the copy.

v1 = contract(x, y, shape=(c, h, w, o), ...)        nothing else reads it
v2 = reshape(transpose(v1, axes=(3, 0, 1, 2)), (o * c * h * w,))
->  v3 = contract(x, y, shape=(o, c, h, w), ...); v2 = reshape(v3, (o * c * h * w,))
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dims import symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.types import ArrayType
from tracejit.ops.array.contraction import Contract
from tracejit.ops.array.shape import Reshape, Transpose
from tracejit.passes.analysis.affine_places import LoopAxes, origin
from tracejit.passes.simplify.dce import dce

__all__ = ["in_reading_order"]


def in_reading_order(graph: Graph) -> Graph:
    """`graph` with its contractions so, its regions' left as they are."""
    if not any(isinstance(n.op, Contract) for n in graph.nodes):
        return graph
    readers: dict[Value, int] = dict.fromkeys(graph.outputs, 2)
    for n in graph.nodes:
        for v in n.inputs:
            readers[v] = readers.get(v, 0) + 1
    made: dict[Value, Node] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        begin = len(builder.nodes)
        turned = _turned(builder, node, made, readers)
        outputs = turned or _shaped_once(builder, node, made) or keep(builder, node)
        for new in builder.nodes[begin:]:
            made.update(dict.fromkeys(new.outputs, new))
        for old, v in zip(node.outputs, outputs, strict=True):
            if v is not old:
                readers[v] = readers.get(v, 1) - 1 + readers.get(old, 0)
        return outputs

    new = replay(graph, emit)
    return new if new is graph else dce(new)


def _turned(
    builder: GraphBuilder, node: Node, made: dict[Value, Node], readers: dict[Value, int]
) -> tuple[Value, ...] | None:
    source = _copied(node, made, readers)
    axes = None if source is None else _axes(node, source, made)
    if source is None or axes is None:
        return None
    attrs = source.attrs
    turn = [*axes, *range(len(axes), len(axes) + len(attrs["summed"]))]
    turned = {
        **attrs,
        "shape": tuple(attrs["shape"][a] for a in axes),
        "left": tuple((o, tuple(steps[k] for k in turn)) for o, steps in attrs["left"]),
        "right": tuple((o, tuple(steps[k] for k in turn)) for o, steps in attrs["right"]),
    }
    values = builder.emit(source.op, source.inputs, turned, where=source.where)
    return builder.emit(node.op, values, node.attrs, where=node.where)


def _shaped_once(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """A reshape of a reshape as one, or as none where that gives back what there was."""
    before = made.get(node.inputs[0]) if isinstance(node.op, Reshape) else None
    if before is None or not isinstance(before.op, Reshape):
        return None
    source, out = before.inputs[0].type, node.outputs[0].type
    assert isinstance(source, ArrayType) and isinstance(out, ArrayType)
    if "assume" in node.attrs or "assume" in before.attrs or not (source.is_c and out.is_c):
        return None
    if source == out:
        return before.inputs
    return builder.emit(node.op, before.inputs, node.attrs, where=node.where)


def _copied(node: Node, made: dict[Value, Node], readers: dict[Value, int]) -> Node | None:
    """The contraction whose result a reshape gives in another order, if nothing else reads it."""
    if not isinstance(node.op, Reshape):
        return None
    turned = False
    while "assume" not in node.attrs:
        (v,) = node.inputs
        before = made.get(v)
        if before is None or readers.get(v) != 1:
            break
        if isinstance(before.op, Contract):
            return before if turned else None
        if not isinstance(before.op, (Reshape, Transpose)):
            break
        turned = turned or isinstance(before.op, Transpose)
        node = before
    return None


def _axes(node: Node, source: Node, made: dict[Value, Node]) -> list[int] | None:
    """The axes of a contraction in the order in which a reshape of views of it reads them."""
    (out,), (result,) = node.outputs, source.outputs
    assert isinstance(out.type, ArrayType) and isinstance(result.type, ArrayType)
    if not out.type.is_c:
        return None
    axes = LoopAxes()
    own = [axes.add(n) for n in out.type.shape]
    found, index = origin(out, tuple(map(symbol, own)), axes, {**made, out: node})
    if found is not result:
        return None
    leaves = [leaf for name in own for leaf in axes.leaves(name)]
    places = {d: k for k, d in enumerate(index) if d != 0}
    order = [places.get(symbol(leaf)) for leaf in leaves]
    if None in order or len(places) != len(leaves):
        return None
    whole = [k for k in order if k is not None]
    if any(result.type.shape[k] != axes.sizes[s] for k, s in zip(whole, leaves, strict=True)):
        return None
    if whole == sorted(whole):
        return None
    return [*whole, *(k for k, d in enumerate(index) if d == 0)]

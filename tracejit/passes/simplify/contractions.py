"""Matrix products of copied views as sums over the arrays that the views are of.

    v1 = gather(x, rows + window_rows, columns + window_columns)       windows that overlap
    v2 = reshape(transpose(v1), (n * h * w, c * 3 * 3)); v3 = matmul(v2, k)
    ->  v4 = contract(x, k, shape=(n, h, w, o), summed=(c, 3, 3), ...); v3 = reshape(v4, ...)

However a convolution is spelt, by windows, by indices or by strides, what it multiplies are
elements at places that are linear in loop axes. Operands that BLAS takes as they lie stay with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracejit.ir.axis_groups import row_steps
from tracejit.ir.dims import prod, symbol, total
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType
from tracejit.ops.array.contraction import Places
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.linalg import MatMul
from tracejit.passes.analysis.affine_places import Index, LoopAxes, is_inside, origin
from tracejit.passes.simplify.dce import dce

__all__ = ["contractions"]

_DTYPES = (DTYPES["f32"], DTYPES["f64"])
#: Products below which a library's call, copies and all, costs no more.
_FEW = 4096


def contractions(graph: Graph) -> Graph:
    """`graph` with products of views of arrays computed from those arrays."""
    made: dict[Value, Node] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        begin = len(builder.nodes)
        outputs: Sequence[Value] | None = None
        if isinstance(node.op, MatMul):
            outputs = _contracted(builder, node, made)
        elif (
            isinstance(node.op, Gather)
            and node.attrs.get("checked", True)
            and is_inside(node, made)
        ):
            attrs = {**node.attrs, "checked": False}
            outputs = builder.emit(node.op, node.inputs, attrs, where=node.where)
        outputs = outputs or keep(builder, node)
        for new in builder.nodes[begin:]:
            made.update(dict.fromkeys(new.outputs, new))
        return outputs

    new = replay(graph, emit, region=contractions)
    return new if new is graph else dce(new)


@dataclass
class _Operand:
    source: Value
    index: Index


def _contracted(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """The product as a contraction; None where BLAS takes both operands, or nothing is known."""
    a, b = (v.type for v in node.inputs)
    (out,) = node.outputs
    assert isinstance(a, ArrayType) and isinstance(b, ArrayType)
    assert isinstance(out.type, ArrayType)
    count = out.type.size * a.shape[-1]
    if a.dtype not in _DTYPES or (isinstance(count, int) and count < _FEW):
        return None
    axes = LoopAxes()
    own = [axes.add(n) for n in out.type.shape]
    inner = axes.add(a.shape[-1])
    stack = out.type.ndim - (a.ndim > 1) - (b.ndim > 1)
    rows = own[stack : stack + (a.ndim > 1)]
    columns = own[len(own) - (b.ndim > 1) :]
    left = (*own[stack - (a.ndim - 2) : stack], *rows, inner) if a.ndim > 1 else (inner,)
    right = (*own[stack - (b.ndim - 2) : stack], inner, *columns) if b.ndim > 1 else (inner,)
    operands = []
    for v, names in zip(node.inputs, (left, right), strict=True):
        assert isinstance(v.type, ArrayType)
        index = tuple(0 if n == 1 else symbol(s) for n, s in zip(v.type.shape, names, strict=True))
        operands.append(_Operand(*origin(v, index, axes, made)))
    matrices = [(x, names[-2:]) for x, names in zip(operands, (left, right), strict=True)]
    if all(_is_matrix(x, names, axes) for x, names in matrices):
        return None
    leaves = [leaf for name in own for leaf in axes.leaves(name)]
    summed = axes.leaves(inner)
    places = [_places(x, [*leaves, *summed], axes) for x in operands]
    if None in places:
        return None
    attrs = {
        "shape": tuple(axes.sizes[s] for s in leaves),
        "summed": tuple(axes.sizes[s] for s in summed),
        "left": places[0],
        "right": places[1],
    }
    sources = tuple(x.source for x in operands)
    (value,) = builder.emit(OPS["contract"], sources, attrs, where=node.where)
    if value.type != out.type:
        (value,) = builder.emit(
            OPS["reshape"], (value,), {"shape": out.type.shape}, where=node.where
        )
    return (value,)


def _places(x: _Operand, leaves: Sequence[str], axes: LoopAxes) -> Places | None:
    out = []
    for d in x.index:
        form = axes.form(d)
        if form is None:
            return None
        out.append((form[0], tuple(form[1].get(leaf, 0) for leaf in leaves)))
    return tuple(out)


def _is_matrix(x: _Operand, names: Sequence[str], axes: LoopAxes) -> bool:
    """Whether the matrices of an operand lie in rows or in columns, as BLAS takes them."""
    t = x.source.type
    assert isinstance(t, ArrayType)
    steps = dict(zip(t.order, row_steps([t.shape[a] for a in t.order]), strict=True))
    form = axes.form(total([axes.now(d) * steps[a] for a, d in enumerate(x.index)]))
    if form is None:
        return True
    moves = []
    for name in names:
        leaves = axes.leaves(name)
        for outer, after in zip(leaves, leaves[1:], strict=False):
            if form[1].get(outer, 0) != form[1].get(after, 0) * axes.sizes[after]:
                return False
        size = prod([axes.sizes[leaf] for leaf in leaves])
        moves.append(1 if size == 1 else form[1].get(leaves[-1], 0))
    # A vector may have any step.
    return len(moves) == 1 or 1 in moves

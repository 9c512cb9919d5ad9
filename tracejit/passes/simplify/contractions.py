"""Matrix products of copied views as sums over the arrays that the views are of.

    v1 = gather(x, rows + window_rows, columns + window_columns)       windows that overlap
    v2 = reshape(transpose(v1), (n * h * w, c * 3 * 3)); v3 = matmul(v2, k)
    ->  v4 = contract(x, k, shape=(n, h, w, o), summed=(c, 3, 3), ...); v3 = reshape(v4, ...)

However a convolution is spelt, by windows, by indices or by strides, what it multiplies are
elements at places that are linear in loop axes. Operands that BLAS takes as they lie stay with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.axis_groups import row_steps
from tracejit.ir.dims import Dim, prod, symbol, total
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.passes.analysis.affine_places import LoopAxes, is_inside
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.few_terms import emit_contraction
from tracejit.passes.simplify.products import Factor, factors, places
from tracejit.passes.simplify.window_sums import sum_of_windows

__all__ = ["contractions"]

_DTYPES = (DTYPES["f32"], DTYPES["f64"])
#: Products below which a library's call, copies and all, costs no more.
_FEW = 4096


def contractions(graph: Graph) -> Graph:
    """`graph` with products of views of arrays computed from those arrays."""
    made: dict[Value, Node] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        begin = len(builder.nodes)
        outputs = _rewritten(builder, node, made) or keep(builder, node)
        for new in builder.nodes[begin:]:
            made.update(dict.fromkeys(new.outputs, new))
        return outputs

    new = replay(graph, emit, region=contractions)
    return new if new is graph else dce(new)


def _rewritten(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    if isinstance(node.op, MatMul):
        return _contracted(builder, node, made)
    if isinstance(node.op, ScatterApply):
        return sum_of_windows(builder, node, made)
    if isinstance(node.op, Gather) and node.attrs.get("checked", True) and is_inside(node, made):
        attrs = {**node.attrs, "checked": False}
        return builder.emit(node.op, node.inputs, attrs, where=node.where)
    return None


def _contracted(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """The product as a contraction; None where BLAS takes both operands, or nothing is known."""
    (out,) = (v.type for v in node.outputs)
    first = node.inputs[0].type
    assert isinstance(out, ArrayType) and isinstance(first, ArrayType)
    count = out.size * first.shape[-1]
    if first.dtype not in _DTYPES or (isinstance(count, int) and count < _FEW):
        return None
    axes = LoopAxes()
    own = [axes.add(n) for n in out.shape]
    operands, inner = factors(node, tuple(map(symbol, own)), axes, made)
    if all(_is_matrix(x, axes) for x in operands):
        return None
    leaves = [leaf for name in own for leaf in axes.leaves(name)]
    summed = [leaf for name in inner for leaf in axes.leaves(name)]
    left, right = (places(x.index, [*leaves, *summed], axes) for x in operands)
    if left is None or right is None:
        return None
    attrs = {
        "shape": tuple(axes.sizes[s] for s in leaves),
        "summed": tuple(axes.sizes[s] for s in summed),
        "left": left,
        "right": right,
    }
    sources = [x.source for x in operands]
    value = emit_contraction(builder, sources, attrs, node.where)
    if value.type == out:
        return (value,)
    return builder.emit(OPS["reshape"], (value,), {"shape": out.shape}, where=node.where)


def _is_matrix(x: Factor, axes: LoopAxes) -> bool:
    """Whether the matrices of an operand lie in rows or in columns, as BLAS takes them."""
    t = x.source.type
    assert isinstance(t, ArrayType)
    steps = dict(zip(t.order, row_steps([t.shape[a] for a in t.order]), strict=True))
    form = axes.form(total([axes.now(d) * steps[a] for a, d in enumerate(x.index)]))
    if form is None:
        return True
    moves: list[Dim] = []
    for d in x.own[-2:]:
        names = [s for s in axes.sizes if d == symbol(s)]
        leaves = [leaf for name in names for leaf in axes.leaves(name)]
        for outer, after in zip(leaves, leaves[1:], strict=False):
            if form[1].get(outer, 0) != form[1].get(after, 0) * axes.sizes[after]:
                return False
        size = prod([axes.sizes[leaf] for leaf in leaves])
        moves.append(1 if size == 1 else form[1].get(leaves[-1], 0))
    # A vector may have any step.
    return len(moves) == 1 or 1 in moves

"""Matrix products of copied views as sums over the arrays that the views are of.

    v1 = gather(x, rows + window_rows, columns + window_columns)       windows that overlap
    v2 = reshape(transpose(v1), (n * h * w, c * 3 * 3)); v3 = matmul(v2, k)
    ->  v4 = contract(x, k, shape=(n, h, w, o), summed=(c, 3, 3), ...); v3 = reshape(v4, ...)

However a convolution is spelt, by windows, by indices or by strides, what it multiplies are
elements at places that are linear in loop axes. Operands that BLAS takes as they lie stay with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.axis_groups import row_steps
from tracejit.ir.dims import Dim, prod, symbol, total
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType
from tracejit.ops.array.contraction import Contract
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.reduction import ReduceSum
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.passes.analysis.affine_places import LoopAxes, origin
from tracejit.passes.analysis.regions import copied
from tracejit.passes.simplify.contraction_orders import in_reading_order
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.few_terms import emit_contraction, has_few_terms
from tracejit.passes.simplify.finite_guards import Guarded, as_they_were, emit_guarded
from tracejit.passes.simplify.inside_gathers import inside_gather
from tracejit.passes.simplify.products import Factor, factors, multiplied, places
from tracejit.passes.simplify.window_sums import sum_of_windows

__all__ = ["contractions"]

_DTYPES = (DTYPES["f32"], DTYPES["f64"])
#: Products below which a library's call, copies and all, costs no more.
_FEW = 4096
#: Rows and columns from which on a tile of them saves reads of what is summed element by element.
_FEWEST = 4


def contractions(graph: Graph) -> Graph:
    """`graph` with products of views of arrays computed from those arrays."""
    known = _Known(Counter((*(v for n in graph.nodes for v in n.inputs), *graph.outputs)))

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        begin = len(builder.nodes)
        outputs = _rewritten(builder, node, known) or keep(builder, node)
        for new in builder.nodes[begin:]:
            known.made.update(dict.fromkeys(new.outputs, new))
        for old, v in zip(node.outputs, outputs, strict=True):
            known.reads[v] = known.reads[old]
        return outputs

    new = replay(graph, emit, region=contractions)
    return in_reading_order(new if new is graph else dce(new))


@dataclass
class _Known:
    """How often values are read, the nodes so far by what they make, and which are guarded."""

    reads: Counter[Value]
    made: dict[Value, Node] = field(default_factory=dict)
    guarded: dict[Value, Guarded] = field(default_factory=dict)


def _rewritten(builder: GraphBuilder, node: Node, known: _Known) -> tuple[Value, ...] | None:
    if isinstance(node.op, MatMul):
        return _contracted(builder, node, known.made)
    if isinstance(node.op, ReduceSum):
        return _of_sum(builder, node, known)
    if isinstance(node.op, ScatterApply):
        return sum_of_windows(builder, node, known.made, known.guarded)
    if isinstance(node.op, Gather) and "inside" not in node.attrs:
        return inside_gather(builder, node, known.made)
    return None


def _contracted(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """The product as a contraction; None where BLAS takes both operands, or nothing is known."""
    (out,) = (v.type for v in node.outputs)
    first = node.inputs[0].type
    assert isinstance(out, ArrayType) and isinstance(first, ArrayType)
    count = out.size * first.shape[-1]
    few = isinstance(count, int) and count < _FEW
    if first.dtype not in _DTYPES or (few and all(map(_lies_in_lines, node.inputs))):
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
    value = emit_contraction(builder, [x.source for x in operands], attrs, node.where)
    return _shaped(builder, node, value)


def _shaped(builder: GraphBuilder, node: Node, value: Value) -> tuple[Value, ...]:
    out = node.outputs[0].type
    assert isinstance(out, ArrayType)
    if value.type == out:
        return (value,)
    return builder.emit(OPS["reshape"], (value,), {"shape": out.shape}, where=node.where)


def _of_sum(builder: GraphBuilder, node: Node, known: _Known) -> tuple[Value, ...] | None:
    """A sum of products where each operand has axes of its own, or the terms are few.

    One of such a sum is the sum over all axes of both.
    """
    (v,), (out,) = node.inputs, node.outputs
    assert isinstance(v.type, ArrayType) and isinstance(out.type, ArrayType)
    count = v.type.size
    if v.type.dtype not in _DTYPES or not out.type.is_c or not node.attrs["axes"]:
        return None
    axes, made = LoopAxes(), known.made
    own = [axes.add(n) for n in v.type.shape]
    product, index = origin(v, tuple(map(symbol, own)), axes, made)
    # Where neighbours in memory are not added to each other NumPy adds one after another, too.
    wide = bool(node.attrs.get("wide", True)) and v.type.order[-1] in node.attrs["axes"]
    # What a rewritten node consists of is read by that alone.
    alone = max(known.reads[product], known.reads[v]) <= 1
    behind = known.guarded.get(product)
    if behind is not None:
        product, index = origin(behind.value, index, axes, made)
    source = made.get(product)
    inner: list[str] = []
    if source is not None and isinstance(source.op, Contract):
        if not alone or bool(source.attrs.get("wide", False)) != wide:
            return None
        operands, inner = factors(source, index, axes, made)
    else:
        if source is not None and source.op.name != "multiply_no_nan":
            source = multiplied(source, made)
        if source is None or isinstance(count, int) and count < _FEW:
            return None
        if not all(isinstance(x.type, ArrayType) for x in source.inputs):
            return None
        operands = [Factor(*origin(x, index, axes, made), index) for x in source.inputs]
    leaves = [s for k, n in enumerate(own) if k not in node.attrs["axes"] for s in axes.leaves(n)]
    summed = [s for k, n in enumerate(own) if k in node.attrs["axes"] for s in axes.leaves(n)]
    summed += [leaf for name in inner for leaf in axes.leaves(name)]
    left, right = (places(x.index, [*leaves, *summed], axes) for x in operands)
    if left is None or right is None or not summed:
        return None
    attrs: Attrs = {
        "shape": tuple(axes.sizes[s] for s in leaves),
        "summed": tuple(axes.sizes[s] for s in summed),
        "left": left,
        "right": right,
        "wide": wide,
    }
    is_matrix_product = _is_product_of_matrices(attrs)
    sources = [x.source for x in operands]
    if source.op.name == "multiply_no_nan":
        behind = Guarded(product, sources[1:], source, node)
    if behind is None:
        if not (has_few_terms(attrs) or is_matrix_product):
            return None
        return _shaped(builder, node, emit_contraction(builder, sources, attrs, node.where))
    return _guarded(builder, node, sources, attrs, behind, known) if is_matrix_product else None


def _guarded(
    builder: GraphBuilder,
    node: Node,
    sources: Sequence[Value],
    attrs: Attrs,
    behind: Guarded,
    known: _Known,
) -> tuple[Value, ...]:
    """The sum as a contraction if that is right for the values that there are."""

    def write(inner: GraphBuilder, given: Sequence[Value]) -> Value:
        (value,) = inner.emit(OPS["contract"], given, attrs, where=node.where)
        return _shaped(inner, node, value)[0]

    steps = [d for side in ("left", "right") for o, steps in attrs[side] for d in (o, *steps)]
    dims = [*attrs["shape"], *attrs["summed"], *steps]
    before = as_they_were(known.made, known.guarded)
    given = builder, node, sources, behind.finite, behind.product, before, dims
    out = emit_guarded(*given, write)
    # What a sum of this one, or an update by it, may be made of.
    aside = GraphBuilder("aside", ())
    value = write(aside, sources)
    for made in aside.nodes:
        known.made.update(dict.fromkeys(made.outputs, made))
    as_it_was = copied(node, outputs=[out])
    known.guarded[out] = Guarded(value, behind.finite, behind.product, as_it_was)
    return (out,)


def _is_product_of_matrices(attrs: Attrs) -> bool:
    """Whether a tile of rows and columns saves reads of what is summed element by element."""
    shape = attrs["shape"]
    moved = [
        {k for _, steps in side for k, c in enumerate(steps[: len(shape)]) if c != 0}
        for side in (attrs["left"], attrs["right"])
    ]
    sizes = [prod([shape[k] for k in own]) for own in (moved[0] - moved[1], moved[1] - moved[0])]
    return all(not isinstance(n, int) or n >= _FEWEST for n in sizes)


def _lies_in_lines(v: Value) -> bool:
    """Whether neighbours in memory are neighbours in a row or a column of a matrix."""
    assert isinstance(v.type, ArrayType)
    wide = [a for a in v.type.order if v.type.shape[a] != 1]
    return not wide or wide[-1] >= v.type.ndim - 2


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

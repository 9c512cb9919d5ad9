"""Matrix products in the form that costs least: sums for what is computed, one for a whole stack.

    v1 = slice(x); v2 = gather(y, i); v3 = matmul(v1, v2)
    ->  v3 = reduce_sum(multiply(v1, v2))               two vectors, one of them not in memory
    v1 = matmul(a, b)                                   a: (..., m, k) in C order, b: (k, n)
    ->  v2 = reshape(a, (... m, k)); v3 = matmul(v2, b); v1 = reshape(v3, (..., m, n))
    v1 = matmul(a, b)                                   a: (m, 1), b: (1, n)
    ->  v1 = add(multiply(a, b), 0.0)                   both broadcast: what reads it computes it
    v1 = matmul(a, b)                                   of integers, or of truths
    ->  v1 = reduce_sum(multiply(a[:, :, None], b[None, :, :]), axes=(1,))

A kernel computes such a sum while it reads: no operand is stored first, and no library is called. A
product of stored vectors stays a call, and so does one in a dtype that BLAS rounds otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dims import prod
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, NpScalar, dtype_name, dtype_of, shape_of
from tracejit.ops.array.elementwise import Cast
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.shape import Reshape
from tracejit.passes.analysis.fusable import fusable, is_root_op
from tracejit.passes.simplify.fold import emit_constant

__all__ = ["matmul_forms"]

#: Products of these are rounded alike one by one. (Half precision is not: NumPy adds up in single.)
_SUMMED = frozenset(("f32", "f64"))
#: Whole numbers have no routine; they wrap, in any order.
_WHOLE = frozenset(f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64))
#: Elements below which a call costs more than the sum.
_SHORT = 64


def matmul_forms(graph: Graph) -> Graph:
    """`graph` with its matrix products in their cheapest forms."""
    made: dict[Value, Node] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        outputs: Sequence[Value] | None = None
        if isinstance(node.op, MatMul):
            outputs = (
                _sum(builder, node, made)
                or _outer(builder, node)
                or _of_whole_numbers(builder, node, made)
                or _one_product(builder, node, made)
            )
        if outputs is None:
            outputs = keep(builder, node)
            made.update(dict.fromkeys(outputs, builder.nodes[-1]))
        return outputs

    return replay(graph, emit, region=matmul_forms)


def _types(node: Node) -> tuple[ArrayType, ArrayType]:
    a, b = (v.type for v in node.inputs)
    assert isinstance(a, ArrayType) and isinstance(b, ArrayType)
    return a, b


def _sum(builder: GraphBuilder, node: Node, made: dict[Value, Node]) -> tuple[Value, ...] | None:
    """The product of two vectors as a sum, where a kernel has to compute an operand anyway."""
    a, b = _types(node)
    if a.ndim != 1 or b.ndim != 1:
        return None
    dtype = dtype_name(a.dtype)
    n = a.shape[0]
    short = isinstance(n, int) and n <= _SHORT
    # A kernel adds up float32 in float64, of which a vector has half as many.
    makers = [_laid_out(v, made) if dtype == "f32" else made.get(v) for v in node.inputs]
    computed = short or any(map(_is_computed, makers))
    if dtype not in _WHOLE and not (dtype in _SUMMED and computed):
        return None
    (terms,) = builder.emit(OPS["multiply"], node.inputs, {}, where=node.where)
    return builder.emit(OPS["reduce_sum"], (terms,), {"axes": (0,)}, where=node.where)


def _outer(builder: GraphBuilder, node: Node) -> tuple[Value, ...] | None:
    """The products of a column and a row; added to zero, as in a sum, so that none is -0.0."""
    a, b = _types(node)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != 1 or dtype_name(a.dtype) not in _SUMMED:
        return None
    zero = emit_constant(builder, a.dtype.type(0), NpScalar(a.dtype))
    shape = shape_of(node.outputs[0].type)
    left, right, nothing = (
        v if shape_of(v.type) == shape else builder.one(OPS["broadcast_to"], (v,), shape=shape)
        for v in (*node.inputs, zero)
    )
    products = builder.one(OPS["multiply"], (left, right))
    return builder.emit(OPS["add"], (products, nothing), {}, where=node.where)


def _of_whole_numbers(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """A product for which BLAS has no routine, as the sum of products of all rows and columns."""
    a, b = _types(node)
    dtype = dtype_name(a.dtype)
    if dtype not in _WHOLE and dtype != "b1":
        return None
    # What a kernel would compute for each row and column anew is stored for the host.
    if a.ndim > 1 and b.ndim > 1 and any(_takes_work(v, made) for v in node.inputs):
        return None
    (out,) = node.outputs
    assert isinstance(out.type, ArrayType)

    def emit(name: str, *inputs: Value, **attrs: object) -> Value:
        return builder.emit(OPS[name], inputs, attrs, where=node.where)[0]

    # The matrices of `a` with an axis behind them, those of `b` with one before their last two.
    stack = out.type.shape[: out.type.ndim - (a.ndim > 1) - (b.ndim > 1)]
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    if columns == (1,):
        columns = ()
    left = (*a.shape[:-2], *rows, a.shape[-1], *((1,) if columns else ()))
    right = (*b.shape[:-2], *((1,) if rows else ()), a.shape[-1], *columns)
    whole = (*stack, *rows, a.shape[-1], *columns)
    operands = []
    for v, shape in zip(node.inputs, (left, right), strict=True):
        spread = emit("reshape", v, shape=shape)
        operands.append(spread if shape == whole else emit("broadcast_to", spread, shape=whole))
    combine = ("logical_and", "reduce_any") if dtype == "b1" else ("multiply", "reduce_sum")
    terms = emit(combine[0], *operands)
    total = emit(combine[1], terms, axes=(len(whole) - 1 - len(columns),))
    return (total if total.type == out.type else emit("reshape", total, shape=out.type.shape),)


def _takes_work(v: Value, made: dict[Value, Node]) -> bool:
    """Whether the elements are computed, and not only whole numbers loaded in another width."""
    node = _source(v, made)
    while node is not None and isinstance(node.op, Cast):
        if dtype_name(dtype_of(node.inputs[0].type)) not in _WHOLE | {"b1"}:
            return True
        node = _source(node.inputs[0], made)
    return _is_computed(node)


def _source(v: Value, made: dict[Value, Node]) -> Node | None:
    """What makes the value that `v` is a view of."""
    node = made.get(v)
    while node is not None and node.op.view:
        node = made.get(node.inputs[0])
    return node


def _laid_out(v: Value, made: dict[Value, Node]) -> Node | None:
    """What makes the value whose memory, as it lies, is that of `v` under another shape."""
    node = made.get(v)
    while node is not None and isinstance(node.op, Reshape):
        inner, outer = node.inputs[0].type, node.outputs[0].type
        if not all(isinstance(t, ArrayType) and t.is_c for t in (inner, outer)):
            break
        node = made.get(node.inputs[0])
    return node


def _is_computed(node: Node | None) -> bool:
    """Whether a kernel would have to store the value for a library call."""
    return node is not None and fusable(node) and not is_root_op(node)


def _one_product(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """A stack of matrices in C order, times one matrix, as one tall matrix times that one."""
    a, b = _types(node)
    if a.ndim < 3 or b.ndim > 2 or not a.is_c or dtype_name(a.dtype) == "f16":
        return None
    (source,) = node.inputs[:1]
    before = made.get(source)
    if before is not None and isinstance(before.op, Reshape) and not before.attrs.get("assume"):
        inner = before.inputs[0].type
        if isinstance(inner, ArrayType) and inner.is_c:
            source = before.inputs[0]
    tall = (prod(a.shape[:-1]), a.shape[-1])
    (rows,) = builder.emit(OPS["reshape"], (source,), {"shape": tall}, where=node.where)
    made[rows] = builder.nodes[-1]
    (flat,) = builder.emit(OPS["matmul"], (rows, node.inputs[1]), {}, where=node.where)
    made[flat] = builder.nodes[-1]
    (shape,) = (v.type.shape for v in node.outputs if isinstance(v.type, ArrayType))
    return builder.emit(OPS["reshape"], (flat,), {"shape": shape}, where=node.where)

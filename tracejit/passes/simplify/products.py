"""A product as sums over loop axes: where the operands of a `matmul` or a `contract` are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import symbol, total
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.contraction import Contract, Places
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.shape import BroadcastTo
from tracejit.passes.analysis.affine_places import Index, LoopAxes, origin

__all__ = ["Factor", "factors", "is_product", "multiplied", "places"]


@dataclass(frozen=True)
class Factor:
    """The elements of `source` at `index`; `own` is the index into the operand of the product."""

    source: Value
    index: Index
    own: Index


def is_product(node: Node | None, producer: Mapping[Value, Node]) -> bool:
    """Whether a node is a sum of products of two arrays' elements, or one product of each."""
    if node is None or isinstance(node.op, (MatMul, Contract)):
        return node is not None
    return multiplied(node, producer) is not None


def multiplied(node: Node, producer: Mapping[Value, Node]) -> Node | None:
    """The node that multiplies element by element; what is added to its results may be zero."""
    if node.op.arithmetic == "add":
        first, second = (producer.get(v) for v in node.inputs)
        if first is None or second is None or not isinstance(second.op, BroadcastTo):
            return None
        zero = producer.get(second.inputs[0])
        if zero is None or not isinstance(zero.op, Constant) or zero.attrs["value"] != 0:
            return None
        node = first
    arrays = all(isinstance(v.type, ArrayType) for v in node.inputs)
    return node if node.op.arithmetic == "multiply" and arrays else None


def factors(
    node: Node, index: Index, axes: LoopAxes, producer: Mapping[Value, Node]
) -> tuple[list[Factor], list[str]]:
    """The factors of the element `index` of a product, and the axes that are summed."""
    if isinstance(node.op, Contract):
        summed = [axes.add(n) for n in node.attrs["summed"]]
        loops = (*index, *map(symbol, summed))
        own = [
            tuple(
                offset + total([c * x for c, x in zip(steps, loops, strict=True)])
                for offset, steps in node.attrs[side]
            )
            for side in ("left", "right")
        ]
    elif isinstance(node.op, MatMul):
        summed, own = _of_matrices(node, index, axes)
    else:
        made = multiplied(node, producer)
        assert made is not None
        node, summed, own = made, [], [index, index]
    found = []
    for v, places_ in zip(node.inputs, own, strict=True):
        assert isinstance(v.type, ArrayType)
        inner = tuple(0 if n == 1 else d for n, d in zip(v.type.shape, places_, strict=True))
        found.append(Factor(*origin(v, inner, axes, producer), inner))
    return found, summed


def _of_matrices(node: Node, index: Index, axes: LoopAxes) -> tuple[list[str], list[Index]]:
    a, b = (v.type for v in node.inputs)
    assert isinstance(a, ArrayType) and isinstance(b, ArrayType)
    summed = axes.add(a.shape[-1])
    inner = symbol(summed)
    stack = len(index) - (a.ndim > 1) - (b.ndim > 1)
    row, column = index[stack : stack + (a.ndim > 1)], index[len(index) - (b.ndim > 1) :]
    left: Index = (*index[stack - (a.ndim - 2) : stack], *row, inner) if a.ndim > 1 else (inner,)
    right: Index = (*index[stack - (b.ndim - 2) : stack], inner, *column)
    return [summed], [left, right if b.ndim > 1 else (inner,)]


def places(index: Index, leaves: Sequence[str], axes: LoopAxes) -> Places | None:
    """An index in terms of loop axes, as `contract` states it; None where it is not linear."""
    out = []
    for d in index:
        form = axes.form(d)
        if form is None or not form[1].keys() <= set(leaves):
            return None
        out.append((form[0], tuple(form[1].get(leaf, 0) for leaf in leaves)))
    return tuple(out)

"""Which routine of a library computes a node, and the memory that it needs besides."""

from __future__ import annotations

from tracejit.codegen.support.blas import HELPERS, helper_address
from tracejit.codegen.support.contractions import contraction_scratch
from tracejit.codegen.support.lapack_text import INVERSE_WORK
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.contraction import Contract
from tracejit.ops.array.factored import (
    FactoredDiagonal,
    FactoredInverse,
    FactoredSolve,
    LuFactor,
)
from tracejit.ops.array.linalg import Inv, MatMul, MatMulBoth, Solve
from tracejit.ops.array.sorting import ArgSort
from tracejit.ops.array.triangular import TriangularSolve

__all__ = ["array_of", "has_routine", "helper_of", "scratch_sizes"]


#: Axes of the operands of a product -> the helper's kind.
_PRODUCTS = {(2, 2): "product", (2, 1): "gemv", (1, 2): "gemv", (1, 1): "dot"}


def array_of(v: Value) -> ArrayType:
    """The type of an array."""
    assert isinstance(v.type, ArrayType)
    return v.type


def helper_of(node: Node) -> str | None:
    """The helper function that computes the node, or None."""
    if not (node.op.routine or isinstance(node.op, MatMul)):
        return None
    ndims = [array_of(v).ndim for v in node.inputs]
    if max(ndims) > 2 and not node.op.stacked:
        return None
    kind = node.op.routine or _PRODUCTS[min(ndims[0], 2), min(ndims[1], 2)]
    dtype = dtype_name(array_of(node.inputs[0]).dtype)
    name = f"tj_{kind}_{dtype}"
    return name if name in HELPERS and helper_address(name) is not None else None


def has_routine(node: Node) -> bool:
    """Whether a routine computes the node for dense operands."""
    return isinstance(node.op, MatMulBoth) or helper_of(node) is not None


def scratch_sizes(node: Node) -> list[Dim]:
    """Bytes of the temporaries that the node's routine needs."""
    if node.op.sorts:
        t, axis = array_of(node.inputs[0]), node.attrs["axis"]
        items = [t.dtype.itemsize] + [8] * isinstance(node.op, ArgSort)
        return [] if axis == t.ndim - 1 else [t.shape[axis] * item for item in items]
    if isinstance(node.op, Contract):
        return contraction_scratch(node)
    if isinstance(
        node.op, (MatMul, MatMulBoth, TriangularSolve, LuFactor, FactoredSolve, FactoredDiagonal)
    ) or not has_routine(node):
        return []
    a = array_of(node.inputs[0])
    n = a.shape[-1]
    if isinstance(node.op, FactoredInverse):
        return [n * 8, (n + 1) * INVERSE_WORK * a.dtype.itemsize]
    sizes: list[Dim] = [a.size * a.dtype.itemsize]
    if isinstance(node.op, Solve):
        b = array_of(node.inputs[1])
        sizes.append(b.size * b.dtype.itemsize)
    elif isinstance(node.op, Inv):
        sizes.append(a.size * a.dtype.itemsize)
    return [*sizes, n * 8]

"""Library calls of a program: products by BLAS, solves and factors by LAPACK, sorts by NumPy.

Operands whose matrices lie in rows or columns go to BLAS as they are, stacks of them one matrix
after another; LAPACK works in place on column-major copies. What has no routine here (`solve` of
stacks, other dtypes, other layouts) is left to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from tracejit.codegen.lowering.index_maps import dense_strides
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.contractions import emit_contraction
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.factored import emit_factor, emit_factored, emit_substitution
from tracejit.codegen.program.masks import emit_masked
from tracejit.codegen.program.matrices import (
    Operand,
    call_helper,
    each_matrix,
    form,
    operand,
)
from tracejit.codegen.program.sorting import emit_sort
from tracejit.codegen.support.routines import array_of, helper_of
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.contraction import Contract
from tracejit.ops.array.factored import (
    FactoredDiagonal,
    FactoredInverse,
    FactoredSolve,
    LuFactor,
)
from tracejit.ops.array.linalg import Inv, LuDiagonal, MatMul, Solve
from tracejit.ops.array.masks import Compress, TruePositions
from tracejit.ops.array.triangular import TriangularSolve

__all__ = ["emit_library"]

_F = (1, 0)


def emit_library(e: ProgramContext, node: Node) -> bool:
    """Emit the node's routine; False where it must run on the host."""
    if isinstance(node.op, (TruePositions, Compress)):
        emit_masked(e, node)
        return True
    if node.op.sorts:
        return emit_sort(e, node)
    if isinstance(node.op, Contract):
        emit_contraction(e, node)
        return True
    name = helper_of(node)
    if name is None:
        return False
    if isinstance(node.op, MatMul):
        return _matmul(e, node, name)
    if isinstance(node.op, TriangularSolve):
        emit_substitution(e, node, name)
        return True
    if isinstance(node.op, LuFactor):
        emit_factor(e, node, name)
    elif isinstance(node.op, (FactoredSolve, FactoredInverse, FactoredDiagonal)):
        emit_factored(e, node, name)
    else:
        _factor(e, node, name)
    return True


def _are_taken(e: ProgramContext, operands: Sequence[Value]) -> bool:
    """Whether BLAS gets the operands. NumPy takes arrays with gaps as they lie, views go copied."""
    if any(v in e.offsets for v in operands):
        return True
    return all(
        v not in e.strides and form(array_of(v), dense_strides(array_of(v))) is not None
        for v in operands
    )


def _matmul(e: ProgramContext, node: Node, name: str) -> bool:
    if not _are_taken(e, node.inputs):
        return False
    left, right = node.inputs
    with operand(e, left) as a:
        # The product of a vector with itself copies it once.
        with nullcontext(a) if left == right else operand(e, right) as b:
            _product(e, node, name, a, b)
    return True


def _product(e: ProgramContext, node: Node, name: str, a: Operand, b: Operand) -> None:
    ta, tb = (array_of(v) for v in node.inputs)
    out = e.pointer[node.outputs[0]]
    size = [e.dim(d) for d in ta.shape], [e.dim(d) for d in tb.shape]
    leading = e.dim(a.leading), e.dim(b.leading)
    if ta.ndim == 1 and tb.ndim == 1:
        pointers = f"ptr {out}, ptr {a.pointer}, ptr {b.pointer}"
        call_helper(e, name, f"{pointers}, i64 {size[0][0]}, i64 {leading[0]}, i64 {leading[1]}")
        return
    if tb.ndim == 1:
        (m, k) = size[0][-2:]
        tail = f"i64 {m}, i64 {k}, i32 {int(a.swapped)}, i64 {leading[0]}, i64 {leading[1]}"
    elif ta.ndim == 1:
        # x @ B is B transposed times x.
        (k, n) = size[1][-2:]
        tail = f"i64 {n}, i64 {k}, i32 {1 - b.swapped}, i64 {leading[1]}, i64 {leading[0]}"
    else:
        (m, k), n = size[0][-2:], size[1][-1]
        tail = f"i64 {m}, i64 {n}, i64 {k}, i32 {int(a.swapped)}, i32 {int(b.swapped)}"
        tail += f", i64 {leading[0]}, i64 {leading[1]}, i64 {n}"

    def product(pointers: list[str]) -> None:
        to, x, y = pointers
        x, y = (y, x) if ta.ndim == 1 else (x, y)
        call_helper(e, name, f"ptr {to}, ptr {x}, ptr {y}, {tail}")

    strides = [dense_strides(array_of(node.outputs[0])), a.strides, b.strides]
    types = [array_of(v) for v in (*node.outputs, *node.inputs)]
    each_matrix(e, types, [out, a.pointer, b.pointer], strides, product)


def _column_major(e: ProgramContext, v: Value, target: str) -> Value:
    """A column-major copy of `v` at `target`, as a value of its own."""
    t = array_of(v)
    order = _F if t.ndim == 2 else (0,)
    copy_array(e, v, target, order)
    copy = Value(ArrayType(t.dtype, t.shape, order))
    e.pointer[copy] = target
    return copy


def _factor(e: ProgramContext, node: Node, name: str) -> None:
    a = node.inputs[0]
    (result,) = node.outputs
    scratch = e.scratch[node]
    n = e.dim(array_of(a).shape[0])
    left = _column_major(e, a, scratch[0])
    if isinstance(node.op, Solve):
        b = node.inputs[1]
        right = _column_major(e, b, scratch[1])
        columns = e.dim(array_of(b).shape[1]) if array_of(b).ndim == 2 else "1"
        arguments = f"ptr {scratch[0]}, ptr {scratch[1]}, i64 {n}, i64 {columns}, ptr {scratch[2]}"
    elif isinstance(node.op, Inv):
        right = Value(ArrayType(array_of(a).dtype, array_of(a).shape, _F))
        e.pointer[right] = scratch[1]
        arguments = f"ptr {scratch[0]}, ptr {scratch[1]}, i64 {n}, ptr {scratch[2]}"
    else:
        right = left
        arguments = f"ptr {scratch[0]}, i64 {n}, i32 {int(bool(node.attrs.get('upper')))}"
    if isinstance(node.op, LuDiagonal):
        call_helper(
            e, name, f"ptr {scratch[0]}, ptr {e.pointer[result]}, i64 {n}, ptr {scratch[1]}"
        )
        return
    info = call_helper(e, name, arguments)
    e.fb.check(e.fb.emit(f"icmp ne i64 {info}, 0"))
    copy_array(e, right, e.pointer[result], array_of(result).order)

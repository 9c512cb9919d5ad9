"""Systems of triangles and of factored matrices in a program, a stack's matrices one by one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tracejit.codegen.lowering.index_maps import dense_strides
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.matrices import Operand, call_helper, each_matrix, operand
from tracejit.codegen.program.views import copied, dense
from tracejit.codegen.support.routines import array_of
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, c_order
from tracejit.ops.array.factored import FactoredDiagonal, FactoredInverse, FactoredSolve

__all__ = ["emit_factor", "emit_factored", "emit_substitution"]


def emit_substitution(e: ProgramContext, node: Node, name: str) -> None:
    """The right sides, copied to where the result belongs, are solved there."""
    a, b = node.inputs
    t, attrs, out = array_of(a), node.attrs, e.pointer[node.outputs[0]]
    with ExitStack() as held:
        given = held.enter_context(operand(e, a))
        upper, trans = not attrs["lower"], attrs["trans"]
        if given.swapped and trans == 2:
            # BLAS has no conjugate that is not transposed.
            strides = dense_strides(ArrayType(t.dtype, t.shape))
            given = Operand(held.enter_context(copied(e, a)), strides, False, t.shape[-1])
        elif given.swapped:
            upper, trans = not upper, 1 - trans
        copy_array(e, b, out, c_order(array_of(b).ndim))
        n, k = (e.dim(d) for d in array_of(b).shape[-2:])
        flags = ", ".join(f"i32 {int(flag)}" for flag in (upper, trans, attrs["unit"]))
        tail = f"i64 {n}, i64 {k}, i64 {e.dim(given.leading)}, {flags}"

        def solve(pointers: list[str]) -> None:
            x, matrix = pointers
            call_helper(e, name, f"ptr {x}, ptr {matrix}, {tail}")

        whole = array_of(node.outputs[0])
        moves = [dense_strides(whole), given.strides]
        each_matrix(e, [whole, t], [out, given.pointer], moves, solve)


def _vectors(t: ArrayType) -> ArrayType:
    """Vectors as matrices of one column."""
    return ArrayType(t.dtype, (*t.shape, 1))


def _each(
    e: ProgramContext,
    types: list[ArrayType],
    pointers: list[str],
    call: Callable[[list[str]], None],
) -> None:
    strides: list[tuple[Dim, ...]] = [dense_strides(t) for t in types]
    each_matrix(e, types, pointers, strides, call)


def emit_factor(e: ProgramContext, node: Node, name: str) -> None:
    """The matrices, copied by columns to where the factors belong, are factored there."""
    a, (packed, pivots) = node.inputs[0], node.outputs
    t = array_of(packed)
    n, ndim = e.dim(t.shape[-1]), t.ndim
    copy_array(e, a, e.pointer[packed], (*range(ndim - 2), ndim - 1, ndim - 2))

    def factor(pointers: list[str]) -> None:
        call_helper(e, name, f"ptr {pointers[0]}, i64 {n}, ptr {pointers[1]}")

    _each(e, [t, _vectors(array_of(pivots))], [e.pointer[packed], e.pointer[pivots]], factor)


def emit_factored(e: ProgramContext, node: Node, name: str) -> None:
    """What is computed from factors."""
    _, packed, pivots, *rest = node.inputs
    (result,) = node.outputs
    out, t = e.pointer[result], array_of(result)
    n = e.dim(array_of(packed).shape[-1])

    def call(pointers: list[str]) -> None:
        to, p, rows = (f"ptr {pointer}" for pointer in pointers)
        if isinstance(node.op, FactoredDiagonal):
            call_helper(e, name, f"{p}, {rows}, {to}, i64 {n}")
            return
        if isinstance(node.op, FactoredInverse):
            work = ", ".join(f"ptr {block}" for block in e.scratch[node])
            info = call_helper(e, name, f"{p}, {rows}, {to}, i64 {n}, {work}")
        else:
            k, trans = e.dim(t.shape[-1]), node.attrs["trans"]
            info = call_helper(e, name, f"{to}, {p}, {rows}, i64 {n}, i64 {k}, i32 {trans}")
        e.fb.check(e.fb.emit(f"icmp ne i64 {info}, 0"))

    with dense(e, packed) as p, dense(e, pivots) as rows:
        if isinstance(node.op, FactoredSolve):
            copy_array(e, rest[0], out, c_order(t.ndim))
        whole = _vectors(t) if isinstance(node.op, FactoredDiagonal) else t
        types = [whole, _plain(packed), _vectors(_plain(pivots))]
        _each(e, types, [out, p, rows], call)


def _plain(v: Value) -> ArrayType:
    t = array_of(v)
    return ArrayType(t.dtype, t.shape)

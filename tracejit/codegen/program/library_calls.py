"""Library calls of a program: products by BLAS, solves and factors by LAPACK, sorts by NumPy.

Operands whose matrices lie in rows or columns go to BLAS as they are, stacks of them one matrix
after another; LAPACK works in place on column-major copies. What has no routine here (stacks of
linear systems, other dtypes, other layouts) is left to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from tracejit.codegen.lowering.index_maps import dense_strides
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.contractions import emit_contraction
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.masks import emit_masked
from tracejit.codegen.program.sorting import emit_sort
from tracejit.codegen.program.views import copied, strides_of
from tracejit.codegen.support.blas import HELPERS, helper_address
from tracejit.codegen.support.routines import array_of, helper_of
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.contraction import Contract
from tracejit.ops.array.linalg import Inv, LuDiagonal, MatMul, Solve
from tracejit.ops.array.masks import Compress, TruePositions
from tracejit.ops.array.sorting import ArgSort, Sort

__all__ = ["emit_library"]

_F = (1, 0)


def emit_library(e: ProgramContext, node: Node) -> bool:
    """Emit the node's routine; False where it must run on the host."""
    if isinstance(node.op, (TruePositions, Compress)):
        emit_masked(e, node)
        return True
    if isinstance(node.op, (Sort, ArgSort)):
        return emit_sort(e, node)
    if isinstance(node.op, Contract):
        emit_contraction(e, node)
        return True
    name = helper_of(node)
    if name is None:
        return False
    if isinstance(node.op, MatMul):
        return _matmul(e, node, name)
    _factor(e, node, name)
    return True


def _call(e: ProgramContext, name: str, arguments: str) -> str:
    result, parameters = HELPERS[name]
    e.module.declare(name, result, parameters.split(", "))
    address = helper_address(name)
    assert address is not None
    e.symbols[name] = address
    if result == "void":
        e.fb.line(f"call void @{name}({arguments})")
        return ""
    return e.fb.emit(f"call {result} @{name}({arguments})")


@dataclass(frozen=True)
class _Operand:
    """Where an operand of a product lies; `swapped` and `leading` say how BLAS takes its matrices.

    For a vector `leading` is the step from one element to the next.
    """

    pointer: str
    strides: tuple[Dim, ...]
    swapped: bool
    leading: Dim


def _form(t: ArrayType, strides: tuple[Dim, ...]) -> tuple[bool, Dim] | None:
    """Whether the matrices of `t` lie in columns, and how far apart; None where in neither."""
    if t.ndim == 1:
        return False, strides[0]
    (rows, columns), (down, right) = t.shape[-2:], strides[-2:]
    if right == 1 or columns == 1:
        return False, columns if rows == 1 else down
    if down == 1 or rows == 1:
        return True, rows if columns == 1 else right
    return None


@contextmanager
def _operand(e: ProgramContext, v: Value) -> Iterator[_Operand]:
    """An operand as BLAS takes it; a view that it does not take is copied for as long as needed."""
    t = array_of(v)
    strides = strides_of(e, v)
    # Steps that only the call knows may be zero, or lead backwards.
    known = e.plan.live.root(v) not in e.strides
    form = _form(t, strides) if strides is not None and known else None
    if form is not None and strides is not None:
        yield _Operand(e.pointer[v], strides, *form)
        return
    with copied(e, v) as block:
        strides = dense_strides(ArrayType(t.dtype, t.shape))
        form = _form(t, strides)
        assert form is not None
        yield _Operand(block, strides, *form)


def _are_taken(e: ProgramContext, operands: Sequence[Value]) -> bool:
    """Whether BLAS gets the operands. NumPy takes arrays with gaps as they lie, views go copied."""
    if any(v in e.offsets for v in operands):
        return True
    return all(
        v not in e.strides and _form(array_of(v), dense_strides(array_of(v))) is not None
        for v in operands
    )


def _matmul(e: ProgramContext, node: Node, name: str) -> bool:
    if not _are_taken(e, node.inputs):
        return False
    left, right = node.inputs
    with _operand(e, left) as a:
        # The product of a vector with itself copies it once.
        with nullcontext(a) if left == right else _operand(e, right) as b:
            _product(e, node, name, a, b)
    return True


def _product(e: ProgramContext, node: Node, name: str, a: _Operand, b: _Operand) -> None:
    ta, tb = (array_of(v) for v in node.inputs)
    out = e.pointer[node.outputs[0]]
    size = [e.dim(d) for d in ta.shape], [e.dim(d) for d in tb.shape]
    leading = e.dim(a.leading), e.dim(b.leading)
    if ta.ndim == 1 and tb.ndim == 1:
        pointers = f"ptr {out}, ptr {a.pointer}, ptr {b.pointer}"
        _call(e, name, f"{pointers}, i64 {size[0][0]}, i64 {leading[0]}, i64 {leading[1]}")
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
        _call(e, name, f"ptr {to}, ptr {x}, ptr {y}, {tail}")

    strides = [dense_strides(array_of(node.outputs[0])), a.strides, b.strides]
    _each_matrix(e, node, [out, a.pointer, b.pointer], strides, product)


def _each_matrix(
    e: ProgramContext,
    node: Node,
    pointers: list[str],
    strides: list[tuple[Dim, ...]],
    product: Callable[[list[str]], None],
) -> None:
    """Call `product` with the addresses of the result and the operands for each of a stack."""
    types = [array_of(v) for v in (*node.outputs, *node.inputs)]
    depth = max(len(t.shape[:-2]) for t in types[1:])
    stack = types[0].shape[:depth]
    sizes = [e.dim(d) for d in stack]
    steps = []
    for t, moves in zip(types, strides, strict=True):
        own = depth if t is types[0] else len(t.shape[:-2])
        lead = depth - own
        # An axis along which an operand is repeated is one that it does not move along.
        steps.append(
            ["0"] * lead
            + ["0" if t.shape[k] == 1 else e.dim(moves[k] * t.dtype.itemsize) for k in range(own)]
        )
    fb = e.fb

    def walk(axis: int, offsets: list[str]) -> None:
        if axis == depth:
            moved = zip(pointers, offsets, strict=True)
            product(
                [
                    p if o == "0" else fb.emit(f"getelementptr i8, ptr {p}, i64 {o}")
                    for p, o in moved
                ]
            )
            return

        def body(index: str, _: list[str]) -> list[str]:
            inner = []
            for offset, step in zip(offsets, steps, strict=True):
                inner.append(fb.integer("add", offset, fb.integer("mul", index, step[axis])))
            walk(axis + 1, inner)
            return []

        def loop() -> list[str]:
            fb.do_while("0", sizes[axis], "1", [], body)
            return []

        fb.if_then(fb.less("0", sizes[axis]), [], loop)

    walk(0, ["0"] * len(types))


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
        _call(e, name, f"ptr {scratch[0]}, ptr {e.pointer[result]}, i64 {n}, ptr {scratch[1]}")
        return
    info = _call(e, name, arguments)
    e.fb.check(e.fb.emit(f"icmp ne i64 {info}, 0"))
    copy_array(e, right, e.pointer[result], array_of(result).order)

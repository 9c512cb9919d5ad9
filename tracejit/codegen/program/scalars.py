"""Nodes of a program that are a few instructions: scalars in registers, elements of arrays.

    n2 = py_floordiv(n, two)              v = ashr i64 %n, 1
    v = read_item(a, i, at=(None,))       bounds check; load double, ptr (a + 8 i)
    b = write_item(a, v, i, at=(None,))   bounds check; store double %v, ptr (b + 8 i)

There is no kernel, no call and no array in memory for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracejit.codegen.analysis.int_ranges import INT_MAX, INT_MIN, product_limit
from tracejit.codegen.llvm.lanes import (
    Lanes,
    load_element,
    memory_type,
    register_type,
    store_element,
)
from tracejit.codegen.llvm.text import FunctionBuilder
from tracejit.codegen.lowering.index_maps import dense_strides, linear
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.scalar.functions import emit_call, emit_dim, emit_expr
from tracejit.codegen.scalar.integers import with_overflow
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Const, Expr, Var
from tracejit.ir.types import PYINT, TOKEN, ArrayType, dtype_name, dtype_of
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Element, Elementwise, parts_dtype
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element as ElementOp
from tracejit.ops.python.arithmetic import PyAbs, PyNegative

if TYPE_CHECKING:
    from tracejit.ops.python.scalar_exprs import ScalarRule

__all__ = ["element_address", "emit_scalar_node", "part_dtypes", "scalar_rule"]


#: Arithmetic of ints, and LLVM's name of it.
_ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul"}


def emit_scalar_node(e: ProgramContext, node: Node) -> bool:
    """Write the code of a node that gives scalars or writes one element; False for any other.

    `pointer` of a `write_item`'s result is the memory to write, which holds the old array's other
    elements already.
    """
    if isinstance(node.op, WriteItem):
        _write_item(e, node)
        return True
    if len(node.outputs) != 1 or isinstance(node.outputs[0].type, ArrayType):
        return False
    (out,) = node.outputs
    match node.op:
        case Constant():
            e.scalars[out] = _literal(node)
        case DimValue():
            e.scalars[out] = e.bind(e.checked_dim(node.attrs["dim"]), "i64")
        case ElementOp():
            e.scalars[out] = _load(e, out, e.pointer[node.inputs[0]])
        case ReadItem():
            e.scalars[out] = _load(
                e, out, element_address(e, node.inputs[0], node.inputs[1:], node)
            )
        case _:
            return _scalar(e, node)
    return True


def part_dtypes(v: Value) -> list[str]:
    """The dtypes of a scalar's registers: two for a complex number; that of a stack's top."""
    if v.type == TOKEN:
        return ["i64"]
    dtype = dtype_name(dtype_of(v.type))
    part = parts_dtype(dtype)
    return [part] if part == dtype else [part, part]


def _literal(node: Node) -> Element:
    value = node.attrs["value"]
    dtype = dtype_name(dtype_of(node.outputs[0].type))
    if dtype in ("c64", "c128"):
        part, number = parts_dtype(dtype), complex(value)
        return Const(number.real, part), Const(number.imag, part)
    return Const(value, dtype)


def scalar_rule(node: Node, args: Sequence[Element]) -> ScalarRule | None:
    """The result of an op on scalars and where it bails out; None where it has no expression."""
    if not node.inputs:
        return None
    if isinstance(node.op, Elementwise):
        dtypes = [dtype_name(dtype_of(v.type)) for v in node.inputs]
        wide = dtype_name(dtype_of(node.outputs[0].type))
        if not node.op.native(dtypes, node.attrs):
            return None
        return node.op.scalar(tuple(args), dtypes, wide), None
    rule = getattr(node.op, "scalar_expr", None)
    kinds = tuple(str(v.type) for v in node.inputs)
    native = getattr(node.op, "native", None)
    if rule is None or (native is not None and not native(kinds)):
        return None
    found: ScalarRule = rule(tuple(args), kinds, node.attrs)
    return found


def _scalar(e: ProgramContext, node: Node) -> bool:
    """An op on scalars. False where it has no expression."""
    if not all(v in e.scalars for v in node.inputs):
        return False
    if node.op.arithmetic in _ARITHMETIC and all(v.type == PYINT for v in node.inputs):
        _arithmetic(e, node)
        return True
    rule = scalar_rule(node, [e.scalars[v] for v in node.inputs])
    if rule is None:
        return False
    element, bails = rule
    negates = isinstance(node.op, (PyAbs, PyNegative))
    if negates and e.int_ranges.of(node.inputs[0])[0] > INT_MIN:
        # Only the least int has no counterpart.
        bails = None
    known: dict[object, str] = {}
    if bails is not None:
        e.fb.check(emit_expr(e.fb, bails, e.env, known=known))
    e.scalars[node.outputs[0]] = _evaluate(e, element, known)
    return True


def _arithmetic(e: ProgramContext, node: Node) -> None:
    """A sum, difference or product of Python ints, checked only where it may leave 64 bits."""
    fb = e.fb
    a, b = (_operand(e, v) for v in node.inputs)
    (out,) = node.outputs
    operation = node.op.arithmetic
    short = _ARITHMETIC[operation]
    low, high = e.int_ranges.result(node)
    factors = [(v, e.int_ranges.of(w)) for v, w in (node.inputs, node.inputs[::-1])]
    constants = [(v, k) for v, (k, same) in factors if k == same != 0]
    fits = INT_MIN <= low and high <= INT_MAX
    if fits or (short == "mul" and constants):
        e.scalars[out] = e.bind(fb.emit(f"{short} i64 {a}, {b}"), "i64")
        if not fits:
            # In front of the check, which ends a block: what follows may overlap with it.
            fb.check_at_once(_too_large(e, *constants[0]))
        return
    value, overflow = with_overflow(Lanes(fb), operation, "i64", a, b)
    fb.check(overflow)
    e.scalars[out] = e.bind(value, "i64")


def _too_large(e: ProgramContext, v: Value, constant: int) -> str:
    """Whether the product with a constant may leave 64 bits: the factor alone tells.

    The product itself then need not wait for the check, nor be formed by a multiplication.
    """
    fb, limit = e.fb, product_limit(constant)
    low, high = e.int_ranges.of(v)
    register = _operand(e, v)
    if low >= -limit:
        return fb.emit(f"icmp sgt i64 {register}, {limit}")
    if high <= limit:
        return fb.emit(f"icmp slt i64 {register}, {-limit}")
    shifted = fb.emit(f"add i64 {register}, {limit}")
    return fb.emit(f"icmp ugt i64 {shifted}, {2 * limit}")


def _evaluate(
    e: ProgramContext, element: Element, known: dict[object, str] | None = None
) -> Element:
    """Compute an expression now and bind it."""
    known = {} if known is None else known

    def one(expr: Expr) -> Expr:
        if isinstance(expr, (Var, Const)):
            return expr
        return e.bind(emit_expr(e.fb, expr, e.env, known=known), expr.dtype)

    return (one(element[0]), one(element[1])) if isinstance(element, tuple) else one(element)


# Elements of arrays -------------------------------------------------------------------------------


def element_address(e: ProgramContext, x: Value, indices: Sequence[Value], node: Node) -> str:
    """The address of the element at a node's place; bails out where an index is out of range."""
    t, fb = x.type, e.fb
    assert isinstance(t, ArrayType)
    strides = e.strides.get(x) or dense_strides(t)
    fixed = linear(tuple(0 if d is None else d for d in node.attrs["at"]), strides)
    offset = emit_dim(fb, fixed, e.env)
    rest = iter(indices)
    for d, n, stride in zip(node.attrs["at"], t.shape, strides, strict=True):
        if d is None:
            wrapped = _wrapped(e, next(rest), n, bool(node.attrs.get("checked", True)))
            step = fb.integer("mul", wrapped, emit_dim(fb, stride, e.env))
            offset = fb.integer("add", offset, step)
    dtype = dtype_name(t.dtype)
    kind = memory_type(parts_dtype(dtype))
    if dtype in ("c64", "c128"):
        kind = f"{{ {kind}, {kind} }}"
    return fb.emit(f"getelementptr {kind}, ptr {e.pointer[x]}, i64 {offset}")


def _wrapped(e: ProgramContext, v: Value, size: Dim, checked: bool) -> str:
    """An index from 0; in one section the same index is checked once."""
    low, high = e.int_ranges.of(v)
    if low >= 0 and (not checked or isinstance(size, int) and high < size):
        return _operand(e, v)
    if not checked:
        index, fb = _operand(e, v), e.fb
        negative = fb.emit(f"icmp slt i64 {index}, 0")
        from_end = fb.emit(f"add i64 {index}, {emit_dim(fb, size, e.env)}")
        return fb.emit(f"select i1 {negative}, i64 {from_end}, i64 {index}")
    key = (v, size)
    if key not in e.checked_indices:
        register, length = _operand(e, v), emit_dim(e.fb, size, e.env)
        if low >= 0:
            e.fb.check(e.fb.emit(f"icmp uge i64 {register}, {length}"))
        else:
            dtypes = ("i64", "i64")
            register = emit_call(Lanes(e.fb), "wrap_index", (register, length), dtypes, "i64")
        e.checked_indices[key] = register
    return e.checked_indices[key]


def _operand(e: ProgramContext, v: Value) -> str:
    element = e.scalars[v]
    assert not isinstance(element, tuple)
    return emit_expr(e.fb, element, e.env)


def _load(e: ProgramContext, out: Value, address: str) -> Element:
    parts = part_dtypes(out)
    variables = [
        e.bind(load_element(e.fb, _part(e.fb, address, k, dtype), dtype), dtype)
        for k, dtype in enumerate(parts)
    ]
    return (variables[0], variables[1]) if len(variables) == 2 else variables[0]


def _part(fb: FunctionBuilder, address: str, k: int, dtype: str) -> str:
    return (
        fb.emit(f"getelementptr {register_type(dtype)}, ptr {address}, i64 {k}") if k else address
    )


def _write_item(e: ProgramContext, node: Node) -> None:
    (out,) = node.outputs
    v = node.inputs[1]
    address = element_address(e, out, node.inputs[2:], node)
    element = e.scalars[v]
    registers = [
        emit_expr(e.fb, part, e.env)
        for part in (element if isinstance(element, tuple) else (element,))
    ]
    for k, (register, dtype) in enumerate(zip(registers, part_dtypes(v), strict=True)):
        store_element(e.fb, _part(e.fb, address, k, dtype), dtype, register)

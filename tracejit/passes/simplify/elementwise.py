"""The rules of `simplify` for elementwise ops; each docstring is an equation.

They hold to the last bit: signed zeros, infinities, subnormals and wrapped integers included, the
sign and payload of NaNs aside. `c` is a number that fills its operand.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, NpScalar, dtype_name, dtype_of
from tracejit.passes.simplify.rewriter import Rewriter, rule

__all__: list[str] = []

_COMMUTATIVE = ("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor") + (
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
)
_ROUNDING = ("floor", "ceil", "trunc", "rint")
_INVERSE = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less": "greater_equal",
    "greater_equal": "less",
    "greater": "less_equal",
    "less_equal": "greater",
}


def _like(value: Value) -> ArrayType | NpScalar:
    assert isinstance(value.type, (ArrayType, NpScalar))
    return value.type


def _is_zero(c: Any, negative: bool) -> bool:
    """Whether a float is the zero of that sign; both parts of a complex number."""
    parts = (c.real, c.imag) if isinstance(c, np.complexfloating) else (c,)
    return all(p == 0 and bool(np.signbit(p)) == negative for p in parts)


def _is_neutral(op: str, c: Any, right: bool) -> bool:
    """Whether `x op c` (`right`), or `c op x`, is x for every x of c's dtype."""
    kind = c.dtype.kind
    commutes = op in _COMMUTATIVE
    if not right and not commutes:
        return False
    match op:
        case "add" | "subtract" if kind in "fc":
            return _is_zero(c, negative=op == "add")
        case "add" | "subtract" | "bitwise_or" | "bitwise_xor" | "left_shift" | "right_shift":
            return bool(c == 0)
        case "multiply" | "divide":
            # Complex: (a + bi) * (1 + 0i) has the term b * 0, NaN for an infinite b.
            return kind != "c" and bool(c == 1)
        case "floor_divide" | "power":
            return kind in "iu" and bool(c == 1)
        case "bitwise_and":
            return bool(c) if kind == "b" else bool(~c == 0)
        case "logical_and":
            return kind == "b" and bool(c)
        case "logical_or" | "logical_xor":
            return kind == "b" and not c
        case "maximum" | "minimum" if kind in "biuf":
            return bool(c == _extreme(c.dtype, lowest=op == "maximum"))
    return False


def _extreme(dtype: np.dtype[Any], lowest: bool) -> Any:
    if dtype.kind == "f":
        return -math.inf if lowest else math.inf
    if dtype.kind == "b":
        return not lowest
    info = np.iinfo(dtype)
    return info.min if lowest else info.max


def _is_absorbing(op: str, c: Any) -> bool:
    """Whether `x op c` is c for every x of c's dtype. No float: NaNs and signed zeros."""
    if c.dtype.kind not in "biu":
        return False
    match op:
        case "multiply" | "bitwise_and":
            return bool(c == 0)
        case "logical_and":
            return c.dtype.kind == "b" and not c
        case "logical_or":
            return c.dtype.kind == "b" and bool(c)
        case "bitwise_or":
            return bool(c) if c.dtype.kind == "b" else bool(~c == 0)
        case "add":
            return c.dtype.kind == "b" and bool(c)
        case "maximum" | "minimum":
            return bool(c == _extreme(c.dtype, lowest=op == "minimum"))
    return False


@rule("stop_gradient")
def not_differentiated(r: Rewriter, node: Node) -> Value | None:
    """stop_gradient(x) -> x: derivatives have been taken before"""
    return node.inputs[0]


@rule("derived_as")
def derived_before(r: Rewriter, node: Node) -> Value | None:
    """derived_as(x, y) -> x: derivatives have been taken before"""
    return node.inputs[0]


@rule(*_COMMUTATIVE, "subtract", "divide", "floor_divide", "power", "left_shift", "right_shift")
def neutral_operand(r: Rewriter, node: Node) -> Value | None:
    """x + -0.0, x - 0.0, x * 1, x / 1 -> x;  integers also x + 0, x | 0, x & -1, x << 0, x // 1"""
    x, y = node.inputs
    for kept, other, right in ((x, y, True), (y, x, False)):
        c = r.number(other)
        if c is not None and _is_neutral(node.op.name, c, right):
            return kept
    return None


@rule(*_COMMUTATIVE)
def absorbing_operand(r: Rewriter, node: Node) -> Value | None:
    """integers: x * 0 -> 0, x & 0 -> 0, x | -1 -> -1;  bools: x and False -> False, ..."""
    for v in node.inputs:
        c = r.number(v)
        if c is not None and _is_absorbing(node.op.name, c):
            return v
    return None


@rule(
    "bitwise_and", "bitwise_or", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or"
)
def same_operand(r: Rewriter, node: Node) -> Value | None:
    """x op x -> x"""
    return node.inputs[0] if node.inputs[0] is node.inputs[1] else None


@rule("subtract", "bitwise_xor", "logical_xor", "not_equal", "less", "greater")
def cancels(r: Rewriter, node: Node) -> Value | None:
    """integers and bools: x - x, x ^ x -> 0;  x != x, x < x -> False"""
    if node.inputs[0] is not node.inputs[1] or dtype_of(node.inputs[0].type).kind not in "biu":
        return None
    return r.filled(0, _like(node.outputs[0]))


@rule("equal", "less_equal", "greater_equal")
def equals_itself(r: Rewriter, node: Node) -> Value | None:
    """integers and bools: x == x, x <= x -> True"""
    if node.inputs[0] is not node.inputs[1] or dtype_of(node.inputs[0].type).kind not in "biu":
        return None
    return r.filled(True, _like(node.outputs[0]))


@rule("negative", "invert", "conjugate", "logical_not")
def involution(r: Rewriter, node: Node) -> Value | None:
    """op(op(x)) -> x;  not not x only for a bool x, by the types"""
    inner = r.producer(node.inputs[0], node.op.name)
    return inner.inputs[0] if inner else None


@rule("positive", *_ROUNDING, "conjugate")
def does_nothing(r: Rewriter, node: Node) -> Value | None:
    """+x -> x;  floor(n) -> n for integers;  conj(x) -> x for reals;  floor(ceil(x)) -> ceil(x)"""
    (x,) = node.inputs
    kind = dtype_of(x.type).kind
    real = kind in "biu" or (kind == "f" and node.op.name == "conjugate")
    if real or node.op.name == "positive":
        return x
    if node.op.name in _ROUNDING and any(r.producer(x, name) for name in _ROUNDING):
        return x
    return None


@rule("absolute")
def absolute_of_signed(r: Rewriter, node: Node) -> Value | None:
    """|-x| -> |x|, ||x|| -> |x|;  |n| -> n for unsigned integers and bools"""
    (x,) = node.inputs
    kind = dtype_of(x.type).kind
    if kind in "bu" or (kind in "if" and r.producer(x, "absolute")):
        return x
    inner = r.producer(x, "negative")
    return r.make("absolute", inner.inputs) if inner and kind in "ifc" else None


@rule("add", "subtract")
def negative_operand(r: Rewriter, node: Node) -> Value | None:
    """x + -y -> x - y;  -x + y -> y - x;  x - -y -> x + y"""
    x, y = node.inputs
    right = r.producer(y, "negative")
    if right:
        other = "subtract" if node.op.arithmetic == "add" else "add"
        return r.make(other, (x, right.inputs[0]))
    left = r.producer(x, "negative")
    if left and node.op.arithmetic == "add":
        return r.make("subtract", (y, left.inputs[0]))
    return None


@rule("multiply", "divide")
def negative_twice(r: Rewriter, node: Node) -> Value | None:
    """-x * -y -> x * y;  -x / -y -> x / y  (reals)"""
    left, right = (r.producer(v, "negative") for v in node.inputs)
    if left and right and dtype_of(node.inputs[0].type).kind in "fiu":
        return r.make(node.op.name, (left.inputs[0], right.inputs[0]))
    return None


@rule("divide")
def divide_by_power_of_two(r: Rewriter, node: Node) -> Value | None:
    """x / 2**k -> x * 2**-k  (floats): both round the same number"""
    x, y = node.inputs
    c = r.number(y)
    if c is None or c.dtype.kind != "f" or not np.isfinite(c) or abs(math.frexp(c)[0]) != 0.5:
        return None
    with np.errstate(all="ignore"):
        inverse = c.dtype.type(1) / c
        exact = np.isfinite(inverse) and inverse != 0 and c.dtype.type(1) / inverse == c
    # A subnormal factor may be slow, and 1 / c of the smallest numbers is infinite.
    if not exact or abs(inverse) < np.finfo(c.dtype).tiny:
        return None
    return r.make("multiply", (x, r.filled(inverse, _like(y))))


@rule("power")
def integer_power(r: Rewriter, node: Node) -> Value | None:
    """integers: x ** 2 -> x * x, x ** 3 -> x * x * x (wrapped);  x ** 0 -> 1

    Floats are left: NumPy's own x ** 2 is a product only where the exponent is one number, which
    the tracer sees and a graph does not.
    """
    x, y = node.inputs
    c = r.number(y)
    if c is None or c.dtype.kind not in "iu" or dtype_of(x.type).kind not in "iu":
        return None
    if c == 0:
        return r.filled(1, _like(node.outputs[0]))
    if c == 2:
        return r.make("multiply", (x, x))
    return r.make("multiply", (r.make("multiply", (x, x)), x)) if c == 3 else None


@rule("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor")
def associate_constants(r: Rewriter, node: Node) -> Value | None:
    """integers: (x op c) op d -> x op (c op d)"""
    if dtype_of(node.inputs[0].type).kind not in "iu":
        return None
    for inner_value, d_value in (node.inputs, node.inputs[::-1]):
        d = r.number(d_value)
        inner = r.producer(inner_value, node.op.name)
        if d is None or inner is None:
            continue
        for x, c_value in (inner.inputs, inner.inputs[::-1]):
            c = r.number(c_value)
            if c is not None:
                with np.errstate(all="ignore"):
                    (folded,) = node.op.evaluate((np.full(1, c), np.full(1, d)), {})
                return r.make(node.op.name, (x, r.filled(folded[0], _like(d_value))))
    return None


@rule("logical_not")
def not_of_comparison(r: Rewriter, node: Node) -> Value | None:
    """not (x == y) -> x != y;  without NaNs also not (x < y) -> x >= y"""
    for op, inverse in _INVERSE.items():
        inner = r.producer(node.inputs[0], op)
        if inner and ("equal" in (op, inverse) or dtype_of(inner.inputs[0].type).kind in "biu"):
            return r.make(inverse, inner.inputs)
    return None


@rule("select")
def select_known(r: Rewriter, node: Node) -> Value | None:
    """where(True, a, b) -> a;  where(False, a, b) -> b;  where(c, a, a) -> a"""
    cond, a, b = node.inputs
    c = r.number(cond)
    if c is not None:
        return a if c else b
    return a if a is b else None


@rule("select")
def select_of_bools(r: Rewriter, node: Node) -> Value | None:
    """where(c, True, False) -> c;  where(c, False, True) -> not c"""
    cond, a, b = node.inputs
    if dtype_of(a.type).kind != "b":
        return None
    yes, no = r.number(a), r.number(b)
    if yes is None or no is None or bool(yes) == bool(no):
        return None
    return cond if yes else r.make("logical_not", (cond,))


@rule("select")
def select_not(r: Rewriter, node: Node) -> Value | None:
    """where(not c, a, b) -> where(c, b, a)"""
    cond, a, b = node.inputs
    inner = r.producer(cond, "logical_not")
    if inner and dtype_of(inner.inputs[0].type).kind == "b":
        return r.make("select", (inner.inputs[0], b, a))
    return None


@rule("select")
def select_again(r: Rewriter, node: Node) -> Value | None:
    """where(c, where(c, a, x), b) -> where(c, a, b);  where(c, a, where(c, x, b)) likewise"""
    cond, a, b = node.inputs
    first, second = r.producer(a, "select"), r.producer(b, "select")
    if first and first.inputs[0] is cond:
        return r.make("select", (cond, first.inputs[1], b))
    if second and second.inputs[0] is cond:
        return r.make("select", (cond, a, second.inputs[2]))
    return None


@rule("real", "imag")
def part_of_real(r: Rewriter, node: Node) -> Value | None:
    """real(complex(x)) -> x;  imag(complex(x)) -> 0  for a real x"""

    from tracejit.ops.array.complex_parts import Imag

    inner = r.producer(node.inputs[0], "cast")
    if inner is None or dtype_of(inner.inputs[0].type).kind == "c":
        return None
    dtype = dtype_of(node.outputs[0].type)
    if isinstance(node.op, Imag):
        return r.filled(0, _like(node.outputs[0]))
    return r.make("cast", inner.inputs, dtype=dtype_name(dtype))


@rule("cast")
def cast_chain(r: Rewriter, node: Node) -> Value | None:
    """cast(x: t, t) -> x;  cast(cast(x, u), t) -> cast(x, t) where u loses nothing that t keeps"""

    from tracejit.passes.analysis.conversions import one_step

    (value,) = node.inputs
    to = dtype_of(node.outputs[0].type)
    if dtype_of(value.type) == to:
        return value
    inner = r.producer(value, "cast")
    if inner is None:
        return None
    (x,) = inner.inputs
    if one_step(dtype_of(x.type), dtype_of(value.type), to):
        return r.make("cast", (x,), dtype=dtype_name(to))
    return None

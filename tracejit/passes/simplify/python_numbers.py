"""The rules of `simplify` for Python numbers and bools; each docstring is an equation."""

from __future__ import annotations

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import PYBOOL, PYINT, PyScalar
from tracejit.ops.python.arithmetic import PyMultiply, PySubtract
from tracejit.ops.python.comparisons import PyEqual
from tracejit.passes.simplify.rewriter import Rewriter, rule

__all__: list[str] = []

_INVERSE = {
    "py_equal": "py_not_equal",
    "py_not_equal": "py_equal",
    "py_less": "py_greater_equal",
    "py_greater_equal": "py_less",
    "py_greater": "py_less_equal",
    "py_less_equal": "py_greater",
}
#: Opposites for NaNs too.
_EXACT = ("py_equal", "py_not_equal")
_AND, _OR = ("py_and", "py_bit_and"), ("py_or", "py_bit_or")


def _are_bools(node: Node) -> bool:
    return all(v.type == PYBOOL for v in (*node.inputs, *node.outputs))


@rule("py_equal", "py_not_equal")
def compared_with_a_truth(r: Rewriter, node: Node) -> Value | None:
    """bools: p == True -> p, p == False -> not p, p != False -> p, p != True -> not p"""
    if not _are_bools(node):
        return None
    for p, other in (node.inputs, node.inputs[::-1]):
        truth = r.number(other)
        if truth is not None:
            same = truth == (isinstance(node.op, PyEqual))
            return p if same else r.make("py_not", (p,))
    return None


@rule("py_not")
def not_of_python(r: Rewriter, node: Node) -> Value | None:
    """not not p -> p, not a == b -> a != b;  ints: not a < b -> a >= b"""
    (p,) = node.inputs
    inner = r.producer(p, "py_not")
    if inner:
        return inner.inputs[0]
    for op, inverse in _INVERSE.items():
        inner = r.producer(p, op)
        if inner and (op in _EXACT or all(v.type == PYINT for v in inner.inputs)):
            return r.make(inverse, inner.inputs)
    return None


@rule(*_AND, *_OR)
def truths_joined(r: Rewriter, node: Node) -> Value | None:
    """bools: p and True -> p, p and False -> False, p and p -> p;  or likewise"""
    if not _are_bools(node):
        return None
    a, b = node.inputs
    if a is b:
        return a
    for p, other in ((a, b), (b, a)):
        truth = r.number(other)
        if truth is not None:
            return p if bool(truth) == (node.op.logic in ("and", "bit_and")) else other
    return None


@rule("py_add", "py_subtract", "py_multiply")
def neutral_number(r: Rewriter, node: Node) -> Value | None:
    """ints: x + 0 -> x, x - 0 -> x;  ints and floats: x * 1 -> x"""
    pairs = [node.inputs]
    if not isinstance(node.op, PySubtract):
        pairs.append(node.inputs[::-1])
    for x, other in pairs:
        number = r.number(other)
        if number is None or x.type != node.outputs[0].type:
            continue
        assert isinstance(x.type, PyScalar)
        if isinstance(node.op, PyMultiply):
            if x.type.kind in ("int", "float") and number == 1:
                return x
        elif x.type == PYINT and number == 0:
            return x
    return None

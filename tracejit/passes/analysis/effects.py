"""What a node may do besides giving its results: raise, bail out, have effects, use a stack."""

from __future__ import annotations

from tracejit.ir.dims import Poly
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Var
from tracejit.ir.types import dtype_name, dtype_of
from tracejit.ops.array.creation import BindSize, DimValue
from tracejit.ops.array.elementwise import Elementwise, parts_dtype
from tracejit.ops.control.effects import Check
from tracejit.ops.host.random import HostDraw

__all__ = ["has_effect", "is_barrier", "is_linear", "may_bail", "may_raise"]


def is_barrier(node: Node) -> bool:
    """Whether a node, or one in its regions, has effects: what may fail does not move across it.

    A size that is bound is none: nothing but what reads the size depends on it.
    """
    if not node.op.pure:
        return not isinstance(node.op, BindSize)
    return any(is_barrier(n) for r in node.regions for n in r.nodes)


def has_effect(node: Node) -> bool:
    """Whether a node, or one in its regions, does what a run that is given up cannot take back.

    Where a run ends the call is repeated, with streams of random numbers as they were: which of
    several checks ends it, and what it has drawn by then, does not matter.
    """
    if not node.op.pure:
        return not isinstance(node.op, (BindSize, Check, HostDraw))
    return any(has_effect(n) for r in node.regions for n in r.nodes)


def is_linear(node: Node) -> bool:
    """Whether a node, or one in its regions, uses a stack: it runs once, where and when it did.

    It may go, or have other versions where just one of them runs. Merged with its twin, or run
    where the program would not have, it would spoil the memory that stacks of a name share.
    """
    return node.op.kind == "stack" or any(is_linear(n) for r in node.regions for n in r.nodes)


def may_raise(node: Node) -> bool:
    """Whether there may be operands for which eager execution raises an exception."""
    if node.op.may_raise(node):
        return True
    return any(may_raise(inner) for region in node.regions for inner in region.nodes)


def may_bail(node: Node) -> bool:
    """Whether there may be operands for which compiled code leaves the program at this node."""
    if may_raise(node) or is_barrier(node):
        return True
    if node.regions:
        return any(may_bail(inner) for region in node.regions for inner in region.nodes)
    if isinstance(node.op, DimValue):
        d = node.attrs["dim"]
        return isinstance(d, Poly) and any(len(monomial) > 1 for monomial, _ in d.terms)
    rule = getattr(node.op, "scalar_expr", None)
    if rule is None or isinstance(node.op, Elementwise):
        return False
    kinds = tuple(str(v.type) for v in node.inputs)
    native = getattr(node.op, "native", None)
    if native is not None and not native(kinds):
        return True
    return rule(tuple(map(_operand, node.inputs)), kinds, node.attrs)[1] is not None


def _operand(v: Value) -> object:
    dtype = dtype_name(dtype_of(v.type))
    part = Var("x", parts_dtype(dtype))
    return part if part.dtype == dtype else (part, part)

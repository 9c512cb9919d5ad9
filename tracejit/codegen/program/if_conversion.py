"""Branches with a few cheap operations on each side become selects: both sides are computed.

    if p: a = m >> 1 else: b = 3 * m + 1; c = merge(a, b)  ->  a = ..; b = ..; c = select(p, a, b)

A processor guesses which side of a branch comes next; where it cannot (the parity of a number),
a wrong guess costs more than both sides do. What one side would have bailed out for counts only
where that side is the one that is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracejit.codegen.llvm.lanes import Lanes
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.scalars import part_dtypes, scalar_rule
from tracejit.codegen.scalar.functions import emit_expr
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Call, Const, Expr, Var
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, dtype_name, dtype_of
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.elementwise import Element, parts_dtype
from tracejit.ops.control.dataflow import Merge

__all__ = ["Diamond", "emit_diamond", "find_diamond"]

#: Operations of a cycle or two, which cannot trap.
_CHEAP = frozenset(
    ("add", "subtract", "multiply", "negative", "absolute", "copysign", "minimum", "maximum")
    + ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan")
    + ("logical_and", "logical_or", "logical_xor", "logical_not", "select", "cast", "invert")
    + ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "positive")
    + ("add_overflows", "subtract_overflows", "multiply_overflows", "conjugate", "truncated")
    + ("floor", "ceil", "trunc", "rint", "isinf", "isfinite", "square", "fabs", "unlikely")
)
#: Cheap where the divisor is a positive literal.
_CHEAP_BY_LITERAL = frozenset(("floor_divide", "remainder"))
#: The most operations of a side.
_MOST = 8

#: The sides of a branch, the true one first, and the section that they lead to.
Diamond = tuple[Section, Section, Section]


def find_diamond(
    graph: DataflowGraph, section: Section, scalars: Mapping[Value, Element]
) -> Diamond | None:
    """What follows a section, if it is better computed without a branch.

    `scalars` are the values that are known when the section ends.
    """
    if len(section.successors) != 2:
        return None
    first, second = (graph.sections[k] for k in section.successors)
    for side in (first, second):
        if len(side.successors) != 1 or len(side.predecessors) != 1:
            return None
    if first.successors != second.successors:
        return None
    join = graph.sections[first.successors[0]]
    if join.kind != "join" or len(join.predecessors) != 2:
        return None
    merges = [n for n in join.nodes if isinstance(n.op, Merge)]
    if any(isinstance(v.type, ArrayType) for n in merges for v in n.outputs):
        return None
    sides = [_work(side.nodes, scalars) for side in (first, second)]
    if any(work is None or work > _MOST for work in sides):
        return None
    return first, second, join


def _work(nodes: Sequence[Node], scalars: Mapping[Value, Element]) -> int | None:
    """How many operations a side takes; None where one of them is not cheap."""
    literals: dict[Value, Element] = {}
    total = 0
    for node in nodes:
        if node.binds:
            return None
        if node.op.renames:
            source = node.inputs[0]
            known = literals.get(source, scalars.get(source))
            if isinstance(known, Const):
                literals |= dict.fromkeys(node.outputs, known)
            continue
        if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, (NpScalar, PyScalar)):
            return None
        if isinstance(node.op, Constant):
            value = node.attrs["value"]
            if not isinstance(value, complex):
                dtype = dtype_name(dtype_of(node.outputs[0].type))
                literals[node.outputs[0]] = Const(value, dtype)
            continue
        args = tuple(literals.get(v) or _operand(v) for v in node.inputs)
        rule = scalar_rule(node, args)
        if rule is None:
            return None
        element, bails = rule
        parts = [*(element if isinstance(element, tuple) else (element,))]
        count = _calls([*parts, *([] if bails is None else [bails])])
        if count is None:
            return None
        total += count
    return total


def _operand(v: Value) -> Element:
    dtype = dtype_name(dtype_of(v.type))
    part = Var("x", parts_dtype(dtype))
    return part if part.dtype == dtype else (part, part)


def _calls(exprs: Sequence[Expr]) -> int | None:
    """The number of calls in expressions, each counted once; None where one is not cheap."""
    seen: set[int] = set()
    stack = list(exprs)
    while stack:
        e = stack.pop()
        if not isinstance(e, Call) or id(e) in seen:
            continue
        seen.add(id(e))
        by_literal = e.fn in _CHEAP_BY_LITERAL and _is_positive_literal(e.args[1])
        if e.fn not in _CHEAP and not by_literal:
            return None
        stack += e.args
    return len(seen)


def _is_positive_literal(e: Expr) -> bool:
    return isinstance(e, Const) and type(e.value) is int and e.value > 0


def emit_diamond(
    e: ProgramContext, section: Section, diamond: Diamond, emit: Callable[[Node], None]
) -> None:
    """Write both sides through `emit`, and the join's merges as selects, in the present block."""
    first, second, join = diamond
    assert section.branch is not None
    predicate = _register(e, section.branch)
    for side, taken in ((first, True), (second, False)):
        with e.fb.collected() as failures:
            for node in side.nodes:
                emit(node)
        if failures:
            failed = failures[0]
            for other in failures[1:]:
                failed = e.fb.emit(f"or i1 {failed}, {other}")
            here = predicate if taken else e.fb.emit(f"xor i1 {predicate}, true")
            e.fb.check(e.fb.emit(f"and i1 {here}, {failed}"))
    for node in join.nodes:
        if isinstance(node.op, Merge):
            _select(e, node, predicate, join.predecessors.index(first.id))


def _register(e: ProgramContext, v: Value) -> str:
    element = e.scalars[v]
    assert not isinstance(element, tuple)
    return emit_expr(e.fb, element, e.env)


def _select(e: ProgramContext, merge: Node, predicate: str, first: int) -> None:
    (out,) = merge.outputs
    if merge.inputs[first] not in e.scalars:
        # A token: nothing to choose from.
        return
    sides = [e.scalars[merge.inputs[k]] for k in (first, 1 - first)]
    lanes = Lanes(e.fb)
    variables: list[Expr] = []
    for k, dtype in enumerate(part_dtypes(out)):
        parts = [s[k] if isinstance(s, tuple) else s for s in sides]
        a, b = (emit_expr(e.fb, part, e.env) for part in parts)
        chosen = a if a == b else lanes.select(predicate, dtype, a, b)
        variables.append(e.bind(chosen, dtype))
    e.scalars[out] = (variables[0], variables[1]) if len(variables) == 2 else variables[0]

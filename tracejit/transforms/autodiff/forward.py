"""Forward mode: tangents are computed beside the values, node by node.

Nodes keep their outputs: those with regions are replaced by nodes that give tangents too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tracejit.errors import Underivable
from tracejit.ir.derivatives import (
    DerivativeBuilder,
    NodeAdaptor,
    NoTangent,
    differentiable,
    tangent_type,
)
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.op import Op
from tracejit.ir.regions import fresh_sizes
from tracejit.ir.types import TOKEN, Type, type_substitute
from tracejit.ops.control.calls import Custom, Remat
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.control.stack import StackNew, StackPush, record_types
from tracejit.transforms.autodiff.custom_rules import push_custom
from tracejit.transforms.autodiff.residuals import active_stacks
from tracejit.transforms.autodiff.reverse import pull_segment

__all__ = ["jvp_graph", "push_forward"]


def jvp_graph(graph: Graph, active: Sequence[bool]) -> Graph:
    """The graph with tangents: its inputs, then one tangent for each active input.

    It gives the outputs, then the tangents of those that are differentiable. Raises Underivable for
    a node on the way that has no rule.
    """
    fresh = fresh_sizes(graph)
    builder = GraphBuilder(graph.name, graph.sizes)
    builder.inputs += graph.inputs
    tangents: dict[Value, Value] = {}
    for v, is_active in zip(graph.inputs, active, strict=True):
        if is_active:
            tangents[v] = builder.input(tangent_type(v.type), f"d_{v.name}" if v.name else "")
    c = DerivativeBuilder(builder, fresh)
    push_forward(c, graph.nodes, tangents)
    outputs = [v for v in graph.outputs if differentiable(v.type)]
    return builder.build([*graph.outputs, *(_tangent(c, tangents, v, v.type) for v in outputs)])


def push_forward(
    c: DerivativeBuilder,
    nodes: Sequence[Node],
    tangents: dict[Value, Value],
    stacks: Mapping[str, str] | None = None,
) -> None:
    """Record `nodes` again, and after each what computes the tangents of its results.

    `tangents` has those known before; those of the results are added. `stacks` are the stacks of
    which some record has a tangent, each with the name of the stack of the records' tangents; they
    are found if they are not given.
    """
    if stacks is None:
        stacks = {name: f"{name}_{c.fresh()}" for name in sorted(active_stacks(nodes, tangents))}
    for node in nodes:
        before = len(c.builder.nodes)
        try:
            _push(c, node, tangents, stacks)
        except Underivable as e:
            e.where = e.where or node.where
            raise
        for new in c.builder.nodes[before:]:
            new.where = new.where or node.where


def _push(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    for v in node.op.pushed(node.inputs):
        _require_known(c, v)
    given = [tangents.get(v) for v in node.inputs]
    if type(node.op) in _REGIONS and any(t is not None for t in given):
        _REGIONS[type(node.op)](c, node, tangents, stacks)
        return
    c.builder.nodes.append(node)
    if node.op.kind == "stack":
        _stack(c, node, tangents, stacks)
        return
    if all(t is None for t in given):
        return
    if node.op.constant or not any(differentiable(v.type) for v in node.outputs):
        return
    types = [v.type for v in node.inputs]
    outs = [v.type for v in node.outputs]
    at = NodeAdaptor(node, node.attrs, types, outs, lambda v: v, c, [t is not None for t in given])
    for v, t in zip(node.outputs, node.op.jvp(c, at, given), strict=True):
        if not differentiable(v.type):
            continue
        if isinstance(t, NoTangent):
            c.unknown[v] = t.reason
        elif t is not None:
            tangents[v] = t


def _require_known(c: DerivativeBuilder, v: Value) -> None:
    if v in c.unknown:
        raise Underivable(c.unknown[v])


def _tangent(c: DerivativeBuilder, tangents: Mapping[Value, Value], v: Value, t: Type) -> Value:
    """The tangent of a value, laid out as a type says; zero where there is none."""
    _require_known(c, v)
    found = tangents.get(v)
    if t == TOKEN and found is not None:
        return found
    return c.zeros(t) if found is None else c.laid_out(found, t)


def _tangent_type(v: Value) -> Type:
    return v.type if v.type == TOKEN else tangent_type(v.type)


def _side(
    c: DerivativeBuilder, region: Graph, active: Sequence[Value], stacks: Mapping[str, str]
) -> tuple[GraphBuilder, DerivativeBuilder, dict[Value, Value]]:
    """A region with tangents for the active inputs (the last inputs of the builder)."""
    builder = GraphBuilder(region.name, region.sizes)
    builder.inputs += region.inputs
    inner = DerivativeBuilder(builder, c.fresh)
    tangents = {v: builder.input(_tangent_type(v)) for v in active}
    push_forward(inner, region.nodes, tangents, stacks)
    return builder, inner, tangents


def _cond(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    operands = node.inputs[1:]
    places = [k for k, v in enumerate(operands) if v in tangents]
    sides = [(r, *_side(c, r, [r.inputs[k] for k in places], stacks)) for r in node.regions]
    wanted = [
        j
        for j in range(len(node.outputs))
        if any(region.outputs[j] in found for region, _, _, found in sides)
    ]
    regions = []
    for region, builder, inner, found in sides:
        extra = [_tangent(inner, found, region.outputs[j], region.outputs[j].type) for j in wanted]
        outputs = (*region.outputs, *extra)
        regions.append(builder.build(outputs, (), region.size_outputs))
    given = [operands[k] for k in places]
    inputs = (*node.inputs, *(_tangent(c, tangents, v, v.type) for v in given))
    new = _record(c, node, inputs, node.attrs, tuple(regions))
    for j, t in zip(wanted, new, strict=True):
        tangents[node.outputs[j]] = t


def _while(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    cond, body = node.regions
    carried = node.attrs["carried"]
    captures = [k for k in range(carried, len(node.inputs)) if node.inputs[k] in tangents]
    states = [k for k in range(carried) if node.inputs[k] in tangents]
    while True:
        active = [body.inputs[k] for k in (*states, *captures)]
        builder, inner, found = _side(c, body, active, stacks)
        more = [k for k in range(carried) if body.outputs[k] in found and k not in states]
        if not more:
            break
        states = sorted([*states, *more])
    back = dict(zip(body.sizes, body.size_outputs, strict=False))
    outputs = [
        _tangent(inner, found, body.outputs[k], type_substitute(body.inputs[k].type, back))
        for k in states
    ]
    tangent_inputs = builder.inputs[len(body.inputs) :]
    split = len(states)

    def arranged(inputs: Sequence[Value], extra: Sequence[Value]) -> list[Value]:
        return [*inputs[:carried], *extra[:split], *inputs[carried:], *extra[split:]]

    builder.inputs = arranged(body.inputs, tangent_inputs)
    new_body = builder.build((*body.outputs, *outputs), (), body.size_outputs)
    test = GraphBuilder(cond.name, cond.sizes)
    unused = [Value(v.type) for v in tangent_inputs]
    test.inputs = arranged(cond.inputs, unused)
    test.nodes = list(cond.nodes)
    new_cond = test.build(cond.outputs, (), cond.size_outputs)
    given = [node.inputs[k] for k in (*states, *captures)]
    extra = [_tangent(c, tangents, v, v.type) for v in given]
    attrs = {**node.attrs, "carried": carried + split}
    new = _record(c, node, arranged(node.inputs, extra), attrs, (new_cond, new_body))
    for k, t in zip(states, new, strict=True):
        tangents[node.outputs[k]] = t


def _record(
    c: DerivativeBuilder,
    node: Node,
    inputs: Sequence[Value],
    attrs: Mapping[str, object],
    regions: tuple[Graph, ...],
) -> tuple[Value, ...]:
    """A node with the outputs of `node`, and more: those."""
    types = node.op.infer([v.type for v in inputs], attrs, regions, node.binds)
    new = tuple(Value(t) for t in types[len(node.outputs) :])
    outputs = (*node.outputs, *new)
    c.builder.nodes.append(
        Node(node.op, tuple(inputs), attrs, outputs, regions, node.binds, node.where)
    )
    return new


def _stack(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    """The tangent of a stack is a stack: of the tangents of its records' differentiable values."""
    name = stacks.get(node.attrs["stack"])
    if name is None:
        return
    if isinstance(node.op, StackNew):
        tangents[node.outputs[0]] = c.op("stack_new", stack=name)
        return
    token = tangents.get(node.inputs[0])
    if token is None:
        return
    if isinstance(node.op, StackPush):
        values = [v for v in node.inputs[1:] if differentiable(v.type)]
        if values:
            given = [_tangent(c, tangents, v, v.type) for v in values]
            token = c.op("stack_push", token, *given, stack=name)
    else:
        values = [v for v in node.outputs[1:] if differentiable(v.type)]
        if values:
            types = record_types([tangent_type(v.type) for v in values])
            token, *popped = c.ops("stack_pop", (token,), stack=name, types=types)
            tangents.update(zip(values, popped, strict=True))
    tangents[node.outputs[0]] = token


def _remat(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    (region,) = node.regions
    places = [k for k, v in enumerate(node.inputs) if v in tangents]
    builder, inner, found = _side(c, region, [region.inputs[k] for k in places], stacks)
    wanted = [j for j, v in enumerate(region.outputs) if v in found]
    extra = [_tangent(inner, found, region.outputs[j], region.outputs[j].type) for j in wanted]
    made = builder.build((*region.outputs, *extra))
    given = [node.inputs[k] for k in places]
    inputs = (*node.inputs, *(_tangent(c, tangents, v, v.type) for v in given))
    new = _record(c, node, inputs, node.attrs, (made,))
    for j, t in zip(wanted, new, strict=True):
        tangents[node.outputs[j]] = t


def _custom(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    push_custom(c, node, tangents, pull_segment)


_Push: TypeAlias = Callable[[DerivativeBuilder, Node, dict[Value, Value], Mapping[str, str]], None]
_REGIONS: Mapping[type[Op], _Push] = {
    Remat: _remat,
    Cond: _cond,
    Custom: _custom,
    WhileLoop: _while,
}

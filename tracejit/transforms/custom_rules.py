"""Derivatives of `custom` nodes: the regions that the program has given for them, written in place.

Reverse mode of a rule for tangents is the transpose of that rule, which is linear in them: the rule
is written for tangents of zero, and pulled back by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.errors import Underivable
from tracejit.ir.calculus import Calculus, differentiable
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Type, type_substitute
from tracejit.transforms.calls import PullSegment, needed_for, paste, sizes_in
from tracejit.transforms.scopes import Scope

__all__ = ["pull_custom", "push_custom"]


def _check(node: Node, active: Sequence[bool]) -> None:
    """Raise Underivable where the rule does not say what is asked for."""
    name = node.attrs["function"]
    if any(active[node.attrs["args"] :]):
        raise Underivable(
            f"{name} has a derivative of its own, which says nothing of a value that {name} reads "
            "and is not given as an argument"
        )
    if node.attrs["rule"] == "none":
        raise Underivable(f"the rule of {name} calls {name}: its higher derivatives are not formed")


def _read(region: Graph, count: int, values: Sequence[Value]) -> list[tuple[Value, Value]]:
    """The inputs from number `count` on that the region reads, with what they are to be."""
    used = region.uses()
    inner = region.inputs[count : count + len(values)]
    return [(v, x) for v, x in zip(inner, values, strict=True) if v in used]


def pull_custom(scope: Scope, node: Node, found: Sequence[Value | None], pull: PullSegment) -> None:
    """Record the backward pass of a `custom` node for the cotangents of its results."""
    active = [v in scope.block.active for v in node.inputs]
    if not any(active):
        return
    _check(node, active)
    if node.attrs["rule"] == "vjp":
        _by_vjp(scope, node, found, active)
    else:
        _by_jvp(scope, node, found, active, pull)


def _primals(scope: Scope, node: Node, region: Graph) -> dict[Value, Value]:
    return {v: scope.primal(x) for v, x in _read(region, 0, node.inputs)}


def _by_vjp(
    scope: Scope, node: Node, found: Sequence[Value | None], active: Sequence[bool]
) -> None:
    c, count, results = scope.c, len(node.inputs), len(node.outputs)
    wrt = node.attrs["wrt"]
    numbers = [j for j, k in enumerate(wrt) if active[k]]
    backward = needed_for(node.regions[2], numbers)
    table = _primals(scope, node, backward)
    floats = [(v, g) for v, g in zip(node.outputs, found, strict=True) if differentiable(v.type)]
    split = len(backward.inputs) - len(floats)
    used = backward.uses()
    kept = [j for j, v in enumerate(backward.inputs[count:split]) if v in used]
    forward = needed_for(node.regions[1], [results + j for j in kept])
    residuals = paste(c, forward, _primals(scope, node, forward), sizes_in(scope, node, 1))
    table |= {backward.inputs[count + j]: x for j, x in zip(kept, residuals, strict=True)}
    for inner, (v, g) in zip(backward.inputs[split:], floats, strict=True):
        if inner in used:
            table[inner] = scope.laid_out(g, v)
    gradients = paste(c, backward, table, sizes_in(scope, node, 2))
    for j, g in zip(numbers, gradients, strict=True):
        scope.add(node.inputs[wrt[j]], g)


def _by_jvp(
    scope: Scope,
    node: Node,
    found: Sequence[Value | None],
    active: Sequence[bool],
    pull: PullSegment,
) -> None:
    c, count, results = scope.c, len(node.inputs), len(node.outputs)
    wrt = [(results + i, j) for i, j in enumerate(node.attrs["wrt"]) if found[j] is not None]
    rule = needed_for(node.regions[1], [i for i, _ in wrt])
    table = _primals(scope, node, rule)
    sizes = sizes_in(scope, node, 1)
    used = rule.uses()
    tangents: dict[int, Value] = {}
    for k, inner in enumerate(rule.inputs[count:]):
        if inner in used:
            tangents[k] = table[inner] = _zero(c, inner.type, sizes)
    cotangents = [scope.laid_out(found[j], node.outputs[j]) for _, j in wrt]
    start = len(c.builder.nodes)
    outputs = paste(c, rule, table, sizes)
    gradients = pull(c, start, list(tangents.values()), outputs, cotangents)
    for k, g in zip(tangents, gradients, strict=True):
        if g is not None and active[k]:
            scope.add(node.inputs[k], g)


def _zero(c: Calculus, t: Type, sizes: dict[str, Dim]) -> Value:
    return c.zeros(type_substitute(t, sizes))


def push_custom(
    c: Calculus, node: Node, tangents: dict[Value, Value], stacks: Mapping[str, str]
) -> None:
    """Record a `custom` node, and the tangents of its results."""
    active = [v in tangents for v in node.inputs]
    _check(node, active)
    name = node.attrs["function"]
    if node.attrs["rule"] == "vjp":
        raise Underivable(
            f"{name}: it has a rule for reverse mode only (custom_vjp); forward mode, and a "
            "hessian, need custom_jvp"
        )
    c.builder.nodes.append(node)
    rule, args = node.regions[1], node.attrs["args"]
    sizes = dict(zip(rule.sizes, node.attrs["sizes"][1], strict=True))
    results, wrt = len(node.outputs), node.attrs["wrt"]
    rule = needed_for(rule, range(results, results + len(wrt)))
    table = dict(_read(rule, 0, node.inputs))
    for inner, x in _read(rule, len(node.inputs), node.inputs[:args]):
        t = type_substitute(inner.type, sizes)
        table[inner] = c.laid_out(tangents[x], t) if x in tangents else c.zeros(t)
    for j, tangent in zip(wrt, paste(c, rule, table, sizes), strict=True):
        tangents[node.outputs[j]] = tangent

"""Derivatives of `custom` nodes: the regions that the program has given for them, written in place.

A rule for tangents is linear in them, one for cotangents in those: reverse mode of the one, and
forward mode of the other, are its transpose. It is written for zeros, and pulled back by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tracejit.errors import Underivable
from tracejit.ir.derivatives import DerivativeBuilder, differentiable, tangent_type
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import TOKEN, Type, type_substitute
from tracejit.transforms.autodiff.backward_pass import BackwardPass
from tracejit.transforms.autodiff.calls import PullSegment, needed_for, paste, sizes_in

__all__ = ["pull_custom", "push_custom", "require_linear"]


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


def pull_custom(
    backward_pass: BackwardPass, node: Node, found: Sequence[Value | None], pull: PullSegment
) -> None:
    """Record the backward pass of a `custom` node for the cotangents of its results."""
    active = [v in backward_pass.block.active for v in node.inputs]
    if not any(active):
        return
    _check(node, active)
    if node.attrs["rule"] == "vjp":
        _by_vjp(backward_pass, node, found, active)
    else:
        _by_jvp(backward_pass, node, found, active, pull)


def _primals(backward_pass: BackwardPass, node: Node, region: Graph) -> dict[Value, Value]:
    return {v: backward_pass.primal(x) for v, x in _read(region, 0, node.inputs)}


def _by_vjp(
    backward_pass: BackwardPass, node: Node, found: Sequence[Value | None], active: Sequence[bool]
) -> None:
    wrt = node.attrs["wrt"]
    numbers = [j for j, k in enumerate(wrt) if active[k]]

    def primals(region: Graph) -> dict[Value, Value]:
        return _primals(backward_pass, node, region)

    sizes = [sizes_in(backward_pass, node, k) for k in range(len(node.regions))]
    backward, table, inner = _backward(backward_pass.c, node, numbers, primals, sizes)
    used = backward.uses()
    floats = [(v, g) for v, g in zip(node.outputs, found, strict=True) if differentiable(v.type)]
    table |= {
        x: backward_pass.laid_out(g, v)
        for x, (v, g) in zip(inner, floats, strict=True)
        if x in used
    }
    gradients = paste(backward_pass.c, backward, table, sizes[2])
    for j, g in zip(numbers, gradients, strict=True):
        backward_pass.add(node.inputs[wrt[j]], g)


def _backward(
    c: DerivativeBuilder,
    node: Node,
    numbers: Sequence[int],
    primals: Callable[[Graph], dict[Value, Value]],
    sizes: Sequence[Mapping[str, Dim]],
) -> tuple[Graph, dict[Value, Value], tuple[Value, ...]]:
    """The backward rule for some of its outputs, after the forward rule.

    With it what its inputs are, other than the cotangents of the results, and those inputs.
    """
    count, results = len(node.inputs), len(node.outputs)
    backward = needed_for(node.regions[2], numbers)
    split = len(backward.inputs) - sum(differentiable(v.type) for v in node.outputs)
    used = backward.uses()
    kept = [j for j, v in enumerate(backward.inputs[count:split]) if v in used]
    forward = needed_for(node.regions[1], [results + j for j in kept])
    table = primals(backward)
    residuals = paste(c, forward, primals(forward), sizes[1])
    table |= {backward.inputs[count + j]: x for j, x in zip(kept, residuals, strict=True)}
    return backward, table, backward.inputs[split:]


def _by_jvp(
    backward_pass: BackwardPass,
    node: Node,
    found: Sequence[Value | None],
    active: Sequence[bool],
    pull: PullSegment,
) -> None:
    count, results = len(node.inputs), len(node.outputs)
    wrt = [(results + i, j) for i, j in enumerate(node.attrs["wrt"]) if found[j] is not None]
    rule = needed_for(node.regions[1], [i for i, _ in wrt])
    cotangents = [backward_pass.laid_out(found[j], node.outputs[j]) for _, j in wrt]
    table, sizes = _primals(backward_pass, node, rule), sizes_in(backward_pass, node, 1)
    tangents = rule.inputs[count:]
    gradients = _transposed(backward_pass.c, node, rule, tangents, table, sizes, cotangents, pull)
    for k, g in gradients.items():
        if active[k]:
            backward_pass.add(node.inputs[k], g)


def _transposed(
    c: DerivativeBuilder,
    node: Node,
    rule: Graph,
    linear: Sequence[Value],
    table: Mapping[Value, Value],
    sizes: Mapping[str, Dim],
    given: Sequence[Value],
    pull: PullSegment,
) -> dict[int, Value]:
    """The transpose of a region that is linear in some inputs: values for these, by number.

    `table` has the other inputs, `given` is for the region's outputs. Raises Underivable where the
    region is seen not to be linear.
    """
    used = rule.uses()
    zeros = {k: _zero(c, v.type, sizes) for k, v in enumerate(linear) if v in used}
    start = len(c.builder.nodes)
    outputs = paste(c, rule, {**table, **{linear[k]: z for k, z in zeros.items()}}, sizes)
    found = pull(c, start, list(zeros.values()), outputs, given)
    out = {k: g for k, g in zip(zeros, found, strict=True) if g is not None}
    require_linear(node.attrs["function"], c.builder.nodes[start:], zeros.values(), out.values())
    return out


def require_linear(
    name: str, nodes: Sequence[Node], zeros: Iterable[Value], found: Iterable[Value]
) -> None:
    """Raise Underivable where a rule's derivative depends on the values that it is linear in.

    What loops and branches do with them is not looked into.
    """
    depends = set(zeros)
    for node in nodes:
        if not node.regions and not depends.isdisjoint(node.inputs):
            depends.update(v for v in node.outputs if v.type != TOKEN)
    if not depends.isdisjoint(found):
        raise Underivable(
            f"the rule of {name} is not linear in what it is given, so that it says nothing of the "
            "other mode"
        )


def _zero(c: DerivativeBuilder, t: Type, sizes: Mapping[str, Dim]) -> Value:
    return c.zeros(type_substitute(t, sizes))


def push_custom(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], pull: PullSegment
) -> None:
    """Record a `custom` node, and the tangents of its results."""
    active = [v in tangents for v in node.inputs]
    _check(node, active)
    c.builder.nodes.append(node)
    if node.attrs["rule"] == "vjp":
        _push_vjp(c, node, tangents, pull)
        return
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


def _push_vjp(
    c: DerivativeBuilder, node: Node, tangents: dict[Value, Value], pull: PullSegment
) -> None:
    wrt = node.attrs["wrt"]
    numbers = [j for j, k in enumerate(wrt) if node.inputs[k] in tangents]
    pairs = zip(node.regions, node.attrs["sizes"], strict=True)
    sizes = [dict(zip(region.sizes, given, strict=True)) for region, given in pairs]

    def primals(region: Graph) -> dict[Value, Value]:
        return dict(_read(region, 0, node.inputs))

    backward, table, inner = _backward(c, node, numbers, primals, sizes)
    sources = [node.inputs[wrt[j]] for j in numbers]
    given = [c.laid_out(tangents[x], tangent_type(x.type)) for x in sources]
    found = _transposed(c, node, backward, inner, table, sizes[2], given, pull)
    floats = [v for v in node.outputs if differentiable(v.type)]
    tangents.update((floats[k], t) for k, t in found.items())

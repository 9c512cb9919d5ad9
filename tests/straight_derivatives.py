"""Derivatives of graphs without regions, as plainly as can be: what tests of rules need."""

from collections.abc import Sequence

from tracejit.ir.calculus import Calculus, Into, Site, differentiable, tangent_type
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value


def _start(graph: Graph) -> tuple[GraphBuilder, Calculus]:
    builder = GraphBuilder(graph.name, graph.sizes)
    builder.inputs += graph.inputs
    names = iter(range(10**6))
    return builder, Calculus(builder, lambda: f"d{next(names)}")


def _site(c: Calculus, node: Node, wanted: Sequence[bool]) -> Site:
    types = [[v.type for v in values] for values in (node.inputs, node.outputs)]
    return Site(node, node.attrs, *types, lambda v: v, c, wanted)


def _has_rule(node: Node) -> bool:
    return not node.op.constant and any(differentiable(v.type) for v in node.outputs)


def _exact(c: Calculus, known: dict[Value, Value], v: Value) -> Value:
    t = tangent_type(v.type)
    return c.laid_out(known[v], t) if v in known else c.zeros(t)


def jvp_graph(graph: Graph, active: Sequence[bool]) -> Graph:
    """As `tracejit.transforms.forward.jvp_graph`."""
    builder, c = _start(graph)
    tangents = {
        v: builder.input(tangent_type(v.type))
        for v, is_active in zip(graph.inputs, active, strict=True)
        if is_active
    }
    for node in graph.nodes:
        builder.nodes.append(node)
        given = [tangents.get(v) for v in node.inputs]
        if any(t is not None for t in given) and _has_rule(node):
            out = node.op.jvp(c, _site(c, node, [t is not None for t in given]), given)
            for v, t in zip(node.outputs, out, strict=True):
                if t is not None and differentiable(v.type):
                    tangents[v] = t
    floats = [v for v in graph.outputs if differentiable(v.type)]
    return builder.build([*graph.outputs, *(_exact(c, tangents, v) for v in floats)])


def vjp_graph(graph: Graph, wanted: Sequence[bool]) -> Graph:
    """As `tracejit.transforms.reverse.vjp_graph`."""
    builder, c = _start(graph)
    cotangents: dict[Value, Value] = {}
    for v in graph.outputs:
        if differentiable(v.type):
            given = builder.input(tangent_type(v.type))
            cotangents[v] = c.add(cotangents[v], given) if v in cotangents else given
    active = {v for v, w in zip(graph.inputs, wanted, strict=True) if w}
    for node in graph.nodes:
        builder.nodes.append(node)
        if any(v in active for v in node.inputs) and _has_rule(node):
            active.update(v for v in node.outputs if differentiable(v.type))
    for node in reversed(graph.nodes):
        given = [cotangents.get(v) for v in node.outputs]
        asked = [v in active for v in node.inputs]
        if not any(asked) or not _has_rule(node) or all(g is None for g in given):
            continue
        out = node.op.vjp(c, _site(c, node, asked), given)
        for v, w, g in zip(node.inputs, asked, out, strict=True):
            if g is not None and w:
                cotangents[v] = _added(c, v, cotangents.get(v), g)
    inputs = [v for v, w in zip(graph.inputs, wanted, strict=True) if w]
    return builder.build([*graph.outputs, *(_exact(c, cotangents, v) for v in inputs)])


def _added(c: Calculus, v: Value, old: Value | None, new: Value | Into) -> Value:
    if isinstance(new, Into):
        whole = c.zeros(tangent_type(v.type)) if old is None else old
        return new.write(c, whole, c.add(new.read(c, whole), new.value))
    return new if old is None else c.add(old, new)

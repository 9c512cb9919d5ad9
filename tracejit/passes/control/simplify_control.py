"""Branches and loops by what is known of their operands.

    cond(True, x){then, else}                       ->  then(x)
    cond(p, p){ cond(q, ..) of the capture q = p }  ->  cond(p){ the side that p means }
    cond(not p){then, else}                         ->  cond(p){else, then}
    r = cond(p, x){ return x }{ return x }          ->  r = x;  equal constants likewise
    r = cond(p){ return True }{ return False }      ->  r = p
    while_loop(a, b){ a, b -> f(a, b), b }          ->  while_loop(a; b){ a; b -> f(a, b) }
    while_loop(a){ False }{ ... }                   ->  a

A captured scalar constant becomes a constant of the region, and what follows from it is simplified
there. Captures that no region reads are dropped; one that is captured twice is captured once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_key, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, PYBOOL, ArrayType, NpScalar
from tracejit.ops.array.creation import Constant
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.python.conversion import ToPyScalar
from tracejit.passes.analysis.effects import is_barrier, may_raise
from tracejit.passes.analysis.regions import (
    constant_node,
    copied,
    inline,
    inputs_read,
    with_inputs,
    with_outputs,
    with_values,
)
from tracejit.passes.simplify.fold import fold
from tracejit.passes.simplify.simplify import simplify

__all__ = ["simplify_control"]


def simplify_control(graph: Graph) -> Graph:
    """`graph` with the rules applied to every branch and loop, outer ones first."""
    if not any(n.op.kind == "control" for n in graph.nodes):
        return graph
    work = _Control(graph)
    after = replay(graph, work.emit)
    # What was inlined may have become known.
    return simplify_control(fold(simplify(after))) if work.inlined else after


def _scalar_constant(node: Node) -> bool:
    return isinstance(node.op, Constant) and not isinstance(node.outputs[0].type, ArrayType)


def _bool_constant(truth: bool, like: Value) -> Node:
    kind = "b1" if isinstance(like.type, NpScalar) else "bool"
    attrs = {"value": truth, "type": kind}
    return Node(OPS["constant"], (), attrs, (Value(like.type, like.name),))


class _Control:
    def __init__(self, graph: Graph) -> None:
        self.inlined = False
        #: The names of sizes that are not free.
        self.sizes = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}
        self.producer: dict[Value, Node] = {}
        self.builder: GraphBuilder

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The `emit` of a replay."""
        self.builder = builder
        return self.node(node)

    def node(self, node: Node) -> Sequence[Value]:
        """Write what a node becomes; the values of its outputs."""
        if isinstance(node.op, Cond):
            return self.cond(node)
        if isinstance(node.op, WhileLoop):
            return self.loop(node)
        return self.keep(node)

    def keep(self, node: Node) -> tuple[Value, ...]:
        """Append a node as it is."""
        self.builder.nodes.append(node)
        self.producer |= dict.fromkeys(node.outputs, node)
        return node.outputs

    def constant(self, v: Value) -> Node | None:
        """The node of a scalar constant, or None."""
        node = self.producer.get(v)
        return node if node is not None and _scalar_constant(node) else None

    def unfold(self, region: Graph, inputs: Sequence[Value], sizes: Sequence[Dim]) -> list[Value]:
        """Write a region in place of its node."""
        self.inlined = True
        return inline(region, inputs, sizes, self.sizes, self.node)

    # Branches ---------------------------------------------------------------------------------

    def cond(self, node: Node) -> Sequence[Value]:
        """A branch, or the side that is taken."""
        known = self.constant(node.inputs[0])
        if known is not None and not node.binds:
            side = 0 if known.attrs["value"] else 1
            return self.unfold(node.regions[side], node.inputs[1:], node.attrs["sizes"][side])
        made = self.producer.get(node.inputs[0])
        if made is not None and made.op.logic == "not":
            (inner,) = made.inputs
            if inner.type == PYBOOL or inner.type == made.outputs[0].type:
                attrs = {**node.attrs, "sizes": node.attrs["sizes"][::-1]}
                turned = copied(
                    node, inputs=(inner, *node.inputs[1:]), attrs=attrs, regions=node.regions[::-1]
                )
                return self.cond(turned)
        captures = node.inputs[1:]
        sides = []
        for region, truth in zip(node.regions, (True, False), strict=True):
            facts = self.facts(node.inputs[0], truth)
            sides.append(_enter(region, self.known(captures, region.inputs, facts)))
        sides = _merge_captures(captures, sides, 0)
        read = sorted(inputs_read(sides[0]) | inputs_read(sides[1]))
        inputs = (node.inputs[0], *(captures[k] for k in read))
        regions = [with_inputs(side, read) for side in sides]
        return self.joined(copied(node, inputs=inputs, regions=regions))

    def facts(self, p: Value, truth: bool) -> dict[Value, bool]:
        """What else is true or false where `p` is."""
        found = {p: truth}
        stack = [p]
        while stack:
            v = stack.pop()
            node = self.producer.get(v)
            if node is None:
                continue
            inner: dict[Value, bool] = {}
            if node.op.logic == "not":
                inner = {node.inputs[0]: not found[v]}
            elif node.op.logic == ("and" if found[v] else "or"):
                inner = dict.fromkeys(node.inputs, found[v])
            elif isinstance(node.op, ToPyScalar) and v.type == PYBOOL:
                inner = {node.inputs[0]: found[v]}
            for x, value in inner.items():
                if x not in found and x.type in (PYBOOL, NpScalar(DTYPES["b1"])):
                    found[x] = value
                    stack.append(x)
        return found

    def known(
        self, captures: Sequence[Value], inputs: Sequence[Value], facts: Mapping[Value, bool]
    ) -> dict[Value, Node]:
        """The region inputs that stand for scalar constants, with a constant for each."""
        out: dict[Value, Node] = {}
        for outer, inner in zip(captures, inputs, strict=True):
            constant = self.constant(outer)
            if constant is not None:
                out[inner] = constant_node(constant)
            elif outer in facts:
                out[inner] = _bool_constant(facts[outer], inner)
        return out

    def joined(self, node: Node) -> Sequence[Value]:
        """A branch without the results that are the same on both sides, or the predicate."""
        first, second = node.regions
        makers = (first.producers(), second.producers())
        stand: dict[int, Value] = {}
        pairs = list(zip(first.outputs, second.outputs, strict=True))
        for k, (a, b) in enumerate(pairs):
            value = self.common(node, makers, a, b, node.outputs[k])
            again = node.outputs[pairs.index((a, b))]
            if value is not None:
                stand[k] = value
            elif again is not node.outputs[k] and again.type == node.outputs[k].type:
                stand[k] = again
        if stand:
            left = [k for k in range(len(pairs)) if k not in stand]
            regions = [with_outputs(region, left) for region in node.regions]
            outputs = [node.outputs[k] for k in left]
            rest = copied(node, outputs=outputs, regions=regions)
        else:
            rest = node
        self.keep(rest)
        return [stand.get(k, v) for k, v in enumerate(node.outputs)]

    def common(
        self,
        node: Node,
        makers: tuple[Mapping[Value, Node], Mapping[Value, Node]],
        a: Value,
        b: Value,
        out: Value,
    ) -> Value | None:
        """The value outside that a result is whichever side is taken, or None."""
        first, second = node.regions
        if a in first.inputs and b in second.inputs:
            k = first.inputs.index(a)
            if second.inputs.index(b) == k and node.inputs[k + 1].type == out.type:
                return node.inputs[k + 1]
        left, right = makers[0].get(a), makers[1].get(b)
        if (
            left is None
            or right is None
            or not (_scalar_constant(left) and _scalar_constant(right))
        ):
            return None
        x, y = left.attrs["value"], right.attrs["value"]
        if attr_key(x) == attr_key(y):
            return self.keep(constant_node(left))[0]
        p = node.inputs[0]
        if out.type == p.type == PYBOOL:
            return p if x else self.builder.one(OPS["py_not"], (p,))
        return None

    # Loops ------------------------------------------------------------------------------------

    def loop(self, node: Node) -> Sequence[Value]:
        """A loop whose carried values change; the others are captured, known ones are constants."""
        outputs = node.outputs
        if not node.binds and self.never_runs(node):
            return node.inputs[: node.attrs["carried"]]
        stand: dict[Value, Value] = {}
        while True:
            node = self.captured(node)
            count = node.attrs["carried"]
            fixed = _invariant(node)
            if not fixed:
                break
            stand |= {node.outputs[k]: node.inputs[k] for k in fixed}
            moving = [k for k in range(count) if k not in fixed]
            order = [*moving, *fixed, *range(count, len(node.inputs))]
            test, body = (with_inputs(region, order) for region in node.regions)
            node = copied(
                node,
                inputs=[node.inputs[k] for k in order],
                attrs={**node.attrs, "carried": len(moving)},
                outputs=[node.outputs[k] for k in moving],
                regions=(test, with_outputs(body, moving)),
            )
        self.keep(node)
        return [stand.get(v, v) for v in outputs]

    def captured(self, node: Node) -> Node:
        """A loop with its captures merged, dropped or made constants, and its regions cleaned."""
        count = node.attrs["carried"]
        captures = node.inputs[count:]
        regions = [
            _enter(region, self.known(captures, region.inputs[count:], {}))
            for region in node.regions
        ]
        regions = _merge_captures(captures, regions, count)
        read = set().union(*map(inputs_read, regions))
        kept = [k for k in range(len(node.inputs)) if k < count or k in read]
        inputs = [node.inputs[k] for k in kept]
        return copied(node, inputs=inputs, regions=[with_inputs(r, kept) for r in regions])

    def never_runs(self, node: Node) -> bool:
        """Whether the condition is false for the start values."""
        test = node.regions[0]
        if is_barrier(node):
            return False
        known = self.known(node.inputs, test.inputs, {})
        probe = fold(simplify(_with_constants(test, known)))
        made = probe.producers().get(probe.outputs[0])
        if made is None or not _scalar_constant(made) or made.attrs["value"]:
            return False
        return not any(map(may_raise, probe.nodes))


def _invariant(node: Node) -> list[int]:
    """The carried values that the body gives back as they are."""
    body = node.regions[1]
    return [
        k
        for k, (given, result) in enumerate(zip(body.inputs, body.outputs, strict=False))
        if given is result and node.inputs[k].type == node.outputs[k].type
    ]


def _with_constants(region: Graph, known: Mapping[Value, Node]) -> Graph:
    table = {v: node.outputs[0] for v, node in known.items()}
    return with_values(region, table, list(known.values()))


def _enter(region: Graph, known: Mapping[Value, Node]) -> Graph:
    """A region in which some inputs are constants."""
    read = region.uses()
    known = {v: node for v, node in known.items() if v in read}
    if known:
        region = fold(simplify(_with_constants(region, known)))
    return simplify_control(region)


def _merge_captures(
    captures: Sequence[Value], regions: Sequence[Graph], offset: int
) -> list[Graph]:
    """The regions reading one input only for a value that is captured several times."""
    tables: list[dict[Value, Value]] = [{} for _ in regions]
    for k, v in enumerate(captures):
        first = captures.index(v)
        pairs = [(r.inputs[offset + k], r.inputs[offset + first]) for r in regions]
        if first < k and all(again.type == once.type for again, once in pairs):
            for table, (again, once) in zip(tables, pairs, strict=True):
                table[again] = once
    return [with_values(r, table) for r, table in zip(regions, tables, strict=True)]

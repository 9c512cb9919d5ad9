"""Loop invariants: what a loop computes anew in every iteration from captures alone is captured.

    while_loop(i; a){ i; a -> y = exp(a); ... y ... }
    ->  y = exp(a); while_loop(i; y){ i; y -> ... y ... }

Only what is pure, uses no stack and can neither raise nor bail out leaves a loop, since the loop
may run zero times. A value that needs memory outside but none inside stays, with what makes it: a
broadcast number, a slice, cheap functions of numbers and positions. Inner loops come first, so that
what leaves them may leave the outer one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, replay
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.control.effects import Undefined
from tracejit.ops.control.regions import WhileLoop
from tracejit.passes.analysis.effects import is_linear, may_bail
from tracejit.passes.analysis.fusable import EXPENSIVE
from tracejit.passes.analysis.regions import (
    copied,
    inline,
    with_captures,
    with_nodes,
    with_values,
    without,
)

__all__ = ["licm"]


def licm(graph: Graph) -> Graph:
    """`graph` with what its loops need not repeat computed in front of them."""
    if not any(n.op.kind == "control" for n in graph.nodes):
        return graph
    return replay(graph, _Hoister(graph).emit, region=licm)


class _Hoister:
    def __init__(self, graph: Graph) -> None:
        self.sizes = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The `emit` of a replay."""
        if isinstance(node.op, WhileLoop):
            for which in (0, 1):
                node = self.hoist(builder, node, which)
        builder.nodes.append(node)
        return node.outputs

    def hoist(self, builder: GraphBuilder, node: Node, which: int) -> Node:
        """The loop without the invariants of one of its regions, which go into `builder`."""
        count = node.attrs["carried"]
        region = node.regions[which]
        carried = len(node.regions[1].size_outputs)
        varying = set(region.sizes[:carried])
        varying |= {s for inner in region.nodes for s in inner.binds}
        moved, crossing = _Invariants(region, count, varying).split()
        if not crossing:
            return node

        def write(made: Node) -> tuple[Value, ...]:
            builder.nodes.append(made)
            return made.outputs

        # Nothing that moves reads what the loop carries: any value may stand for it.
        outside = with_nodes(region, moved, crossing)
        values = inline(outside, node.inputs, node.attrs["sizes"][which], self.sizes, write)
        regions, sizes = [], []
        for other, given in zip(node.regions, node.attrs["sizes"], strict=True):
            if other is region:
                # In the region's own sizes: what it is given for one may be a number.
                inputs = [Value(v.type, v.name) for v in crossing]
                wider = replace(region, inputs=(*region.inputs, *inputs))
                table = dict(zip(crossing, inputs, strict=True))
                wider, dims = without(with_values(wider, table), set(moved)), given
            else:
                wider, dims = with_captures(other, given, values, carried)
            regions.append(wider)
            sizes.append(dims)
        attrs = {**node.attrs, "sizes": tuple(sizes)}
        return copied(node, inputs=(*node.inputs, *values), attrs=attrs, regions=regions)


class _Invariants:
    """The nodes of a region that depend on captures alone, and which of them are worth moving."""

    def __init__(self, region: Graph, carried: int, varying: set[str]) -> None:
        self.region = region
        self.producer = region.producers()
        self.cost: dict[Value, float] = {}
        #: Values that are made of elements of arrays in memory.
        self.stored = {v for v in region.inputs[carried:] if isinstance(v.type, ArrayType)}
        self.nodes: dict[Node, None] = {}
        fixed = set(region.inputs[carried:])
        for node in region.nodes:
            if fixed.issuperset(node.inputs) and not self.stays(node, varying):
                self.nodes[node] = None
                fixed.update(node.outputs)
                self.learn(node)

    def stays(self, node: Node, varying: set[str]) -> bool:
        """Whether a node must stay for what it is."""
        sizes = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        fixed = not node.binds and varying.isdisjoint(sizes)
        return not fixed or is_linear(node) or _loops(node) or may_bail(node)

    def learn(self, node: Node) -> None:
        """Note what the node's results cost for one element, and what they are made of."""
        (v,) = node.outputs[:1] or (None,)
        if v is None:
            return
        own = 0.0
        if isinstance(node.op, Elementwise):
            own = node.op.cost([x.type for x in node.inputs], node.attrs)
        self.cost[v] = own + sum(self.cost.get(x, 0.0) for x in node.inputs)
        made = not isinstance(node.op, Elementwise) and node.op.fused != "index"
        if made and not isinstance(node.op, Constant) or not self.stored.isdisjoint(node.inputs):
            self.stored.update(node.outputs)

    def worth(self, node: Node) -> bool:
        """Whether a value in memory, or in a register, is better than computing it again."""
        if isinstance(node.op, (Constant, DimValue, Undefined)) or node.op.fused == "index":
            return False
        (v, *_) = node.outputs
        if isinstance(node.op, Elementwise) and isinstance(v.type, ArrayType):
            return v in self.stored or self.cost[v] >= EXPENSIVE
        return True

    def split(self) -> tuple[list[Node], list[Value]]:
        """What moves, and those of its values that are read by what stays."""
        wanted = {n for n in self.nodes if n.outputs and self.worth(n)}
        moved = set(wanted)
        stack = list(wanted)
        while stack:
            for v in stack.pop().inputs:
                made = self.producer.get(v)
                if made is not None and made not in moved:
                    moved.add(made)
                    stack.append(made)
        left = [n for n in self.region.nodes if n not in wanted]
        # What only makes operands is copied where it is read inside too.
        read = {v for n in left if n not in moved for v in n.inputs} | set(self.region.outputs)
        stack = [n for n in left if n in moved and not read.isdisjoint(n.outputs)]
        while stack:
            for v in stack.pop().inputs:
                made = self.producer.get(v)
                if v not in read and made in moved and made not in wanted:
                    stack.append(made)
                read.add(v)
        crossing = [v for n in self.region.nodes if n in wanted for v in n.outputs if v in read]
        return [n for n in self.region.nodes if n in moved], crossing


def _loops(node: Node) -> bool:
    """Whether the node may run for ever, where its loop may not run at all."""
    if isinstance(node.op, WhileLoop):
        return True
    return any(_loops(inner) for region in node.regions for inner in region.nodes)

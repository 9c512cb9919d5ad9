"""Loop invariants: what a loop computes anew in every iteration from captures alone is captured.

    while_loop(i; a){ i; a -> y = exp(a); ... y ... }
    ->  y = exp(a); while_loop(i; y){ i; y -> ... y ... }

What is pure, uses no stack and can neither raise nor bail out simply leaves. The loop may run zero
times: numbers whose making may fail are made in front of it where its condition holds at first,

    while_loop(n, p, q){ p, q -> y = p / q; ... y ... }
    ->  y = cond(0 < n){ p / q }{ undefined }; while_loop(n, y){ y -> ... y ... }

and so are bailed out of before anything has happened that they would be bailed out of after. What
the condition needs is made whether an iteration follows or not. A value that needs memory outside
but none inside stays, with what makes it: a broadcast number, a slice, cheap functions of numbers
and positions. Inner loops come first, so that what leaves them may leave the outer one too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracejit.ir.dims import symbol
from tracejit.ir.graph import Attr, Graph, GraphBuilder, Node, Value, replay, sizes_read
from tracejit.ir.op import OPS
from tracejit.ir.types import PYBOOL, ArrayType, NpScalar, PyScalar, type_sizes
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.control.effects import Undefined, undefined_attrs
from tracejit.ops.control.regions import WhileLoop
from tracejit.passes.analysis.effects import is_barrier, is_linear, may_bail
from tracejit.passes.analysis.fusable import EXPENSIVE
from tracejit.passes.analysis.regions import (
    copied,
    inline,
    inputs_read,
    with_captures,
    with_inputs,
    with_nodes,
    with_values,
    without,
)
from tracejit.passes.simplify.fold import fold
from tracejit.passes.simplify.simplify import simplify

__all__ = ["licm"]

#: A condition of more nodes is not computed once more in front of its loop.
_TEST = 16


def licm(graph: Graph) -> Graph:
    """`graph` with what its loops need not repeat computed in front of them."""
    if not any(n.op.kind == "control" for n in graph.nodes):
        return graph
    return replay(graph, _Hoister(graph).emit, region=licm)


class _Hoister:
    def __init__(self, graph: Graph) -> None:
        self.sizes = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}
        #: The bools that are known.
        self.constants: dict[Value, bool] = {}

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The `emit` of a replay."""
        if isinstance(node.op, WhileLoop):
            for failing in (False, True, False):
                for which in (0, 1):
                    node = self.hoist(builder, node, which, failing)
        elif isinstance(node.op, Constant) and node.outputs[0].type == PYBOOL:
            self.constants[node.outputs[0]] = bool(node.attrs["value"])
        builder.nodes.append(node)
        return node.outputs

    def hoist(self, builder: GraphBuilder, node: Node, which: int, failing: bool) -> Node:
        """The loop without the invariants of one of its regions, which go into `builder`.

        `failing`: those that may fail, too.
        """
        count = node.attrs["carried"]
        region = node.regions[which]
        carried = len(node.regions[1].size_outputs)
        varying = set(region.sizes[:carried])
        varying |= {s for inner in region.nodes for s in inner.binds}
        moved, crossing = _Invariants(region, count, varying, failing).split()
        if not crossing or failing and not any(map(may_bail, moved)):
            return node
        # Nothing that moves reads what the loop carries: any value may stand for it.
        outside = with_nodes(region, moved, crossing)
        holds = None
        if failing and which == 1:
            holds = self.first_test(builder, node)
            if holds is False:
                return node
        if isinstance(holds, Value):
            values = self.branch(builder, node, outside, holds)
        else:
            sizes_given = node.attrs["sizes"][which]
            values = inline(outside, node.inputs, sizes_given, self.sizes, _into(builder))
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

    def first_test(self, builder: GraphBuilder, node: Node) -> Value | bool:
        """Whether the first iteration runs, True where that is known; False for a costly test."""
        test = node.regions[0]
        numbers = all(_is_number(v) for n in test.nodes for v in n.outputs)
        if (
            len(test.nodes) > _TEST
            or not numbers
            or any(n.regions or is_barrier(n) for n in test.nodes)
        ):
            return False
        beside = builder.beside()
        (holds,) = inline(test, node.inputs, node.attrs["sizes"][0], self.sizes, _into(beside))
        if holds in self.constants:
            return self.constants[holds]
        made = {v for n in beside.nodes for v in n.outputs}
        read = dict.fromkeys(v for n in beside.nodes for v in n.inputs if v not in made)
        if holds in made:
            small = Graph("test", tuple(self.sizes), tuple(read), tuple(beside.nodes), (holds,))
            known = fold(simplify(small))
            last = known.producers().get(known.outputs[0])
            if last is not None and isinstance(last.op, Constant):
                return bool(last.attrs["value"])
        builder.nodes += beside.nodes
        return holds

    def branch(
        self, builder: GraphBuilder, node: Node, outside: Graph, holds: Value
    ) -> list[Value]:
        """The outputs of `outside`, in front of the loop `node`, made where `holds` is true."""
        read = sorted(inputs_read(outside))
        names = sorted(sizes_read(outside) & set(outside.sizes))
        given = dict(zip(outside.sizes, node.attrs["sizes"][1], strict=True))
        narrow = replace(with_inputs(outside, read), sizes=tuple(names))
        then, other = GraphBuilder("first", names), GraphBuilder("none", names)
        for v in narrow.inputs:
            then.input(v.type, v.name)
            other.input(v.type, v.name)
        kept = [symbol(s) for s in names]
        made = inline(narrow, then.inputs, kept, set(names), _into(then))
        none = [other.one(OPS["undefined"], (), **undefined_attrs(v.type)) for v in outside.outputs]
        outputs = [Value(v.type, v.name) for v in outside.outputs]
        operands = (holds, *(node.inputs[k] for k in read))
        sizes = tuple(given[s] for s in names)
        attrs: dict[str, Attr] = {"sizes": (sizes, sizes)}
        regions = (then.build(made), other.build(none))
        builder.nodes.append(
            Node(OPS["cond"], operands, attrs, tuple(outputs), regions, where=node.where)
        )
        return outputs


def _into(builder: GraphBuilder) -> Callable[[Node], tuple[Value, ...]]:
    """Writes nodes into a graph."""

    def write(made: Node) -> tuple[Value, ...]:
        builder.nodes.append(made)
        return made.outputs

    return write


def _is_number(v: Value) -> bool:
    return isinstance(v.type, (NpScalar, PyScalar))


class _Invariants:
    """The nodes of a region that depend on captures alone, and which of them are worth moving.

    `failing`: those that give numbers and may fail, too.
    """

    def __init__(self, region: Graph, carried: int, varying: set[str], failing: bool) -> None:
        self.region, self.failing = region, failing
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
        if not fixed or is_linear(node) or _loops(node):
            return True
        if not self.failing:
            return may_bail(node)
        return is_barrier(node) or not all(map(_is_number, node.outputs))

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

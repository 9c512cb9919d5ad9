"""Dead code: a pure node goes when nothing reads its results or the sizes that it defines.

    v1 = op(x); return x                               ->   return x
    a, b = cond(p, x, y); return a                     ->   a = cond(p, x); return a
    a, b = while_loop(x, y){ x, y -> x + 1, y + x };   ->   a = while_loop(x){ x -> x + 1 };
    return a                                                return a
    update(update(x, v, region), w, region)            ->   update(x, w, region)
    v1 = gather(x, i); return x                        ->   v1 = gather(x[:, :1], i); return x

A size is read by the attributes and result types of live nodes and by the sizes that a graph
returns. A node stays where Python or NumPy could raise an exception in its place, read or not, and
so does one with effects. What a loop carries goes when nothing but its next value depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracejit.ir.dims import minimum
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_sizes, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import shape_of, type_sizes
from tracejit.ops.array.indexing import Gather, UpdateSlice
from tracejit.ops.array.items import WriteItem
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.passes.analysis.effects import is_barrier, may_raise
from tracejit.passes.analysis.regions import (
    copied,
    inputs_read,
    with_inputs,
    with_nodes,
    with_outputs,
)

__all__ = ["dce"]


def dce(graph: Graph) -> Graph:
    """`graph` without the pure nodes that nothing depends on."""
    while True:
        graph = _without_unread(graph)
        after = _without_overwritten(graph)
        if after is graph:
            return graph
        graph = after


def _without_unread(graph: Graph) -> Graph:
    plan = _Plan(graph)
    if not plan.changes:
        return graph
    steps = iter(plan.steps)

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        for step in next(steps):
            keep(builder, step)
        # Where they stand for no results, nothing reads them.
        return node.outputs

    return replay(graph, emit)


def _without_overwritten(graph: Graph) -> Graph:
    """`graph` whose updates read past those that later ones overwrite, which nothing else reads.

    a = update(x, v, region); b = update(a, u, other); c = update(b, w, region)
    ->  b = update(x, u, other); c = update(b, w, region)
    """
    readers = Counter(graph.outputs)
    for node in graph.nodes:
        readers.update(node.inputs)
    #: For an array that stores have made, each read by the next one alone: the last at each place.
    stores: dict[Value, dict[object, Node]] = {}
    below: dict[Value, Value] = {}
    for node in graph.nodes:
        if not isinstance(node.op, (UpdateSlice, WriteItem)) or len(node.inputs) != 2:
            continue
        x, (out,) = node.inputs[0], node.outputs
        made = stores.pop(x, {}) if readers[x] == 1 else {}
        place = (node.op, *sorted(node.attrs.items()))
        if (overwritten := made.get(place)) is not None:
            below[overwritten.outputs[0]] = overwritten.inputs[0]
        made[place] = node
        stores[out] = made
    if not below:
        return graph
    nodes = []
    for node in graph.nodes:
        if node.inputs and node.inputs[0] in below:
            x = node.inputs[0]
            while x in below:
                x = below[x]
            node = copied(node, inputs=(x, *node.inputs[1:]))
        nodes.append(node)
    return with_nodes(graph, nodes)


class _Plan:
    """What becomes of each node: `steps` holds it, smaller ones, or none where it goes."""

    def __init__(self, graph: Graph) -> None:
        self._values = set(graph.outputs)
        self._sizes = set().union(*map(attr_sizes, graph.size_outputs))
        self._defines_sizes = any(node.binds for node in graph.nodes)
        backwards = [self._step(node) for node in reversed(graph.nodes)]
        self.steps = backwards[::-1]
        self.changes = any(a != (b,) for a, b in zip(self.steps, graph.nodes, strict=True))

    def _step(self, node: Node) -> tuple[Node, ...]:
        read = not self._values.isdisjoint(node.outputs)
        needed = (
            read or not self._sizes.isdisjoint(node.binds) or may_raise(node) or is_barrier(node)
        )
        if not needed:
            return ()
        steps: tuple[Node, ...] = (self._shrink(node),) if node.regions else (node,)
        if isinstance(node.op, Gather) and not read:
            steps = _only_checks(node)
        for step in steps:
            self._values.update(step.inputs)
            if self._defines_sizes:
                self._sizes |= step.sizes().union(*(type_sizes(v.type) for v in step.outputs))
        return steps

    def _shrink(self, node: Node) -> Node:
        """The node with its regions cleaned, without results and captures that nobody reads."""
        if any(result != "fresh" for region in node.regions for result in region.results):
            return copied(node, regions=[dce(region) for region in node.regions])
        if isinstance(node.op, Cond):
            return self._shrink_branch(node)
        if isinstance(node.op, WhileLoop):
            return self._shrink_loop(node)
        return copied(node, regions=[dce(region) for region in node.regions])

    def _shrink_branch(self, node: Node) -> Node:
        live = [k for k, v in enumerate(node.outputs) if v in self._values]
        regions = [dce(with_outputs(region, live)) for region in node.regions]
        read = set().union(*map(inputs_read, regions))
        kept = [k for k in range(len(node.inputs) - 1) if k in read]
        return copied(
            node,
            inputs=[node.inputs[0], *(node.inputs[k + 1] for k in kept)],
            outputs=[node.outputs[k] for k in live],
            regions=[with_inputs(region, kept) for region in regions],
        )

    def _shrink_loop(self, node: Node) -> Node:
        count = node.attrs["carried"]
        test, body = node.regions
        test = dce(test)
        wanted = {k for k, v in enumerate(node.outputs) if v in self._values}
        wanted |= {k for k in inputs_read(test) if k < count}
        live = _needed(body, wanted, count)
        while True:
            numbers = sorted(live)
            inner = dce(with_outputs(body, numbers))
            # Without what nested regions do not read either.
            left = wanted | {k for k in inputs_read(inner) if k < count}
            if left == live:
                break
            live = left
        read = inputs_read(test) | inputs_read(inner)
        kept = [*numbers, *(k for k in range(count, len(node.inputs)) if k in read)]
        attrs = node.attrs if len(live) == count else {**node.attrs, "carried": len(live)}
        return copied(
            node,
            inputs=[node.inputs[k] for k in kept],
            attrs=None if attrs is node.attrs else attrs,
            outputs=[node.outputs[k] for k in numbers],
            regions=[with_inputs(test, kept), with_inputs(inner, kept)],
        )


def _only_checks(node: Node) -> tuple[Node, ...]:
    """A gather that nothing reads, of one element of each row: it checks its indices."""
    x = node.inputs[0]
    shape, count = shape_of(x.type), len(node.inputs) - 1
    size = (*shape[:count], *(minimum(d, 1) for d in shape[count:]))
    if size == shape:
        return (node,)
    builder = GraphBuilder(node.op.name)
    first = builder.one(
        OPS["slice"], (x,), start=(0,) * len(size), size=size, step=(1,) * len(size)
    )
    builder.emit(node.op, (first, *node.inputs[1:]), node.attrs, where=node.where)
    return tuple(builder.nodes)


def _needed(body: Graph, wanted: set[int], count: int) -> set[int]:
    """The carried values that `wanted` ones or nodes that stay depend on, in any iteration."""
    producer, number = body.producers(), {v: k for k, v in enumerate(body.inputs[:count])}
    live, seen = set(wanted), set[Value]()
    stack = [body.outputs[k] for k in wanted]
    stack += [v for n in body.nodes if may_raise(n) or is_barrier(n) for v in n.inputs]
    while stack:
        v = stack.pop()
        if v in seen:
            continue
        seen.add(v)
        if v in producer:
            stack += producer[v].inputs
        elif v in number and number[v] not in live:
            live.add(number[v])
            stack.append(body.outputs[number[v]])
    return live

"""Batching: a graph for one lane to a graph for a batch of lanes, the batch axis first.

    f(x: f64[n]) -> exp(x)    becomes    f(x: f64[b, n]) -> exp(x)

`batch_plan` says which nodes run once, which by the batching rules of their ops, and which in a
loop over the lanes (`batch_lanes`). Branches with one predicate for all lanes, and loops with one
condition, stay what they are, with batched regions. Effects follow a Python loop over the batch:
those of lane 0 first, then those of lane 1, once for each lane even where none of its operands
differs. Where one lane would bail out, the whole run does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.errors import GraphError, Unbatchable
from tracejit.ir.batching import BatchAdaptor, batched_type, may_be_batched, stretched
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_substitute, symbols
from tracejit.ir.regions import close, copy_node, nested
from tracejit.ir.types import Type, dtype_of, shape_of, type_substitute
from tracejit.ops.control.calls import CallOp
from tracejit.ops.control.effects import RaiseError
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.control.stack import StackNew, StackPop, record_types
from tracejit.transforms.batching.lanes import Table, run_lanes
from tracejit.transforms.batching.plan import BatchPlan, call_operands, make_plan
from tracejit.transforms.batching.stacks import StackFlags, stacks_of

__all__ = ["batch_graph", "batch_nodes"]


def batch_graph(
    graph: Graph, batched: Sequence[bool], size: Dim, fresh: Callable[[], str]
) -> tuple[Graph, tuple[bool, ...]]:
    """`graph` for `size` lanes, and which of its outputs have the batch axis, in front.

    So have the inputs that are `batched`; the others are the same for all lanes. Symbols of `size`
    are the graph's own where they have the name of one; `fresh` makes names of new sizes that occur
    nowhere else. An output that is the final value of an input (`write k`) stays one; the others
    are fresh. Raises Unbatchable where lanes store into an input that has no batch axis, where an
    exception leaves after stores into inputs, and where outputs differ in size from lane to lane.
    """
    _check_graph(graph, batched)
    builder = GraphBuilder(graph.name)
    c = DerivativeBuilder(builder, fresh)
    table: Table = {}
    for v, flag in zip(graph.inputs, batched, strict=True):
        table[v] = builder.input(batched_type(v.type, size) if flag else v.type, v.name), flag
    sizes: dict[str, Dim] = {}
    batch_nodes(c, graph.nodes, table, size, graph.outputs, sizes)
    results = [r if r.startswith("write ") else "fresh" for r in graph.results]
    results += ["fresh"] * (len(graph.outputs) - len(results))
    outputs, flags = [], []
    for v, result in zip(graph.outputs, results, strict=True):
        out, flag = table[v]
        if result != "fresh":
            out, flag = _as_batch(c, out, flag, v.type, size, sizes), True
        outputs.append(out)
        flags.append(flag)
    size_outputs = tuple(attr_substitute(d, sizes) for d in graph.size_outputs)
    closed, _ = close(builder, graph.sizes, outputs, size_outputs)
    done = Graph(
        closed.name,
        closed.sizes,
        closed.inputs,
        closed.nodes,
        closed.outputs,
        tuple(results) if graph.results else (),
        size_outputs,
    )
    return done, tuple(flags)


def _check_graph(graph: Graph, batched: Sequence[bool]) -> None:
    for v, flag in zip(graph.inputs, batched, strict=True):
        if flag and not may_be_batched(v.type):
            raise Unbatchable(f"the input {v!r} can have no batch axis")
    for result in graph.results:
        kind, _, number = result.partition(" ")
        if kind == "write" and not batched[int(number)]:
            raise Unbatchable(
                f"every lane stores into {graph.inputs[int(number)]!r}, which is one for all"
            )
    if any(n.attrs.get("states") for n in nested(graph.nodes) if isinstance(n.op, RaiseError)):
        raise Unbatchable("an exception leaves in the middle of stores into arguments")


def batch_nodes(
    c: DerivativeBuilder,
    nodes: Sequence[Node],
    table: Table,
    size: Dim,
    wanted: Sequence[Value],
    sizes: dict[str, Dim] | None = None,
    stacks: StackFlags | None = None,
) -> None:
    """Record what `nodes` compute, for `size` lanes, where `c` records.

    `table` says for each value from outside what stands for it there, and whether that has the
    batch axis, in front; it gets every value in `wanted` and more. Sizes that the nodes bind get
    new names; `sizes` maps those from outside (not mentioned: the same name) and gets those, too.
    `stacks` is what is known of stacks from outside.
    Raises Unbatchable where a wanted value differs in size from lane to lane.
    """
    sizes = {} if sizes is None else sizes
    outside = [v for v, (_, flag) in table.items() if flag]
    stacks = StackFlags() if stacks is None else stacks
    while True:
        stacks.changed = False
        plan = make_plan(nodes, outside, stacks)
        if not stacks.changed:
            break
    batcher = _Batcher(c, table, size, sizes, plan)
    for node in plan.before:
        batcher.node(node)
    if plan.apart:
        read = [v for n in plan.after for v in n.inputs]
        run_lanes(c, plan.apart, table, sizes, size, [*wanted, *read])
    for node in plan.after:
        batcher.node(node)


def _as_batch(
    c: DerivativeBuilder, v: Value, flag: bool, t: Type, size: Dim, sizes: dict[str, Dim]
) -> Value:
    """What stands for a value of type `t`, as a batch of just the type `batched_type`."""
    whole = v if flag else stretched(c, v, size)
    return c.laid_out(whole, batched_type(type_substitute(t, sizes), size))


class _Batcher:
    """Records one node after another, for all lanes at once."""

    def __init__(
        self,
        c: DerivativeBuilder,
        table: Table,
        size: Dim,
        sizes: dict[str, Dim],
        plan: BatchPlan,
    ) -> None:
        self.c, self.table, self.size, self.sizes = c, table, size, sizes
        self.plan, self.stacks = plan, plan.stacks

    def node(self, node: Node) -> None:
        """Record one node by its rule, or as it is where nothing about it is batched."""
        given = [self.table[v] for v in node.inputs]
        values, flags = [v for v, _ in given], [flag for _, flag in given]
        before = len(self.c.builder.nodes)
        if node.op.kind == "stack":
            self.with_stack(node, values, flags)
        elif not any(flags) and not stacks_of(node):
            outs = copy_node(self.c, node, values, self.sizes)
            self.table.update((v, (out, False)) for v, out in zip(node.outputs, outs, strict=True))
        elif node.regions:
            self.with_regions(node, values, flags)
        else:
            self.by_rule(node, values, flags)
        for new in self.c.builder.nodes[before:]:
            new.where = new.where or node.where

    def by_rule(self, node: Node, values: Sequence[Value], flags: Sequence[bool]) -> None:
        """Record the results of an op's batching rule."""
        attrs = {k: attr_substitute(a, self.sizes) for k, a in node.attrs.items()}
        inputs = [type_substitute(v.type, self.sizes) for v in node.inputs]
        outputs = [type_substitute(v.type, self.sizes) for v in node.outputs]
        at = BatchAdaptor(self.c, attrs, inputs, outputs, values, flags, self.size)
        outs = node.op.batch(self.c, at)
        for v, t, out in zip(node.outputs, outputs, outs, strict=True):
            expected = (dtype_of(t), (self.size, *shape_of(t)))
            if (dtype_of(out.type), shape_of(out.type)) != expected:
                raise GraphError(f"{node.op.name}: a batch of {t} is no {out.type}")
            self.table[v] = out, True

    def with_stack(self, node: Node, values: Sequence[Value], flags: Sequence[bool]) -> None:
        """Record the use of a stack of batches."""
        attrs = {k: attr_substitute(a, self.sizes) for k, a in node.attrs.items()}
        record = node.outputs[1:] if isinstance(node.op, StackPop) else node.inputs[1:]
        batched = self.stacks.of(node, record)
        if isinstance(node.op, StackNew):
            if "reserve" in attrs:
                attrs["reserve"] = (attrs["reserve"][0] * self.size,)
        elif isinstance(node.op, StackPop):
            types = [type_substitute(v.type, self.sizes) for v in record]
            pairs = zip(types, batched, strict=True)
            types = [batched_type(t, self.size) if flag else t for t, flag in pairs]
            attrs["types"] = record_types(types)
        else:
            values = [
                values[0],
                *(
                    _as_batch(self.c, x, had, v.type, self.size, self.sizes) if has else x
                    for x, had, has, v in zip(values[1:], flags[1:], batched, record, strict=True)
                ),
            ]
        outs = self.c.builder.emit(node.op, values, attrs, where=node.where)
        results = [False, *(batched if len(outs) > 1 else ())]
        self.table.update(zip(node.outputs, zip(outs, results, strict=True), strict=True))

    # Branches and loops ---------------------------------------------------------------------------

    def with_regions(self, node: Node, values: Sequence[Value], flags: Sequence[bool]) -> None:
        """Record a call, or a branch or a loop whose predicate is the same for all lanes."""
        is_loop, is_call = isinstance(node.op, WhileLoop), isinstance(node.op, CallOp)
        results = self.plan.flags[node]
        count = node.attrs["carried"] if is_loop else 0
        taken = [*results[:count], *flags[count:]]
        if is_call:
            taken = call_operands(node, flags, node.regions[0])
        operands = [
            _as_batch(self.c, x, had, v.type, self.size, self.sizes) if has else x
            for x, had, has, v in zip(values, flags, taken, node.inputs, strict=True)
        ]
        given = taken[1:] if isinstance(node.op, Cond) else taken
        regions, sizes = [], []
        for k, (region, own) in enumerate(zip(node.regions, node.attrs["sizes"], strict=True)):
            gives = [False] if is_loop and k == 0 else results
            if is_call:
                given = call_operands(node, flags, region)
                # What the regions of a rule give is batched throughout.
                gives = gives if len(node.regions) == 1 else [True] * len(region.outputs)
            made, more = self.region(region, given, gives)
            regions.append(made)
            sizes.append((*attr_substitute(own, self.sizes), *more))
        binds = tuple(self.c.fresh() for _ in node.binds)
        outs = self.c.builder.emit(
            node.op,
            operands,
            {**node.attrs, "sizes": tuple(sizes)},
            regions=tuple(regions),
            binds=binds,
            where=node.where,
        )
        self.sizes.update(zip(node.binds, symbols(binds), strict=True))
        self.table.update(zip(node.outputs, zip(outs, results, strict=True), strict=True))

    def region(
        self, region: Graph, taken: Sequence[bool], gives: Sequence[bool]
    ) -> tuple[Graph, tuple[Dim, ...]]:
        """A region whose inputs, and outputs, are batched as said; the sizes to give it besides.

        Its own sizes get new names, so that those of the batch's size are no others in it.
        """
        names = [self.c.fresh() for _ in region.sizes]
        sizes: dict[str, Dim] = dict(zip(region.sizes, map(symbol, names), strict=True))
        inner = DerivativeBuilder(GraphBuilder(region.name), self.c.fresh)
        table: Table = {}
        for v, flag in zip(region.inputs, taken, strict=True):
            t = type_substitute(v.type, sizes)
            t = batched_type(t, self.size) if flag else t
            table[v] = inner.builder.input(t, v.name), flag
        batch_nodes(inner, region.nodes, table, self.size, region.outputs, sizes, self.stacks)
        outputs = [
            _as_batch(inner, *table[v], v.type, self.size, sizes) if flag else table[v][0]
            for v, flag in zip(region.outputs, gives, strict=True)
        ]
        size_outputs = tuple(attr_substitute(d, sizes) for d in region.size_outputs)
        return close(inner.builder, names, outputs, size_outputs)

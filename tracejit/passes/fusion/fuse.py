"""Fusion: array ops that can run in one loop nest become one `fusion` node.

    v1 = exp(x); v2 = add(v1, y); s = reduce_sum(v2)
    ->  s = fusion(x, y) { exp, add, reduce_sum }

Some values are materialised, that is, written to memory: what leaves the fusable world (results,
operands of library calls), what reductions and scans give, and what would cost more to compute
twice than to store. Everything else is recomputed where it is read, in registers. Materialised
values with one iteration space share a kernel where they have an array in common and nothing
between them needs to be finished first.

An update is a kernel of its own that can work in place: what it would read of the old array at
other places than it writes is stored before. No read of an array is moved behind the node that
updates it, and nothing that may raise is moved across a node with effects (see `passes/order`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, replay, sizes_read, symbols
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import Gather, Scatter, UpdateSlice
from tracejit.ops.array.reduction import Reduction
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.ops.array.shape import BroadcastTo, Concatenate, Slice
from tracejit.passes.analysis.aliasing import conflicting_reads
from tracejit.passes.analysis.effects import may_raise
from tracejit.passes.analysis.fusable import (
    EXPENSIVE,
    fusable,
    is_literal,
    is_root_op,
)
from tracejit.passes.analysis.order import Order
from tracejit.passes.fusion.joins import joins
from tracejit.passes.fusion.rematerialize import worth_storing
from tracejit.passes.fusion.scalars_first import scalars_first
from tracejit.passes.fusion.schedule import Group, Schedule
from tracejit.passes.fusion.splats import duplicate_splats
from tracejit.passes.fusion.store_to_load import read_updated
from tracejit.passes.fusion.through_joins import through_joins
from tracejit.passes.fusion.views import renames

__all__ = ["fuse"]


def _axes(v: Value) -> int:
    """The number of axes along which there may be several elements."""
    assert isinstance(v.type, ArrayType)
    return sum(n != 1 for n in v.type.shape)


#: Work for an element, in additions, from which on vectors are worth a store and a load.
_DEAR = 10.0
#: Work from which on a value is not soon made of another.
_SOON = 3.0


class _Fuser:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.outputs = graph, set(graph.outputs)
        self.producer = graph.producers()
        self.fusable = {n for n in graph.nodes if fusable(n)}
        self.consumers: dict[Value, list[Node]] = {}
        for n in graph.nodes:
            for v in dict.fromkeys(n.inputs):
                self.consumers.setdefault(v, []).append(n)
        #: Work to compute one element of a value from materialised ones, as a tree.
        self.cost: dict[Value, float] = {}
        self.order = Order(graph)
        self.fusable -= renames(graph, self.producer, self.fusable, self.consumers, self.order)
        self._in_kernels = {v: n for v, n in self.producer.items() if n in self.fusable}
        self._in_part: dict[Value, bool] = {}
        given = graph, self.producer, self.fusable, self.consumers, self.order
        self.schedule = Schedule(*given)

    def cost_of(self, n: Node) -> float:
        """Work to compute one element from what its operands cost."""
        if is_root_op(n):
            return 0.0
        own = n.op.cost([v.type for v in n.inputs], n.attrs)
        own = own if isinstance(n.op, Elementwise) else 0.25
        return min(own + sum(self.cost.get(v, 0.0) for v in n.inputs), 1e6)

    def roots(self) -> set[Node]:
        """The nodes whose results are materialised, before sharing is looked at."""
        out, repeated = self._stored(None)
        shared = self._shared(repeated, out)
        if shared is not None:
            # One value in memory instead of several that are soon made of it.
            other, fewer = self._stored(shared)
            soon = all(self.cost[c.outputs[0]] <= _SOON for c in repeated)
            if soon and len(fewer) + 1 < len(repeated):
                out, repeated = other, fewer
            else:
                self._stored(None)
        worth_storing(repeated, out, self.tree, self.consumers, self.order)
        stored = {n.outputs[0] for n in out}
        for n in self.graph.nodes:
            if n.op.updates and n in out:
                more = self._finish_first(n, out, stored)
                out |= more
                stored |= {m.outputs[0] for m in more}
        return out

    def _shared(self, repeated: Sequence[Node], roots: set[Node]) -> Node | None:
        """The last expensive value that the most of the nodes are made of, two at least."""
        count: dict[Node, int] = {}
        for c in repeated:
            for n in self.inlined(c, roots):
                if n is not c and isinstance(n.op, Elementwise):
                    if self.cost[n.outputs[0]] >= EXPENSIVE:
                        count[n] = count.get(n, 0) + 1
        several = [n for n, times in count.items() if times > 1]
        return max(several, key=lambda n: (count[n], self.order.place[n]), default=None)

    def _stored(self, also: Node | None) -> tuple[set[Node], list[Node]]:
        """Nodes that are materialised, and which of these only not to be computed repeatedly."""
        out: set[Node] = set()
        repeated: list[Node] = []
        for n in self.graph.nodes:
            if n not in self.fusable:
                continue
            (v,) = n.outputs
            users = self.consumers.get(v, [])
            self.cost[v] = self.cost_of(n)
            leaves = v in self.outputs or any(u not in self.fusable for u in users)
            stored = leaves or n is also or self._chained(v, users)
            unread = may_raise(n) and self._read_in_part(v)
            alone = is_root_op(n) and not self._joined_on(n, users)
            if alone or stored or unread or self._feeds_scatter(v, users) or self._checks(n, users):
                out.add(n)
                self.cost[v] = 0.0
            elif self._repeated_by_index(v, users):
                out.add(n)
                repeated.append(n)
                self.cost[v] = 0.0
        return out, repeated

    def _joined_on(self, n: Node, users: Sequence[Node]) -> bool:
        """Whether a join is only an operand of another, once: that one stores its operands."""
        if not isinstance(n.op, Concatenate) or len(users) != 1:
            return False
        (user,) = users
        return isinstance(user.op, Concatenate) and user.inputs.count(n.outputs[0]) == 1

    def _checks(self, n: Node, users: Sequence[Node]) -> bool:
        """Whether it checks what a later update takes for places: that is to come before stores."""
        return may_raise(n) and any(
            isinstance(u.op, (Scatter, ScatterApply)) and n.outputs[0] in u.inputs[2:]
            for u in users
        )

    def _feeds_scatter(self, v: Value, users: Sequence[Node]) -> bool:
        """Whether values that are dear to compute go to a scatter, whose loop has no vectors."""
        return self.cost[v] >= _DEAR and any(
            isinstance(u.op, (Scatter, ScatterApply)) and u.inputs[1] is v for u in users
        )

    def _finish_first(self, update: Node, roots: set[Node], stored: set[Value]) -> set[Node]:
        """What is to be stored since an update in place would spoil it: the smaller side.

        That is either the new values or, where they are smaller, the parts of the old array.
        """
        old, new = update.inputs[:2]
        if (made := self.producer.get(old)) in self.fusable and made not in roots:
            return set()
        found = [r.reader for r in conflicting_reads(update, self._in_kernels, old, stored)]
        readers = {n for n in found if n is not update}
        values = self._in_kernels.get(new)
        if values is None or all(_axes(n.outputs[0]) < _axes(new) for n in readers):
            return readers
        return {values}

    def read_updated(self, roots: set[Node]) -> Graph:
        """The graph with reads of updated arrays in place of what they hold."""
        return read_updated(self.graph, self.fusable, roots, self.cost, self.order)

    def _read_in_part(self, v: Value) -> bool:
        """Whether some element of `v` may not be computed if `v` is computed where it is read."""
        if v not in self._in_part:
            self._in_part[v] = v not in self.outputs and self._some_unread(v)
        return self._in_part[v]

    def _some_unread(self, v: Value) -> bool:
        users = self.consumers.get(v, [])
        if not users:
            return True
        for u in users:
            if isinstance(u.op, (Slice, Gather, BroadcastTo)):
                return True
            # What it stores over is not computed.
            if isinstance(u.op, UpdateSlice) and u.inputs[0] is v:
                return True
            if u in self.fusable and not is_root_op(u) and self._read_in_part(u.outputs[0]):
                return True
        return False

    def _chained(self, v: Value, users: list[Node]) -> bool:
        """Whether an expensive value would be computed one element after another."""
        if self.cost.get(v, 0.0) < EXPENSIVE:
            return False
        assert isinstance(v.type, ArrayType)
        whole = tuple(range(v.type.ndim))
        return any(
            isinstance(u.op, Reduction) and u.op.chained(v.type.dtype) and u.attrs["axes"] == whole
            for u in users
        )

    def _repeated_by_index(self, v: Value, users: list[Node]) -> bool:
        """Whether index ops would make an expensive value be computed several times."""
        if self.cost.get(v, 0.0) < EXPENSIVE:
            return False
        reads = 0
        for u in users:
            if isinstance(u.op, Gather):
                return True
            if isinstance(u.op, BroadcastTo) or u.op.updates and u.inputs[0] is v:
                return True
            reads += 1 if isinstance(u.op, (Slice, Concatenate)) else 0
        return reads >= 1 and len(users) > 1

    def tree(self, root: Node, roots: set[Node], most: int | None = None) -> list[Node] | None:
        """The nodes computed in registers for `root`, itself last, in graph order.

        None where there are more than `most`, without literals.
        """
        seen = {root}
        literals: set[Node] = set()
        stack = [root]
        while stack:
            for v in stack.pop().inputs:
                p = self.producer.get(v)
                if p is None or p in seen:
                    continue
                if is_literal(p):
                    literals.add(p)
                elif p in self.fusable and p not in roots:
                    seen.add(p)
                    stack.append(p)
            if most is not None and len(seen) > most:
                return None
        return sorted(seen | literals, key=self.order.place.__getitem__)

    def inlined(self, root: Node, roots: set[Node]) -> list[Node]:
        """The nodes computed in registers for `root`, itself last, in graph order."""
        return self.tree(root, roots) or []


def fuse(graph: Graph) -> Graph:
    """Group the fusable nodes of `graph`, and of its regions, into `fusion` nodes."""
    graph = duplicate_splats(through_joins(joins(_fuse_regions(scalars_first(graph)))))
    fuser = _Fuser(graph)
    roots = fuser.roots()
    # A kernel that has less to compute may let another one read what it had kept alive.
    while (reads := fuser.read_updated(roots)) is not fuser.graph:
        fuser = _Fuser(reads)
        roots = fuser.roots()
    while True:
        schedule, group_of = fuser.schedule.groups(roots)
        more = fuser.schedule.held_back(roots) - roots
        more = more or fuser.schedule.promoted(roots, group_of, fuser.cost, fuser.cost_of)
        if not more:
            break
        roots |= more
    return _rebuild(fuser, roots, schedule)


def _fuse_regions(graph: Graph) -> Graph:
    if not any(n.regions for n in graph.nodes):
        return graph
    return replay(graph, region=fuse)


def _rebuild(fuser: _Fuser, roots: set[Node], schedule: list[Group | Node]) -> Graph:
    graph = fuser.graph
    builder = GraphBuilder(graph.name, graph.sizes)
    builder.inputs = list(graph.inputs)
    table: dict[Value, Value] = {v: v for v in graph.inputs}
    for number, unit in enumerate(schedule):
        if isinstance(unit, Node):
            inputs = tuple(table[v] for v in unit.inputs)
            if inputs == unit.inputs:
                builder.nodes.append(unit)
                outs = unit.outputs
            else:
                outs = builder.emit(
                    unit.op,
                    inputs,
                    unit.attrs,
                    regions=unit.regions,
                    binds=unit.binds,
                    where=unit.where,
                )
            table |= dict(zip(unit.outputs, outs, strict=True))
            continue
        _emit_group(fuser, roots, unit, f"k{number}", builder, table)
    for old, new in table.items():
        new.name = new.name or old.name
    return builder.build([table[v] for v in graph.outputs], graph.results, graph.size_outputs)


def _emit_group(
    fuser: _Fuser,
    roots: set[Node],
    group: Group,
    name: str,
    builder: GraphBuilder,
    table: dict[Value, Value],
) -> None:
    members = {n for root in group.roots for n in fuser.inlined(root, roots)}
    inside = {v for n in members for v in n.outputs}
    nodes = sorted(members, key=fuser.order.place.__getitem__)
    reads = dict.fromkeys(v for n in nodes for v in n.inputs if v not in inside)
    region = GraphBuilder(name)
    local: dict[Value, Value] = {v: region.input(v.type, v.name) for v in reads}
    for n in nodes:
        outs = region.emit(n.op, [local[v] for v in n.inputs], n.attrs, where=n.where)
        local |= dict(zip(n.outputs, outs, strict=True))
    results = [r.outputs[0] for r in group.roots]
    body = region.build([local[v] for v in results])
    sizes = tuple(sorted(sizes_read(body)))
    closed = Graph(body.name, sizes, body.inputs, body.nodes, body.outputs)
    outs = builder.emit(
        OPS["fusion"],
        [table[v] for v in reads],
        {"sizes": (symbols(sizes),)},
        regions=(closed,),
        where=group.roots[-1].where,
    )
    table |= dict(zip(results, outs, strict=True))

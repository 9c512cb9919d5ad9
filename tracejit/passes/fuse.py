"""Fusion: array ops that can run in one loop nest become one `fusion` node.

    v1 = exp(x); v2 = add(v1, y); s = reduce_sum(v2)
    ->  s = fusion(x, y) { exp, add, reduce_sum }

Some values are materialised, that is, written to memory: what leaves the fusable world (results,
operands of library calls), what reductions and scans give, and what would cost more to compute
twice than to store. Everything else is recomputed where it is read, in registers. Materialised
values with one iteration space share a kernel where nothing between them needs to be finished
first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, sizes_read, symbols
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.elementwise import Elementwise
from tracejit.ops.reduction import Reduction
from tracejit.passes.dce import may_raise

__all__ = ["fuse", "fusable"]

#: Work, in additions, above which a value that is read twice is stored rather than computed twice.
_EXPENSIVE = 6.0
_INDEX = frozenset({"broadcast_to", "reshape", "transpose", "slice", "gather", "iota"})
_ROOTS = frozenset(
    {"concatenate", "update_slice", "scatter", "argmin", "argmax", "cumsum", "cumprod"}
)


def fusable(node: Node) -> bool:
    """Whether kernels can compute the node."""
    if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ArrayType):
        return False
    dtypes = [dtype_name(v.type.dtype) for v in node.inputs if isinstance(v.type, ArrayType)]
    op = node.op
    if isinstance(op, Elementwise):
        wide = dtype_name(node.outputs[0].type.dtype)
        if op.name == "cast" and dtypes == ["f64"] and wide == "f16":
            return False
        return op.native(dtypes, node.attrs)
    if isinstance(op, Reduction):
        return op.native(dtypes)
    if op.name == "constant":
        return False
    if op.name in ("cumprod", "argmin", "argmax") and dtypes[0] in ("c64", "c128"):
        return False
    return op.name in _INDEX or op.name in _ROOTS


def is_root_op(node: Node) -> bool:
    """Whether the node's result is always materialised."""
    return isinstance(node.op, Reduction) or node.op.name in _ROOTS


def _literal(node: Node) -> bool:
    """Whether the node is a scalar constant: kernels hold those as literals."""
    return node.op.name == "constant" and not isinstance(node.outputs[0].type, ArrayType)


@dataclass
class _Group:
    """Materialised values computed by one kernel."""

    key: tuple[object, ...]
    index: int
    roots: list[Node] = field(default_factory=list)


def space(node: Node) -> tuple[object, ...]:
    """The iteration space of a root: equal keys may share a kernel."""
    t = node.outputs[0].type
    assert isinstance(t, ArrayType)
    if isinstance(node.op, Reduction):
        source = node.inputs[0].type
        assert isinstance(source, ArrayType)
        axes = node.attrs["axes"]
        if node.op.chained(source.dtype):
            return ("chain", source.shape, axes)
        if axes == (source.ndim - 1,):
            return ("map", source.shape, tuple(range(source.ndim)))
        return ("reduce", source.shape, axes)
    if node.op.name in _ROOTS:
        return ("alone", id(node))
    return ("map", t.shape, t.order)


class _Fuser:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producer = graph.producers()
        self.fusable = {n for n in graph.nodes if fusable(n)}
        self.consumers: dict[Value, list[Node]] = {}
        for n in graph.nodes:
            for v in dict.fromkeys(n.inputs):
                self.consumers.setdefault(v, []).append(n)
        self.fusable -= self._library_transposes()
        self.cost = self._costs()

    def _library_transposes(self) -> set[Node]:
        """Transposes of stored arrays that only library calls read: they stay, as other names."""
        outputs = set(self.graph.outputs)
        out = set()
        for n in self.graph.nodes:
            if n.op.name != "transpose" or n.outputs[0] in outputs:
                continue
            source = self.producer.get(n.inputs[0])
            stored = source is None or source not in self.fusable or is_root_op(source)
            users = self.consumers.get(n.outputs[0], [])
            if stored and all(u.op.kind == "library" for u in users):
                out.add(n)
        return out

    def _costs(self) -> dict[Value, float]:
        """Work to compute one element of a value from materialised ones, as a tree."""
        cost: dict[Value, float] = {}
        for n in self.graph.nodes:
            if n in self.fusable and not is_root_op(n):
                own = n.op.cost([v.type for v in n.inputs], n.attrs)
                own = own if isinstance(n.op, Elementwise) else 0.25
                total = own + sum(cost.get(v, 0.0) for v in n.inputs)
                cost[n.outputs[0]] = min(total, 1e6)
        return cost

    def roots(self) -> set[Node]:
        """The nodes whose results are materialised, before sharing is looked at."""
        outputs = set(self.graph.outputs)
        out = set()
        for n in self.graph.nodes:
            if n not in self.fusable:
                continue
            (v,) = n.outputs
            users = self.consumers.get(v, [])
            leaves = v in outputs or any(u not in self.fusable for u in users)
            stored = self._repeated_by_index(v, users) or self._chained(v, users)
            unread = may_raise(n) and self._read_in_part(v)
            if is_root_op(n) or leaves or stored or unread:
                out.add(n)
        return out

    def _read_in_part(self, v: Value) -> bool:
        """Whether some element of `v` may not be computed if `v` is computed where it is read."""
        users = self.consumers.get(v, [])
        if not users:
            return True
        for u in users:
            if u.op.name in ("slice", "gather", "broadcast_to"):
                return True
            if u in self.fusable and not is_root_op(u) and self._read_in_part(u.outputs[0]):
                return True
        return False

    def _chained(self, v: Value, users: list[Node]) -> bool:
        """Whether an expensive value would be computed one element after another."""
        if self.cost.get(v, 0.0) < _EXPENSIVE:
            return False
        assert isinstance(v.type, ArrayType)
        whole = tuple(range(v.type.ndim))
        return any(
            isinstance(u.op, Reduction) and u.op.chained(v.type.dtype) and u.attrs["axes"] == whole
            for u in users
        )

    def _repeated_by_index(self, v: Value, users: list[Node]) -> bool:
        """Whether index ops would make an expensive value be computed several times."""
        if self.cost.get(v, 0.0) < _EXPENSIVE:
            return False
        reads = 0
        for u in users:
            if u.op.name == "gather":
                return True
            if u.op.name in ("broadcast_to", "update_slice", "scatter"):
                return True
            reads += 1 if u.op.name in ("slice", "concatenate") else 0
        return reads >= 1 and len(users) > 1

    def inlined(self, root: Node, roots: set[Node]) -> list[Node]:
        """The nodes computed in registers for `root`, itself last, in graph order."""
        seen: set[Node] = set()
        stack = [root]
        while stack:
            n = stack.pop()
            if n in seen:
                continue
            seen.add(n)
            for v in n.inputs:
                p = self.producer.get(v)
                if p is not None and (_literal(p) or p in self.fusable and p not in roots):
                    stack.append(p)
        return [n for n in self.graph.nodes if n in seen]

    def group(self, roots: set[Node]) -> tuple[list[_Group | Node], dict[Node, _Group]]:
        """The schedule: groups and other nodes, each after what it reads."""
        schedule: list[_Group | Node] = []
        group_of: dict[Node, _Group] = {}
        unit: dict[Value, int] = {}
        for n in self.graph.nodes:
            if n in self.fusable and n not in roots:
                continue
            if n not in roots:
                for v in n.outputs:
                    unit[v] = len(schedule)
                schedule.append(n)
                continue
            key = space(n)
            needs, pointwise = self._needs(n, roots)
            latest = max((unit.get(v, -1) for v in needs), default=-1)
            place = None
            for g in reversed([u for u in schedule if isinstance(u, _Group)]):
                if g.index <= latest:
                    break
                if g.key == key and all(unit.get(v, -1) <= g.index for v in pointwise):
                    place = g
                    break
            if place is None:
                # A pointwise dependency on the newest group of the same space may join it.
                place = _Group(key, len(schedule))
                schedule.append(place)
            place.roots.append(n)
            group_of[n] = place
            unit[n.outputs[0]] = place.index
        return schedule, group_of

    def _needs(self, root: Node, roots: set[Node]) -> tuple[set[Value], set[Value]]:
        """Materialised values that must be finished first, and those read at the same element."""
        finished: set[Value] = set()
        pointwise: set[Value] = set()
        mapped = isinstance(root.op, Reduction) or root.op.name not in _ROOTS
        stack = [(root, mapped)]
        seen: set[tuple[Node, bool]] = set()
        while stack:
            n, same = stack.pop()
            if (n, same) in seen:
                continue
            seen.add((n, same))
            through = same and (isinstance(n.op, Elementwise) or n is root and mapped)
            if n is root and n.op.name in _INDEX:
                through = False
            for v in n.inputs:
                p = self.producer.get(v)
                if p is None or _literal(p):
                    continue
                if not isinstance(v.type, ArrayType):
                    finished.add(v)
                elif p in roots:
                    plain = through and not is_root_op(p) and space(p) == space(root)
                    (pointwise if plain else finished).add(v)
                elif p in self.fusable:
                    stack.append((p, through))
                else:
                    finished.add(v)
        return finished, pointwise - finished

    def promote(self, roots: set[Node], group_of: dict[Node, _Group]) -> set[Node]:
        """Expensive values that more than one kernel would compute."""
        where: dict[Node, set[int]] = {}
        for root in roots:
            for n in self.inlined(root, roots):
                if n is not root and not _literal(n):
                    where.setdefault(n, set()).add(group_of[root].index)
        again = {
            n for n, g in where.items() if len(g) > 1 and self.cost[n.outputs[0]] >= _EXPENSIVE
        }
        # Only the outermost of a chain: storing it spares the rest.
        inner = {
            p
            for n in again
            for v in n.inputs
            if (p := self.producer.get(v)) in again and where[p] == where[n]
        }
        return {n for n in again - inner if isinstance(n.op, Elementwise)}


def fuse(graph: Graph) -> Graph:
    """Group the fusable nodes of `graph`, and of its regions, into `fusion` nodes."""
    graph = _fuse_regions(graph)
    fuser = _Fuser(graph)
    roots = fuser.roots()
    while True:
        schedule, group_of = fuser.group(roots)
        more = fuser.promote(roots, group_of)
        if not more:
            break
        roots |= more
    return _rebuild(fuser, roots, schedule)


def _fuse_regions(graph: Graph) -> Graph:
    from tracejit.ir.graph import replay

    if not any(n.regions for n in graph.nodes):
        return graph
    return replay(graph, region=fuse)


def _rebuild(fuser: _Fuser, roots: set[Node], schedule: list[_Group | Node]) -> Graph:
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
    group: _Group,
    name: str,
    builder: GraphBuilder,
    table: dict[Value, Value],
) -> None:
    members: dict[Node, None] = {}
    for root in group.roots:
        for n in fuser.inlined(root, roots):
            members[n] = None
    inside = {v for n in members for v in n.outputs}
    nodes = [n for n in fuser.graph.nodes if n in members]
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

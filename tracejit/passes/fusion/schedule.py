"""Which kernel computes what, and when: materialised values of one iteration space share a kernel.

    groups, group_of = schedule.groups(roots)        each after what it reads, and in graph order
    more = schedule.held_back(roots)                 what no kernel may compute so late
    more = schedule.promoted(roots, group_of, cost)  what several kernels would compute

Roots share a kernel that have an array in common: others would win nothing by sharing a loop, and
all that they read and write would have to lie in memory at once.

Each of them is a walk over the nodes: what a root computes in registers is never listed, but what
matters of it is carried along, such as the last of the groups that have to be finished first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.reduction import Reduction
from tracejit.passes.analysis.effects import is_barrier, may_bail, may_raise
from tracejit.passes.analysis.fusable import EXPENSIVE, is_literal, is_root_op, space
from tracejit.passes.analysis.order import Order

__all__ = ["Group", "Schedule"]

_Key = tuple[object, ...]
#: More kernels than these compute a value for each of its elements, or so; and of more arrays it
#: need not be known that a value is made of them.
_FEW = 32


@dataclass
class Group:
    """Materialised values computed by one kernel, the unit number `index` of the schedule."""

    key: _Key
    index: int
    roots: list[Node] = field(default_factory=list)
    #: Whether it may end the run, and whether it may store into an argument.
    raises: bool = False
    writes: bool = False

    def takes(self, raises: bool, writes: bool) -> bool:
        """Whether a root may be computed here: no argument is stored into before a check."""
        return not (self.raises and writes or self.writes and raises)


@dataclass
class _Needs:
    """The last unit that must be finished first, and by their space the last ones of values that
    are read at the element that is computed.
    """

    finished: int = -1
    pointwise: dict[_Key, int] = field(default_factory=dict)
    #: Arrays in memory that it is made of, or many of them.
    arrays: set[Value] = field(default_factory=set)

    def finish(self, unit: int) -> None:
        self.finished = max(self.finished, unit)

    def read(self, key: _Key, unit: int) -> None:
        self.pointwise[key] = max(self.pointwise.get(key, -1), unit)

    def all(self) -> int:
        return max([self.finished, *self.pointwise.values()])


class Schedule:
    """Groups, for sets of roots: the nodes whose results are materialised."""

    def __init__(
        self,
        graph: Graph,
        producer: Mapping[Value, Node],
        fusable: set[Node],
        consumers: Mapping[Value, list[Node]],
        order: Order,
    ) -> None:
        self.graph, self.producer, self.fusable = graph, producer, fusable
        self.consumers, self.order = consumers, order
        #: What arguments hold in the end, and these.
        self._written = {
            v: graph.inputs[int(kind.split()[1])]
            for kind, v in zip(graph.results, graph.outputs, strict=False)
            if kind.startswith("write")
        }

    def _inner(self, n: Node, roots: set[Node]) -> list[Node]:
        """What a node is computed from in registers."""
        made = [self.producer.get(v) for v in n.inputs]
        return [
            p
            for p in made
            if p is not None and (is_literal(p) or p in self.fusable and p not in roots)
        ]

    def groups(self, roots: set[Node]) -> tuple[list[Group | Node], dict[Node, Group]]:
        """Groups and other nodes, each after what it reads; the group of each root."""
        schedule: list[Group | Node] = []
        group_of: dict[Node, Group] = {}
        unit: dict[Value, int] = {}
        bound: dict[str, int] = {}
        #: The last group of a space that has an array, and the last unit that reads one.
        newest: dict[tuple[_Key, Value], Group] = {}
        read: dict[Value, int] = {}
        #: Of nodes in registers: what they need where they are read at the element, and elsewhere.
        needs: dict[Node, tuple[_Needs, int]] = {}
        raising: set[Node] = set()
        barrier = failing = -1
        for n in self.graph.nodes:
            if n not in self.fusable:
                failing = len(schedule) if may_bail(n) else failing
                unit |= dict.fromkeys(n.outputs, len(schedule))
                bound |= dict.fromkeys(n.binds, len(schedule))
                if is_barrier(n):
                    barrier = len(schedule)
                read |= dict.fromkeys(n.inputs, len(schedule))
                schedule.append(n)
                continue
            inner = self._inner(n, roots)
            own = self._needs(n, n in roots, roots, unit, needs)
            if bound:
                sizes = n.sizes() | type_sizes(n.outputs[0].type)
                own.finish(max((bound.get(size, -1) for size in sizes), default=-1))
            if may_raise(n) or not raising.isdisjoint(inner):
                raising.add(n)
            if n not in roots:
                needs[n] = own, own.all()
                continue
            key = space(n)
            pointwise = own.pointwise.pop(key, -1)
            latest = max(own.all(), barrier if n in raising else -1)
            raises, old = n in raising, self._written.get(n.outputs[0])
            first = max(latest + 1, pointwise)
            if old is not None:
                # Before an argument is stored into all else has read it, and what is in front of
                # the store and may fail is known.
                first = max(first, read.get(old, -1), failing + 1)
            known = {newest[key, v].index: newest[key, v] for v in own.arrays if (key, v) in newest}
            fit = (k for k, g in known.items() if k >= first and g.takes(raises, old is not None))
            group = known.get(max(fit, default=-1))
            if group is None:
                group = Group(key, len(schedule))
                schedule.append(group)
            group.roots.append(n)
            group.raises, group.writes = group.raises or raises, group.writes or old is not None
            for v in (n.outputs[0], *own.arrays):
                if newest.setdefault((key, v), group).index < group.index:
                    newest[key, v] = group
                read[v] = max(group.index, read.get(v, -1))
            failing = max(failing, group.index if raises else -1)
            group_of[n] = group
            unit[n.outputs[0]] = group.index
        return schedule, group_of

    def _needs(
        self,
        n: Node,
        is_root: bool,
        roots: set[Node],
        unit: Mapping[Value, int],
        needs: Mapping[Node, tuple[_Needs, int]],
    ) -> _Needs:
        out = _Needs()
        through = isinstance(n.op, Elementwise)
        if is_root and n.op.fused != "index":
            through = isinstance(n.op, Reduction) or n.op.fused != "root"
        for v in n.inputs:
            p = self.producer.get(v)
            if p not in needs and isinstance(v.type, ArrayType) and v.type.size != 1:
                out.arrays.add(v)
            if p is None or is_literal(p):
                continue
            if p in needs:
                inner, whole = needs[p]
                if len(out.arrays) < _FEW:
                    out.arrays |= inner.arrays
                out.finish(inner.finished if through else whole)
                for key, last in inner.pointwise.items() if through else ():
                    out.read(key, last)
            elif through and p in roots and not is_root_op(p):
                out.read(space(p), unit[v])
            else:
                out.finish(unit.get(v, -1))
        return out

    def held_back(self, roots: set[Node]) -> set[Node]:
        """What must be stored because it would otherwise be computed too late."""
        used = self._used(roots)
        out: set[Node] = set()
        limits: dict[Node, int] = {}
        for n in self.graph.nodes:
            if n not in roots and n not in used and not is_literal(n):
                continue
            inner = self._inner(n, roots)
            passed = [p for p in inner if limits[p] < self.order.place[n]]
            out.update(p for p in passed if not is_literal(p))
            own = self.order.limit(n)
            limits[n] = own if passed else min([own, *(limits[p] for p in inner)])
        return out

    def _used(self, roots: set[Node]) -> set[Node]:
        """The nodes that are computed in registers."""
        used: set[Node] = set()
        for n in reversed(self.graph.nodes):
            if n in roots or n in used:
                used.update(self._inner(n, roots))
        return used

    def promoted(
        self,
        roots: set[Node],
        group_of: Mapping[Node, Group],
        cost: dict[Value, float],
        cost_of: Callable[[Node], float],
    ) -> set[Node]:
        """Expensive values that more than one kernel would compute; `cost` is brought up to date.

        What is made of one of them may be cheap enough by then.
        """
        where, computed = self._where(roots, group_of)

        def again(n: Node) -> bool:
            if n not in where:
                return False
            times, size = float(where[n].bit_count()), _size(n.outputs[0])
            if n in computed and 0 < size < math.inf:
                times = sum(computed[n].values()) / size
            return cost_of(n) * (times - 1) >= EXPENSIVE

        def is_inner(n: Node) -> bool:
            """Of a chain that nothing else reads only the outermost: storing it spares the rest."""
            readers = [u for u in self.consumers[n.outputs[0]] if u in where or u in roots]
            return all(where.get(u) == where[n] and again(u) for u in readers)

        out: set[Node] = set()
        for n in self.graph.nodes:
            if n not in self.fusable:
                continue
            (v,) = n.outputs
            cost[v] = 0.0 if n in roots else cost_of(n)
            if isinstance(n.op, Elementwise) and again(n) and not is_inner(n):
                cost[v] = 0.0
                out.add(n)
        return out

    def _where(
        self, roots: set[Node], group_of: Mapping[Node, Group]
    ) -> tuple[dict[Node, int], dict[Node, dict[int, float]]]:
        """The groups that compute a node in registers, as the bits of a number; and where they are
        few, by group, how many of its elements each computes.
        """
        where: dict[Node, int] = {}
        computed: dict[Node, dict[int, float]] = {}
        for n in reversed(self.graph.nodes):
            if n not in roots and n not in where:
                continue
            own = 1 << group_of[n].index if n in roots else where[n]
            most = {group_of[n].index: _computed(n)} if n in roots else computed.get(n, {})
            for p in self._inner(n, roots):
                if is_literal(p):
                    continue
                where[p] = where.get(p, 0) | own
                if where[p].bit_count() > _FEW:
                    computed.pop(p, None)
                    continue
                all_, counts = _size(p.outputs[0]), computed.setdefault(p, {})
                for g, count in most.items():
                    counts[g] = min(counts.get(g, 0.0) + count, all_)
        return where, computed


def _computed(root: Node) -> float:
    """The elements that the kernel of a root computes; of an update, only what is new."""
    if isinstance(root.op, (Reduction, UpdateSlice)):
        return _size(root.inputs[isinstance(root.op, UpdateSlice)])
    return math.inf if is_root_op(root) else _size(root.outputs[0])


def _size(v: Value) -> float:
    size = v.type.size if isinstance(v.type, ArrayType) else None
    return size if isinstance(size, int) else math.inf

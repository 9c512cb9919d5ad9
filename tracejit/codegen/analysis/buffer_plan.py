"""The memory that the arrays of a program lie in: allocations shared by values, and copies left.

Values whose live ranges do not meet may share allocation. They are joined greedily, those of the
deepest loops first: an update with the array that it changes, a merge with what flows into it, then
what an argument holds at the end with that argument, and results with their memory. Where two may
not be joined there is a copy: by the updating kernel, on the edge that leads to the merge, or at
the return. Loops that hand memory around (names swapped, a new array in each iteration) move no
elements: such an allocation has a pointer that changes hands at the end of each iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.liveness import Liveness, is_array, written_inputs
from tracejit.codegen.analysis.stack_order import StackUse
from tracejit.errors import Where
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.dims import Dim, bounds
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.indexing import Scatter
from tracejit.ops.array.items import WriteItem
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Undefined
from tracejit.ops.control.regions import Fusion

__all__ = [
    "Allocation",
    "BufferPlan",
    "Copy",
    "Move",
    "byte_count",
    "copies_word",
    "is_update",
    "plan_buffers",
]

#: What can compute its result in memory with any strides.
_STRIDED = (Fusion, Merge, Undefined, WriteItem)
#: So many elements that are copied in each iteration are worth a word.
_MANY = 256
#: How many slots of other sizes an allocation is compared with.
_TRIED = 16


@dataclass(eq=False)
class Allocation:
    """Memory that `members` share, one after another.

    It is that of graph input `argument`, that of graph output `output`, slot number `slot` of the
    program's own memory, or, where its size is not known when the program begins, a block that
    grows. `moves`: the pointer to it changes hands with that of other allocation.
    """

    members: list[Value]
    argument: int | None = None
    output: int | None = None
    slot: int | None = None
    moves: bool = False
    #: Byte counts, of which the largest is needed.
    sizes: frozenset[Dim] = frozenset()
    #: Element strides, where the argument's memory is not dense.
    strides: tuple[Dim, ...] | None = None
    #: What is live while one of the members is written.
    during: set[Value] = field(default_factory=set)

    @property
    def grows(self) -> bool:
        """Whether it is a block of its own."""
        return self.argument is None and self.output is None and self.slot is None


@dataclass(frozen=True)
class Copy:
    """A whole array that is copied: `what` says why, `where` is the user's line. One that is
    `repeated` is copied in each iteration of a loop.
    """

    what: str
    where: Where | None
    repeated: bool = False

    def __str__(self) -> str:
        return self.what + (f" at {self.where}" if self.where else "")


@dataclass(frozen=True)
class Move:
    """All elements of `source` to the memory of `target`."""

    source: Value
    target: Value


@dataclass
class BufferPlan:
    """The allocation of every array value; slots; copies on edges, and pointers that move there.

    `edges`, `rooms` and `turns` are by (section, successor). Rooms are moves of undefined values:
    there is nothing to copy, but whoever copies the target later reads as much memory. A turn maps
    allocation to the allocation whose memory it takes over.
    """

    live: Liveness
    allocation: dict[Value, Allocation] = field(default_factory=dict)
    slots: list[frozenset[Dim]] = field(default_factory=list)
    edges: dict[tuple[int, int], list[Move]] = field(default_factory=dict)
    rooms: dict[tuple[int, int], list[Move]] = field(default_factory=dict)
    turns: dict[tuple[int, int], dict[Allocation, Allocation]] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)
    #: The nodes in loops that copy as many elements as the run says.
    copying: set[Node] = field(default_factory=set)
    #: Arrays that are copied around the program: arguments that are saved, results that lie
    #: elsewhere, with the bytes of memory that the copy takes.
    around: list[tuple[Copy, Dim]] = field(default_factory=list)
    #: The program's stacks, for reading.
    stacks: list[StackUse] = field(default_factory=list)

    def of(self, v: Value) -> Allocation | None:
        """The allocation of a value under any of its names; None for what is only read."""
        return self.allocation.get(self.live.root(v))

    def together(self, a: Value, b: Value) -> bool:
        """Whether two values share an allocation."""
        allocation = self.of(a)
        return allocation is not None and allocation is self.of(b)

    def overwritten(self, node: Node) -> dict[Value, Value]:
        """The results that a node computes over one of its inputs, with that input."""
        out: dict[Value, Value] = {}
        for result, inputs in self.live.overwritable.get(node, {}).items():
            for v in node.inputs:
                if self.live.root(v) in inputs and self.together(result, v):
                    out[result] = v
        return out


def copies_word(program: str) -> str:
    """The symbol of the words in which a program leaves what its loops have copied."""
    return f"{program}.copied"


def _order(v: Value) -> tuple[int, ...]:
    assert isinstance(v.type, ArrayType)
    return v.type.order


def byte_count(v: Value) -> Dim:
    """The bytes of an array that lies dense."""
    assert isinstance(v.type, ArrayType)
    return v.type.size * v.type.dtype.itemsize


def plan_buffers(
    graph: DataflowGraph,
    known: frozenset[str],
    strides: Mapping[int, tuple[Dim, ...]],
    apart: bool = False,
) -> BufferPlan:
    """Place every array of the graph.

    `known` are the sizes that are bound when the program begins, `strides` the element strides of
    those inputs that are not dense. Where values of other sizes are to lie `apart`, the memory of
    dead ones is only used again for those of the same size.
    """
    return _Planner(graph, known, strides, apart).run()


class _Planner:
    def __init__(
        self,
        graph: DataflowGraph,
        known: frozenset[str],
        strides: Mapping[int, tuple[Dim, ...]],
        apart: bool,
    ) -> None:
        self.graph, self.known, self.strides, self.apart = graph, known, strides, apart
        self.live = Liveness(graph)
        self.plan = BufferPlan(self.live)
        self.allocation = self.plan.allocation
        self.dense_only: set[Value] = set()

    def run(self) -> BufferPlan:
        self._begin()
        for a, b, alike in self._candidates():
            self._join(a, b, alike)
        self._pin_results()
        self._reuse()
        for section in self.graph.sections:
            self._edges(section)
        self._color()
        self._report()
        return self.plan

    # Allocation of one value each
    # ------------------------------------------------------------------

    def _begin(self) -> None:
        written = written_inputs(self.graph)
        for k in written:
            v = self.graph.inputs[k]
            own = self._new(v)
            own.argument, own.strides = k, self.strides.get(k)
        for _, node in self.graph.nodes():
            if node.op.renames or isinstance(node.op, Constant):
                continue
            for v in (v for v in node.outputs if is_array(v) and v not in self.live.fixed):
                self._new(v)
                if not isinstance(node.op, _STRIDED):
                    self.dense_only.add(v)
            for v in self.live.scratch.get(node, ()):
                self._new(v)
                self.dense_only.add(v)

    def _new(self, v: Value) -> Allocation:
        during = set(self.live.during.get(v, ()))
        self.allocation[v] = Allocation([v], sizes=frozenset((byte_count(v),)), during=during)
        return self.allocation[v]

    # Joining ------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[tuple[Value, Value, bool]]:
        """Pairs to join, the most important first, and whether their axes lie in one order.

        Another name of memory, such as a transpose, may have other axes than its root.
        """
        root = self.live.root
        found: list[tuple[float, int, Value, Value, bool]] = []
        for section, node in self.graph.nodes():
            depth = section.frame.depth
            if isinstance(node.op, Merge):
                for k, v in enumerate(node.inputs):
                    before = depth - 0.5 if section.kind == "head" and k == 0 else depth
                    merged = node.outputs[0]
                    alike = is_array(v) and _order(v) == _order(merged)
                    found.append((before, 1, root(v), merged, alike))
            elif is_update(node):
                for out, inputs in self.live.overwritable[node].items():
                    names = {root(v): v for v in node.inputs if is_array(v)}
                    found += [(depth, 2, v, out, _order(names[v]) == _order(out)) for v in inputs]
        found.sort(key=lambda c: (-c[0], -c[1]))
        for _, _, a, b, alike_axes in found:
            yield a, b, alike_axes
        for k, v in written_inputs(self.graph).items():
            yield self.graph.inputs[k], root(v), _order(self.graph.inputs[k]) == _order(v)

    def _join(self, a: Value, b: Value, alike: bool = False) -> bool:
        first, second = self.allocation.get(a), self.allocation.get(b)
        if first is None or second is None:
            return False
        if first is second:
            return True
        if not self._compatible(first, second, alike):
            return False
        if len(first.members) < len(second.members):
            first, second = second, first
        if any(self.allocation.get(v) is first for v in second.during):
            return False
        if not first.during.isdisjoint(second.members):
            return False
        first.members += second.members
        first.argument = second.argument if first.argument is None else first.argument
        first.output = second.output if first.output is None else first.output
        first.strides = first.strides or second.strides
        first.sizes |= second.sizes
        first.during |= second.during
        for v in second.members:
            self.allocation[v] = first
        return True

    def _compatible(self, a: Allocation, b: Allocation, alike: bool) -> bool:
        ta, tb = a.members[0].type, b.members[0].type
        assert isinstance(ta, ArrayType) and isinstance(tb, ArrayType)
        if ta.dtype != tb.dtype or ta.order != tb.order and not alike:
            return False
        strided = a.strides is not None or b.strides is not None
        # The strides are those of the argument's own axes.
        if strided and len(set(map(_order, (*a.members, *b.members)))) > 1:
            return False
        fixed = [s for s in (a, b) if s.argument is not None or s.output is not None]
        if len(fixed) == 2 or (fixed and a.sizes != b.sizes):
            return False
        return not (strided and any(v in self.dense_only for v in (*a.members, *b.members)))

    def _pin_results(self) -> None:
        """Results are computed in the memory that the caller gave for them."""
        for k, v in enumerate(self.graph.outputs):
            allocation = self.allocation.get(self.live.root(v)) if is_array(v) else None
            if allocation is None or _is_write(self.graph, k):
                continue
            free = allocation.argument is None and allocation.output is None
            free = free and type_sizes(v.type) <= self.known
            if free and allocation.sizes == {byte_count(v)}:
                allocation.output = k

    def _reuse(self) -> None:
        """Elementwise results over operands that nothing else needs, in the program's own memory.

        Allocation of the same size would be found for them too; this spares the cache.
        """
        for node, found in self.live.overwritable.items():
            for out, inputs in found.items():
                for v in inputs:
                    pair = self.allocation.get(v), self.allocation.get(out)
                    if all(s is not None and s.argument is None for s in pair):
                        if not is_update(node) and self._join(v, out):
                            break

    # Edges --------------------------------------------------------------------------------------

    def _edges(self, section: Section) -> None:
        for before, pairs in self.live.operands(section).items():
            back = section.kind == "head" and before >= section.id
            roots = [(node, self.live.root(v)) for node, v in pairs]
            turn = _closed(self._turn(section, roots)) if back else {}
            for allocation in turn:
                allocation.moves = True
            if turn:
                self.plan.turns[before, section.id] = turn
            for (node, v), (_, root) in zip(pairs, roots, strict=True):
                target, source = self.allocation[node.outputs[0]], self.allocation.get(root)
                move, edge = Move(v, node.outputs[0]), (before, section.id)
                if root in self.live.undefined:
                    self.plan.rooms.setdefault(edge, []).append(move)
                elif source is not turn.get(target, target):
                    self.plan.edges.setdefault(edge, []).append(move)

    def _turn(
        self, section: Section, pairs: Sequence[tuple[Node, Value]]
    ) -> dict[Allocation, Allocation]:
        """What each merge of a head takes over from the iteration that ends."""
        both = [(self.allocation[n.outputs[0]], self.allocation.get(v), v) for n, v in pairs]
        turn: dict[Allocation, Allocation] = {}
        taken = {target for target, source, _ in both if source is target}
        for target, source, v in both:
            if source is None or source in taken or target in taken or v in self.live.undefined:
                continue
            # What the loop reads again in the next iteration stays where it is.
            if v not in self.live.live_in[section.id] and self._may_move(target, source):
                turn[target] = source
                taken.add(source)
        return turn

    def _may_move(self, a: Allocation, b: Allocation) -> bool:
        if a.strides is not None or b.strides is not None:
            return False
        ta, tb = a.members[0].type, b.members[0].type
        assert isinstance(ta, ArrayType) and isinstance(tb, ArrayType)
        fits = self._is_known(a) and self._is_known(b) and a.sizes == b.sizes
        both_grow = not self._is_known(a) and not self._is_known(b)
        return ta.dtype == tb.dtype and (fits or both_grow)

    def _is_known(self, allocation: Allocation) -> bool:
        fixed = allocation.argument is not None or allocation.output is not None
        return fixed or all(type_sizes(v.type) <= self.known for v in allocation.members)

    # Slots --------------------------------------------------------------------------------------

    def _color(self) -> None:
        """Slots of the program's own memory: memory of dead values is used again.

        That of the same size comes first, then one that is no smaller, or no larger: it grows.
        Before there is a new slot, the memory of results that are written later serves.
        """
        own = list(dict.fromkeys(self.allocation.values()))
        conflicts: dict[Allocation, set[Allocation]] = {}
        for v, during in self.live.during.items():
            for other in during:
                a, b = self.allocation[v], self.allocation[other]
                conflicts.setdefault(a, set()).add(b)
                conflicts.setdefault(b, set()).add(a)
        users: list[list[Allocation]] = []
        shared: list[int] = []
        results = {s: [s] for s in own if s.output is not None and not s.moves}
        for allocation in own:
            if allocation.argument is not None or allocation.output is not None:
                continue
            if not self._is_known(allocation):
                continue
            against = conflicts.get(allocation, set())
            place = None
            if not allocation.moves:
                free = [k for k in shared if against.isdisjoint(users[k])]
                place = self._fitting(allocation.sizes, free)
                home = None if self.apart else _unwritten(allocation, against, results)
                if place is None and home is not None:
                    allocation.output = home.output
                    results[home].append(allocation)
                    continue
            if place is None:
                place = len(self.plan.slots)
                self.plan.slots.append(allocation.sizes)
                users.append([])
                # A slot whose pointer changes hands belongs to nothing else.
                if not allocation.moves:
                    shared.append(place)
            elif _within(self.plan.slots[place], allocation.sizes):
                self.plan.slots[place] = allocation.sizes
            allocation.slot = place
            users[place].append(allocation)

    def _fitting(self, sizes: frozenset[Dim], free: Sequence[int]) -> int | None:
        """The best of these slots for an allocation of the largest of `sizes`."""
        slots = self.plan.slots
        first: dict[frozenset[Dim], int] = {}
        for k in free:
            first.setdefault(slots[k], k)
        if sizes in first or self.apart:
            return first.get(sizes)
        first = dict(itertools.islice(first.items(), _TRIED))
        larger = (k for slot, k in first.items() if _within(sizes, slot))
        smaller = (k for slot, k in first.items() if _within(slot, sizes))
        return next(itertools.chain(larger, smaller), None)

    # What is copied -----------------------------------------------------------------------------

    def _report(self) -> None:
        plan = self.plan
        for section, node in self.graph.nodes():
            repeated = section.frame.depth > 0 and _has_many(node.outputs)
            if repeated and _only_moves(node):
                plan.copying.add(node)
                plan.copies.append(Copy("part of an array in each iteration", node.where, True))
            if is_update(node) and not plan.overwritten(node):
                if any(v not in self.live.undefined for v in map(self.live.root, node.inputs)):
                    what = "an update of an array that is still needed"
                    plan.copying |= {node} if repeated else set()
                    plan.copies.append(Copy(what, node.where, repeated))
        for (before, to), moves in plan.edges.items():
            kind = "branch" if self.graph.sections[to].kind == "join" else "loop"
            inside = self.graph.sections[before].frame.depth > 0
            for move in moves:
                node = self._merge_of(move.target)
                repeated = inside and _has_many([move.source])
                plan.copies.append(Copy(f"an array handed on by a {kind}", node.where, repeated))
        for k, v in written_inputs(self.graph).items():
            allocation = plan.of(v)
            if allocation is None or allocation.argument != k or allocation.moves:
                plan.copies.append(Copy(f"the last value of argument {k}", None))

    def _merge_of(self, v: Value) -> Node:
        section = self.live.section_of[v]
        return next(node for node in section.nodes if v in node.outputs)


def _unwritten(
    allocation: Allocation, against: set[Allocation], results: Mapping[Allocation, list[Allocation]]
) -> Allocation | None:
    """A result in whose memory `allocation` fits, as long as nothing there is needed."""
    for result, users in results.items():
        if against.isdisjoint(users) and _within(allocation.sizes, result.sizes):
            return result
    return None


def _within(small: frozenset[Dim], large: frozenset[Dim]) -> bool:
    """Whether the largest of `large` is known to be no smaller than the largest of `small`."""
    return all(any(_is_natural(b - a) for b in large) for a in small)


def _is_natural(d: Dim) -> bool:
    low, _ = bounds(d, {})
    return low is not None and low >= 0


def _only_moves(node: Node) -> bool:
    """Whether a kernel cuts many elements out of an array, and computes nothing."""
    if not isinstance(node.op, Fusion) or is_update(node):
        return False
    ops = [n.op for n in node.regions[0].nodes if not isinstance(n.op, Constant)]
    if not any(isinstance(op, (Reshape, Slice)) for op in ops):
        return False
    return all(op.view or isinstance(op, (BroadcastTo, Scatter)) for op in ops)


def _has_many(values: Sequence[Value]) -> bool:
    """Whether there may be many elements in any of these."""
    many = (bounds(v.type.size, {})[1] for v in values if isinstance(v.type, ArrayType))
    return any(most is None or most >= _MANY for most in many)


def is_update(node: Node) -> bool:
    """Whether a node changes elements of an array that it is given."""
    if node.op.updates or node.attrs.get("written"):
        return True
    if node.op.kind != "fusion":
        return False
    (region,) = node.regions
    producer = region.producers()
    roots = [producer[v] for v in region.outputs if v in producer]
    return any(n.op.updates and n.inputs[0] in region.inputs for n in roots)


def _is_write(graph: DataflowGraph, output: int) -> bool:
    return output < len(graph.results) and graph.results[output].startswith("write ")


def _closed(turn: dict[Allocation, Allocation]) -> dict[Allocation, Allocation]:
    """A permutation: one that is taken over gets what lies free at the chain's other end."""
    out = dict(turn)
    taken = set(turn.values())
    for start in [allocation for allocation in turn if allocation not in taken]:
        end = start
        while end in turn:
            end = turn[end]
        out[end] = start
    return out

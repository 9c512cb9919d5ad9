"""Whether a flat graph uses each stack once, in order: then all of one name can share memory.

    t1 = stack_push(t0, x); t2 = stack_push(t1, y); t3, y = stack_pop(t2)      as in memory
    t1 = stack_push(t0, x); t2 = stack_push(t0, y)                            refused: t0 is gone

By forward data flow: `_at_end` are, for one name, the tokens whose stack is what the memory holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import TOKEN, ArrayType
from tracejit.link.places import Word
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Undefined
from tracejit.ops.control.stack import StackNew, record_form, record_of

__all__ = ["StackUse", "check_stacks", "stack_tokens"]


@dataclass(eq=False)
class StackUse:
    """One stack of a program: the sizes in bytes of its records, without what aligns them.

    `noted` is where the program notes the room it has made; None in a report of another process.
    """

    name: str
    records: tuple[Dim, ...]
    noted: Word | None = None

    @property
    def taken_bytes(self) -> int:
        """The most memory that a call has had for it so far; up to twice what it has used."""
        return 0 if self.noted is None else self.noted.value

    def __str__(self) -> str:
        sizes = " or ".join(map(str, self.records)) or "0"
        text = f"stack {self.name}: {sizes} bytes a push"
        if self.noted is None:
            return text
        so_far = f"{self.taken_bytes:,}".replace(",", " ")
        return f"{text}, room for {so_far} bytes so far"


def stack_tokens(graph: DataflowGraph) -> set[Value]:
    """The tokens that are stacks, under all their names."""
    found = {n.outputs[0] for _, n in graph.nodes() if n.op.kind == "stack"}
    names = [n for _, n in graph.nodes() if n.op.renames or isinstance(n.op, Merge)]
    names = [n for n in names if n.outputs[0].type == TOKEN]
    count = 0
    while count != len(found):
        count = len(found)
        for n in names:
            if not found.isdisjoint(n.inputs):
                found.update(n.outputs)
    return found


def check_stacks(graph: DataflowGraph) -> dict[str, list[Node]]:
    """The nodes of each stack, by name.

    Raises TraceError where a stack is used that may not be the newest of its name, and where it
    cannot be told from the types how the arrays of a record lie.
    """
    found: dict[str, list[Node]] = {}
    for _, node in graph.nodes():
        if node.op.kind == "stack":
            found.setdefault(node.attrs["stack"], []).append(node)
    if found:
        order = _Order(graph)
        for name, nodes in found.items():
            _check_orders(name, nodes)
            order.check(name)
    return found


def _check_orders(name: str, nodes: Sequence[Node]) -> None:
    """A pop finds arrays as they were pushed if records of one form have one axis order."""
    orders: dict[tuple[object, ...], tuple[object, ...]] = {}
    for node in nodes:
        if isinstance(node.op, StackNew):
            continue
        record = record_of(node)
        order = tuple(v.type.order for v in record if isinstance(v.type, ArrayType))
        if orders.setdefault(record_form(record), order) != order:
            why = f"the stack {name} holds arrays with unlike axis orders"
            raise TraceError("TJ015", why, node.where)


class _Order:
    def __init__(self, graph: DataflowGraph) -> None:
        self.graph = graph
        self._source: dict[Value, Value] = {}
        self._undefined: set[Value] = set()
        for _, node in graph.nodes():
            if node.op.renames and node.inputs[0].type == TOKEN:
                self._source |= dict.fromkeys(node.outputs, node.inputs[0])
            elif isinstance(node.op, Undefined):
                self._undefined.update(node.outputs)

    def root(self, v: Value) -> Value:
        """The token that `v` is another name of."""
        while v in self._source:
            v = self._source[v]
        return v

    def check(self, name: str) -> None:
        """Raise TraceError unless every use of stacks of this name is of the newest one."""
        at_end: dict[int, frozenset[Value]] = {}
        changed = True
        while changed:
            changed = False
            for section in self.graph.sections:
                held = self._walk(name, section, self._at_start(section, at_end))
                if at_end.get(section.id) != held:
                    at_end[section.id], changed = held, True
        for section in self.graph.sections:
            self._walk(name, section, self._at_start(section, at_end), check=True)

    def _at_start(self, section: Section, at_end: dict[int, frozenset[Value]]) -> frozenset[Value]:
        """What holds on every way to the section; one that is not known yet forbids nothing."""
        ways = [at_end.get(p) for p in section.predecessors]
        known = [held for held in ways if held is not None]
        if not known:
            return frozenset()
        both = frozenset.intersection(*known)
        merged = []
        for node in section.nodes:
            if isinstance(node.op, Merge) and node.outputs[0].type == TOKEN:
                given = zip(ways, map(self.root, node.inputs), strict=True)
                if all(held is None or v in held or v in self._undefined for held, v in given):
                    merged.append(node.outputs[0])
        return both.union(merged)

    def _walk(
        self, name: str, section: Section, held: frozenset[Value], *, check: bool = False
    ) -> frozenset[Value]:
        for node in section.nodes:
            if node.op.kind != "stack" or node.attrs["stack"] != name:
                continue
            if check and node.inputs and self.root(node.inputs[0]) not in held:
                why = f"{node.op.name} uses a stack {name} that is not the newest of its name"
                raise TraceError("TJ015", why, node.where)
            held = frozenset(node.outputs[:1])
        return held

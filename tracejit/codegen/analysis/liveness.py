"""The flat dataflow graph without its renames: where array values are defined, read and live.

`switch`, `enter`, `exit`, `next_iteration`, `loop_cond` and views that stay outside kernels only
give memory another name. What is left is SSA form: merges are its phis, read at the end of
the sections that lead to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import DTYPES, ArrayType
from tracejit.ops.array.creation import Constant
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Undefined
from tracejit.ops.control.stack import StackNew, StackPop, StackPush
from tracejit.passes.analysis.aliasing import overwritable

__all__ = ["Liveness", "is_array", "written_inputs"]


def is_array(v: Value) -> bool:
    """Whether a value lies in memory."""
    return isinstance(v.type, ArrayType)


def written_inputs(graph: DataflowGraph) -> dict[int, Value]:
    """The inputs that the program writes to, by number: what their memory holds at the end.

    Those that it writes only before an exception leaves hold their own values then.
    """
    out: dict[int, Value] = {}
    for _, node in graph.nodes():
        for k in node.attrs.get("states", ()):
            out[k] = graph.inputs[k]
    for v, result in zip(graph.outputs, graph.results, strict=False):
        if result.startswith("write "):
            out[int(result.split()[1])] = v
    return out


@dataclass
class Liveness:
    """What interferes: `during[v]` are the values whose memory writing `v` must not overwrite.

    They are live just after `v` is written, or read by the node that writes it. Arguments that the
    program does not write, constants, undefined values and arrays that stay on a stack are no part
    of this: of undefined values nothing is ever read, the others (`fixed`) are never written.
    """

    graph: DataflowGraph
    during: dict[Value, set[Value]] = field(default_factory=dict)
    #: Array values that are live when a section begins, its merges left aside.
    live_in: list[set[Value]] = field(default_factory=list)
    #: For each node, its results with the inputs in whose memory they may be computed.
    overwritable: dict[Node, dict[Value, tuple[Value, ...]]] = field(default_factory=dict)
    #: Temporaries of library calls.
    scratch: dict[Node, list[Value]] = field(default_factory=dict)
    #: The section that defines a value.
    section_of: dict[Value, Section] = field(default_factory=dict)
    fixed: set[Value] = field(default_factory=set)
    undefined: set[Value] = field(default_factory=set)
    _source: dict[Value, Value] = field(default_factory=dict)
    #: The nodes that read a value, None for what gives results, and the one that makes it.
    _readers: dict[Value, set[Node | None]] = field(default_factory=dict)
    _makers: dict[Value, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.graph
        written = self._written = written_inputs(graph)
        self.fixed |= {v for k, v in enumerate(graph.inputs) if k not in written and is_array(v)}
        for section, node in graph.nodes():
            self.section_of |= dict.fromkeys(node.outputs, section)
            if node.op.renames:
                self._source |= dict.fromkeys(node.outputs, node.inputs[0])
            elif isinstance(node.op, Constant):
                self.fixed.update(filter(is_array, node.outputs))
            elif isinstance(node.op, Undefined):
                self.undefined.update(filter(is_array, node.outputs))
            else:
                self._look_at(node)
        self._solve()
        if staying := self._staying():
            self.fixed |= staying
            self._solve()
        for section in graph.sections:
            self._walk(section)
        arguments = [v for k, v in enumerate(graph.inputs) if k in written]
        for v in arguments:
            self.during[v] = (self.live_in[0] | set(arguments)) - {v}

    def root(self, v: Value) -> Value:
        """The value that `v` is another name of."""
        while v in self._source:
            v = self._source[v]
        return v

    def roots(self, values: Iterable[Value]) -> set[Value]:
        """The values, under their first names, that can be live."""
        found = {self.root(v) for v in values if is_array(v)}
        return found - self.fixed - self.undefined

    def merges(self, section: Section) -> list[Node]:
        """The phis of arrays."""
        return [n for n in section.nodes if isinstance(n.op, Merge) and is_array(n.outputs[0])]

    def within(self, nodes: Sequence[Node], values: Iterable[Value]) -> bool:
        """Whether values are made by some of these nodes and read by no other."""
        if not self._readers:
            for v in (*self.graph.outputs, *self._written.values()):
                self._readers.setdefault(self.root(v), set()).add(None)
            for _, node in self.graph.nodes():
                if not node.op.renames:
                    self._makers |= dict.fromkeys(node.outputs, node)
                    for v in node.inputs:
                        self._readers.setdefault(self.root(v), set()).add(node)
        roots = set(map(self.root, values))
        return all(
            self._makers.get(v) in nodes and self._readers.get(v, set()).issubset(nodes)
            for v in roots
        )

    def _look_at(self, node: Node) -> None:
        names = [self.root(v) for v in node.inputs]
        self.overwritable[node] = {
            out: tuple(r for v in found if names.count(r := self.root(v)) == 1)
            for out, found in overwritable(node).items()
        }
        if node.op.kind == "library":
            from tracejit.codegen.support.routines import scratch_sizes

            sizes = scratch_sizes(node)
            self.scratch[node] = [Value(ArrayType(DTYPES["u8"], (size,))) for size in sizes]

    def _solve(self) -> None:
        """Live values at the ends of sections, by iteration to the fixed point."""
        sections = self.graph.sections
        reads: list[set[Value]] = []
        defines: list[set[Value]] = []
        self._at_end: list[set[Value]] = [set() for _ in sections]
        for section in sections:
            seen: set[Value] = set()
            read: set[Value] = set()
            for node in section.nodes:
                if isinstance(node.op, Merge):
                    for before, v in zip(section.predecessors, node.inputs, strict=True):
                        self._at_end[before] |= self.roots((v,))
                elif not node.op.renames:
                    read |= self.roots(node.inputs) - seen
                seen |= set(filter(is_array, node.outputs))
            if not section.successors:
                last = (*self.graph.outputs, *self._written.values())
                self._at_end[section.id] |= self.roots(last)
            reads.append(read)
            defines.append(seen)
        self.live_in = [set() for _ in sections]
        changed = True
        while changed:
            changed = False
            for section in reversed(sections):
                k = section.id
                live = reads[k] | (self.live_out(section) - defines[k])
                if live != self.live_in[k]:
                    self.live_in[k], changed = live, True

    def live_out(self, section: Section) -> set[Value]:
        """The values that are live at the end of a section, what its edges hand on included."""
        return self._at_end[section.id].union(*(self.live_in[s] for s in section.successors))

    def _staying(self) -> set[Value]:
        """Arrays popped from stacks that nobody reads once there may be a push on their stack.

        What was popped lies above the stack's top, where the next push writes; it may also move
        the memory, and so may a reservation.
        """
        popped: dict[str, set[Value]] = {}
        for _, node in self.graph.nodes():
            if isinstance(node.op, StackPop):
                popped.setdefault(node.attrs["stack"], set()).update(filter(is_array, node.outputs))
        moved: set[Value] = set()
        for section in self.graph.sections if popped else ():
            live = self.live_out(section)
            for node in reversed(section.nodes):
                if node.op.renames or isinstance(node.op, Merge):
                    continue
                live -= set(node.outputs)
                live |= self.roots(node.inputs)
                if isinstance(node.op, (StackPush, StackNew)):
                    moved |= live & popped.get(node.attrs["stack"], set())
        return set().union(*popped.values()) - moved

    def _walk(self, section: Section) -> None:
        live = self.live_out(section)
        merged: dict[Value, None] = {}
        for node in reversed(section.nodes):
            if isinstance(node.op, Merge):
                merged |= dict.fromkeys(filter(is_array, node.outputs))
                continue
            if node not in self.overwritable:
                continue
            read = self.roots(node.inputs)
            written = [v for v in node.outputs if is_array(v) and v not in self.fixed]
            outs = set(written)
            live -= outs
            scratch = self.scratch.get(node, [])
            for v in written:
                spared = set(self.overwritable[node].get(v, ()))
                self.during[v] = (live | (read - spared) | outs) - {v}
            for v in scratch:
                self.during[v] = (live | read | outs | set(scratch)) - {v}
            live |= read
        for v in merged:
            self.during[v] = (live | merged.keys()) - {v}

    def operands(self, section: Section) -> Mapping[int, list[tuple[Node, Value]]]:
        """For each predecessor the merges of arrays with what it hands to them."""
        out: dict[int, list[tuple[Node, Value]]] = {p: [] for p in section.predecessors}
        for node in self.merges(section):
            for before, v in zip(section.predecessors, node.inputs, strict=True):
                out[before].append((node, v))
        return out

"""What a run of a dataflow graph fires, and who waits for what: from a graph and wanted outputs."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import type_sizes
from tracejit.ops.control.dataflow import Enter, Exit, Merge
from tracejit.ops.control.effects import RaiseError
from tracejit.passes.analysis.effects import may_raise

__all__ = ["ExecutionPlan"]


class ExecutionPlan:
    """The nodes that a run needs, by walking back from what is wanted.

    Needed is what the wanted outputs depend on, control structure and sizes included; the checks
    that may protect it, in sections of which anything is needed and in those that come before them
    in the same region and around it; and exceptions raised explicitly, wherever they are. With
    `effects`, every node is wanted too that has effects, or may end the run.
    """

    def __init__(self, graph: DataflowGraph, wanted: Sequence[Value], *, effects: bool) -> None:
        self.graph = graph
        self.wanted = dict.fromkeys(wanted)
        #: By node: its section, and its number in the program's order.
        self.section: dict[Node, Section] = {}
        self.order: dict[Node, int] = {}
        for section, node in graph.nodes():
            self.section[node] = section
            self.order[node] = len(self.order)
        self._producer = graph.producers()
        self._binder = {s: node for node in self.order for s in node.binds}
        #: By node: the sizes bound inside the graph that it reads.
        self.sizes = {node: self._sizes(node) for node in self.order}
        #: By size: how many loops are around the node that binds it.
        self.depth = {s: self.section[node].frame.depth for s, node in self._binder.items()}
        #: By frame: the numbers of the first nodes of the loops around, from the outermost in.
        self.starts: dict[str, tuple[int, ...]] = {"": ()}
        for section in graph.sections:
            if section.kind == "head":
                frame = section.frame
                outer = self.starts[frame.parent.name if frame.parent else ""]
                self.starts[frame.name] = (*outer, self.order[section.nodes[0]])
        self.needed = self._needed(effects)
        self._link()

    def _sizes(self, node: Node) -> tuple[str, ...]:
        if node.op.kind == "dataflow":
            return ()
        read = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        return tuple(sorted(read & self._binder.keys() - set(node.binds)))

    def _needed(self, effects: bool) -> set[Node]:
        needed: set[Node] = set()
        active: set[int] = set()
        before = self._before()
        drivers = {
            s.frame.name: self._producer[s.pivot]
            for s in self.graph.sections
            if s.kind == "head" and s.pivot is not None
        }
        pending = [self._producer[v] for v in self.wanted if v in self._producer]
        for node in self.order:
            if isinstance(node.op, RaiseError) or (effects and _may_end(node)):
                pending.append(node)
        while pending:
            node = pending.pop()
            if node in needed:
                continue
            needed.add(node)
            section = self.section[node]
            read = list(node.inputs)
            if not read and section.pivot is not None:
                read.append(section.pivot)
            pending += [self._producer[v] for v in read if v in self._producer]
            pending += [self._binder[s] for s in self.sizes[node]]
            if section.frame.name:
                # Something must arrive in each iteration, or there is none.
                pending.append(drivers[section.frame.name])
            for number in before[section.id]:
                if number in active:
                    break
                active.add(number)
                nodes = self.graph.sections[number].nodes
                pending += [n for n in nodes if not n.op.pure and not n.outputs]
        return needed

    def _before(self) -> list[list[int]]:
        """By section: itself and those run before it in its region and in the regions around."""
        out: list[list[int]] = []
        heads = {s.frame: s for s in self.graph.sections if s.kind == "head"}
        for section in self.graph.sections:
            above: list[int] = []
            if section.kind == "exit":
                head = heads[self.graph.sections[section.predecessors[0]].frame]
                above = out[head.predecessors[0]]
            elif section.kind == "join":
                first, second = (out[s] for s in section.predecessors)
                above = [s for s in first if s in second]
            elif section.predecessors:
                above = out[section.predecessors[0]]
            out.append([section.id, *above])
        return out

    def _link(self) -> None:
        #: By value: the nodes that it arrives at, and as which of their inputs.
        self.readers: dict[Value, list[tuple[Node, int]]] = {}
        #: How many tokens beside sizes a node waits for; and those that wait for none.
        self.slots: dict[Node, int] = {}
        self.unprompted: list[Node] = []
        #: By frame: how many values enter, go round and leave; by exit, the frame it leaves.
        self.enters: dict[str, int] = dict.fromkeys(self.starts, 0)
        self.carried = dict(self.enters)
        self.exits = dict(self.enters)
        self.left: dict[Node, str] = {}
        for node, section in self.section.items():
            if node not in self.needed:
                continue
            read = node.inputs
            if not read and section.pivot is not None:
                read = (section.pivot,)
            self.slots[node] = len(read)
            if not read:
                self.unprompted.append(node)
            for k, v in enumerate(read):
                self.readers.setdefault(v, []).append((node, k))
            if isinstance(node.op, Enter):
                self.enters[node.attrs["frame"]] += 1
            elif isinstance(node.op, Merge) and section.kind == "head":
                self.carried[section.frame.name] += 1
            elif isinstance(node.op, Exit):
                inner = self.graph.sections[section.predecessors[0]].frame.name
                self.exits[inner] += 1
                self.left[node] = inner


def _may_end(node: Node) -> bool:
    """Whether a node has an effect, or leaves the run for some operands."""
    return not node.op.pure or may_raise(node)

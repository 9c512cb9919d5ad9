"""Checks a dataflow graph: that blocks and tokens agree, so that both readers see one program.

Each value belongs to the *control* under which it arrives: a side of a branch, the heads of a loop,
its bodies, or what surrounds them. A node reads values of its own section's control alone; only
the primitives lead from one to another.
"""

from __future__ import annotations

from typing import NoReturn

from tracejit.errors import GraphError
from tracejit.ir.dataflow import SECTION_KINDS, DataflowGraph, Frame, Section
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.text.print import node_lines
from tracejit.ir.types import ArrayType, type_sizes, type_substitute

__all__ = ["verify_dataflow"]


def verify_dataflow(graph: DataflowGraph) -> None:
    """Raises GraphError, with the nodes around the fault, unless `graph` is well formed."""
    _Verifier(graph).run()


class _Verifier:
    def __init__(self, graph: DataflowGraph) -> None:
        self.graph = graph
        self.nodes = tuple(node for _, node in graph.nodes())
        self.index = {node: k for k, node in enumerate(self.nodes)}
        self.producer = graph.producers()
        #: The control of a section, and of a value: the id of the section where it begins, or, for
        #: what leaves a loop, of the exit section, negated.
        self.control: dict[int, int] = {}
        self.of: dict[Value, int] = dict.fromkeys(graph.inputs, 0)
        #: For a section, the sections that every way to it passes.
        self.passed: dict[int, frozenset[int]] = {}
        self.bound: dict[str, int] = dict.fromkeys(graph.sizes, 0)

    def fail(self, node: Node | None, message: str) -> NoReturn:
        graph = self.graph
        lines = [f"dataflow graph {graph.name}: {message}"]
        flat = Graph(graph.name, graph.sizes, graph.inputs, self.nodes, graph.outputs)
        at = len(self.nodes) if node is None else self.index[node]
        for k, line in node_lines(flat, at - 5, at + 5):
            lines.append(f"{'-->' if k == at and node else '   '} {line}")
        raise GraphError("\n".join(lines))

    def run(self) -> None:
        graph = self.graph
        if len(self.index) != len(self.nodes):
            self.fail(None, "a node stands in two places")
        for number, section in enumerate(graph.sections):
            if section.id != number or section.kind not in SECTION_KINDS:
                self.fail(None, f"section {number} is called {section.id}, a {section.kind}")
            self.edges(section)
            self.place(section)
            for node in section.nodes:
                self.node(section, node)
        for section in graph.sections:
            self.ends(section)
        last = graph.sections[-1].id
        for v in graph.outputs:
            if self.of.get(v) != 0 or self.control[last] != 0:
                self.fail(None, f"the output {v!r} does not arrive where the graph ends")
        if set(graph.size_values) != set(self.bound) - set(graph.sizes):
            self.fail(None, "size_values does not list the sizes that nodes bind")

    def edges(self, section: Section) -> None:
        """Each edge is known at both of its ends, and leads forward but for the one to a head."""
        sections = self.graph.sections
        for a, b in [
            *((section.id, s) for s in section.successors),
            *((s, section.id) for s in section.predecessors),
        ]:
            known = 0 <= a < len(sections) and 0 <= b < len(sections)
            if not known or b not in sections[a].successors or a not in sections[b].predecessors:
                self.fail(None, f"the edge from section {a} to {b} is not known at both ends")
            if b <= a and sections[b].kind != "head":
                self.fail(None, f"an edge leads back from section {a} to {b}")
        kinds = tuple(sections[s].kind for s in section.successors)
        if len(kinds) == 2 and kinds not in (("then", "else"), ("body", "exit")):
            self.fail(None, f"section {section.id} branches to {kinds}")
        if (len(kinds) == 2) != (section.branch is not None):
            self.fail(None, f"section {section.id} has {len(kinds)} successors")
        if not kinds and section.id != len(sections) - 1:
            self.fail(None, f"section {section.id} leads nowhere")
        wanted = {"entry": 0, "head": 2, "join": 2}.get(section.kind, 1)
        if len(section.predecessors) != wanted:
            self.fail(None, f"section {section.id} has {len(section.predecessors)} predecessors")

    def place(self, section: Section) -> None:
        """What every way to a section passes, and its control."""
        if section.kind == "entry":
            self.passed[section.id], self.control[section.id] = frozenset((section.id,)), 0
            return
        before = [s for s in section.predecessors if s < section.id]
        common = frozenset.intersection(*(self.passed[s] for s in before))
        self.passed[section.id] = common | {section.id}
        sections = self.graph.sections
        if section.kind == "join":
            self.control[section.id] = self.control[max(common)]
        elif section.kind == "exit":
            (head,) = (
                s.id for s in sections if s.kind == "head" and s.frame == sections[before[0]].frame
            )
            self.control[section.id] = self.control[sections[head].predecessors[0]]
        else:
            self.control[section.id] = section.id
        if section.kind in ("then", "else", "body"):
            branch = sections[before[0]].branch
            if section.predicate != (branch, section.kind != "else"):
                self.fail(None, f"section {section.id} does not begin by its predicate")
        pivot = section.pivot
        # A head's pivot is one of its own merges.
        if section.kind != "head":
            have = 0 if pivot is None else self.of.get(pivot)
            if have != self.control[section.id]:
                self.fail(None, f"the pivot of section {section.id} is {pivot!r}")

    def node(self, section: Section, node: Node) -> None:
        here = self.control[section.id]
        if node.op.kind == "control" and node.regions:
            self.fail(node, "control regions are lowered")
        self.sizes(section, node)
        if node.op.kind == "dataflow":
            controls = getattr(self, node.op.name)(section, node)
        else:
            self.arrives(node, node.inputs, here)
            controls = [here] * len(node.outputs)
        for v, control in zip(node.outputs, controls, strict=True):
            if v in self.of:
                self.fail(node, f"{v!r} is defined twice")
            self.of[v] = control
        given = tuple(v.type for v in node.inputs)
        try:
            found = node.op.infer(given, node.attrs, node.regions, node.binds)
        except GraphError as error:
            self.fail(node, str(error))
        if found != tuple(v.type for v in node.outputs):
            self.fail(node, f"the type rule gives {', '.join(map(str, found))}")

    def arrives(self, node: Node, values: tuple[Value, ...], control: int) -> None:
        for v in values:
            if v not in self.of:
                self.fail(node, f"{v!r} is read but not defined")
            if self.of[v] != control:
                self.fail(node, f"{v!r} does not arrive where it is read")

    def sizes(self, section: Section, node: Node) -> None:
        """Sizes are defined before, on every way here."""
        read = node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        for size in sorted(read - set(node.binds)):
            place = self.bound.get(size)
            if place is None or place not in self.passed[section.id]:
                self.fail(node, f"the size {size} is not defined here")
            if self.graph.sections[place].frame not in _surrounding(section.frame):
                self.fail(node, f"the size {size} is one of another loop")
        for size in node.binds:
            if size in self.bound:
                self.fail(node, f"the size {size} is defined twice")
            self.bound[size] = section.id

    # The primitives: the controls of their outputs ------------------------------------------------

    def switch(self, section: Section, node: Node) -> list[int]:
        if node.inputs[1] is not section.branch:
            self.fail(node, "a switch goes by the branch that ends its section")
        self.arrives(node, node.inputs, self.control[section.id])
        on_true, on_false = section.successors
        leaves = self.graph.sections[on_false].kind == "exit"
        return [-on_false if leaves else on_false, on_true]

    def merge(self, section: Section, node: Node) -> list[int]:
        if section.kind not in ("head", "join"):
            self.fail(node, f"a merge in a section of kind {section.kind}")
        if any(n.op is not node.op for n in section.nodes[: section.nodes.index(node)]):
            self.fail(node, "merges come first in their section")
        if len(node.inputs) != len(section.predecessors):
            self.fail(node, "a merge has one input for each predecessor")
        if section.kind == "head":
            self.arrives(node, node.inputs[:1], self.control[section.id])
        else:
            for v, before in zip(node.inputs, section.predecessors, strict=True):
                self.arrives(node, (v,), self.control[before])
        return [self.control[section.id]]

    def enter(self, section: Section, node: Node) -> list[int]:
        self.arrives(node, node.inputs, self.control[section.id])
        (after,) = section.successors
        head = self.graph.sections[after]
        if head.kind != "head" or head.frame.name != node.attrs["frame"]:
            self.fail(node, "an enter stands in the section before its loop's head")
        if head.frame.parent != section.frame:
            self.fail(node, f"the loop {head.frame.name} is not in the frame of its enter")
        return [after]

    def loop_cond(self, section: Section, node: Node) -> list[int]:
        self.arrives(node, node.inputs, self.control[section.id])
        if section.branch is not node.outputs[0]:
            self.fail(node, "a loop goes on by its loop_cond")
        return [self.control[section.id]]

    def next_iteration(self, section: Section, node: Node) -> list[int]:
        self.arrives(node, node.inputs, self.control[section.id])
        (head,) = section.successors
        if self.graph.sections[head].kind != "head":
            self.fail(node, "a next_iteration ends a loop's body")
        return [head]

    def exit(self, section: Section, node: Node) -> list[int]:
        if section.kind != "exit":
            self.fail(node, f"an exit in a section of kind {section.kind}")
        self.arrives(node, node.inputs, -section.id)
        return [self.control[section.id]]

    # What needs every section ---------------------------------------------------------------------

    def ends(self, section: Section) -> None:
        """Back edges, branches and pivots, which name values of later sections."""
        here = self.control[section.id]
        if section.branch is not None and self.of.get(section.branch) != here:
            self.fail(None, f"section {section.id} branches on {section.branch!r}")
        if section.kind != "head":
            return
        if section.pivot is None or self.of.get(section.pivot) != here:
            self.fail(None, f"the pivot of section {section.id} is {section.pivot!r}")
        merges = [n for n in section.nodes if n.op.name == "merge"]
        for node in merges:
            back = self.producer.get(node.inputs[1])
            ends = self.graph.sections[section.predecessors[1]].nodes
            if back is None or back.op.name != "next_iteration" or back not in ends:
                self.fail(node, "a head's merge takes what the body hands on")
        for side in range(2):
            table = {s: self.size(n.inputs[side]) for n in merges for s in n.binds}
            for node in merges:
                (out,) = node.outputs
                given = node.inputs[side].type
                if isinstance(given, ArrayType) and type_substitute(out.type, table) != given:
                    self.fail(node, f"{given} is not {out.type} of {table}")

    def size(self, value: Value) -> Dim:
        """The size that a carried integer is, seen through the primitives that hand it on."""
        node = self.producer.get(value)
        while node is not None and node.op.name in ("enter", "next_iteration"):
            node = self.producer.get(node.inputs[0])
        if node is None or node.op.name != "dim_value":
            self.fail(node, f"{value!r} does not come from a size")
        dim: Dim = node.attrs["dim"]
        return dim


def _surrounding(frame: Frame | None) -> list[Frame]:
    """The frame and those around it."""
    return [] if frame is None else [frame, *_surrounding(frame.parent)]

"""Sections of the flat graph become blocks of a function, what they hand on becomes phis.

`switch`, `enter`, `exit`, `next_iteration` and `loop_cond` are other names of their operand; tokens
and pivots vanish. Edges to merges carry the copies of arrays that are left. Back edges count down
to polls for signals.
"""

from __future__ import annotations

from collections.abc import Callable

from tracejit.codegen.analysis.branch_hints import LoopExits
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.llvm.lanes import register_type
from tracejit.codegen.llvm.text import Chunk
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import leave_if
from tracejit.codegen.program.if_conversion import emit_diamond, find_diamond
from tracejit.codegen.program.memory import ProgramMemory
from tracejit.codegen.program.scalars import part_dtypes
from tracejit.codegen.program.stacks import Stacks
from tracejit.codegen.program.views import name_view
from tracejit.codegen.support.interrupts import LIGHT_PERIOD, poll_address
from tracejit.ir.dataflow import Section
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import NONE, TOKEN
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Undefined

__all__ = ["Flow"]

#: What never goes through whole arrays.
_LIGHT = (Merge, Constant, Undefined, Element, ReadItem, WriteItem)


class _Phi:
    """One register of a merge: its name, type, and what comes from each predecessor."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.incoming: list[tuple[str, str]] = []


class Flow:
    """Writes the blocks of all sections, from the present one on; `finish` writes the return."""

    def __init__(
        self, e: ProgramContext, memory: ProgramMemory, stacks: Stacks, finish: Callable[[], None]
    ) -> None:
        self.e, self.memory, self.stacks, self.return_ = e, memory, stacks, finish
        sections = e.graph.sections
        self.labels = [e.fb.fresh_label(s.kind) for s in sections]
        self.chunks: dict[int, Chunk] = {}
        #: For each section the phis of its scalar merges, part by part, and of its counter.
        self.phis: dict[int, list[tuple[Value, list[_Phi]]]] = {s.id: [] for s in sections}
        self.counters: dict[int, _Phi] = {}
        self.parents = {s.frame.parent for s in sections}
        self.heavy = {
            s.frame
            for s in sections
            if s.frame in self.parents or any(_is_heavy(n) for n in s.nodes)
        }
        self.state: str | None = None
        self.exits = LoopExits(e.graph)
        #: Sides of branches that are computed in the block before, and the joins that go on in it.
        self.within: set[int] = set()
        self.joined: set[int] = set()

    def is_scalar(self, v: Value) -> bool:
        """Whether registers hold a value; of a stack it is the top."""
        if v.type == TOKEN:
            return v in self.stacks.tokens
        return not is_array(v) and v.type != NONE

    # Blocks -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Write all of them."""
        for section in self.e.graph.sections:
            if section.id not in self.within:
                self.section(section)
        self.finish()

    def section(self, section: Section) -> None:
        """The section's block."""
        fb = self.e.fb
        self.e.section = section
        self.e.checked_indices.clear()
        if section.kind != "entry" and section.id not in self.joined:
            fb.block(self.labels[section.id])
            self.chunks[section.id] = fb.insertion_point()
            if section.kind in ("then", "else") and not section.frame.depth:
                self.save_here(section)
        for node in section.nodes:
            if not isinstance(node.op, Merge) or section.id not in self.joined:
                self.node(section, node)
        self.end(section)

    def save_here(self, section: Section) -> None:
        """Let arguments that the program may have to restore be saved when a side begins."""
        fb = self.e.fb
        if self.memory.arguments:
            self.memory.saving[section.id] = fb.insertion_point()
            inside = fb.fresh_label(section.kind)
            fb.br(inside)
            fb.block(inside)

    def node(self, section: Section, node: Node) -> None:
        """A merge, another name, or a node with code of its own."""
        e = self.e
        if isinstance(node.op, Merge):
            self.merge(section, node)
        elif node.op.renames:
            self.rename(node)
        else:
            e.emit_node(e, node, self.stacks)

    def merge(self, section: Section, node: Node) -> None:
        e, (out,) = self.e, node.outputs
        if is_array(out):
            allocation = e.plan.of(out)
            if allocation is not None and allocation.strides is not None:
                e.strides[out] = allocation.strides
        if not self.is_scalar(out):
            return
        phis, dtypes = self.phis_of(section.id, node), part_dtypes(out)
        parts = [e.bind(p.name, d) for p, d in zip(phis, dtypes, strict=True)]
        e.scalars[out] = (parts[0], parts[1]) if len(parts) == 2 else parts[0]
        for size in node.binds:
            e.env[size] = phis[0].name

    def rename(self, node: Node) -> None:
        e, v = self.e, node.inputs[0]
        for out in node.outputs:
            if v in e.scalars:
                e.scalars[out] = e.scalars[v]
            elif is_array(v):
                name_view(e, node, out)
        self.bind_sizes(node, v)

    def bind_sizes(self, node: Node, v: Value) -> None:
        """A node's sizes are the integer `v`."""
        e = self.e
        for size in node.binds:
            (register,) = e.registers(e.scalars[v])
            if e.int_ranges.of(v)[0] < 0:
                e.fb.check(e.fb.emit(f"icmp slt i64 {register}, 0"))
            e.env[size] = register

    def end(self, section: Section) -> None:
        """What the section's edges do, and its branch."""
        e, fb = self.e, self.e.fb
        e.flush()
        if not section.successors:
            self.return_()
        elif len(section.successors) == 2:
            unlikely = section.unlikely
            if unlikely is None:
                unlikely = self.exits.side(section)
            diamond = None
            if unlikely is None:
                diamond = find_diamond(e.graph, section, e.scalars)
            if diamond is not None:
                emit_diamond(e, section, diamond, lambda node: self.node(section, node))
                self.within |= {side.id for side in diamond[:2]}
                self.joined.add(diamond[2].id)
                return
            assert section.branch is not None
            (register,) = e.registers(e.scalars[section.branch])
            then, otherwise = (self.labels[s] for s in section.successors)
            fb.cond_br(register, then, otherwise, unlikely)
        else:
            (after,) = section.successors
            self.memory.edge(section.id, after)
            given = self.hand_on(section, after)
            self.count(section, after)
            for phi, register in given:
                phi.incoming.append((register, fb.label))
            fb.br(self.labels[after])

    def hand_on(self, section: Section, after: int) -> list[tuple[_Phi, str]]:
        """The registers that the section gives to the merges of the next one."""
        e, target = self.e, self.e.graph.sections[after]
        place = target.predecessors.index(section.id)
        out: list[tuple[_Phi, str]] = []
        for node in target.nodes:
            if isinstance(node.op, Merge) and self.is_scalar(node.outputs[0]):
                registers = e.registers(e.scalars[node.inputs[place]])
                out += zip(self.phis_of(after, node), registers, strict=True)
        return out

    def phis_of(self, section: int, node: Node) -> list[_Phi]:
        """The phis of a merge, which may come later in the program."""
        (out,) = node.outputs
        for v, phis in self.phis[section]:
            if v is out:
                return phis
        phis = [_Phi(self.e.fb.fresh("merged"), register_type(d)) for d in part_dtypes(out)]
        self.phis[section].append((out, phis))
        return phis

    def finish(self) -> None:
        """Write the phis, now that everything that leads to them is known."""
        for section, chunk in self.chunks.items():
            phis = [phi for _, phis in self.phis[section] for phi in phis]
            if section in self.counters:
                phis.append(self.counters[section])
            for phi in phis:
                incoming = ", ".join(f"[ {v}, %{label} ]" for v, label in phi.incoming)
                chunk.lines.append(f"  {phi.name} = phi {phi.kind} {incoming}")

    # Polls --------------------------------------------------------------------------------------

    def count(self, section: Section, after: int) -> None:
        """Count an iteration, or begin to count."""
        fb, head = self.e.fb, self.e.graph.sections[after]
        if head.kind != "head":
            return
        if after > section.id:
            if head.frame not in self.heavy:
                self.counter(after).incoming.append((str(LIGHT_PERIOD), fb.label))
            return
        if head.frame in self.heavy:
            state = self.poll_state()
            left = fb.emit(f"sub i64 {fb.emit(f'load i64, ptr {state}')}, 1")
            fb.line(f"store i64 {left}, ptr {state}")
            self.poll_unless(fb.emit(f"icmp sgt i64 {left}, 0"))
            return
        phi = self.counters[after]
        left = fb.emit(f"sub i64 {phi.name}, 1")
        before, again = self.poll_unless(fb.emit(f"icmp ne i64 {left}, 0"))
        following = fb.phi("i64", [(left, before), (str(LIGHT_PERIOD), again)])
        phi.incoming.append((following, fb.label))

    def counter(self, head: int) -> _Phi:
        return self.counters.setdefault(head, _Phi(self.e.fb.fresh("left"), "i64"))

    def poll_state(self) -> str:
        """The memory that polls share, zero at first."""
        fb = self.e.fb
        if self.state is None:
            self.state = fb.alloca("[4 x i64]", 8, "zeroinitializer")
        return self.state

    def poll_unless(self, condition: str) -> tuple[str, str]:
        """Poll where the i1 does not hold: (block that skips the poll, block that ends it)."""
        e, fb = self.e, self.e.fb
        e.module.declare_line("declare i32 @tj_poll(ptr) cold")
        e.symbols["tj_poll"] = poll_address()
        before, poll, go_on = fb.label, fb.fresh_label("poll"), fb.fresh_label("next")
        fb.cond_br(condition, go_on, poll)
        fb.block(poll)
        status = fb.emit(f"call i32 @tj_poll(ptr {self.poll_state()})")
        leave_if(e, fb.emit(f"icmp ne i32 {status}, 0"))
        again = fb.label
        fb.br(go_on)
        fb.block(go_on)
        return before, again


def _is_heavy(node: Node) -> bool:
    light = node.op.renames or isinstance(node.op, _LIGHT)
    return not light and any(is_array(v) for v in (*node.inputs, *node.outputs))

"""Sections of the flat graph become blocks of a function, what they hand on becomes phis.

`switch`, `enter`, `exit`, `next_iteration` and `loop_cond` are other names of their operand; tokens
and pivots vanish. Edges to merges carry the copies of arrays that are left. Back edges count down
to polls for signals, which leave a light loop for one around it (analysis/light_loops.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tracejit.codegen.analysis.branch_hints import LoopExits
from tracejit.codegen.analysis.light_loops import LightLoops
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.llvm.lanes import register_type
from tracejit.codegen.llvm.text import Chunk
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.memory import ProgramMemory
from tracejit.codegen.program.scalars import part_dtypes
from tracejit.codegen.program.stacks import Stacks
from tracejit.errors import Where
from tracejit.ir.dataflow import Section
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import NONE, TOKEN
from tracejit.link.addresses import Address, This
from tracejit.link.interrupted import place_bytes
from tracejit.ops.control.dataflow import Merge

__all__ = ["Flow"]


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
        #: For each light loop's head the block that begins to count: its label, place and phis.
        self.outer: dict[int, tuple[str, Chunk, list[_Phi]]] = {}
        self.loops = LightLoops(e.graph)
        if self.loops.moves_items:
            e.module.loops.add(e.fb.name)
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
        from tracejit.codegen.program.views import name_view

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
            from tracejit.codegen.program.if_conversion import emit_diamond, find_diamond

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
            self.go_on(after, self.hand_on(section, after), back=after <= section.id)

    def go_on(self, after: int, given: list[tuple[_Phi, str]], *, back: bool) -> None:
        """Branch to a section with what its merges are given."""
        fb, head = self.e.fb, self.e.graph.sections[after]
        if back and self.e.tally is not None:
            self.e.tally.iterated(head.frame)
        if head.kind == "head" and head.frame in self.loops.light:
            if back:
                self.count(after, given)
                return
            given = self.begin_to_count(after, given)
        elif back and head.frame not in self.loops.short:
            state = self.poll_state()
            left = fb.emit(f"sub i64 {fb.emit(f'load i64, ptr {state}')}, 1")
            fb.line(f"store i64 {left}, ptr {state}")
            go_on, poll = fb.fresh_label("next"), fb.fresh_label("poll")
            fb.cond_br(fb.emit(f"icmp sgt i64 {left}, 0"), go_on, poll)
            self.poll(poll, after)
            fb.br(go_on)
            fb.block(go_on)
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
            _write(chunk, phis)
        for _, chunk, phis in self.outer.values():
            _write(chunk, phis)

    # Polls --------------------------------------------------------------------------------------

    def begin_to_count(self, head: int, given: list[tuple[_Phi, str]]) -> list[tuple[_Phi, str]]:
        """A loop around a light one, whose iterations end in polls: what it hands on.

        What LLVM makes of loops it makes of those without calls.
        """

        from tracejit.codegen.support.interrupts import LIGHT_PERIOD

        fb = self.e.fb
        again, outer = fb.fresh_label("again"), []
        for phi, register in given:
            outer.append(_Phi(fb.fresh("kept"), phi.kind))
            outer[-1].incoming.append((register, fb.label))
        fb.br(again)
        fb.block(again)
        self.outer[head] = (again, fb.insertion_point(), outer)
        period = max(LIGHT_PERIOD // self.loops.light[self.e.graph.sections[head].frame], 1)
        counter = self.counters[head] = _Phi(fb.fresh("left"), "i64")
        counter.incoming.append((str(period), again))
        return [(phi, kept.name) for (phi, _), kept in zip(given, outer, strict=True)]

    def count(self, head: int, given: list[tuple[_Phi, str]]) -> None:
        """Count an iteration of a light loop, and poll after the last one."""
        fb, counter = self.e.fb, self.counters[head]
        again, _, outer = self.outer[head]
        left = fb.emit(f"sub i64 {counter.name}, 1")
        for phi, register in (*given, (counter, left)):
            phi.incoming.append((register, fb.label))
        poll = fb.fresh_label("poll")
        fb.cond_br(fb.emit(f"icmp ne i64 {left}, 0"), self.labels[head], poll)
        self.poll(poll, head)
        for kept, (_, register) in zip(outer, given, strict=True):
            kept.incoming.append((register, fb.label))
        fb.br(again)

    def poll_state(self) -> str:
        """The memory that polls share, zero at first."""
        fb = self.e.fb
        if self.state is None:
            self.state = fb.alloca("[4 x i64]", 8, "zeroinitializer")
        return self.state

    def poll(self, label: str, head: int) -> None:
        """A block that polls, of the loop that begins with a section."""

        from tracejit.codegen.program.exits import leave_if
        from tracejit.codegen.support.interrupts import poll_address

        e, fb = self.e, self.e.fb
        e.module.declare_line("declare i32 @tj_poll(ptr, ptr) cold")
        e.symbols["tj_poll"] = poll_address()
        fb.block(label)
        places = (node.where for node in e.graph.sections[head].nodes if node.where is not None)
        place = _place(e, next(places, None))
        status = fb.emit(f"call i32 @tj_poll(ptr {self.poll_state()}, ptr {place})")
        leave_if(e, fb.emit(f"icmp ne i32 {status}, 0"))


def _place(e: ProgramContext, where: Where | None) -> str:
    """A place of the program in memory of the process: its file has another name elsewhere."""
    name, memory = e.fresh("place"), np.frombuffer(place_bytes(where), np.uint8)
    e.module.add_global(name, "external global i8")
    e.symbols[name] = Address(memory.ctypes.data, This("place", (where, memory)))
    e.keep.append(memory)
    return f"@{name}"


def _write(chunk: Chunk, phis: list[_Phi]) -> None:
    for phi in phis:
        incoming = ", ".join(f"[ {v}, %{label} ]" for v, label in phi.incoming)
        chunk.lines.append(f"  {phi.name} = phi {phi.kind} {incoming}")

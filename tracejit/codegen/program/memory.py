"""Memory of a program under emission: pointers, copies, and the undo of stores.

Allocations are those of `analysis/buffer_plan.py`. Slots lie in one block, on the stack where it
is small; other blocks are kept for the next call (see `support/allocator.py`). An allocation that
moves, or grows, has a cell on the stack that holds its present pointer. What a program stores into
an argument is undone if it bails out later: the argument is copied before that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tracejit.codegen.analysis.buffer_plan import Allocation, Copy, Move, byte_count
from tracejit.codegen.analysis.dominators import common_dominator
from tracejit.codegen.llvm.text import Chunk
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import Transfer, copy_elements, transfer_all
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType

__all__ = ["ProgramMemory", "memory_key"]

_ALIGN = 64
#: Bytes of slots that fit on the stack.
_STACK = 4096
#: Something that happens in a section: a store into an allocation, or (None) a chance to bail out.
Event: TypeAlias = "Allocation | None"


class ProgramMemory:
    """Pointers by value, under any of its names; what has been given one explicitly keeps it."""

    def __init__(self, e: ProgramContext) -> None:
        self.e, self.plan = e, e.plan
        self.arguments: dict[int, str] = {}
        self.outputs: dict[int, str] = {}
        self.events: dict[int, list[Event]] = {}
        self._given: dict[Value, str] = {}
        self._slots: list[str] = []
        self._cells: dict[Allocation, str] = {}
        #: Where the blocks of allocations that grow come from.
        self._places: dict[Allocation, str] = {}
        #: Blocks, and cells that may hold one, with the places that they come from.
        self._blocks: list[tuple[str, str]] = []
        #: Places in the code where arguments may be saved, by section: each runs once at most.
        self.saving: dict[int, Chunk] = {}
        self._saved: list[tuple[str, str]] = []
        self._start: Chunk | None = None
        self._group: dict[Allocation, Allocation] = {}

    # Pointers -----------------------------------------------------------------------------------

    def __getitem__(self, v: Value) -> str:
        """The register of a pointer, to use in the present block."""
        if v in self._given:
            return self._given[v]
        root = self.plan.live.root(v)
        given = self._given.get(root)
        pointer = self.address(self.plan.allocation[root]) if given is None else given
        offset = self.e.offsets.get(v, 0)
        if offset == 0:
            return pointer
        assert isinstance(v.type, ArrayType)
        distance = self.e.dim(offset * v.type.dtype.itemsize)
        return self.e.fb.emit(f"getelementptr i8, ptr {pointer}, i64 {distance}")

    def __setitem__(self, v: Value, pointer: str) -> None:
        self._given[v] = pointer

    def address(self, allocation: Allocation) -> str:
        """The present pointer to an allocation."""
        if allocation in self._cells:
            return self.e.fb.emit(f"load ptr, ptr {self._cells[allocation]}")
        return self._home(allocation)

    def memory_of(self, v: Value) -> tuple[object, object]:
        """What is equal for values in the same memory now, and for those that may share some."""
        allocation = self.plan.of(v)
        if allocation is None:
            return self.plan.live.root(v), self.plan.live.root(v)
        # Allocations that exchange their memory do not have the same at any time.
        return memory_key(allocation), memory_key(self.group(allocation))

    def _home(self, allocation: Allocation) -> str:
        if allocation.argument is not None:
            return self.arguments[allocation.argument]
        if allocation.output is not None:
            return self.outputs[allocation.output]
        assert allocation.slot is not None
        return self._slots[allocation.slot]

    # The beginning ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Reserve memory. What may fail in front of this leaves nothing behind."""
        fb = self.e.fb
        all_storage = list(dict.fromkeys(self.plan.allocation.values()))
        for allocation in all_storage:
            if allocation.grows:
                self._cells[allocation] = fb.alloca("{ ptr, i64 }", 8, "zeroinitializer")
                self._places[allocation] = self.e.place()
        self._reserve()
        for allocation in all_storage:
            if allocation.moves and not allocation.grows:
                cell = self._cells[allocation] = fb.alloca("ptr", 8)
                fb.line(f"store ptr {self._home(allocation)}, ptr {cell}")
        for turn in self.plan.turns.values():
            first = self.group(next(iter(turn)))
            for allocation in turn:
                self._group[self.group(allocation)] = first
        self._start = fb.insertion_point()
        start = fb.fresh_label("start")
        fb.br(start)
        fb.block(start)

    def group(self, allocation: Allocation) -> Allocation:
        """Stands for all allocations that exchange memory with this."""
        while allocation in self._group and self._group[allocation] is not allocation:
            allocation = self._group[allocation]
        return allocation

    def _reserve(self) -> None:
        """One block for all slots, on the stack where it is small."""
        fb = self.e.fb
        if not self.plan.slots:
            return
        offsets: list[str] = []
        total = "0"
        for sizes in self.plan.slots:
            offsets.append(total)
            padded = fb.integer("add", self._largest(sizes), str(_ALIGN - 1))
            total = fb.integer("add", total, fb.integer("and", padded, str(-_ALIGN)))
        base = None
        if total[0] != "%" and int(total) <= _STACK:
            base = self.e.small_block(int(total), _ALIGN)
        if base is None:
            place = self.e.place()
            base = self.e.allocate(place, total, "refuse")
            self._blocks.append((place, base))
        self._slots = [fb.emit(f"getelementptr i8, ptr {base}, i64 {o}") for o in offsets]

    def _largest(self, sizes: frozenset[Dim]) -> str:
        first, *rest = sorted(sizes, key=str)
        largest = self.e.checked_dim(first)
        for size in rest:
            other = self.e.checked_dim(size)
            more = self.e.fb.emit(f"icmp sgt i64 {other}, {largest}")
            largest = self.e.fb.emit(f"select i1 {more}, i64 {other}, i64 {largest}")
        return largest

    def require(self, v: Value) -> None:
        """Make room for a value that is about to be written, if its allocation grows."""
        allocation = self.plan.of(v)
        if allocation is None or not allocation.grows:
            return
        # A kernel that waits runs whether this grows or not.
        self.e.flush()
        fb, cell = self.e.fb, self._cells[allocation]
        wanted = self.e.checked_dim(byte_count(v))
        room = fb.emit(f"getelementptr {{ ptr, i64 }}, ptr {cell}, i32 0, i32 1")
        has = fb.emit(f"load i64, ptr {room}")

        def grow() -> Sequence[str]:
            self.e.require_memory(self.e.grow(self._places[allocation], cell, wanted))
            return []

        fb.if_then(fb.emit(f"icmp ugt i64 {wanted}, {has}"), (), grow)

    def free(self) -> None:
        """Give everything back."""
        fb = self.e.fb
        cells = [*self._saved]
        cells += [(self._places[s], cell) for s, cell in self._cells.items() if s.grows]
        loaded = [(place, fb.emit(f"load ptr, ptr {cell}")) for place, cell in cells]
        for place, block in (*self._blocks, *loaded):
            self.e.release(place, block)

    # Copies -------------------------------------------------------------------------------------

    def to_output(self, v: Value, number: int) -> list[Transfer]:
        """What brings `v` to the memory of graph output `number`, if it is not there."""
        allocation = self.plan.of(v)
        pinned = allocation is not None and allocation.output == number
        transfers = self._bring(v, allocation if pinned else None, self.outputs[number], None)
        if not pinned and transfers:
            self.plan.around.append((Copy("a result that lies elsewhere", None), 0))
        return transfers

    def to_arguments(self, states: Sequence[tuple[int, Value]]) -> list[Transfer]:
        """What lets the memory of arguments hold these values."""
        out: list[Transfer] = []
        for k, v in states:
            argument = self.e.graph.inputs[k]
            if k in self.arguments:
                strides = self.e.strides.get(argument)
                out += self._bring(v, self.plan.of(argument), self.arguments[k], strides)
            else:
                # An input that the program never writes holds its value.
                assert self.plan.live.root(v) is argument
        return out

    def write_arguments(self, states: Sequence[tuple[int, Value]]) -> None:
        """Let the memory of arguments hold these values, from here on."""
        transfer_all(self.e, self.to_arguments(states))

    def _bring(
        self, v: Value, home: Allocation | None, pointer: str, strides: tuple[Dim, ...] | None
    ) -> list[Transfer]:
        """To fixed memory, which is that of the allocation `home`."""
        origin = self.plan.of(v)
        if self.plan.live.root(v) in self.plan.live.undefined:
            return []
        if home is not None and origin is home and not home.moves:
            return []
        group = None if origin is None else memory_key(self.group(origin))
        # Nothing else lies in memory that is no allocation.
        place = object() if home is None else memory_key(self.group(home))

        def target() -> str:
            if home is not None:
                self.note(self.group(home))
            return pointer

        same = group == place
        given = self.e.strides.get(v)
        return [Transfer(v, self[v], given, group, place, target, strides, perhaps_same=same)]

    # Edges --------------------------------------------------------------------------------------

    def edge(self, before: int, after: int) -> None:
        """Copies and turns on the way from one section to another."""
        moves = self.plan.edges.get((before, after), [])
        turn = self.plan.turns.get((before, after), {})
        # Sources lie where they are before pointers change hands, targets where they are then.
        transfers = [self._edge_transfer(move, turn) for move in moves]
        self._turn(turn)
        for move in moves:
            self.stores(move.target)
        transfer_all(self.e, transfers)
        if self.e.tally is not None and self.e.graph.sections[before].frame.depth:
            self.e.tally.copied([move.source for move in moves])
        for room in self.plan.rooms.get((before, after), []):
            self.require_like(room.target, room.source)

    def _edge_transfer(self, move: Move, turn: Mapping[Allocation, Allocation]) -> Transfer:
        allocation, origin = self.plan.of(move.target), self.plan.of(move.source)
        assert allocation is not None

        def target() -> str:
            self.require_like(move.target, move.source)
            return self.address(allocation)

        pointer, strides = self[move.source], self.e.strides.get(move.source)
        place = memory_key(turn.get(allocation, allocation))
        given = None if origin is None else memory_key(origin)
        return Transfer(move.source, pointer, strides, given, place, target, allocation.strides)

    def require_like(self, target: Value, source: Value) -> None:
        """Make room for `source` in the allocation of `target`."""
        allocation = self.plan.of(target)
        if allocation is not None and allocation.grows:
            alias = Value(source.type)
            self.plan.allocation[alias] = allocation
            self.require(alias)
            del self.plan.allocation[alias]

    def _turn(self, turn: Mapping[Allocation, Allocation]) -> None:
        fb = self.e.fb
        if not turn:
            return
        kinds = {s: "{ ptr, i64 }" if s.grows else "ptr" for s in turn}
        held = {s: fb.emit(f"load {kinds[s]}, ptr {self._cells[s]}") for s in turn}
        for allocation, taken in turn.items():
            fb.line(f"store {kinds[allocation]} {held[taken]}, ptr {self._cells[allocation]}")

    # Stores into arguments, and their undo ------------------------------------------------------

    def stores(self, v: Value) -> None:
        """Note that the present section writes `v`, whose memory may be an argument's."""
        allocation = self.plan.of(v)
        if allocation is not None and self.arguments:
            self.note(self.group(allocation))

    def note_check(self) -> None:
        """Note that the present section may bail out here."""
        self.note(None)

    def note(self, event: Event) -> None:
        """Remember an event of the present section."""
        if self.e.section is not None:
            self.events.setdefault(self.e.section.id, []).append(event)

    def undo(self) -> None:
        """Copy what must be undone before it is stored into, and back in this block."""
        e, fb = self.e, self.e.fb
        for k in sorted(self.arguments):
            sections = self._to_undo(k)
            if not sections:
                continue
            v, pointer = e.graph.inputs[k], self.arguments[k]
            place = common_dominator(e.graph, sections, self.saving)
            cell, kept = fb.alloca("ptr", 8, "zeroinitializer"), self.e.place()
            at = self._start if place is None else self.saving[place]
            assert at is not None
            with fb.at(at):
                room = e.dim(byte_count(v))
                block = self.e.allocate(kept, room, "leave" if place is None else "bail")
                fb.line(f"store ptr {block}, ptr {cell}")
                copy_elements(e, v, pointer, block, e.strides.get(v))
            self._saved.append((kept, cell))
            why = f"argument {v.name or k}, whose stores are undone if the call is repeated"
            self.plan.around.append((Copy(why, None), byte_count(v)))
            saved = fb.emit(f"load ptr, ptr {cell}")

            def restore(v: Value = v, saved: str = saved, pointer: str = pointer) -> Sequence[str]:
                copy_elements(e, v, saved, pointer, None, e.strides.get(v))
                return []

            fb.if_then(fb.emit(f"icmp ne ptr {saved}, null"), (), restore)

    def _to_undo(self, k: int) -> list[int]:
        """The sections that store into argument `k` where the program may bail out after that."""
        allocation = self.plan.allocation.get(self.e.graph.inputs[k])
        if allocation is None:
            return []
        group, sections = self.group(allocation), self.e.graph.sections
        bails = [False] * len(sections)
        changed = True
        while changed:
            changed = False
            for section in reversed(sections):
                own = None in self.events.get(section.id, ())
                if not bails[section.id] and (own or any(bails[s] for s in section.successors)):
                    bails[section.id] = changed = True
        found = []
        for section in sections:
            after = any(bails[s] for s in section.successors)
            for event in reversed(self.events.get(section.id, ())):
                if event is group and after:
                    found.append(section.id)
                    break
                after = after or event is None
        return found


def memory_key(allocation: Allocation) -> object:
    """Equal for allocation in the same memory: slots, and results, are used more than once."""
    if allocation.moves or allocation.slot is None and allocation.output is None:
        return allocation
    return allocation.slot, allocation.output

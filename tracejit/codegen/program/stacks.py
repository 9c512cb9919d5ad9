"""Stacks in native code: each name is memory of the run, each stack the offset of its top there.

    t1 = stack_push(t0, a, x)     t1 = t0 + size; if t1 > capacity: extend
                                  memcpy(base + t0, a); store x
    t2, a, x = stack_pop(t1)      t2 = t1 - size; a lies at base + t2, x is loaded

A top is the register of a token; it goes around loops like any scalar. Of pushes, or pops, that
follow each other in a section, the first looks whether there is room, or are records, for all.
A record holds its arrays first, dense, each from a multiple of 64 bytes on, then its scalars, the
widest first: its size follows from the values pushed alone. Where a stack has records with arrays
and others, those with arrays end in the top before them. The memory is the function's own at
first, then a block that is kept for the next call (see `support/allocator.py`). An array that is
popped stays where it lies if nobody reads it once its stack is pushed on again (see
`analysis/liveness.py`).

A kernel that computes an array to be pushed writes it to memory of its own, which is then copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.analysis.stack_order import StackUse, check_stacks, stack_tokens
from tracejit.codegen.llvm.lanes import store_element
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array, copy_elements
from tracejit.codegen.program.scalars import part_dtypes
from tracejit.errors import GraphError, TraceError
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import DTYPES, ArrayType, c_order, dtype_name, dtype_of, shape_of
from tracejit.link.places import Word, no_memory
from tracejit.ops.array.elementwise import parts_dtype
from tracejit.ops.control.stack import StackNew, StackPush, record_of

__all__ = ["StackMemory", "Stacks"]

_ALIGN = 64
#: Bytes of the function's own that one stack has at first, and all of them together.
_FIRST, _FIRST_OF_ALL = 1024, 1 << 14
#: { memory, capacity, block }, as `tj_extend` takes it.
_CELL = "{ ptr, i64, ptr }"


@dataclass
class StackMemory:
    """Registers of a stack's cells. `mixed`: only some of its records hold arrays."""

    name: str
    noted: Word
    unit: int
    mixed: bool
    cell: str = ""
    place: str = ""

    def room(self, e: ProgramContext) -> str:
        """The address of the capacity."""
        return e.fb.emit(f"getelementptr {_CELL}, ptr {self.cell}, i32 0, i32 1")


def _is_long(v: Value) -> bool:
    """Whether it is an array that is stored as such; one element is like a scalar."""
    return bool(shape_of(v.type))


def _bytes(v: Value) -> Dim:
    size: Dim = v.type.size if isinstance(v.type, ArrayType) else 1
    return size * dtype_of(v.type).itemsize


def _upward(n: int, unit: int) -> int:
    return -(-n // unit) * unit


class Stacks:
    """The stacks of one program. Raises TraceError for a graph that cannot have them."""

    def __init__(self, e: ProgramContext) -> None:
        self.e = e
        self.tokens = stack_tokens(e.graph)
        self._memory: dict[str, StackMemory] = {}
        #: Pushes and pops for which an earlier one has made sure.
        self._sure: set[Node] = set()
        self._fails: dict[str, str] = {}
        for name, nodes in check_stacks(e.graph).items():
            records = [record_of(n) for n in nodes if not isinstance(n.op, StackNew)]
            pushed = [record_of(n) for n in nodes if isinstance(n.op, StackPush)]
            sizes: dict[Dim, None] = dict.fromkeys(sum(map(_bytes, r)) for r in pushed)
            long = [any(map(_is_long, r)) for r in records]
            unit = _ALIGN if long and all(long) else 8
            noted = Word()
            self._memory[name] = StackMemory(name, noted, unit, any(long) and not all(long))
            e.plan.stacks.append(StackUse(name, tuple(sizes), noted))

    # The run ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make all stacks empty; nothing can fail here."""
        fb = self.e.fb
        if not self._memory:
            return
        first = self._own_memory()
        for m in self._memory.values():
            m.cell = fb.alloca(_CELL, 8, "zeroinitializer")
            m.place = self.e.place()
            if first:
                own = fb.alloca(f"[{first} x i8]", _ALIGN)
                fb.line(f"store ptr {own}, ptr {m.cell}")
                fb.line(f"store i64 {first}, ptr {m.room(self.e)}")

    def _own_memory(self) -> int:
        """Bytes of the function's own that each stack has at first."""
        return min(_FIRST, _FIRST_OF_ALL // len(self._memory) // _ALIGN * _ALIGN)

    def _extend(self, m: StackMemory, used: str, wanted: str) -> str:
        """Room for `wanted` bytes, of which the first `used` stay; null where there is none."""
        arguments = f"ptr {m.place}, ptr {m.cell}, i64 {used}, i64 {wanted}"
        return self.e.call_block("tj_extend", arguments)

    def free(self) -> None:
        """Give the memory back, and note how much it was."""
        e, fb = self.e, self.e.fb
        for m in self._memory.values():
            note = e.fresh("taken")
            e.module.add_global(note, "external global i64")
            e.symbols[note] = m.noted.address
            e.keep.append(m.noted)
            now, before = (fb.emit(f"load i64, ptr {p}") for p in (m.room(e), f"@{note}"))
            more = fb.emit(f"icmp ugt i64 {now}, {before}")
            most = fb.emit(f"select i1 {more}, i64 {now}, i64 {before}")
            fb.line(f"store i64 {most}, ptr @{note}")
            at = fb.emit(f"getelementptr {_CELL}, ptr {m.cell}, i32 0, i32 2")
            e.release(m.place, fb.emit(f"load ptr, ptr {at}"))

    def failures(self) -> None:
        """The blocks to which pushes and pops leave the program, in front of its end."""
        e, fb = self.e, self.e.fb
        for function, label in (
            (no_memory, self._fails.get("full")),
            (_empty_stack, self._fails.get("empty")),
        ):
            if label is not None:
                fb.block(label)
                e.call_plainly(function)
                fb.br("leave")

    def _failure(self, kind: str) -> str:
        return self._fails.setdefault(kind, self.e.fb.fresh_label(kind))

    # Nodes --------------------------------------------------------------------------------------

    def emit(self, node: Node) -> None:
        """Write the code of a node on a stack; the results of a pop have their room."""
        m = self._memory[node.attrs["stack"]]
        if isinstance(node.op, StackNew):
            self._new(m, node)
        elif isinstance(node.op, StackPush):
            self._push(m, node)
        else:
            self._pop(m, node)

    def _new(self, m: StackMemory, node: Node) -> None:
        e, fb = self.e, self.e.fb
        self._set_top(node, "0")
        (reserve,) = node.attrs.get("reserve", (0,))
        if reserve == 0:
            return
        # A size that leaves 64 bits is no size that could be had, and this is only a hint.
        wanted = e.dim(reserve)
        positive = fb.emit(f"icmp sgt i64 {wanted}, 0")
        wanted = fb.emit(f"select i1 {positive}, i64 {wanted}, i64 0")

        def extend() -> Sequence[str]:
            self._extend(m, "0", wanted)
            return []

        has = fb.emit(f"load i64, ptr {m.room(e)}")
        fb.if_then(fb.emit(f"icmp ugt i64 {wanted}, {has}"), (), extend)

    def _top(self, v: Value) -> str:
        (register,) = self.e.registers(self.e.scalars[v])
        return register

    def _set_top(self, node: Node, register: str) -> None:
        self.e.scalars[node.outputs[0]] = self.e.bind(register, "i64")

    def _following(self, m: StackMemory, node: Node) -> int:
        """The bytes of the records that a section moves after this one, in the same direction.

        Of those whose size is no number, and what follows them, it says nothing.
        """
        assert self.e.section is not None
        nodes = self.e.section.nodes
        total = 0
        for other in nodes[nodes.index(node) + 1 :]:
            if other.op.kind != "stack" or other.attrs["stack"] != m.name:
                continue
            record = record_of(other)
            if other.op is not node.op or any(map(_is_long, record)):
                break
            total += int(self._layout(m, record)[1])
            self._sure.add(other)
        return total

    def _push(self, m: StackMemory, node: Node) -> None:
        fb = self.e.fb
        record = record_of(node)
        offsets, size = self._layout(m, record)
        top = self._top(node.inputs[0])
        ends = m.mixed and any(map(_is_long, record))
        start = _aligned(self.e, top) if ends else top
        end = fb.integer("add", start, size)
        if size != "0" and node not in self._sure:
            more = str(self._following(m, node))
            self._make_room(m, top, fb.integer("add", end, more))
        for v, address in zip(record, self._places(m, record, start, offsets), strict=True):
            self._store(v, address)
        if ends:
            base = fb.emit(f"load ptr, ptr {m.cell}")
            last = fb.emit(f"getelementptr i8, ptr {base}, i64 {fb.integer('sub', end, '8')}")
            fb.line(f"store i64 {top}, ptr {last}")
        self._set_top(node, end)

    def _places(
        self, m: StackMemory, record: Sequence[Value], start: str, offsets: Sequence[str]
    ) -> Iterator[str]:
        """The addresses of the values of a record that begins at `start`."""
        fb = self.e.fb
        base = fb.emit(f"load ptr, ptr {m.cell}")
        at = fb.emit(f"getelementptr i8, ptr {base}, i64 {start}")
        for offset in offsets:
            yield fb.emit(f"getelementptr i8, ptr {at}, i64 {offset}")

    def _make_room(self, m: StackMemory, used: str, wanted: str) -> None:
        e, fb = self.e, self.e.fb
        has = fb.emit(f"load i64, ptr {m.room(e)}")
        extend, go_on = fb.fresh_label("extend"), fb.fresh_label("push")
        fb.cond_br(fb.emit(f"icmp ugt i64 {wanted}, {has}"), extend, go_on, unlikely=0)
        fb.block(extend)
        block = self._extend(m, used, wanted)
        null = fb.emit(f"icmp eq ptr {block}, null")
        fb.cond_br(null, self._failure("full"), go_on, unlikely=0)
        fb.block(go_on)

    def _store(self, v: Value, address: str) -> None:
        e = self.e
        if is_array(v):
            whole = e.scattered.get(v)
            if whole is None:
                copy_elements(e, v, e.pointer[v], address, e.strides.get(v))
                return
            assert isinstance(v.type, ArrayType) and isinstance(whole.type, ArrayType)
            if not v.type.is_c:
                raise TraceError("TJ015", "such a view has no native code on a stack")
            copy_array(e, whole, address, c_order(whole.type.ndim))
            return
        parts = part_dtypes(v)
        step = DTYPES[parts[0]].itemsize
        for k, (register, part) in enumerate(zip(e.registers(e.scalars[v]), parts, strict=True)):
            at = e.fb.emit(f"getelementptr i8, ptr {address}, i64 {k * step}") if k else address
            store_element(e.fb, at, part, register)

    def _pop(self, m: StackMemory, node: Node) -> None:
        e, fb = self.e, self.e.fb
        record = record_of(node)
        offsets, size = self._layout(m, record)
        top = self._top(node.inputs[0])
        ends = m.mixed and any(map(_is_long, record))
        if size != "0" and node not in self._sure:
            found = fb.fresh_label("pop")
            # In front of what ends in the top before it there may be more than its size.
            more = 0 if ends else self._following(m, node)
            few = fb.emit(f"icmp ult i64 {top}, {fb.integer('add', size, str(more))}")
            fb.cond_br(few, self._failure("empty"), found, unlikely=0)
            fb.block(found)
        if ends:
            base = fb.emit(f"load ptr, ptr {m.cell}")
            last = fb.emit(f"getelementptr i8, ptr {base}, i64 {fb.integer('sub', top, '8')}")
            below = fb.emit(f"load i64, ptr {last}")
            start = _aligned(e, below)
        else:
            below = start = fb.integer("sub", top, size)
        self._set_top(node, below)
        for v, address in zip(record, self._places(m, record, start, offsets), strict=True):
            self._load(v, address)

    def _load(self, v: Value, address: str) -> None:
        e = self.e
        if not is_array(v):
            e.scalars[v] = e.load_scalar(address, v.type)
        elif v in e.plan.live.fixed:
            e.pointer[v] = address
        else:
            e.pointer.stores(v)
            copy_elements(e, v, address, e.pointer[v], None, e.strides.get(v))

    def _layout(self, m: StackMemory, record: Sequence[Value]) -> tuple[list[str], str]:
        """The offset of each value in a record, and the record's size."""
        fb = self.e.fb
        at = "0"
        long = [k for k, v in enumerate(record) if _is_long(v)]
        places = [""] * len(record)
        for k in long:
            places[k] = at
            size = fb.integer("add", self.e.dim(_bytes(record[k])), str(_ALIGN - 1))
            at = fb.integer("add", at, fb.integer("and", size, str(-_ALIGN)))
        parts = [DTYPES[parts_dtype(dtype_name(dtype_of(v.type)))].itemsize for v in record]
        used = 0
        for k in sorted(set(range(len(record))) - set(long), key=lambda k: -parts[k]):
            places[k] = fb.integer("add", at, str(used))
            used += dtype_of(record[k].type).itemsize
        used += 8 if m.mixed and long else 0
        return places, fb.integer("add", at, str(_upward(used, m.unit)))


def _aligned(e: ProgramContext, offset: str) -> str:
    beyond = e.fb.integer("add", offset, str(_ALIGN - 1))
    return e.fb.integer("and", beyond, str(-_ALIGN))


def _empty_stack(a: int, b: int, c: int) -> int:
    """What a program calls that pops more than it has pushed. Raises GraphError."""
    raise GraphError("a compiled program pops from an empty stack")

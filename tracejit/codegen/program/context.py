"""A program under emission: its state, and the primitives that write instructions.

What writes a program's nodes is functions of a `ProgramContext`; `emit.py` makes one and drives
them. The program is one native function `i32 program(ptr in, ptr out)` in a module of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from tracejit.codegen.analysis.buffer_plan import BufferPlan
from tracejit.codegen.analysis.int_ranges import IntRanges
from tracejit.codegen.analysis.size_ranges import Ranges, bound_sizes, stays_in_64_bits
from tracejit.codegen.kernel.early_exits import may_fail
from tracejit.codegen.kernel.function import emit_kernel
from tracejit.codegen.kernel.work import kernel_work
from tracejit.codegen.llvm.lanes import load_element, register_type, store_element
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.lowering.equal_kernels import kernel_form
from tracejit.codegen.program.parallel import call_in_parts
from tracejit.codegen.program.pending import PendingCall, sized
from tracejit.codegen.scalar.functions import emit_dim, emit_expr
from tracejit.codegen.support.allocator import BLOCK_FUNCTIONS, block_address
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.dims import Dim, dim_of, symbol
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.kernel import For, Kernel, Var
from tracejit.ir.types import ArrayType, Type, dtype_name, dtype_of
from tracejit.link.addresses import address_of
from tracejit.link.finding import c_address
from tracejit.link.places import Place, no_memory
from tracejit.ops.array.elementwise import Element, parts_dtype

if TYPE_CHECKING:
    from tracejit.codegen.program.copy_tally import CopyTally
    from tracejit.codegen.program.timing import Timers

__all__ = ["Pointers", "ProgramContext"]

#: Kernels that are joined in one, at most: each is compared with all before it.
_MOST_STAGES = 16
#: Bytes of the stack for what kernels hand on to each other.
_STACK = 64 * 1024


class Pointers(Protocol):
    """What writing a node asks of the program's memory, which is `memory.ProgramMemory`."""

    def __getitem__(self, v: Value) -> str:
        """The register of the pointer to an array, to use in the present block."""
        ...

    def __setitem__(self, v: Value, pointer: str) -> None: ...

    def require(self, v: Value) -> None:
        """Make room for a value that is about to be written, if its allocation grows."""
        ...

    def memory_of(self, v: Value) -> tuple[object, object]:
        """What is equal for values in the same memory now, and for those that may share some."""
        ...

    def stores(self, v: Value) -> None:
        """Note that the present section writes `v`, whose memory may be an argument's."""
        ...

    def note_check(self) -> None:
        """Note that the present section may bail out here."""
        ...

    def write_arguments(self, states: Sequence[tuple[int, Value]]) -> None:
        """Let the memory of arguments hold these values."""
        ...


class _CheckedBuilder(FunctionBuilder):
    """A function that tells of its checks."""

    on_check: Callable[[], None] = staticmethod(lambda: None)

    def check(self, failed: str) -> None:
        """Leave for the function's failure block if the i1 `failed` holds."""
        if failed != "false" and self._failures is None:
            self.on_check()
        super().check(failed)


class ProgramContext:
    """A program under emission: what the modules that write its nodes have in common.

    `env` binds variables and size symbols to registers, `scalars` are expressions over them.
    `pointer[v]` is the register of the pointer to an array, `strides` has the element strides of
    those that are not dense, `scratch` the temporaries of library calls. A view begins `offsets[v]`
    elements behind its array's first; `scattered` names the operand of a reshape that no strides
    describe, and of its transposes, whose elements in their own order are those of that in C order.
    `checked_indices` are those of the present section. `fb.fail_label` is the block for
    bailing out: it undoes stores into arguments.
    """

    #: Set once by the driver, since memory is written with these primitives.
    pointer: Pointers
    #: Whether the program's arrays lie on a device, and what is written now runs on the host.
    on_host = False
    #: The kernel that waits for what follows it.
    _pending: PendingCall | None = None
    #: What writes the code of a node.
    emit_node: Callable[[ProgramContext, Node, Any], None]
    #: What writes the function of a region, with a layout, into the module of this program.
    define: Callable[[ProgramContext, Graph, Any], None]

    def __init__(
        self,
        graph: DataflowGraph,
        plan: BufferPlan,
        ranges: Ranges,
        zeroed: Container[Node],
        name: str,
        target: Any,
        around: ProgramContext | None = None,
    ) -> None:
        self.graph, self.plan, self.target = graph, plan, target
        self.int_ranges = IntRanges(graph, ranges)
        self.ranges = ranges | bound_sizes(graph, self.int_ranges)
        #: The nodes that need not run, since outputs are allocated as zeros.
        self.zeroed = zeroed
        self.module: Module = Module(target) if around is None else around.module
        fb = _CheckedBuilder(
            self.module, name, [("ptr", "%in"), ("ptr", "%out")], "i32", linkage=""
        )
        fb.on_check = lambda: self.pointer.note_check()
        self.fb: FunctionBuilder = fb
        self.env: dict[str, str] = {}
        self.scalars: dict[Value, Element] = {}
        self.checked_indices: dict[tuple[Value, Dim], str] = {}
        self.strides: dict[Value, tuple[Dim, ...]] = {}
        self.offsets: dict[Value, Dim] = {}
        self.scattered: dict[Value, Value] = {}
        self.scratch: dict[Node, list[str]] = {}
        #: How many threads share a long kernel, if that is not as the process is set to.
        self.threads: int | None = None if around is None else around.threads
        self.kernels: list[Kernel] = [] if around is None else around.kernels
        #: The kernels by their forms, and how the parts of those that are emitted are aligned.
        self.forms: dict[Hashable, Kernel] = {} if around is None else around.forms
        self.aligns: dict[str, int] = {} if around is None else around.aligns
        self.symbols: dict[str, int] = {} if around is None else around.symbols
        self.keep: list[Any] = [] if around is None else around.keep
        #: Of a function that calls itself: how many calls may be inside this one, and where the
        #: stack must end; of those around, too, the layouts of their slots by name.
        self.limits: tuple[str, str] | None = None
        self.functions: dict[str, Any] = {} if around is None else dict(around.functions)
        self.section: Section | None = None
        #: What the memory of which inputs holds where the program leaves by an exception.
        self.states: list[tuple[int, Value]] = []
        #: Stands for what the run has printed, if it prints.
        self.printed: str | None = None
        #: Stands for the arrays of a host call for which there is no room yet, if there are any.
        self.held: str | None = None
        #: Stands for the states of streams of random numbers before the run, if it draws some.
        self.drawn: str | None = None
        #: Where the address of a stream is once the run has begun to draw from it.
        self.begun: dict[Value | str, str] = {}
        #: How many such streams there are, once that is asked; what the run holds of the only one.
        self.streams: int | None = None
        self.claim: str | None = None
        self.claims_python = False
        #: Room on the stack for a stream that is a value, once there is a draw from one.
        self.own_stream: str | None = None
        #: Bytes of the stack for what kernels hand on; a function that calls itself has none.
        self._stack_left = _STACK if around is None else 0
        #: What is to be timed, in a program that is profiled.
        self.timers: Timers | None = None
        #: What counts the copies in loops, in a program that has some.
        self.tally: CopyTally | None = None
        #: The node whose code is being written.
        self.node: Node | None = None
        self._numbers: Iterator[int] = itertools.count(1) if around is None else around._numbers

    def fresh(self, stem: str) -> str:
        """A new name."""
        return f"{stem}{next(self._numbers)}"

    def declare(self, name: str, result: str, args: Sequence[str]) -> None:
        """Declare a function of the C library."""
        self.module.declare(name, result, args)
        self.symbols[name] = c_address(name)

    def call_block(self, name: str, arguments: str) -> str:
        """Call one of the functions that take blocks of memory and give them back."""
        result, parameters = BLOCK_FUNCTIONS[name]
        self.module.declare(name, result, parameters)
        self.symbols[name] = block_address(name)
        call = f"call {result} @{name}({arguments})"
        if result != "void":
            return self.fb.emit(call)
        self.fb.line(call)
        return ""

    def call_plainly(self, function: Callable[..., int], *arguments: str) -> str:
        """A call of Python; the register of how it ended: see `support/python_calls.py`."""

        from tracejit.codegen.support.python_calls import call_address

        self.keep.append(function)
        name = self.fresh("function")
        self.symbols[name] = address_of(function)
        self.module.add_global(name, "external global i8")
        self.symbols["tj_call"] = call_address()
        self.module.declare("tj_call", "i64", ["ptr", "i64", "i64", "i64"])
        given = ", ".join(f"i64 {a}" for a in [*arguments, "0", "0"][:3])
        return self.fb.emit(f"call i64 @tj_call(ptr @{name}, {given})")

    # Blocks of memory ---------------------------------------------------------------------------

    def place(self) -> str:
        """Where an allocation leaves its block for the next call: one for each in the code."""
        block_address("tj_empty")
        name, place = self.fresh("kept"), Place()
        self.module.add_global(name, "external global ptr")
        self.symbols[name] = place.address
        self.keep.append(place)
        return f"@{name}"

    def allocate(self, place: str, amount: str, failed: str | None = None) -> str:
        """A block that is aligned; without it the program leaves for `failed`, or else raises
        MemoryError.

        Its contents are undefined. It is given back by `release` with the same place.
        """
        fb = self.fb
        block = self.call_block("tj_take", f"ptr {place}, i64 {amount}")
        if failed is None:
            self.require_memory(block)
        else:
            null, ok = fb.emit(f"icmp eq ptr {block}, null"), fb.fresh_label("allocated")
            fb.cond_br(null, failed, ok)
            fb.block(ok)
        return block

    def release(self, place: str, block: str) -> None:
        """Give a block back, or nothing if it is null."""
        self.call_block("tj_give", f"ptr {place}, ptr {block}")

    def require_memory(self, block: str, way_out: str = "leave") -> None:
        """Leave the program by a MemoryError where there is no block, as NumPy would."""
        fb = self.fb
        missing, after = fb.fresh_label("missing"), fb.fresh_label("allocated")
        fb.cond_br(fb.emit(f"icmp eq ptr {block}, null"), missing, after)
        fb.block(missing)
        self.call_plainly(no_memory)
        fb.br(way_out)
        fb.block(after)

    def grow(self, place: str, cell: str, wanted: str) -> str:
        """Have the block of a cell { ptr block, i64 capacity } hold so much; null where it cannot.

        What was in it is lost.
        """
        return self.call_block("tj_grow", f"ptr {place}, ptr {cell}, i64 {wanted}")

    def small_block(self, size: int, align: int) -> str | None:
        """Memory of the run's own for small arrays; None where there is no such memory."""
        return self.fb.alloca(f"[{size} x i8]", align)

    def copy_bytes(self, target: str, source: str, size: str) -> None:
        """Copy memory of arrays."""
        self.declare("memcpy", "ptr", ["ptr", "ptr", "i64"])
        self.fb.emit(f"call ptr @memcpy(ptr {target}, ptr {source}, i64 {size})")

    # Scalars ------------------------------------------------------------------------------------

    def bind(self, register: str, dtype: str) -> Var:
        """A variable for a register."""
        name = self.fresh("x")
        self.env[name] = register
        return Var(name, dtype)

    def load_scalar(self, address: str, t: Type) -> Element:
        """A scalar from memory, bound to variables."""
        dtype = dtype_name(dtype_of(t))
        part = parts_dtype(dtype)
        first = self.bind(load_element(self.fb, address, part), part)
        if part == dtype:
            return first
        second = self._second(address, part)
        return first, self.bind(load_element(self.fb, second, part), part)

    def store_scalar(self, element: Element, address: str) -> None:
        """A scalar to memory; a bool takes a whole slot."""
        for k, register in enumerate(self.registers(element)):
            part = (element[k] if isinstance(element, tuple) else element).dtype
            at = self._second(address, part) if k else address
            if part == "b1":
                wide = self.fb.emit(f"zext i1 {register} to i64")
                self.fb.line(f"store i64 {wide}, ptr {at}")
            else:
                store_element(self.fb, at, part, register)

    def _second(self, address: str, part: str) -> str:
        return self.fb.emit(f"getelementptr i8, ptr {address}, i64 {4 if part == 'f32' else 8}")

    def registers(self, element: Element) -> list[str]:
        """The registers of a scalar's parts, computed now."""
        parts = element if isinstance(element, tuple) else (element,)
        return [emit_expr(self.fb, part, self.env) for part in parts]

    def dim(self, d: Dim) -> str:
        """A size as an i64 register or literal."""
        return emit_dim(self.fb, d, self.env)

    def checked_dim(self, d: Dim) -> str:
        """A size as a register; the program fails where it leaves 64 bits."""
        if isinstance(d, int) or stays_in_64_bits(d, self.ranges):
            return self.dim(d)
        total = "0"
        for monomial, coefficient in d.terms:
            term = str(coefficient)
            for atom in monomial:
                term = self._checked("smul", term, self.dim(dim_of(atom)))
            total = self._checked("sadd", total, term)
        return total

    def _checked(self, operation: str, a: str, b: str) -> str:
        if a == ("1" if operation == "smul" else "0"):
            return b
        kind = "{ i64, i1 }"
        name = self.module.declare(f"llvm.{operation}.with.overflow.i64", kind, ["i64", "i64"])
        both = self.fb.emit(f"call {kind} {name}(i64 {a}, i64 {b})")
        self.fb.check(self.fb.emit(f"extractvalue {kind} {both}, 1"))
        return self.fb.emit(f"extractvalue {kind} {both}, 0")

    def leaving(self) -> AbstractContextManager[None]:
        """Around what writes the arguments of a program that is left in the middle."""
        return nullcontext()

    # Kernels ------------------------------------------------------------------------------------

    def call_kernel(
        self,
        kernel: Kernel,
        pointers: Sequence[str],
        scalars: Sequence[Element],
        sizes: Mapping[str, Dim],
        values: Sequence[Value] = (),
        node: Node | None = None,
    ) -> None:
        """Call a kernel, now or before `flush` returns.

        `pointers` are its buffers, those of inputs first; `sizes` what its own size symbols mean.
        `values` are the arrays in these buffers, where the plan says in which memory they lie: such
        a kernel of a `node` may wait for what follows it.
        """
        self.wait_or_call(self.kernel_call(kernel, pointers, scalars, sizes), values, node)

    def kernel_call(
        self,
        kernel: Kernel,
        pointers: Sequence[str],
        scalars: Sequence[Element],
        sizes: Mapping[str, Dim],
    ) -> PendingCall:
        """A kernel with its arguments; its sizes become those of the program."""
        given = [p for x in scalars for p in (x if isinstance(x, tuple) else (x,))]
        kernel = sized(kernel, sizes)
        buffers = dict(zip((p.name for p in kernel.params), pointers, strict=True))
        bound = dict(zip((v.name for v in kernel.scalars), given, strict=True))
        return PendingCall(kernel, buffers, bound)

    def wait_or_call(self, call: PendingCall, values: Sequence[Value], node: Node | None) -> None:
        """Have a call wait if it may, joined with the one that waits if that is right and good."""
        if not values or node is None or not self.may_wait(call.kernel):
            self.flush()
            call.nodes = () if node is None else (node,)
            self.call_now(call)
            return
        call.nodes, overwritten = (node,), self.plan.overwritten(node)
        for p, v in zip(call.kernel.params, values, strict=False):
            call.lies[p.name] = self._identity(v), self.pointer.memory_of(v)[1]
            old = overwritten.get(v)
            call.values[p.name] = (v,) if old is None else (old, v)
        joined = None if self._pending is None else self.joined(self._pending, call)
        if joined is None:
            self.flush()
        self._pending = joined or call

    def joined(self, first: PendingCall, second: PendingCall) -> PendingCall | None:
        """One call for two, where that is right and good."""
        if len(first.stages) >= _MOST_STAGES or not first.shares(second):
            return None
        joined = first.joined(second, several=True)
        if joined is not None:
            joined.keep_numbers(self.plan.live, self._on_stack)
        return joined

    def _on_stack(self, size: int) -> str | None:
        """So many bytes of the run's own stack, if that much is left for kernels."""
        self._stack_left -= size
        return self.fb.alloca(f"[{size} x i8]", 64) if self._stack_left >= 0 else None

    def flush(self) -> None:
        """Write what waits to be written with what follows it: nothing may, from here on."""
        call, self._pending = self._pending, None
        if call is not None:
            self.call_now(call)

    def _rows_of_block(self, room: Dim) -> str:
        """A size that is computed here: how many rows of so many bytes a block has."""
        from tracejit.codegen.lowering.row_blocks import BLOCK, MOST_ROWS

        fb, name = self.fb, self.fresh("rows")
        given = self.dim(room)
        least = fb.emit(f"select i1 {fb.less(given, '1')}, i64 1, i64 {given}")
        fit = fb.emit(f"udiv i64 {BLOCK}, {least}")
        some = fb.emit(f"select i1 {fb.less(fit, '1')}, i64 1, i64 {fit}")
        most = str(MOST_ROWS)
        self.env[name] = fb.emit(f"select i1 {fb.less(most, some)}, i64 {most}, i64 {some}")
        return name

    def _identity(self, v: Value) -> object:
        """Equal for values that are the same elements of the same memory."""
        offset, strides = self.offsets.get(v, 0), self.strides.get(v)
        # Kernels count elements from the first.
        assert isinstance(v.type, ArrayType)
        return (
            self.pointer.memory_of(v)[0],
            str(offset),
            None if strides is None else str(strides),
            v.type.dtype,
        )

    def may_wait(self, kernel: Kernel) -> bool:
        """Whether a kernel may run later than where it is called."""
        # What was stored until it fails has to be undone.
        return not may_fail(kernel.body)

    def timed(self, what: str, nodes: Sequence[Node]) -> AbstractContextManager[None]:
        """Around the code of nodes, which is timed where the program is profiled."""
        return nullcontext() if self.timers is None else self.timers.around(self, what, nodes)

    def call_now(self, call: PendingCall) -> None:
        """Emit a kernel as a function of the module, and its call."""
        with self.timed("kernel", call.nodes or (self.node,) if self.node else ()):
            self._call_kernel(call)

    def _call_kernel(self, call: PendingCall) -> None:
        fb = self.fb
        kernel, held = call.in_blocks(self.plan.live, self._rows_of_block)
        args = [f"ptr {call.buffers[p.name]}" for p in kernel.params]
        sizes = {s: self.dim(symbol(s)) for s in kernel.sizes}
        args += [f"i64 {size}" for size in sizes.values()]
        for v in kernel.scalars:
            register = emit_expr(fb, call.scalars[v.name], self.env)
            args.append(f"{register_type(v.dtype)} {register}")
        kernel = self._named(kernel, own_buffers=bool(held))
        if call_in_parts(self, kernel, args, sizes, kernel_work(call.kernel), held):
            return
        self.emit_once(kernel)
        status = fb.emit(f"call i32 @{kernel.name}({', '.join(args)})")
        if self.module.may_fail(kernel.name):
            fb.check(fb.emit(f"icmp ne i32 {status}, 0"))

    def _named(self, kernel: Kernel, own_buffers: bool) -> Kernel:
        """A kernel under a name of its own, or one that does the same to other buffers."""
        form = None if own_buffers else kernel_form(kernel)
        if form is None or form not in self.forms:
            kernel = replace(kernel, name=self.fresh(f"{kernel.name}_"))
            self.kernels.append(kernel)
            self.forms[form] = kernel
        return self.forms[form]

    def emit_once(self, kernel: Kernel, split: For | None = None) -> int:
        """Have the function of a kernel in the module; its parts begin at multiples of this."""
        if kernel.name not in self.aligns:
            self.aligns[kernel.name] = emit_kernel(kernel, self.module, self.target, split)
        return self.aligns[kernel.name]

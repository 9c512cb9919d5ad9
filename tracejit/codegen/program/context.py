"""A fused graph becomes one native function `i32 program(ptr in, ptr out)`, as LLVM text.

The graph is lowered to its flat form, whose sections are the function's blocks and whose merges its
phis; kernels are internal functions of the same module. Scalars live in registers, arrays where
`analysis/buffer_plan.py` puts them. The slots of `in` and `out` are those of
`runtime/call/entry_spec.py`. The function returns 0, or 1 where the call must be repeated eagerly,
or an exception is pending.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tracejit.codegen.analysis.buffer_plan import BufferPlan, plan_buffers
from tracejit.codegen.analysis.int_ranges import IntRanges
from tracejit.codegen.analysis.liveness import is_array, written_inputs
from tracejit.codegen.analysis.size_ranges import byte_counts, size_ranges, stays_in_64_bits
from tracejit.codegen.analysis.zero_results import zero_results
from tracejit.codegen.kernel.function import emit_kernel
from tracejit.codegen.llvm.lanes import load_element, register_type, store_element
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.program.allocation import emit_new_array, is_made_late
from tracejit.codegen.program.control_flow import emit_sections
from tracejit.codegen.program.copies import Transfer, copy_elements, transfer_all
from tracejit.codegen.program.effects import emit_output_end, emit_output_left
from tracejit.codegen.program.host_calls import HostCall
from tracejit.codegen.program.host_results import emit_held_left
from tracejit.codegen.program.memory import ProgramMemory
from tracejit.codegen.program.rng_state import emit_drawn_back, emit_drawn_end
from tracejit.codegen.program.scalars import bind_register
from tracejit.codegen.program.stacks import Stacks
from tracejit.codegen.scalar.functions import emit_dim, emit_expr
from tracejit.codegen.support.allocator import BLOCK_FUNCTIONS, block_address
from tracejit.codegen.support.python_calls import call_plainly, no_memory
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.dims import Dim, Poly, free_symbols, symbol
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.kernel import Kernel
from tracejit.ir.types import Type, dtype_name, dtype_of
from tracejit.locks import once
from tracejit.ops.array.elementwise import Element, parts_dtype
from tracejit.passes.control.lower import lower_control_flow

__all__ = ["Emitter", "InputSlot", "Program", "emit_program"]


@dataclass(frozen=True)
class InputSlot:
    """Where an input of the graph lies: its slot, and its element strides where it is not dense."""

    slot: int
    strides: tuple[Dim, ...] | None = None


@dataclass
class Program:
    """LLVM text, what it must be linked with, and what must live as long as it.

    `plan` tells where the arrays lie and which of them are copied. The outputs with the numbers
    `zeroed` have to be filled with zeros before a run.
    """

    name: str
    text: str
    symbols: dict[str, int]
    kernels: list[Kernel]
    plan: BufferPlan
    keep: list[Any] = field(default_factory=list)
    zeroed: frozenset[int] = frozenset()

    @property
    def host_nodes(self) -> list[Node]:
        """The nodes that are calls of NumPy or Python while the program runs.

        This is what "host" means, in reports, under `strict` and in `tracejit ops`.
        """
        return [site.node for site in self.keep if isinstance(site, HostCall)]


@once
def _c_library() -> dict[str, int]:
    lib = ctypes.CDLL(None)
    names = ("memcpy",)
    return {n: ctypes.cast(getattr(lib, n), ctypes.c_void_p).value or 0 for n in names}


class _CheckedBuilder(FunctionBuilder):
    """A function that tells of its checks."""

    on_check: Callable[[], None] = staticmethod(lambda: None)

    def check(self, failed: str) -> None:
        """Leave for the function's failure block if the i1 `failed` holds."""
        if failed != "false" and self._failures is None:
            self.on_check()
        super().check(failed)


class Emitter:
    """A program under emission: what the modules that write its nodes have in common.

    `env` binds variables and size symbols to registers, `scalars` are expressions over them.
    `pointer[v]` is the register of the pointer to an array, `strides` has the element strides of
    those that are not dense, `scratch` the temporaries of library calls. A view begins `offsets[v]`
    elements behind its array's first; `scattered` names the operand of a reshape that no strides
    describe. `fb.fail_label` is the block for bailing out: it undoes stores into arguments.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        inputs: Sequence[InputSlot],
        out_slots: Sequence[int],
        sizes: Mapping[str, int],
        name: str,
        target: Any,
        may_zero: bool,
    ) -> None:
        self.graph, self.name, self.target = graph, name, target
        self.module = Module()
        fb = _CheckedBuilder(
            self.module, name, [("ptr", "%in"), ("ptr", "%out")], "i32", linkage=""
        )
        fb.on_check = lambda: self.pointer.note(None)
        self.fb: FunctionBuilder = fb
        self.env: dict[str, str] = {}
        self.scalars: dict[Value, Element] = {}
        self.checked_indices: dict[tuple[Value, Dim], str] = {}
        self.strides: dict[Value, tuple[Dim, ...]] = {}
        self.offsets: dict[Value, Dim] = {}
        self.scattered: dict[Value, Value] = {}
        self.scratch: dict[Node, list[str]] = {}
        self.kernels: list[Kernel] = []
        self.symbols: dict[str, int] = {}
        self.keep: list[Any] = []
        self.inputs, self.sizes = inputs, sizes
        self.section: Section | None = None
        self.count = 0
        given = {k: i.strides for k, i in enumerate(inputs) if i.strides is not None}
        self.plan = plan_buffers(graph, frozenset(sizes), given)
        #: The nodes that need not run, since these outputs are allocated as zeros.
        self.zeroed = zero_results(graph, self.plan) if may_zero else {}
        self.pointer = ProgramMemory(self, self.plan)
        self.stacks = Stacks(self)
        self.ranges = size_ranges(graph, given)
        self.int_ranges = IntRanges(graph, self.ranges)
        self.written = written_inputs(graph)
        results = [v for v, r in _results(graph) if not r.startswith("write ")]
        #: The graph's outputs other than what arguments hold at the end, with their slots.
        self.results = dict(enumerate(zip(results, out_slots, strict=True)))
        self._states: list[tuple[int, Value]] = []
        #: Stands for what the run has printed, if it prints.
        self.printed: str | None = None
        #: Stands for the arrays of a host call for which there is no room yet, if there are any.
        self.held: str | None = None
        #: Stands for the state of the global random numbers before the run, if it draws some.
        self.drawn: str | None = None

    # Skeleton -----------------------------------------------------------------------------------

    def run(self) -> Program:
        """Write the whole function."""
        fb = self.fb
        fb.fail_label = "refuse"
        for name, slot in self.sizes.items():
            self.env[name] = fb.emit(f"load i64, ptr {self._slot('%in', slot)}")
        for k, given in enumerate(self.inputs):
            self._load_input(k, given)
        for d in sorted(byte_counts(self.graph), key=str):
            if free_symbols(d) <= self.env.keys():
                self.checked_dim(d)
        self._load_outputs()
        self.pointer.begin()
        self.stacks.begin()
        fb.fail_label = "bail"
        emit_sections(self)
        self.section = None
        fb.block("bail")
        fb.fail_label = "leave"
        self.pointer.undo()
        emit_drawn_back(self)
        fb.br("leave")
        fb.block("done")
        emit_drawn_end(self)
        self.stacks.free()
        self.pointer.free()
        fb.ret("i32", "0")
        self.stacks.failures()
        fb.block("leave")
        emit_held_left(self)
        emit_drawn_end(self)
        emit_output_left(self)
        self.stacks.free()
        self.pointer.free()
        fb.br("refuse")
        fb.block("refuse")
        fb.ret("i32", "1")
        fb.finish()
        text = self.module.text()
        zeroed = frozenset(self._numbers().index(k) for k in self.zeroed.values())
        return Program(self.name, text, self.symbols, self.kernels, self.plan, self.keep, zeroed)

    def fresh(self, stem: str) -> str:
        """A new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def declare(self, name: str, result: str, args: Sequence[str]) -> None:
        """Declare a function of the C library."""
        self.module.declare(name, result, args)
        self.symbols[name] = _c_library()[name]

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

    def leave(self) -> None:
        """Leave the program with a pending exception: what it has stored stays.

        What follows is written to a block that is never reached.
        """
        transfer_all(self, self.pointer.to_arguments(self._states))
        self.fb.br("leave")
        self.fb.block(self.fb.fresh_label("never"))

    def leave_if(self, condition: str) -> None:
        """Leave the program with a pending exception where the i1 holds."""
        leaving, after = self.fb.fresh_label("leaving"), self.fb.fresh_label("stays")
        self.fb.cond_br(condition, leaving if self._states else "leave", after)
        if self._states:
            self.fb.block(leaving)
            transfer_all(self, self.pointer.to_arguments(self._states))
            self.fb.br("leave")
        self.fb.block(after)

    def require_memory(self, block: str) -> None:
        """Leave the program by a MemoryError where there is no block, as NumPy would."""
        fb = self.fb
        missing, after = fb.fresh_label("missing"), fb.fresh_label("allocated")
        fb.cond_br(fb.emit(f"icmp eq ptr {block}, null"), missing, after)
        fb.block(missing)
        call_plainly(self, no_memory)
        fb.br("leave")
        fb.block(after)

    @contextmanager
    def holding(self, states: Sequence[tuple[int, Value]]) -> Iterator[None]:
        """Where the program leaves, the memory of these inputs holds these values."""
        self._states, outer = list(states), self._states
        yield
        self._states = outer

    # Inputs and outputs -------------------------------------------------------------------------

    def _slot(self, base: str, index: int) -> str:
        return self.fb.emit(f"getelementptr i64, ptr {base}, i64 {index}")

    def _load_input(self, k: int, given: InputSlot) -> None:
        v, address = self.graph.inputs[k], self._slot("%in", given.slot)
        if not is_array(v):
            self.scalars[v] = self.load_scalar(address, v.type)
            return
        pointer = self.fb.emit(f"load ptr, ptr {address}")
        if k in self.written:
            self.pointer.arguments[k] = pointer
        else:
            self.pointer[v] = pointer
        if given.strides is not None:
            self.strides[v] = given.strides

    def _numbers(self) -> list[int]:
        """The numbers of the graph's outputs that the caller allocates memory for, or boxes."""
        return [k for k, (_, r) in enumerate(_results(self.graph)) if not r.startswith("write ")]

    def _load_outputs(self) -> None:
        for number, (v, slot) in zip(self._numbers(), self.results.values(), strict=True):
            if is_array(v) and not is_made_late(v, self.sizes):
                load = f"load ptr, ptr {self._slot('%out', slot)}"
                self.pointer.outputs[number] = self.fb.emit(load)

    def finish(self) -> None:
        """Bring results and written arguments to their places, and return."""
        emit_output_end(self)
        transfers: list[Transfer] = []
        for number, (v, slot) in zip(self._numbers(), self.results.values(), strict=True):
            if not is_array(v):
                self.store_scalar(self.scalars[v], self._slot("%out", slot))
                continue
            if is_made_late(v, self.sizes):
                self.pointer.outputs[number] = emit_new_array(self, v, self._slot("%out", slot))
            transfers += self.pointer.to_output(v, number)
        transfers += self.pointer.to_arguments(list(self.written.items()))
        transfer_all(self, transfers)
        self.fb.br("done")

    # Scalars ------------------------------------------------------------------------------------

    def load_scalar(self, address: str, t: Type) -> Element:
        """A scalar from memory, bound to variables."""
        dtype = dtype_name(dtype_of(t))
        part = parts_dtype(dtype)
        first = bind_register(self, load_element(self.fb, address, part), part)
        if part == dtype:
            return first
        second = self._second(address, part)
        return first, bind_register(self, load_element(self.fb, second, part), part)

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
                term = self._checked("smul", term, self.dim(Poly((((atom,), 1),))))
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

    # Kernels ------------------------------------------------------------------------------------

    def call_kernel(
        self,
        kernel: Kernel,
        pointers: Sequence[str],
        scalars: Sequence[Element],
        sizes: Mapping[str, Dim],
    ) -> None:
        """Emit a kernel as a function of the module, and its call.

        `pointers` are its buffers, those of inputs first; `sizes` what its own size symbols mean.
        """
        fb = self.fb
        name = self.fresh(f"{kernel.name}_")
        kernel = Kernel(name, kernel.params, kernel.sizes, kernel.scalars, kernel.body)
        self.kernels.append(kernel)
        emit_kernel(kernel, self.module, self.target)
        args = [f"ptr {p}" for p in pointers]
        args += [f"i64 {self.dim(sizes.get(s, symbol(s)))}" for s in kernel.sizes]
        for element in scalars:
            parts = element if isinstance(element, tuple) else (element,)
            for part, register in zip(parts, self.registers(element), strict=True):
                args.append(f"{register_type(part.dtype)} {register}")
        status = fb.emit(f"call i32 @{name}({', '.join(args)})")
        if self.module.may_fail(name):
            fb.check(fb.emit(f"icmp ne i32 {status}, 0"))

    def copy_array(self, v: Value, target: str, order: tuple[int, ...] | None = None) -> None:
        """Copy an array, however it lies, to dense memory with its axes in `order`."""
        copy_elements(self, v, self.pointer[v], target, self.strides.get(v), None, order)


def _results(graph: DataflowGraph) -> list[tuple[Value, str]]:
    texts = [*graph.results, *("fresh" for _ in graph.outputs[len(graph.results) :])]
    return list(zip(graph.outputs, texts, strict=True))


def emit_program(
    graph: Graph | DataflowGraph,
    inputs: Sequence[InputSlot],
    out_slots: Sequence[int],
    sizes: Mapping[str, int],
    name: str,
    target: Any,
    *,
    may_zero: bool = False,
) -> Program:
    """The native program of a fused graph, or of its flat form.

    With `may_zero` it may rely on results that the caller has to fill with zeros: see `Program`.

    `inputs` place the graph's inputs, `out_slots` its outputs but for those that are what an
    argument holds at the end; `sizes` its size symbols (and the stride symbols of `inputs`). Raises
    TraceError for what has no native code.
    """
    flat = lower_control_flow(graph) if isinstance(graph, Graph) else graph
    return Emitter(flat, inputs, out_slots, sizes, name, target, may_zero).run()

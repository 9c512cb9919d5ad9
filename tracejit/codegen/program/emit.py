"""A fused graph becomes one native function `i32 program(ptr in, ptr out)`, as LLVM text.

The graph is lowered to its flat form, whose sections are the function's blocks and whose merges its
phis; kernels are internal functions of the same module. Scalars live in registers, arrays where
`analysis/buffer_plan.py` puts them. The slots of `in` and `out` are those of
`runtime/call/entry_spec.py`. The function returns 0, or 1 where the call must be repeated eagerly,
or an exception is pending.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.buffer_plan import BufferPlan, plan_buffers
from tracejit.codegen.analysis.liveness import is_array, written_inputs
from tracejit.codegen.analysis.size_ranges import byte_counts, size_ranges
from tracejit.codegen.analysis.zero_results import zero_results
from tracejit.codegen.program.allocation import emit_new_array, is_made_late
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.control_flow import Flow
from tracejit.codegen.program.copies import Transfer, transfer_all
from tracejit.codegen.program.memory import ProgramMemory
from tracejit.codegen.program.nodes import emit_node
from tracejit.codegen.program.recursion import (
    FunctionLayout,
    emit_first_limits,
    emit_free_results,
    emit_limits,
    emit_malloc,
)
from tracejit.codegen.program.stacks import Stacks
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.dims import Dim, free_symbols
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.kernel import Kernel
from tracejit.ir.op import Op
from tracejit.ops.control.effects import Undefined
from tracejit.passes.control.lower import lower_control_flow

if TYPE_CHECKING:
    from tracejit.codegen.program.timing import Timers

__all__ = ["InputSlot", "Program", "ProgramWriter", "emit_program"]


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
    #: Whether it counts what its loops copy, see `copy_tally.py`.
    tells_copies: bool = False

    @property
    def host_nodes(self) -> list[Node]:
        """The nodes that are calls of NumPy or Python while the program runs.

        This is what "host" means, in reports, under `strict` and in `tracejit ops`.
        """
        calls = sys.modules.get("tracejit.codegen.program.host.calls")
        if calls is None:
            return []
        return [site.node for site in self.keep if isinstance(site, calls.HostCallSite)]


def emit_program(
    graph: Graph | DataflowGraph,
    inputs: Sequence[InputSlot],
    out_slots: Sequence[int],
    sizes: Mapping[str, int],
    name: str,
    target: Any,
    *,
    may_zero: bool = False,
    maker: int = 0,
    threads: int | None = None,
    debug: bool = False,
    timers: Timers | None = None,
) -> Program:
    """The native program of a fused graph, or of its flat form.

    With `may_zero` it may rely on results that the caller has to fill with zeros: see `Program`.
    `maker` is the address of what makes results of late sizes; without it Python makes them.
    `threads` share a long kernel, or as many as the process is set to. With `debug` the text says
    where in the user's source each instruction comes from. `timers` take the program's sites.

    `inputs` place the graph's inputs, `out_slots` its outputs but for those that are what an
    argument holds at the end; `sizes` its size symbols (and the stride symbols of `inputs`). Raises
    TraceError for what has no native code.
    """
    flat = lower_control_flow(graph) if isinstance(graph, Graph) else graph
    strides = {k: i.strides for k, i in enumerate(inputs) if i.strides is not None}
    plan = plan_buffers(flat, frozenset(sizes), strides)
    zeroed = zero_results(flat, plan) if may_zero else {}
    e = ProgramContext(flat, plan, size_ranges(flat, strides), zeroed.keys(), name, target)
    e.threads = threads
    if debug:
        from tracejit.codegen.llvm.debug_info import DebugInfo

        e.module.debug = DebugInfo()
    e.timers = timers
    if timers is None and any(c.repeated for c in plan.copies):
        from tracejit.codegen.program.copy_tally import CopyTally, knows_iterations

        e.tally = CopyTally(e, flat) if knows_iterations(flat) else None
    driver = ProgramWriter(e, inputs, out_slots, sizes, maker)
    driver.run()
    outputs = [driver.numbers.index(k) for k in zeroed.values()]
    text = e.module.text()
    given = name, text, e.symbols, e.kernels, plan, e.keep, frozenset(outputs)
    return Program(*given, tells_copies=e.tally is not None)


def _define(around: ProgramContext, region: Graph, layout: FunctionLayout) -> None:
    """The function of a region that calls itself, in the module of the program around it."""
    flat = lower_control_flow(region)
    plan = plan_buffers(flat, frozenset(layout.sizes), {})
    e = ProgramContext(flat, plan, size_ranges(flat, {}), (), layout.symbol, around.target, around)
    e.functions[layout.name] = layout
    given = [InputSlot(k) for k in layout.inputs]
    _Function(e, given, layout.results, layout.sizes, layout).run()


def _draws_back(e: ProgramContext) -> None:
    """Where the run bails out: as if nothing had been drawn."""
    if e.drawn is None and e.claim is None:
        return
    from tracejit.codegen.program.random.rng_state import emit_drawn_back
    from tracejit.codegen.program.random.stream_claims import emit_give_back

    emit_drawn_back(e)
    emit_give_back(e)


def _end_draws(e: ProgramContext) -> None:
    """Before the program returns in whatever way."""
    if e.drawn is None and e.claim is None:
        return
    from tracejit.codegen.program.random.rng_state import emit_drawn_end
    from tracejit.codegen.program.random.stream_claims import emit_release

    emit_drawn_end(e)
    emit_release(e)


def _let_go(e: ProgramContext) -> None:
    """Before the program returns without its end: let go of what a host call has given."""
    if e.held is not None:
        from tracejit.codegen.program.host.results import emit_held_left

        emit_held_left(e)


class ProgramWriter:
    """Writes the whole function: inputs, sections, results, and the ways out."""

    def __init__(
        self,
        e: ProgramContext,
        inputs: Sequence[InputSlot],
        out_slots: Sequence[int],
        sizes: Mapping[str, int],
        maker: int,
    ) -> None:
        self.e, self.inputs, self.sizes, self.maker = e, inputs, sizes, maker
        self.memory = self._memory(e)
        e.pointer, e.define, e.emit_node = self.memory, _define, self._emit_node
        self.stacks = self._stacks(e)
        self.written = written_inputs(e.graph)
        given = [(k, v) for k, (v, r) in enumerate(_results(e.graph)) if not r.startswith("write ")]
        #: The numbers of the graph's outputs that the caller allocates memory for, or boxes.
        self.numbers = [k for k, _ in given]
        #: Those outputs, with their slots.
        self.results = list(zip((v for _, v in given), out_slots, strict=True))

    def _memory(self, e: ProgramContext) -> ProgramMemory:
        return ProgramMemory(e)

    def _stacks(self, e: ProgramContext) -> Stacks:
        return Stacks(e)

    def _flow(self, e: ProgramContext) -> Flow:
        return Flow(e, self.memory, self.stacks, self._finish)

    def _emit_node(self, e: ProgramContext, node: Node, stacks: Stacks) -> None:
        has_arrays = any(map(is_array, (*node.inputs, *node.outputs)))
        if node.op.kind != "fusion" and (has_arrays or not node.op.pure):
            e.flush()
        e.fb.where, e.node = node.where, node
        if e.timers is None:
            emit_node(e, node, stacks)
        elif node.op.kind != "fusion" and has_arrays and not _is_short(node.op):
            with e.timed(node.op.name, (node,)):
                emit_node(e, node, stacks)
        else:
            e.timers.rest += [(node, e.section.frame.depth if e.section else 0)] * (
                node.op.kind != "fusion"
            )
            emit_node(e, node, stacks)
        if e.tally is not None and node in e.plan.copying:
            e.tally.copied(node.outputs)

    def run(self) -> None:
        """Write the function."""
        e, fb = self.e, self.e.fb
        fb.fail_label = "refuse"
        self._begun = "" if e.timers is None else e.timers.begin(e)
        self._load()
        self._begin_calls()
        self.memory.begin()
        self.stacks.begin()
        fb.fail_label = "bail"
        self._flow(e).run()
        e.section = None
        self._ways_out()
        fb.finish()

    def _begin_calls(self) -> None:
        emit_first_limits(self.e)

    def _load(self) -> None:
        e = self.e
        for name, slot in self.sizes.items():
            e.env[name] = e.fb.emit(f"load i64, ptr {self._slot('%in', slot)}")
        for k, given in enumerate(self.inputs):
            self._load_input(k, given)
        for d in sorted(byte_counts(e.graph), key=str):
            if free_symbols(d) <= e.env.keys():
                e.checked_dim(d)
        self._load_outputs()

    def _ways_out(self) -> None:
        e, fb = self.e, self.e.fb
        fb.block("bail")
        fb.fail_label = "leave"
        self.memory.undo()
        _draws_back(e)
        fb.br("leave")
        fb.block("done")
        _end_draws(e)
        self.stacks.free()
        self.memory.free()
        if e.timers is not None:
            e.timers.end(e, e.timers.whole, self._begun)
        if e.tally is not None:
            e.tally.end(fb.name)
        fb.ret("i32", "0")
        self.stacks.failures()
        fb.block("leave")
        _let_go(e)
        _end_draws(e)
        if e.printed is not None:
            from tracejit.codegen.program.effects import emit_output_left

            emit_output_left(e)
        self.stacks.free()
        self.memory.free()
        fb.br("refuse")
        fb.block("refuse")
        fb.ret("i32", "1")

    def _slot(self, base: str, index: int) -> str:
        return self.e.fb.emit(f"getelementptr i64, ptr {base}, i64 {index}")

    def _load_input(self, k: int, given: InputSlot) -> None:
        e = self.e
        v, address = e.graph.inputs[k], self._slot("%in", given.slot)
        if not is_array(v):
            e.scalars[v] = e.load_scalar(address, v.type)
            return
        pointer = e.fb.emit(f"load ptr, ptr {address}")
        if k in self.written:
            self.memory.arguments[k] = pointer
        else:
            self.memory[v] = pointer
        if given.strides is not None:
            e.strides[v] = given.strides

    def _load_outputs(self) -> None:
        for number, (v, slot) in zip(self.numbers, self.results, strict=True):
            if is_array(v) and not is_made_late(v, self.sizes):
                self.memory.outputs[number] = self._output(v, self._slot("%out", slot))

    def _output(self, v: Value, slot: str) -> str:
        """The memory of a result whose size is known when the function begins."""
        return self.e.fb.emit(f"load ptr, ptr {slot}")

    def _late_output(self, v: Value, slot: str) -> str:
        return emit_new_array(self.e, v, slot, self.maker)

    def _finish(self) -> None:
        """Bring results and written arguments to their places, and return."""
        e = self.e
        e.flush()
        if e.printed is not None:
            from tracejit.codegen.program.effects import emit_output_end

            emit_output_end(e)
        transfers: list[Transfer] = []
        for number, (v, slot) in zip(self.numbers, self.results, strict=True):
            if not is_array(v):
                self._scalar_result(v, self._slot("%out", slot))
                continue
            if is_made_late(v, self.sizes):
                self.memory.outputs[number] = self._late_output(v, self._slot("%out", slot))
            transfers += self.memory.to_output(v, number)
        transfers += self.memory.to_arguments(list(self.written.items()))
        transfer_all(e, transfers)
        self._last_checks()
        e.fb.br("done")

    def _scalar_result(self, v: Value, slot: str) -> None:
        self.e.store_scalar(self.e.scalars[v], slot)

    def _last_checks(self) -> None:
        """What may still refuse the run when all else is done."""


class _Function(ProgramWriter):
    """Writes a function that calls itself (see `recursion.py`).

    It undoes no stores, since the run does that whose calls they are; it prints and draws nothing.
    """

    def __init__(
        self,
        e: ProgramContext,
        inputs: Sequence[InputSlot],
        out_slots: Sequence[int],
        sizes: Mapping[str, int],
        layout: FunctionLayout,
    ) -> None:
        super().__init__(e, inputs, out_slots, sizes, 0)
        self.layout = layout

    def _begin_calls(self) -> None:
        emit_limits(self.e, self.layout)

    def _output(self, v: Value, slot: str) -> str:
        return emit_malloc(self.e, v, slot, "refuse")

    def _late_output(self, v: Value, slot: str) -> str:
        return emit_malloc(self.e, v, slot)

    def _ways_out(self) -> None:
        e, fb = self.e, self.e.fb
        fb.block("done")
        self._free()
        fb.ret("i32", "0")
        self.stacks.failures()
        fb.block("bail")
        fb.br("leave")
        fb.block("leave")
        _let_go(e)
        self._free()
        fb.br("refuse")
        fb.block("refuse")
        emit_free_results(e, [k for v, k in self.results if is_array(v)])
        fb.ret("i32", "1")

    def _free(self) -> None:
        self.stacks.free()
        self.memory.free()


def _is_short(op: Op) -> bool:
    """Returns True if an op outside of kernels takes less time than a clock."""
    is_alone = op.kind in ("index", "control") and not op.fused
    return is_alone or op.moves or isinstance(op, Undefined)


def _results(graph: DataflowGraph) -> list[tuple[Value, str]]:
    texts = [*graph.results, *("fresh" for _ in graph.outputs[len(graph.results) :])]
    return list(zip(graph.outputs, texts, strict=True))

"""One call's leaves become a native program: trace, passes, code."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tracejit import config
from tracejit.base.late import shown
from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import once_computed
from tracejit.base.spelling import no_such
from tracejit.codegen.llvm.engine import assembly, host_target
from tracejit.errors import TraceError, Where
from tracejit.frontend.capture.captured import Learned
from tracejit.frontend.capture.paths import Positional
from tracejit.frontend.interpreter.entry import Store, trace_function
from tracejit.frontend.interpreter.results import Given
from tracejit.frontend.tracing.memory.layout import is_packed
from tracejit.frontend.tracing.notes import Note
from tracejit.frontend.tracing.pytree import (
    LEAF,
    Alternative,
    Shared,
    holds_made,
    is_made,
    unflatten,
)
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.symint import SymInt, unwrap
from tracejit.frontend.tracing.tracer import (
    Storage,
    Trace,
    TracedArray,
    ViewStep,
    lift,
    number_of,
    wrap,
)
from tracejit.ir import dims
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, Value, attr_sizes
from tracejit.ir.regions import nested
from tracejit.ir.text.print import print_graph
from tracejit.ir.types import ArrayType, NpScalar, PyScalar
from tracejit.ops.host.exchange import exchanges
from tracejit.ops.host.random import draws_in_python
from tracejit.passes.control.drop_checks import without_checks
from tracejit.passes.control.lower import lower_control_flow
from tracejit.passes.manager import run_passes
from tracejit.passes.partition.pins import is_placed
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    Leaf,
    OutArray,
    OutMade,
    OutNpScalar,
    Output,
    OutPyScalar,
    ScalarLeaf,
    SizeGuard,
)
from tracejit.runtime.call.signature import Specialization, specialize_captured

if TYPE_CHECKING:
    from tracejit.codegen.program.emit import Program
    from tracejit.codegen.program.timing import Timers
    from tracejit.frontend.tracing.memory.geometry import Geometry
    from tracejit.ir.dataflow import DataflowGraph
    from tracejit.passes.partition.cut import Piece
    from tracejit.passes.partition.place import Placement

__all__ = ["Lowered", "ResultPlan", "Traced", "spec_of", "trace_call"]

_COUNT = itertools.count()


@dataclass
class ResultPlan:
    """How one result leaf is made: from output `index`, through views; or it is leaf `leaf`."""

    index: int | None = None
    leaf: int | None = None
    views: tuple[ViewStep, ...] = ()
    #: The outputs that hold the run-time indices of the views, in order.
    operands: tuple[int, ...] = ()
    #: The outputs that hold the sizes of the views that are known only at run time.
    sizes: tuple[tuple[str, int], ...] = ()
    #: Where the elements of the views lie, if it is known.
    geometry: Geometry | None = None
    #: The result is the very object of an earlier result.
    same_as: int | None = None


@dataclass
class Traced:
    """A trace with everything around the graph that a call needs."""

    graph: Graph
    specialization: Specialization
    guards: list[tuple[Dim, str, Dim]]
    outputs: list[Output]
    plans: list[ResultPlan]
    tree: Any
    #: What was read outside the arguments, and is read again at each call.
    capture: Any = None
    #: What the front end did with the lines, for the report.
    notes: list[Note] = field(default_factory=list)
    #: What a call stores into objects from outside, of the values that follow its result.
    stores: tuple[Store, ...] = ()
    #: How many leaves are those of arguments; what follows was captured.
    given: int = 0
    #: About how many operations of Python it stands for, those of loops counted once.
    operations: int = 0
    #: What exempt names, and names of libraries, were bound to: (namespace, name, value).
    bindings: tuple[tuple[dict[str, Any], str, Any], ...] = ()
    library_names: tuple[tuple[dict[str, Any], str, Any], ...] = ()

    @property
    def names(self) -> list[str]:
        """A name for each leaf; empty for one that is no input of the graph."""
        named = iter(self.graph.inputs)
        return [next(named).name if t is not None else "" for t in self.specialization.types]

    @property
    def place_of_store(self) -> Where | None:
        """The line of a store into an array from outside."""
        stored = [
            v for r, v in zip(self.graph.results, self.graph.outputs, strict=False) if r[0] == "w"
        ]
        return next((n.where for n in self.graph.nodes if n.outputs[:1] == (*stored[:1],)), None)

    @property
    def plain(self) -> bool:
        """Whether every result is simply an output of its own, in order."""
        return len(self.plans) == len(self.outputs) and all(
            p.index == k and not p.views and p.same_as is None for k, p in enumerate(self.plans)
        )

    @property
    def shape_of_result(self) -> str:
        """single, tuple or list where the results come so from the entry; else other."""
        if not self.plain or not self.plans or self.stores or holds_made(self.tree.root):
            return "other"
        marks = [object() for _ in self.plans]
        whole = self.rebuild(marks)
        if whole is marks[0]:
            return "single"
        if type(whole) in (tuple, list) and len(whole) == len(marks):
            if all(a is b for a, b in zip(whole, marks, strict=True)):
                return type(whole).__name__
        return "other"

    def rebuild(self, flat: Sequence[Any]) -> Any:
        """The user's containers around the results."""
        return unflatten(self.tree, flat)


def trace_call(
    function: Callable[..., Any],
    specialization: Specialization,
    leaves: Sequence[Any],
    tree: Any,
    seen: dict[str, list[tuple[int, ...]]],
    bounds_check: bool = True,
    learned: Learned | None = None,
    counter: list[int] | None = None,
) -> Traced:
    """Run the user's function on tracers and record the graph.

    `seen` are the shapes that arrays captured from outside had in earlier traces, by name, and
    `learned` what else these tell. Without
    `bounds_check` the program relies on indices that it computes to be in range. `counter` counts
    the operations of all traces that it is given to, and milliseconds of those that fail; a trace
    after these has what they have left of three seconds, and one at least.

    Raises TraceError where tracing is not possible, and whatever the user's function raises.
    """
    env = ShapeEnv()
    name = getattr(function, "__name__", type(function).__name__)
    trace = Trace(name.replace("<lambda>", "lambda_"), env)
    start = time.thread_time()
    trace.counter = counter = [0, 0] if counter is None else counter
    if counter[1]:
        trace.deadline = min(trace.deadline, start + max(3000 - counter[1], 1000) / 1000)
    trace.builder.sizes += list(specialization.sizes)
    stored = _stored_sizes(specialization.leaves)
    for name, hint in specialization.sizes.items():
        env.declare(name, hint, in_memory=name in stored)
    count = 0
    storages: list[Storage] = []

    def make_leaf(x: Any, name: str) -> Any:
        nonlocal count
        k, count = count, count + 1
        if k >= len(leaves):
            for size, hint in specialize_captured(k, x, name, seen, specialization).items():
                env.declare(size, hint, in_memory=size in _stored_sizes(specialization.leaves))
                trace.builder.sizes.append(size)
        t = specialization.types[k]
        leaf = specialization.leaves[k]
        if isinstance(leaf, ScalarLeaf) and leaf.size is not None:
            return unwrap(symbol(leaf.size), env)
        if t is None:
            return x
        v = trace.builder.input(t, name)
        trace.samples[v] = x
        if not isinstance(leaf, ArrayLeaf):
            return wrap(trace, v)
        strides: tuple[Dim, ...] | None = None
        if leaf.layout == "A":
            for s in leaf.strides:
                if isinstance(s, str):
                    env.declare(s, specialization.strides[s], None)
            strides = tuple(s if isinstance(s, int) else symbol(s) for s in leaf.strides)
        storages.append(Storage(trace, v, k, strides=strides))
        trace.memory[storages[-1]] = len(trace.builder.inputs) - 1
        return wrap(trace, v, storages[-1])

    with trace.active():
        try:
            traced = trace_function(function, leaves, tree, trace, make_leaf, learned)
        except BaseException:
            counter[1] += int((time.thread_time() - start) * 1000)
            raise
        values, outputs, plans = _plan_results(trace, traced.leaves, traced.tree.root)
        written = [storage for storage in storages if storage.written]
        finals = [storage.read(trace) for storage in written]
    trace.samples.clear()
    outputs = [_made_late(output, set(specialization.sizes)) for output in outputs]
    results = ["fresh"] * len(values)
    results += [_note_store(trace, storage, specialization) for storage in written]
    graph = trace.builder.build([*values, *finals], tuple(results))
    if not bounds_check:
        graph = without_checks(graph)
    capture = None if traced.capture.trivial else traced.capture
    return Traced(
        graph,
        specialization,
        list(env.guards),
        outputs,
        plans,
        traced.tree,
        capture,
        trace.notes,
        traced.stores,
        len(leaves),
        traced.operations,
        tuple(traced.capture.bindings),
        tuple(traced.capture.names),
    )


def _stored_sizes(leaves: Sequence[Leaf]) -> set[str]:
    """The symbols for lengths of axes whose elements all lie in memory of their own."""
    whole = [x for x in leaves if isinstance(x, ArrayLeaf) and x.layout != "A" and 0 not in x.dims]
    return {d for x in whole for d in x.dims if isinstance(d, str)}


def _made_late(output: Output, known: set[str]) -> Output:
    """An output, or what it is where its size is not known when the program begins."""
    if isinstance(output, OutArray):
        if not set().union(*map(dims.free_symbols, output.shape)) <= known:
            return OutMade(output.dtype, len(output.shape), output.noted)
    return output


def _note_store(trace: Trace, storage: Storage, specialization: Specialization) -> str:
    """Have calls checked for an array that is written to; the graph's record of its final value.

    Raises TraceError where elements of the array share memory at every such call.
    """
    k = storage.input
    assert k is not None
    leaf = specialization.leaves[k]
    assert isinstance(leaf, ArrayLeaf)
    specialization.leaves[k] = dataclasses.replace(leaf, writeable=True)
    number = sum(t is not None for t in specialization.types[:k])
    if any(s == 0 and d != 1 for s, d in zip(leaf.strides, leaf.dims, strict=False)):
        name = trace.builder.inputs[number].name
        raise TraceError("TJ030", f"elements of {name} share memory")
    return f"write {number}"


def _plan_results(
    trace: Trace, flat: Sequence[Any], root: Any
) -> tuple[list[Value], list[Output], list[ResultPlan]]:
    values: list[Value] = []
    outputs: list[Output] = []
    plans: list[ResultPlan] = []
    objects: dict[int, int] = {}
    shared = _count_cells(flat, root)
    bases: dict[int, int] = {}

    def add_views(x: TracedArray, plan: ResultPlan) -> None:
        if x.views and (plan.leaf is None or x.storage in trace.memory):
            from tracejit.frontend.tracing.memory.geometry import view_geometry

            plan.geometry = view_geometry(x)
        first = len(values)
        for view in x.views:
            if not view.corner and not view.windows:
                values.extend(view.indices_in(trace))
                outputs.extend(_output(v) for v in view.indices)
        plan.operands = tuple(range(first, len(values)))
        read = set() if plan.geometry is None else plan.geometry.sizes
        for view in x.views:
            read |= attr_sizes((*view.attrs.values(), view.corner, view.places))
        for name in sorted(s for s in read if not trace.env.is_known(symbol(s))):
            plan.sizes += ((name, len(values)),)
            values.append(number_of(trace, symbol(name)).value())
            outputs.append(_output(values[-1]))

    # All of them live until the end: results are told apart by identity.
    flat = [lift(x) if isinstance(x, SymInt) else x for x in flat]
    for k, x in enumerate(flat):
        if id(x) in objects:
            plans.append(ResultPlan(same_as=objects[id(x)]))
            continue
        if isinstance(x, TracedArray):
            x.check_alive()
        objects[id(x)] = k
        if isinstance(x, Given):
            plans.append(ResultPlan(leaf=x.number))
            continue
        if isinstance(x, TracedArray) and x.storage.input is not None and x.storage.input >= 0:
            plans.append(ResultPlan(leaf=x.storage.input, views=x.views))
            add_views(x, plans[-1])
            continue
        if isinstance(x, TracedArray) and (shared[id(x.storage)] > 1 or _is_view(x)):
            # Results that share memory: the base is an output, its views are made from it.
            if id(x.storage) not in bases:
                bases[id(x.storage)] = len(outputs)
                values.append(x.storage.value)
                outputs.append(_output(x.storage.value))
            plans.append(ResultPlan(index=bases[id(x.storage)], views=x.views))
            add_views(x, plans[-1])
            continue
        plans.append(ResultPlan(index=len(outputs)))
        v = x.value()
        values.append(v)
        output = _output(v)
        if isinstance(x, TracedArray) and x.views and isinstance(output, OutArray):
            from tracejit.frontend.tracing.memory.geometry import strides_of_copy

            noted = tuple((axis, s * x.itemsize) for axis, s in strides_of_copy(x))
            output = dataclasses.replace(output, noted=noted)
        outputs.append(output)
    return values, outputs, plans


def _is_view(x: TracedArray) -> bool:
    """Whether a result can be told from an array that has its memory to itself.

    It cannot be stored into, or there are gaps between its elements.
    """
    return any(not view.writeable for view in x.views) or bool(x.views) and not is_packed(x)


def _count_cells(flat: Sequence[Any], tree: Any) -> dict[int, int]:
    """How many results each storage has, by identity.

    Raises TraceError for a copy that stands for a view of an argument's or another result's memory:
    the caller would see that it is none.
    """
    shared: dict[int, int] = {}
    arrays = list({id(x): x for x in flat if isinstance(x, TracedArray)}.values())
    for x in arrays:
        if x.storage.is_shared is not None:
            x.storage.own(x.storage.trace)
    roots = {id(c): len(found) for c, found in _memory_of(tree, iter(flat)).items()}
    for x in arrays:
        shared[id(x.storage)] = shared.get(id(x.storage), 0) + 1
    loops = Counter(id(x.storage.shared_by) for x in arrays if x.storage.shared_by is not None)
    for x in arrays:
        unknown = x.storage.input is not None and x.storage.input < -1
        if unknown and x.storage.shared_by is not None:
            unknown = loops[id(x.storage.shared_by)] > 1
        others = x.storage.roots() - {x.storage}
        if unknown or any(c.input is not None or roots[id(c)] > 1 for c in others):
            raise TraceError(
                "TJ005", "a result that may or may not share memory with another array"
            )
    return shared


def _memory_of(node: Any, leaves: Iterator[Any]) -> dict[Storage, set[int]]:
    """For each piece of memory, the arrays (by id) that come out of one call and may lie in it."""
    if node == LEAF:
        x = next(leaves)
        if not isinstance(x, TracedArray):
            return {}
        owner = id(x if x.storage.noalias_set is None else x.storage.noalias_set)
        return {storage: {owner} for storage in x.storage.roots()}
    if isinstance(node, Shared):
        node = node.node
    if isinstance(node, Alternative):
        next(leaves)
        first, second = _memory_of(node.first, leaves), _memory_of(node.second, leaves)
        return {c: max(first.get(c, set()), second.get(c, set()), key=len) for c in first | second}
    if is_made(node):
        # Its arrays are its own; nobody sees them.
        for _ in range(node.count):
            next(leaves)
        return {}
    out: dict[Storage, set[int]] = {}
    for child in node[2] if isinstance(node, tuple) else ():
        for storage, found in _memory_of(child, leaves).items():
            out[storage] = out.get(storage, set()) | found
    return out


def _output(v: Value) -> Output:
    t = v.type
    if isinstance(t, ArrayType):
        return OutArray(t.dtype, t.shape, t.order)
    if isinstance(t, NpScalar):
        return OutNpScalar(t.dtype)
    assert isinstance(t, PyScalar)
    return OutPyScalar(t.kind)  # type: ignore[arg-type]


class Lowered:
    """Every stage of one compile as text: trace, each pass, dataflow, kernel, llvm, asm."""

    def __init__(
        self,
        traced: Traced,
        device: Any = None,
        threads: int | None = None,
        timers: Timers | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        self.traced, self.device, self.threads, self.timers = traced, device, threads, timers
        self.devices = devices
        self.graphs: dict[str, Graph] = {"trace": traced.graph}
        self.seconds: dict[str, float] = {}
        start = time.perf_counter()
        self.fused = run_passes(traced.graph, verify=config.verify(), observe=self._observe)
        if device is not None:
            from tracejit.codegen.device.element_loops import element_loops
            from tracejit.passes.loops.parallel import parallel_loops

            self.fused = self.graphs["parallel"] = element_loops(parallel_loops(self.fused))
        self.name = f"tj_program_{next(_COUNT)}"
        self.seconds["passes"] = time.perf_counter() - start

    @once_computed
    def dataflow(self) -> DataflowGraph:
        """The flat form of the last graph, checked where the configuration says so."""
        start = time.perf_counter()
        flat = lower_control_flow(self.fused)
        self.seconds["dataflow"] = time.perf_counter() - start
        if config.verify():
            from tracejit.ir.verify_dataflow import verify_dataflow

            verify_dataflow(flat)
        return flat

    @once_computed
    def partition(self) -> tuple[Placement, list[Piece]]:
        """Where the nodes run for the sizes of the call, by usual costs, and the pieces."""
        from tracejit.passes.partition.pieces import partition

        return partition(self.traced.graph, self.traced.specialization.sizes, self.devices)

    @once_computed
    def program(self) -> Program:
        """The native program. Raises TraceError for what has no native code."""
        start = time.perf_counter()
        program = self._written(debug=False, timers=self.timers)
        self.seconds["program"] = time.perf_counter() - start
        return program

    @once_computed
    def located_program(self) -> Program:
        """The same, whose text says where in the user's source each instruction comes from."""
        return self._written(debug=True)

    def _written(self, debug: bool, timers: Timers | None = None) -> Program:
        from tracejit.codegen.program.emit import emit_program

        spec = self._spec
        slots = [
            slot
            for slot, t in zip(spec.leaf_slots, self.traced.specialization.types, strict=False)
            if t is not None
        ]
        sizes = {s: spec.size_slot + k for k, s in enumerate(spec.sizes)}
        flat = self.dataflow
        given = (
            *(flat, self._inputs(slots), spec.out_slots[: len(spec.outputs)]),
            *(sizes, self.name, host_target()),
        )
        if self.device is None:
            maker = native.late_array_address()
            return emit_program(
                *given, may_zero=True, maker=maker, threads=self.threads, debug=debug, timers=timers
            )
        from tracejit.codegen.device.emit import emit_device_program

        device, make = self.device.device, self.device.make
        return emit_device_program(*given, device, make, self._staying)

    def _observe(self, stage: str, graph: Graph, seconds: float) -> None:
        self.graphs[stage] = graph
        self.seconds[stage] = seconds

    def _inputs(self, slots: Sequence[int]) -> list[Any]:
        from tracejit.codegen.program.emit import InputSlot

        out = []
        leaves = self.traced.specialization.leaves
        traced = [x for x, t in zip(leaves, self.traced.specialization.types, strict=True) if t]
        for slot, leaf in zip(slots, traced, strict=True):
            strides = None
            if isinstance(leaf, ArrayLeaf) and leaf.layout == "A":
                strides = tuple(s if isinstance(s, int) else symbol(s) for s in leaf.strides)
            out.append(InputSlot(slot, strides))
        return out

    @property
    def spec(self) -> EntrySpec:
        """What the entry checks, allocates and returns: flat leaves in, a tuple of outputs back.

        Raises TraceError for what has no native code.
        """
        zeroed = self.program.zeroed
        outputs = [
            dataclasses.replace(output, zeroed=k in zeroed)
            if isinstance(output, OutArray)
            else output
            for k, output in enumerate(self._outputs)
        ]
        tells = self.device is None and self.program.tells_copies
        return dataclasses.replace(self._spec, outputs=tuple(outputs), tells_copies=tells)

    @property
    def captures_arrays(self) -> bool:
        """Whether there are arrays besides those of the arguments that a device must be given."""
        s = self.traced.specialization
        count = self.traced.given
        captured = s.leaves[count:]
        return self.device is not None and any(isinstance(x, ArrayLeaf) for x in captured)

    @once_computed
    def _staying(self) -> set[Value]:
        """The scalars that stay on the device."""
        from tracejit.codegen.device.placement import device_scalars

        return device_scalars(self.dataflow, self._given_there)

    @property
    def _given_there(self) -> set[Value]:
        """The scalars that the user gets as arrays of the device, if they are there."""
        values = self.dataflow.outputs
        plain = {p.index for p in self.traced.plans if p.index is not None and not p.views}
        count = len(self.traced.outputs)
        hidden = {values[k] for k in range(count) if k not in plain}
        return {values[k] for k in plain if k is not None} - hidden

    @once_computed
    def _outputs(self) -> tuple[Output, ...]:
        """What the program gives. Raises TraceError for what a device cannot give."""
        if self.device is None:
            return tuple(self.traced.outputs)
        if holds_made(self.traced.tree.root) or self.traced.stores:
            raise TraceError("TJ015", "a list or an object that takes arrays of a device")
        out: list[Output] = []
        for v, output in zip(self.dataflow.outputs, self.traced.outputs, strict=False):
            if isinstance(output, OutArray):
                output = OutMade(output.dtype, len(output.shape))
            elif isinstance(output, OutMade):
                output = dataclasses.replace(output, noted=())
            elif isinstance(output, OutNpScalar) and v in self._staying:
                output = OutMade(output.dtype, 0)
            out.append(output)
        return tuple(out)

    @property
    def _spec(self) -> EntrySpec:
        """What holds before the program is there."""
        return spec_of(self.traced, self._outputs)

    def graph(self, stage: str) -> Graph | DataflowGraph:
        """The graph of a stage. Raises ValueError for a stage that is no graph."""
        if stage == "dataflow":
            return self.dataflow
        if stage not in self.graphs:
            raise ValueError(no_such("stage with a graph", stage, [*self.graphs, "dataflow"]))
        return self.graphs[stage]

    @property
    def stages(self) -> list[str]:
        """The names that `text` takes."""
        if self.device is None:
            cut = ["partition"] if is_placed(self.traced.graph, self.devices) else []
            return [*self.graphs, *cut, "dataflow", "kernel", "llvm", "asm"]
        from tracejit.codegen.cuda.inspect import sass_tool

        ends = ["dataflow", "kernel", "cuda", "ptx", "llvm"]
        return [*self.graphs, *ends, *(["sass"] if sass_tool() else [])]

    def text(self, stage: str = "fuse") -> str:
        """The text of a stage.

        Raises KeyError for an unknown one, DeviceError where what makes it is not installed.
        """
        if stage in self.graphs:
            return print_graph(self.graphs[stage])
        if stage == "dataflow":
            from tracejit.ir.text.dataflow import print_dataflow

            return print_dataflow(self.dataflow)
        if stage == "partition":
            from tracejit.passes.partition.pieces import print_pieces

            return print_pieces(*self.partition)
        if stage == "kernel":
            from tracejit.codegen.reference import print_kernel

            return "\n".join(print_kernel(k) for k in self.program.kernels)
        if stage == "llvm":
            return self.program.text
        if self.device is not None and stage in ("cuda", "ptx", "sass"):
            return self._device_text(stage)
        if stage == "asm":
            return assembly(self.program.text)
        raise KeyError(no_such("stage", stage, self.stages))

    def _repr_html_(self) -> str:
        return shown(self)

    def _device_text(self, stage: str) -> str:
        from tracejit.codegen.cuda import inspect
        from tracejit.codegen.device.emit import DeviceProgram

        program = self.program
        assert isinstance(program, DeviceProgram)
        launches = program.trips.launches
        if stage == "cuda":
            return inspect.print_source(launches)
        printed = inspect.print_ptx if stage == "ptx" else inspect.print_sass
        return printed(launches, self.device.device.capability)


def spec_of(traced: Traced, outputs: Sequence[Output]) -> EntrySpec:
    """What an entry for flat leaves checks, and which outputs it gives."""
    s = traced.specialization
    sources = [Positional(k) for k in range(len(s.leaves))]
    shape = traced.shape_of_result
    return EntrySpec(
        leaves=tuple(zip(sources, s.leaves, strict=True)),
        nargs=len(sources),
        sizes=(*s.sizes, *s.strides),
        guards=tuple(SizeGuard(a, r, b) for a, r, b in traced.guards),  # type: ignore[arg-type]
        outputs=tuple(outputs),
        result="tuple" if shape == "other" else shape,  # type: ignore[arg-type]
        work=_work(traced.graph),
        exchanges=exchanges(traced.graph),
    )


def _work(graph: Graph) -> Dim:
    """A rough count of element operations, for the decision to let other threads run.

    Python's random numbers have no lock but that of the interpreter.
    """
    if any(draws_in_python(node) for node in nested(graph.nodes)):
        return 0
    sizes = [v.type.size for n in graph.nodes for v in n.outputs if isinstance(v.type, ArrayType)]
    total = dims.total(sizes)
    known = set(graph.sizes)
    return total if dims.free_symbols(total) <= known else 0

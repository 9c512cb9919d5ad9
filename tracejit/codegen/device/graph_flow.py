"""Loops that the device runs itself: sections become conditional nodes of a CUDA graph.

    head:  merge, condition          WHILE again: { head; again = body = condition
    body:  next iteration      ->                   IF body: { next iteration } }
    exit

A branch inside is two IF nodes. What merges hold lies on the device: scalars in cells, arrays where
the plan has them; where pointers of the host would change hands at the end of an iteration, the
elements are copied. A loop that does anything else, reads an element by an index of its own or
grows an array for example, is `NotAGraph`, and the host runs it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.device.graphs import DeviceGraph
from tracejit.codegen.device.memory import DeviceMemory
from tracejit.codegen.device.nodes import emit_device_node
from tracejit.codegen.device.target import NotAGraph
from tracejit.codegen.program.control_flow import Flow
from tracejit.codegen.program.copies import Transfer, transfer_all
from tracejit.codegen.program.memory import memory_key
from tracejit.codegen.program.scalars import part_dtypes, scalar_rule
from tracejit.codegen.program.stacks import Stacks
from tracejit.ir.dataflow import DataflowGraph, Frame, Section
from tracejit.ir.dims import Dim, free_symbols
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Call, Const, Expr, Var
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Element
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element as ElementOp
from tracejit.ops.control.dataflow import Merge
from tracejit.ops.control.effects import Check as CheckOp
from tracejit.ops.control.parallel import ParallelLoop

__all__ = ["GraphFlow", "LoopIsNoGraph", "loops_to_try"]


class LoopIsNoGraph(Exception):
    """The loop of a frame has to be run by the host."""

    def __init__(self, frame: Frame, why: str) -> None:
        super().__init__(f"loop {frame.name}: {why}")
        self.frame = frame


def loops_to_try(graph: DataflowGraph) -> set[Frame]:
    """The loops in which the host would wait for a number of the device, outermost ones first."""
    found: set[Frame] = set()
    for section, node in graph.nodes():
        if isinstance(node.op, (ReadItem, ElementOp)) and is_array(node.inputs[0]):
            found |= set(_around(section.frame))
    return found


def _around(frame: Frame) -> Iterable[Frame]:
    while frame.parent is not None:
        yield frame
        frame = frame.parent


class GraphFlow(Flow):
    """See `Flow`; the loops of `frames` are graphs. Raises LoopIsNoGraph for one that cannot be."""

    e: DeviceContext
    memory: DeviceMemory

    def __init__(
        self,
        e: DeviceContext,
        memory: DeviceMemory,
        stacks: Stacks,
        finish: Callable[[], None],
        frames: set[Frame],
        staying: set[Value],
    ) -> None:
        super().__init__(e, memory, stacks, finish)
        self.frames, self.staying = frames, staying
        #: The graph that is being written.
        self.graph: DeviceGraph | None = None
        #: The cells of the graphs around each section, the innermost last.
        self.places: dict[int, tuple[str, ...]] = {}
        #: The condition of each loop.
        self.again: dict[Frame, str] = {}
        self.cells: dict[Value, list[str]] = {}
        #: Scalars that are on the device because a graph computes them.
        self.held: set[Value] = set()
        self.checks: list[Expr] = []

    def loop_of(self, section: Section) -> Frame | None:
        """The outermost loop around a section that is a graph."""
        found = [frame for frame in _around(section.frame) if frame in self.frames]
        return found[-1] if found else None

    def section(self, section: Section) -> None:
        loop = self.loop_of(section)
        if loop is None:
            if self.graph is not None:
                self.graph.run()
                self.graph = None
                self.e.trips.graphs += 1
                self.e.fb.br(self.labels[section.id])
            super().section(section)
            return
        try:
            self.graph_section(section)
        except NotAGraph as e:
            raise LoopIsNoGraph(loop, str(e)) from e
        except KeyError as e:
            # The host asks for a size that only the device knows.
            if e.args[0] not in self.e.device_sizes:
                raise
            raise LoopIsNoGraph(loop, "a size that changes") from e

    def graph_section(self, section: Section) -> None:
        """Add a section's nodes to its graph."""
        e = self.e
        e.section = section
        e.checked_indices.clear()
        if section.kind == "head":
            self.enter(section)
        graph = self.graph
        assert graph is not None
        graph.at = self.places[section.id][-1]
        for node in section.nodes:
            self.graph_node(section, node)
        e.flush()
        if len(section.successors) == 2:
            self.choose(section, graph)
        else:
            self.go_to(section, *section.successors)

    def enter(self, section: Section) -> None:
        """Begin a loop, and the graph if this is the outermost one."""
        e = self.e
        if self.graph is None:
            e.fb.block(self.labels[section.id])
            self.chunks[section.id] = e.fb.insertion_point()
            e.building = self.graph = DeviceGraph(e)
            around: tuple[str, ...] = (self.graph.root,)
        else:
            around = self.places[section.predecessors[0]]
        self.graph.at = around[-1]
        self.again[section.frame], body = self.graph.loop()
        self.places[section.id] = (*around, body)

    def choose(self, section: Section, graph: DeviceGraph) -> None:
        """A section's branch: whether a loop goes on, or which side runs."""
        assert section.branch is not None
        value = self.e.cell(1)
        self.store([(self.e.scalars[section.branch], ("b1",), value)])
        then, orelse = section.successors
        here = self.places[section.id]
        if self.e.graph.sections[then].kind == "body":
            self.places[then] = (*here, graph.go_on(self.again[section.frame], value))
            self.places[orelse] = here[:-1]
        else:
            sides = graph.branch(value)
            self.places[then], self.places[orelse] = ((*here, side) for side in sides)

    def go_to(self, section: Section, after: int) -> None:
        """What an edge hands on, inside of a graph."""
        target = self.e.graph.sections[after]
        place = target.predecessors.index(section.id)
        merges = [n for n in target.nodes if isinstance(n.op, Merge)]
        self.bring([(n.outputs[0], n.inputs[place]) for n in merges if is_array(n.outputs[0])])
        self.store_merges(merges, place)
        if target.kind != "head":
            self.places[after] = self.places[section.id][:-1]

    def bring(self, pairs: Sequence[tuple[Value, Value]]) -> None:
        """Copy arrays to where merges have them, as if at once."""
        e, plan = self.e, self.e.plan
        transfers = []
        for out, source in pairs:
            home, origin = plan.of(out), plan.of(source)
            if home is None or home.grows or plan.live.root(source) in plan.live.undefined:
                raise NotAGraph("an array whose place is not known before")
            given = None if origin is None else memory_key(origin)
            if given == memory_key(home) and e.strides.get(source) == home.strides:
                continue
            address = self.memory.address(home)
            move = Transfer(
                source=source,
                pointer=self.memory[source],
                strides=e.strides.get(source),
                origin=given,
                place=memory_key(home),
                target=functools.partial(str, address),
                target_strides=home.strides,
            )
            transfers.append(move)
            self.memory.stores(out)
        transfer_all(e, transfers)

    # Scalars ------------------------------------------------------------------------------------

    def cells_of(self, v: Value) -> list[str]:
        """Where the parts of a merged scalar lie."""
        if v not in self.cells:
            self.cells[v] = [self.e.cell(8) for _ in part_dtypes(v)]
        return self.cells[v]

    def hand_on(self, section: Section, after: int) -> list[tuple[Any, str]]:
        target = self.e.graph.sections[after]
        if self.loop_of(target) is None:
            return super().hand_on(section, after)
        merges = [n for n in target.nodes if isinstance(n.op, Merge)]
        self.store_merges(merges, target.predecessors.index(section.id))
        return []

    def store_merges(self, merges: Sequence[Node], place: int) -> None:
        """Write what scalars are merged to their cells, as if at once."""
        stores = []
        for node in merges:
            (out,), v = node.outputs, node.inputs[place]
            if self.is_scalar(out):
                parts = parts_of(self.e.scalars[v])
                cells = zip(parts, part_dtypes(out), self.cells_of(out), strict=True)
                stores += [(part, (dtype,), cell) for part, dtype, cell in cells]
        self.store(stores)

    def store(self, stores: Sequence[tuple[Element, Sequence[str], str]]) -> None:
        """Write scalars of the device, and check what is to be checked."""
        if stores or self.checks:
            self.e.store_elements(stores, self.checks)
            self.checks = []

    def go_on(self, after: int, given: list[tuple[Any, str]], *, back: bool) -> None:
        if self.loop_of(self.e.graph.sections[after]) is None:
            super().go_on(after, given, back=back)
        else:
            self.e.fb.br(self.labels[after])

    def rename(self, node: Node) -> None:
        e, v = self.e, node.inputs[0]
        if v not in self.held:
            super().rename(node)
            return
        for out in node.outputs:
            e.scalars[out] = e.scalars[v]
            if e.building is not None or (out in self.staying and not node.binds):
                self.hold(out, node)
                continue
            dtypes = part_dtypes(out)
            cell = e.cell(16)
            e.store_element(e.scalars[out], dtypes, cell)
            e.scalars[out] = e.fetch(cell, dtypes, node)
            self.bind_sizes(node, out)

    def hold(self, v: Value, node: Node) -> None:
        """Note a scalar that is on the device, and the sizes that it is."""
        self.held.add(v)
        for size in node.binds:
            (part,) = parts_of(self.e.scalars[v])
            if not isinstance(part, Var) or part.name not in self.e.cells:
                raise NotAGraph("a size that changes")
            self.e.device_sizes[size] = part

    # Nodes --------------------------------------------------------------------------------------

    def graph_node(self, section: Section, node: Node) -> None:
        """Add a node of a section."""
        op = node.op
        if isinstance(op, Merge):
            self.graph_merge(section, node)
        elif op.renames:
            self.rename(node)
        elif not any(map(is_array, (*node.inputs, *node.outputs))):
            self.graph_scalar(node)
        elif op.kind == "fusion" or isinstance(op, (ParallelLoop, Constant)):
            emit_device_node(self.e, node, self.stacks, self.memory, set())
        elif isinstance(op, (ReadItem, ElementOp, WriteItem)):
            if any(v in self.held for v in node.inputs[2 if isinstance(op, WriteItem) else 1 :]):
                raise NotAGraph("a place that the device computes")
            emit_device_node(self.e, node, self.stacks, self.memory, set(node.outputs))
            self.held.update(v for v in node.outputs if not is_array(v))
        else:
            raise NotAGraph(f"{op.name} is done by the host")

    def graph_merge(self, section: Section, node: Node) -> None:
        e, (out,) = self.e, node.outputs
        if is_array(out):
            self.merge(section, node)
            return
        if not self.is_scalar(out):
            return
        parts = [Var(e.fresh("x"), d) for d in part_dtypes(out)]
        e.cells.update(zip((p.name for p in parts), self.cells_of(out), strict=True))
        e.scalars[out] = (parts[0], parts[1]) if len(parts) == 2 else parts[0]
        self.hold(out, node)

    def graph_scalar(self, node: Node) -> None:
        """A scalar is an expression, for whoever reads it."""
        e = self.e
        if isinstance(node.op, CheckOp):
            (holds,) = parts_of(e.scalars[node.inputs[0]])
            self.checks.append(Call("logical_not", (holds,), "b1"))
            return
        if len(node.outputs) != 1:
            raise NotAGraph(f"{node.op.name} is done by the host")
        (out,) = node.outputs
        if (
            isinstance(node.op, DimValue)
            and free_symbols(node.attrs["dim"]) & e.device_sizes.keys()
        ):
            e.scalars[out] = self.sum_of(node.attrs["dim"])
            self.hold(out, node)
            return
        if not node.inputs:
            emit_device_node(e, node, self.stacks, self.memory, set())
            return
        if not all(v in e.scalars for v in node.inputs):
            raise NotAGraph(f"{node.op.name} is done by the host")
        rule = scalar_rule(node, [e.scalars[v] for v in node.inputs])
        if rule is None:
            raise NotAGraph(f"{node.op.name} has no expression")
        e.scalars[out], bails = rule
        if bails is not None:
            self.checks.append(bails)
        self.hold(out, node)

    def sum_of(self, d: Dim) -> Expr:
        """A size that is made of some of the device."""
        e = self.e
        total: Expr = Const(0, "i64")
        for monomial, coefficient in () if isinstance(d, int) else d.terms:
            term: Expr = Const(coefficient, "i64")
            for atom in monomial:
                if not isinstance(atom, str):
                    raise NotAGraph("a size that is no sum")
                factor = e.device_sizes.get(atom) or e.bind(e.env[atom], "i64")
                term = Call("multiply", (term, factor), "i64")
            total = Call("add", (total, term), "i64")
        return total


def parts_of(element: Element) -> tuple[Expr, ...]:
    """The parts of a scalar."""
    return element if isinstance(element, tuple) else (element,)

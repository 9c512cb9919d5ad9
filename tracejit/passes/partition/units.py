"""What is placed as one: nodes that share what cannot be sent, branches and loops without pins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.placing import HOST
from tracejit.errors import GraphError
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.regions import nested
from tracejit.ops.control.effects import Check, RaiseError
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.host.transfer import transferable

__all__ = ["Step", "Unit", "Units"]

#: How often a loop's body runs, where nothing is known.
_TRIPS = 10


@dataclass(eq=False)
class Unit:
    """Nodes of one device; `pin` is what the program says of it, or ''."""

    pin: str = ""


@dataclass(eq=False)
class Step:
    """A node in the program's order: its unit, the values it reads (as those of the blocks that
    they belong to), and how often it runs.
    """

    node: Node
    unit: Unit
    reads: tuple[Value, ...]
    times: int
    #: What a result is that is carried round a loop, or leaves a region, by its name there.
    gives: tuple[Value, ...] = ()
    whole: tuple[Node, ...] = field(default=())


class Units:
    """The units of a graph, and its steps in order. Raises GraphError where pins contradict.

    With `split`, branches and loops may lie on several devices though nothing in them is pinned.
    """

    def __init__(self, graph: Graph, *, split: bool = False) -> None:
        self._split = split
        self.steps: list[Step] = []
        self._parent: dict[object, object] = {}
        #: By value of a region: the value outside that it is.
        self._same: dict[Value, Value] = {}
        for node in nested(graph.nodes):
            self._join_inside(node)
        self._join_block(graph)
        pins = self._pins(graph)
        units: dict[object, Unit] = {}
        self.unit: dict[Node, Unit] = {}
        for node in nested(graph.nodes):
            root = self._find(node)
            self.unit[node] = units.setdefault(root, Unit(pins.get(root, "")))
        self.steps = list(self._steps(graph, 1))

    # Joined ---------------------------------------------------------------------------------------

    def _find(self, x: object) -> object:
        while (up := self._parent.get(x, x)) is not x:
            self._parent[x] = self._parent.get(up, up)
            x = up
        return x

    def _join(self, a: object, b: object) -> None:
        self._parent[self._find(a)] = self._find(b)

    def _join_block(self, graph: Graph) -> None:
        """Nodes that give or take what cannot be sent are one with the value."""
        for node in graph.nodes:
            for v in (*node.inputs, *node.outputs):
                if not transferable(v.type):
                    self._join(node, v)
            for region in node.regions:
                self._join_block(region)

    def _join_inside(self, node: Node) -> None:
        if node.op.kind == "stack":
            self._join(node, ("stack", node.attrs["stack"]))
        if not node.regions:
            return
        if not isinstance(node.op, (Cond, WhileLoop)) or not self._is_split(node):
            for inner in nested([n for r in node.regions for n in r.nodes]):
                self._join(inner, node)
        first = 1 if isinstance(node.op, Cond) else 0
        for region in node.regions:
            for v, outer in zip(region.inputs, node.inputs[first:], strict=False):
                if not transferable(v.type):
                    self._join(v, outer)
            outputs = region.outputs if region is not node.regions[0] or first else ()
            for v, out in zip(outputs, node.outputs, strict=False):
                if not transferable(v.type):
                    self._join(v, out)

    def _pins(self, graph: Graph) -> dict[object, str]:
        pins: dict[object, str] = {}
        for node in nested(graph.nodes):
            pin = "" if node.where is None else node.where.device
            if node.regions and self._is_split(node):
                pin = ""
            if _is_of_host(node):
                if pin not in ("", HOST):
                    where = node.where
                    raise GraphError(f"{where}: {node.op.name} has effects: it runs on the host")
                pin = HOST
            root = self._find(node)
            if pin and pins.setdefault(root, pin) != pin:
                raise GraphError(
                    f"{node.where}: {node.op.name} is to run on {pin}, and on {pins[root]} "
                    "what shares its state"
                )
        return pins

    # In order -------------------------------------------------------------------------------------

    def _steps(self, graph: Graph, times: int) -> Iterator[Step]:
        for node in graph.nodes:
            reads = tuple(map(self.outer, node.inputs))
            split = isinstance(node.op, (Cond, WhileLoop)) and self._is_split(node)
            if not split:
                whole = tuple(nested([n for r in node.regions for n in r.nodes]))
                yield Step(node, self.unit[node], reads, times, node.outputs, whole)
                continue
            first = 1 if isinstance(node.op, Cond) else 0
            for region in node.regions:
                for v, given in zip(region.inputs, node.inputs[first:], strict=False):
                    self._same[v] = given
            trips = 1 if first else _TRIPS
            for region in node.regions:
                yield from self._steps(region, times * trips)
            results = node.regions[-1].outputs
            yield Step(node, self.unit[node], reads, 0, (), ())
            for out, v in zip(node.outputs, results, strict=True):
                self._same[out] = v

    def _is_split(self, node: Node) -> bool:
        """Whether a branch or a loop may have nodes on several devices: where some are pinned."""
        inner = nested([n for r in node.regions for n in r.nodes])
        pins = {n.where.device for n in inner if n.where is not None and n.where.device}
        own = "" if node.where is None else node.where.device
        return self._split or bool(pins - {own}) or len(pins) > 1

    def outer(self, v: Value) -> Value:
        """The value that another one is, of a block around or of a region that gives it."""
        seen = set()
        while v in self._same and v not in seen:
            seen.add(v)
            v = self._same[v]
        return v


def _is_of_host(node: Node) -> bool:
    """Whether a node does what only the calling process may: writes, draws, calls."""
    op = node.op
    if op.pure or op.kind in ("control", "stack") or node.regions:
        return False
    return not isinstance(op, (Check, RaiseError)) and op.kind == "effect"

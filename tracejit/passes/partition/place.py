"""Where each node runs: what the program says first, then what costs least.

Units of nodes are placed one after another, each where it would end first: when a device is free
and the operands are there (the greedy rule of the TensorFlow system paper, OSDI 2016, section 3.2.1
of its white paper). A search then moves one unit after another to another device as long as the
program as a whole ends sooner, by a simulation of all devices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.placing import HOST
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.passes.partition.costs import Costs
from tracejit.passes.partition.pins import pins_of
from tracejit.passes.partition.units import Step, Unit, Units

__all__ = ["Placement", "place", "simulated_seconds"]

#: Units that are moved in a search, and rounds over all of them.
_MOVES, _ROUNDS = 2000, 4


@dataclass(frozen=True)
class Placement:
    """Devices by node of a graph, and of each input and output.

    `seconds` is what a run takes by the costs, `greedy_seconds` what it would without the search.
    """

    graph: Graph
    nodes: Mapping[Node, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    seconds: float
    greedy_seconds: float

    @property
    def devices(self) -> list[str]:
        """All of them, the host first."""
        found = {*self.nodes.values(), *self.inputs, *self.outputs}
        return [HOST, *sorted(found - {HOST})]


def place(
    graph: Graph,
    devices: Sequence[str] = (),
    costs: Costs | None = None,
    search: bool = True,
) -> Placement:
    """A device for each node of `graph`, among `devices` and those that nodes are pinned to.

    Raises GraphError where what shares state is pinned to several devices.
    """
    costs = Costs() if costs is None else costs
    units = Units(graph)
    allowed = list(dict.fromkeys((*devices, *sorted(pins_of(graph.nodes)))))
    allowed = [HOST, *(d for d in allowed if d != HOST)]
    chosen = _greedy(graph, units, allowed, costs)
    greedy = seconds = simulated_seconds(graph, units, chosen, costs)
    if search:
        seconds = _search(graph, units, allowed, chosen, costs, greedy)
    nodes = {n: chosen[u] for n, u in units.unit.items()}
    inputs = _homes_of_inputs(graph, units, nodes)
    return Placement(graph, nodes, inputs, (HOST,) * len(graph.outputs), seconds, greedy)


def _homes_of_inputs(graph: Graph, units: Units, nodes: Mapping[Node, str]) -> tuple[str, ...]:
    """An input that one device reads is given to it at once."""
    readers: dict[Value, set[str]] = {v: set() for v in graph.inputs}
    for step in units.steps:
        if isinstance(step.node.op, (Cond, WhileLoop)) and not step.whole and step.times == 0:
            continue
        for v in step.reads:
            if v in readers:
                readers[v].add(nodes[step.node])
    for v in graph.outputs:
        if units.outer(v) in readers:
            readers[units.outer(v)].add(HOST)
    return tuple(readers[v].pop() if len(readers[v]) == 1 else HOST for v in graph.inputs)


class _Clock:
    """When devices are free, and when and where values are there."""

    def __init__(self, graph: Graph, costs: Costs) -> None:
        self.costs = costs
        self.free: dict[str, float] = {}
        self.home: dict[Value, str] = dict.fromkeys(graph.inputs, HOST)
        self.there: dict[tuple[Value, str], float] = {(v, HOST): 0.0 for v in graph.inputs}

    def arrival(self, v: Value, device: str, times: int) -> float:
        """When a value is on a device."""
        found = self.there.get((v, device))
        if found is None:
            home = self.home.get(v, device)
            base = self.there.get((v, home), 0.0)
            if home == device:
                return base
            found = base + self.costs.transfer(v.type) * max(times, 1)
        return found

    def end(self, step: Step, device: str) -> float:
        """When a step would end on a device."""
        ready = [self.arrival(v, device, step.times) for v in step.reads]
        start = max([self.free.get(device, 0.0), *ready])
        return start + step.times * self._seconds(step)

    def run(self, step: Step, device: str) -> None:
        """A step runs on a device."""
        for v in step.reads:
            self.there[v, device] = self.arrival(v, device, step.times)
        end = self.free[device] = self.end(step, device)
        for v in (*step.node.outputs, *step.gives):
            self.home[v] = device
            self.there[v, device] = end

    def _seconds(self, step: Step) -> float:
        if step.whole:
            return sum(self.costs.node(n) for n in step.whole if not n.regions)
        return self.costs.node(step.node)

    def finished(self, graph: Graph, units: Units) -> float:
        """When all outputs are on the host."""
        ends = [self.arrival(units.outer(v), HOST, 1) for v in graph.outputs]
        return max([*ends, *self.free.values(), 0.0])


def _greedy(graph: Graph, units: Units, allowed: Sequence[str], costs: Costs) -> dict[Unit, str]:
    clock = _Clock(graph, costs)
    chosen: dict[Unit, str] = {}
    for step in units.steps:
        if step.unit not in chosen:
            pin = step.unit.pin
            chosen[step.unit] = pin or _best(allowed, lambda d, s=step: clock.end(s, d))  # type: ignore[misc]
        clock.run(step, chosen[step.unit])
    return chosen


def _best(devices: Sequence[str], seconds: Callable[[str], float]) -> str:
    return min(devices, key=seconds)


def simulated_seconds(
    graph: Graph, units: Units, chosen: Mapping[Unit, str], costs: Costs
) -> float:
    """When a run ends whose devices each follow the program's order and do not wait to send."""
    clock = _Clock(graph, costs)
    for step in units.steps:
        clock.run(step, chosen[step.unit])
    return clock.finished(graph, units)


def _search(
    graph: Graph,
    units: Units,
    allowed: Sequence[str],
    chosen: dict[Unit, str],
    costs: Costs,
    seconds: float,
) -> float:
    """Move single units as long as that helps; the seconds then."""
    movable = list(dict.fromkeys(s.unit for s in units.steps if not s.unit.pin))
    left = _MOVES
    for _ in range(_ROUNDS):
        before = seconds
        for unit in movable:
            for device in allowed:
                if device == chosen[unit] or left <= 0:
                    continue
                left -= 1
                old, chosen[unit] = chosen[unit], device
                found = simulated_seconds(graph, units, chosen, costs)
                if found < seconds * (1 - 1e-9):
                    seconds = found
                else:
                    chosen[unit] = old
        if seconds >= before:
            break
    return seconds

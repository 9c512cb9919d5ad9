"""A graph cut into one for each device; what crosses from one to another is sent and received.

Each device gets the program with only the nodes that are placed there. A branch or a loop is in
the programs of all devices that have nodes in it: they get its predicate, once for each time that
it is decided, and so take the same side and make the same iterations. Where a device has nothing
on the side that is taken, nothing happens there; no token has to tell it that a value is dead.
Numbers made of numbers, such as counters of loops, are computed wherever they are asked for.

All programs keep the order of the one that was cut, sends do not wait, and a value is received
after what it was computed from has been, in that order: parts that run at the same time always
come to their end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import GraphError
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, Node, Value, attr_sizes, attr_substitute
from tracejit.ir.op import OPS
from tracejit.ir.regions import nested
from tracejit.ir.types import TOKEN, NpScalar, PyScalar, type_substitute
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.passes.partition.scopes import Names, Part, Scope

__all__ = ["Piece", "cut"]


@dataclass(frozen=True)
class Piece:
    """What one device does: a graph, for these inputs and outputs of the whole one."""

    device: str
    graph: Graph
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def cut(
    graph: Graph,
    place: Callable[[Node], str],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> list[Piece]:
    """The pieces of `graph`, whose sizes are numbers.

    `place` gives the device of each node, those in branches and loops included, and for `cond` and
    `while_loop` that of results that no node in them computes. `inputs` and `outputs` are the
    devices that have each input and get each output. What cannot be sent must lie on one device.
    The pieces are in the order of the names of their devices. Raises GraphError.
    """
    if graph.sizes:
        raise GraphError(f"{graph.name}: the sizes {', '.join(graph.sizes)} are not known")
    every = [*nested(graph.nodes)]
    taken = {s for n in every for s in (*n.binds, *(s for r in n.regions for s in r.sizes))}
    root = Scope(graph.name, Names(taken))
    for v, device in zip(graph.inputs, inputs, strict=True):
        root.define(v, device, root.part(device).builder.input(v.type, v.name))
    _block(root, graph, place)
    given = [root.at(v, device) for v, device in zip(graph.outputs, outputs, strict=True)]
    pieces = []
    for device in sorted(root.parts):
        mine = [k for k, d in enumerate(inputs) if d == device]
        asked = [k for k, d in enumerate(outputs) if d == device]
        whole = _whole(root.part(device), [given[k] for k in asked])
        pieces.append(Piece(device, whole, tuple(mine), tuple(asked)))
    return pieces


def _whole(part: Part, outputs: Sequence[Value]) -> Graph:
    """The graph of a device's part. It stores into none of its inputs: that is for who has all."""
    if part.transfers:
        nodes, part.builder.nodes = part.builder.nodes, []
        (first,) = part.emit(OPS["start_token"], (), {})
        start, part.builder.nodes = part.builder.nodes, nodes
        part.builder.nodes = [*start, *part.threaded(first)[0]]
    return part.builder.build(outputs)


def _block(scope: Scope, graph: Graph, place: Callable[[Node], str]) -> None:
    """Hand out the nodes of a block."""
    for node in graph.nodes:
        if isinstance(node.op, Cond):
            _Branch(scope, node, place).hand_out()
        elif isinstance(node.op, WhileLoop):
            _Loop(scope, node, place).hand_out()
        else:
            _leaf(scope, node, place(node))


def _leaf(scope: Scope, node: Node, device: str) -> None:
    binds = tuple([scope.names.size(s) for s in node.binds])
    found = scope.emit(node, device, binds)
    for s, name in zip(node.binds, binds, strict=True):
        scope.sizes[s] = symbol(name)
        scope.bound(name, [device])
    for number, (v, local) in enumerate(zip(node.outputs, found, strict=True)):
        scope.define(v, device, local)
        if _is_cheap(scope, node):
            scope.again[v] = partial(_again, scope, node, number)


def _again(scope: Scope, node: Node, number: int, device: str) -> Value:
    return scope.emit(node, device)[number]


def _is_cheap(scope: Scope, node: Node) -> bool:
    """Whether a node computes numbers of nothing but numbers that all devices can have."""
    return _makes_numbers(node) and all(v in scope.again or v in scope.same for v in node.inputs)


def _makes_numbers(node: Node) -> bool:
    """Whether a node computes numbers of numbers, and does nothing else."""
    scalars = all(isinstance(v.type, (NpScalar, PyScalar)) for v in (*node.inputs, *node.outputs))
    return scalars and node.op.pure and not node.regions and not node.binds


class _Control:
    """A branch or a loop; `scopes` are its regions."""

    def __init__(self, scope: Scope, node: Node, place: Callable[[Node], str]) -> None:
        self.scope, self.node, self.place = scope, node, place
        self.scopes = [Scope(r.name, scope.names, scope) for r in node.regions]
        #: By result: its device.
        self.homes: list[str] = []
        for inner, region, dims in zip(self.scopes, node.regions, node.attrs["sizes"], strict=True):
            given = [attr_substitute(d, scope.sizes) for d in dims]
            inner.sizes.update(zip(region.sizes, given, strict=True))

    def spread(self, needs: Callable[[str], None]) -> list[str]:
        """The devices that take part; `needs` asks for what each of them needs."""
        devices: set[str] = set()
        nodes = -1
        while True:
            found = set(self.homes).union(*(s.taking_part() for s in self.scopes))
            count = sum(len(p.builder.nodes) for s in self.scopes for p in s.parts.values())
            if found == devices and count == nodes:
                return sorted(devices)
            devices, nodes = found, count
            for device in sorted(devices):
                needs(device)

    def captures(self, device: str) -> list[Value]:
        """What the regions read on a device of the block around them."""
        return list(dict.fromkeys(v for s in self.scopes for v in s.part(device).captures))

    def transfers(self, device: str) -> bool:
        """Whether the regions send or receive on a device."""
        return any(s.part(device).transfers for s in self.scopes)

    def region(
        self,
        number: int,
        device: str,
        first: Sequence[Value],
        outputs: Sequence[Value],
        own: Sequence[str] = (),
        token: Value | None = None,
        *,
        gives_token: bool = True,
        size_outputs: tuple[Dim, ...] = (),
    ) -> tuple[Graph, tuple[Dim, ...]]:
        """A region on a device, its captures behind its first inputs; the sizes given to it."""
        part = self.scopes[number].part(device)
        last = []
        if token is not None:
            part.builder.nodes, final = part.threaded(token)
            last = [final] if gives_token else []
        inner = [part.captures.get(c) or Value(c.type, c.name) for c in self.captures(device)]
        closed, free = part.close(own, [*first, *inner], [*outputs, *last], size_outputs)
        for size in sorted(set().union(*map(attr_sizes, free))):
            self.scope.need(size, device)
        return closed, free

    def done(self, device: str, numbers: Sequence[int], found: Sequence[Value]) -> None:
        """The results with these numbers are there on a device."""
        for k, local in zip(numbers, found, strict=False):
            local.name = self.node.outputs[k].name
            self.scope.define(self.node.outputs[k], device, local)

    def bound(self, devices: Sequence[str]) -> tuple[str, ...]:
        """New names for the sizes that the node binds on all its devices."""
        names = [self.scope.names.size(s) for s in self.node.binds]
        for s, name in zip(self.node.binds, names, strict=True):
            self.scope.sizes[s] = symbol(name)
            self.scope.bound(name, devices)
        return tuple(names)


class _Branch(_Control):
    def hand_out(self) -> None:
        scope, node, regions = self.scope, self.node, self.node.regions
        for inner, region in zip(self.scopes, regions, strict=True):
            inner.same = dict(zip(region.inputs, node.inputs[1:], strict=True))
            _block(inner, region, self.place)
        sides = [*zip(self.scopes, regions, strict=True)]
        self.homes = [
            self._home([(s, r.outputs[k]) for s, r in sides]) for k in range(len(node.outputs))
        ]

        def needs(device: str) -> None:
            scope.at(node.inputs[0], device)
            for inner, region in sides:
                inner.needed(region.size_outputs, device)
                for v, home in zip(region.outputs, self.homes, strict=True):
                    inner.at(v, home)

        devices = self.spread(needs)
        made = []
        for device in devices:
            mine = [k for k, home in enumerate(self.homes) if home == device]
            tokens = self.transfers(device)
            closed = []
            for number, (inner, region) in enumerate(sides):
                outputs = [inner.at(region.outputs[k], device) for k in mine]
                given = inner.needed(region.size_outputs, device)
                # Captures come between the predicate and the token.
                closed.append((number, outputs, given))
            captures = self.captures(device)
            both = []
            for number, outputs, given in closed:
                token = Value(TOKEN) if tokens else None
                graph, free = self.region(
                    number, device, (), outputs, token=token, size_outputs=given
                )
                if token is not None:
                    graph = replace(graph, inputs=(*graph.inputs, token))
                both.append((graph, free))
            inputs = [scope.at(node.inputs[0], device), *captures]
            inputs += [Value(TOKEN)] if tokens else []
            made.append((device, mine, inputs, both, tokens))
        binds = self.bound(devices)
        for device, mine, inputs, both, tokens in made:
            attrs = {**node.attrs, "sizes": tuple(free for _, free in both)}
            graphs = tuple(graph for graph, _ in both)
            at = (len(inputs) - 1, len(mine)) if tokens else None
            part = scope.part(device)
            self.done(device, mine, part.emit(node.op, inputs, attrs, node, binds, graphs, at))

    def _home(self, sides: Sequence[tuple[Scope, Value]]) -> str:
        """The device where a side computes a result, or else where what it gives on is."""
        for inner, v in sides:
            owner, found = inner.owner(v)
            if owner is inner:
                return owner.home[found]
        return sides[0][0].home_of(sides[0][1])


class _Loop(_Control):
    def hand_out(self) -> None:
        scope, node = self.scope, self.node
        condition, body = node.regions
        self.count = len(body.size_outputs)
        carried = node.attrs["carried"]
        for inner, region in zip(self.scopes, node.regions, strict=True):
            for s in region.sizes[: self.count]:
                name = scope.names.size(s)
                inner.sizes[s] = symbol(name)
                inner.bound(name, None)
            pairs = zip(region.inputs[carried:], node.inputs[carried:], strict=True)
            inner.same = dict(pairs)
        self.homes = [self._home(k, set()) for k in range(carried)]
        #: By device and number: what is carried there, in each region.
        self.carried: dict[tuple[str, int], list[Value]] = {}
        counters = self._counters(carried)
        for k, home in enumerate(self.homes):
            locals_ = self._carry(home, k)
            for number, (inner, region) in enumerate(zip(self.scopes, node.regions, strict=True)):
                inner.define(region.inputs[k], home, locals_[number])
                if k in counters:
                    inner.again[region.inputs[k]] = partial(self._counted, k, number)
        for inner, region in zip(self.scopes, node.regions, strict=True):
            _block(inner, region, self.place)

        def needs(device: str) -> None:
            self.scopes[0].at(condition.outputs[0], device)
            self.scopes[1].needed(body.size_outputs, device)
            for d, k in list(self.carried):
                self.scopes[1].at(body.outputs[k], d)

        devices = self.spread(needs)
        self._emit(devices)

    def _emit(self, devices: Sequence[str]) -> None:
        scope, node = self.scope, self.node
        condition, body = node.regions
        made = []
        for device in devices:
            mine = sorted(k for d, k in self.carried if d == device)
            tokens = self.transfers(device)
            inputs = [scope.at(node.inputs[k], device) for k in mine]
            inputs += [Value(TOKEN)] if tokens else []
            both = []
            for number, region in enumerate((condition, body)):
                inner = self.scopes[number]
                asked = [body.outputs[k] for k in mine] if number else condition.outputs
                outputs = [inner.at(v, device) for v in asked]
                given = inner.needed(body.size_outputs, device) if number else ()
                both.append((number, region, outputs, given))
            captures = self.captures(device)
            closed = []
            for number, region, outputs, given in both:
                token = Value(TOKEN) if tokens else None
                first = [self.carried[device, k][number] for k in mine]
                first += [token] if token is not None else []
                own = [str(self.scopes[number].sizes[s]) for s in region.sizes[: self.count]]
                graph, free = self.region(
                    number,
                    device,
                    first,
                    outputs,
                    own,
                    token,
                    gives_token=number == 1,
                    size_outputs=given,
                )
                start = scope.needed(node.attrs["sizes"][number][: self.count], device)
                closed.append((graph, (*start, *free)))
            made.append((device, mine, [*inputs, *captures], closed, tokens))
        binds = self.bound(devices)
        for device, mine, inputs, closed, tokens in made:
            count = len(mine) + tokens
            sizes = tuple(given for _, given in closed)
            attrs = {**node.attrs, "carried": count, "sizes": sizes}
            graphs = tuple(graph for graph, _ in closed)
            at = (len(mine), len(mine)) if tokens else None
            found = scope.part(device).emit(node.op, inputs, attrs, node, binds, graphs, at)
            home = [k for k in mine if self.homes[k] == device]
            self.done(device, home, [found[mine.index(k)] for k in home])

    def _carry(self, device: str, k: int) -> list[Value]:
        """What number k is on a device, in each region."""
        if (device, k) not in self.carried:
            values = [r.inputs[k] for r in self.node.regions]
            self.carried[device, k] = [
                Value(type_substitute(v.type, s.sizes), v.name)
                for v, s in zip(values, self.scopes, strict=True)
            ]
        return self.carried[device, k]

    def _counted(self, k: int, number: int, device: str) -> Value:
        return self._carry(device, k)[number]

    def _home(self, k: int, seen: set[int]) -> str:
        """The device where the body computes what is carried, or else where it was before."""
        v = self.node.regions[1].outputs[k]
        producer = self.node.regions[1].producers().get(v)
        if producer is not None:
            return self.place(producer)
        number = self.node.regions[1].inputs.index(v)
        carried = self.node.attrs["carried"]
        if number >= carried or number == k or number in seen:
            return self.scope.home_of(self.node.inputs[number if number >= carried else k])
        return self._home(number, {*seen, k})

    def _counters(self, carried: int) -> set[int]:
        """What is carried that each device can count by itself: numbers made of such numbers."""
        body = self.node.regions[1]
        numbers = {
            k for k in range(carried) if isinstance(body.inputs[k].type, (NpScalar, PyScalar))
        }
        while True:
            known = {*(body.inputs[k] for k in numbers), *body.inputs[carried:]}
            for node in body.nodes:
                if _makes_numbers(node) and known.issuperset(node.inputs):
                    known.update(node.outputs)
            left = {k for k in numbers if body.outputs[k] in known}
            if left == numbers:
                return left
            numbers = left

"""Blocks of a program under construction, on all devices at once.

A scope stands for one block of the program that is cut, the whole of it or a region. Each device
that takes part has a part of it, with the nodes placed there. A value is at home where it is
computed, and goes to another device once, when it is first asked for there; inner scopes take it
from the scope that it belongs to. Sizes go the same way, as numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value, attr_sizes, attr_substitute
from tracejit.ir.op import OPS, Op
from tracejit.ir.regions import close
from tracejit.ir.types import TOKEN, type_sizes
from tracejit.ops.host.transfer import recv_attrs, send_attrs, transferable

__all__ = ["Names", "Part", "Scope"]


class Names:
    """Names of sizes and edges that are there once in all parts."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._sizes, self._edges = itertools.count(1), itertools.count(1)

    def size(self, like: str) -> str:
        """A size symbol that no other has."""
        name = like
        while name in self._taken:
            name = f"{like}_{next(self._sizes)}"
        self._taken.add(name)
        return name

    def edge(self) -> str:
        """The key of an edge that is cut."""
        return f"e{next(self._edges)}"


class Part:
    """What a device has of a block. Nodes that need a token get it in the end, in their order."""

    def __init__(self, name: str) -> None:
        self.builder = GraphBuilder(name)
        #: By value of the part around: what it is here.
        self.captures: dict[Value, Value] = {}
        #: By node with a token: which of its inputs and of its outputs that is.
        self._tokens: dict[Node, tuple[int, int]] = {}

    @property
    def transfers(self) -> bool:
        """Whether values come here or go from here."""
        return bool(self._tokens)

    def emit(
        self,
        op: Op,
        inputs: Sequence[Value],
        attrs: Attrs,
        like: Node | None = None,
        binds: tuple[str, ...] = (),
        regions: tuple[Graph, ...] = (),
        token: tuple[int, int] | None = None,
    ) -> tuple[Value, ...]:
        """Append a node; `token` are the numbers of the input and of the output that are one."""
        where = None if like is None else like.where
        outputs = self.builder.emit(op, inputs, attrs, regions=regions, binds=binds, where=where)
        if token is not None:
            self._tokens[self.builder.nodes[-1]] = token
        return outputs

    def send_early(self, after: Value | str | None) -> None:
        """Move the node emitted last to just behind the one that gives a value or binds a size."""
        nodes = self.builder.nodes
        last, at = nodes.pop(), 0
        for k in range(len(nodes) - 1, -1, -1):
            if after in nodes[k].outputs or after in nodes[k].binds:
                at = k + 1
                break
        # Behind what was sent from here before.
        while at < len(nodes) and nodes[at] in self._tokens and nodes[at].op is OPS["send"]:
            at += 1
        nodes.insert(at, last)

    def threaded(self, first: Value) -> tuple[list[Node], Value]:
        """The nodes with the tokens that they need, from the first one; and the last token."""
        token, out = first, []
        for node in self.builder.nodes:
            if node in self._tokens:
                k, number = self._tokens[node]
                inputs = (*node.inputs[:k], token, *node.inputs[k + 1 :])
                binds, regions = node.binds, node.regions
                node = Node(node.op, inputs, node.attrs, node.outputs, regions, binds, node.where)
                token = node.outputs[number]
            out.append(node)
        return out, token

    def close(
        self, own: Sequence[str], first: Sequence[Value], outputs: Sequence[Value], sizes: Any
    ) -> tuple[Graph, tuple[Dim, ...]]:
        """A closed region with these inputs and outputs, and the sizes to give it beside `own`."""
        self.builder.inputs = [*first]
        return close(self.builder, own, outputs, sizes)


class Scope:
    """A block; `sizes` are its own names of sizes that the whole program has other names for."""

    def __init__(self, name: str, names: Names, parent: Scope | None = None) -> None:
        self.name, self.names, self.parent = name, names, parent
        self.parts: dict[str, Part] = {}
        self.sizes: dict[str, Dim] = {}
        #: Values of the block that are values of the one around it.
        self.same: dict[Value, Value] = {}
        self.home: dict[Value, str] = {}
        self._there: dict[tuple[Value, str], Value] = {}
        #: By size that is bound here: its home, or None where all devices have it.
        self._bound: dict[str, str | None] = {}
        self._known: set[tuple[str, str]] = set()
        #: By value that is cheaper made again than sent: what makes it on another device.
        self.again: dict[Value, Callable[[str], Value]] = {}

    def part(self, device: str) -> Part:
        """What a device has of the block."""
        if device not in self.parts:
            self.parts[device] = Part(self.name)
        return self.parts[device]

    # Values ---------------------------------------------------------------------------------------

    def define(self, value: Value, device: str, local: Value) -> None:
        """A value of the block is at home on a device, where it is `local`."""
        self.home[value] = device
        self._there[value, device] = local

    def owner(self, value: Value) -> tuple[Scope, Value]:
        """The scope that a value belongs to, and what it is called there."""
        scope = self
        while value in scope.same:
            value = scope.same[value]
            assert scope.parent is not None
            scope = scope.parent
        return scope, value

    def home_of(self, value: Value) -> str:
        """The device where a value is at home."""
        scope, value = self.owner(value)
        return scope.home[value]

    def at(self, value: Value, device: str) -> Value:
        """A value on a device, sent there if it is not there yet."""
        scope, v = self.owner(value)
        local = scope._there.get((v, device)) or scope._send(v, device)
        return self._inside(scope, local, device)

    def _inside(self, scope: Scope, local: Value, device: str) -> Value:
        if scope is self:
            return local
        assert self.parent is not None
        outer = self.parent._inside(scope, local, device)
        captures = self.part(device).captures
        if outer not in captures:
            captures[outer] = Value(outer.type, outer.name)
        return captures[outer]

    def _send(self, value: Value, device: str) -> Value:
        if value in self.again:
            found = self._there[value, device] = self.again[value](device)
            return found
        home = self.home[value]
        local = self._there[value, home]
        for size in sorted(type_sizes(local.type)):
            self.need(size, device)
        found = self._transfer(local, local, home, device)
        self._there[value, device] = found
        return found

    def _transfer(self, local: Value, after: Value | str, home: str, device: str) -> Value:
        t, key = local.type, self.names.edge()
        assert transferable(t), f"a {t} cannot be sent from {home} to {device}"
        here, there = self.part(home), self.part(device)
        token = Value(TOKEN)
        here.emit(OPS["send"], (token, local), send_attrs(key, device, t), token=(0, 0))
        here.send_early(after)
        attrs = recv_attrs(key, home, t)
        _, found = there.emit(OPS["recv"], (Value(TOKEN),), attrs, token=(0, 0))
        found.name = local.name
        return found

    # Sizes ----------------------------------------------------------------------------------------

    def bind(self, name: str, devices: Sequence[str] | None) -> str:
        """A new size for one that the block binds: these devices have it, or (None) all of them."""
        found = self.names.size(name)
        self.sizes[name] = symbol(found)
        self.bound(found, devices)
        return found

    def bound(self, found: str, devices: Sequence[str] | None) -> None:
        """Devices have a size, of which the first is where others get it from."""
        self._bound[found] = None if devices is None else devices[0]
        self._known.update((found, d) for d in devices or ())

    def need(self, size: str, device: str) -> None:
        """Have a size, by its name in the whole program, on a device."""
        scope: Scope | None = self
        while scope is not None and size not in scope._bound:
            scope = scope.parent
        assert scope is not None, f"the size {size} is not bound"
        home = scope._bound[size]
        if home is None or (size, device) in scope._known:
            return
        scope._known.add((size, device))
        here = scope.part(home)
        (number,) = here.emit(OPS["dim_value"], (), {"dim": symbol(size)})
        here.send_early(size)
        found = scope._transfer(number, number, home, device)
        scope.part(device).emit(OPS["bind_size"], (found,), {}, binds=(size,))

    def needed(self, dims: Mapping[str, Any] | Sequence[Any], device: str) -> Any:
        """Attributes or dimensions of the block by the names of the whole program, whose sizes the
        device gets.
        """
        values = dims.values() if isinstance(dims, Mapping) else dims
        found = [attr_substitute(a, self.sizes) for a in values]
        for size in sorted(set().union(*map(attr_sizes, found))):
            self.need(size, device)
        return dict(zip(dims, found, strict=True)) if isinstance(dims, Mapping) else tuple(found)

    def emit(self, node: Node, device: str, binds: tuple[str, ...] = ()) -> tuple[Value, ...]:
        """A node of the block on a device; its values there."""
        attrs = self.needed(node.attrs, device)
        inputs = [self.at(v, device) for v in node.inputs]
        found = self.part(device).emit(node.op, inputs, attrs, node, binds, node.regions)
        for v, local in zip(node.outputs, found, strict=True):
            local.name = v.name
        return found

    def taking_part(self) -> set[str]:
        """The devices that have nodes of the block."""
        return {d for d, part in self.parts.items() if part.builder.nodes}

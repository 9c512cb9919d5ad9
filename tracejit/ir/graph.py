"""The graph: immutable ANF over value identities; one type for functions, regions and fusions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.deadlines import require
from tracejit.base.late import TOOLS, shown
from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import GraphError, Where
from tracejit.ir.dims import Dim, Poly, free_symbols, substitute, symbol
from tracejit.ir.op import Op
from tracejit.ir.types import Type, type_sizes, type_substitute

__all__ = [
    "Attr",
    "Attrs",
    "ConstArray",
    "Emit",
    "Graph",
    "GraphBuilder",
    "Node",
    "Value",
    "attr_key",
    "attr_sizes",
    "attr_substitute",
    "replay",
]


class ConstArray:
    """A read-only array as an attribute, equal to another of the same bits, shape and dtype."""

    __slots__ = ("_key", "array")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = np.array(array, order="C", copy=True)
        self.array.flags.writeable = False
        self._key = (self.array.dtype.str, self.array.shape, self.array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstArray) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"ConstArray({self.array!r})"


#: What an attribute may be; tuples nest.
Attr: TypeAlias = Any
Attrs: TypeAlias = Mapping[str, Attr]


def attr_key(attr: Attr) -> object:
    """A hashable key that tells apart what `==` does not: 1, 1.0 and True; 0.0 and -0.0; NaNs."""
    if isinstance(attr, tuple):
        return tuple(attr_key(a) for a in attr)
    if isinstance(attr, (bool, float, complex)):
        return (type(attr).__name__, repr(attr))
    return attr


def attr_sizes(attr: Attr) -> frozenset[str]:
    """The size symbols an attribute mentions."""
    if isinstance(attr, Poly):
        return free_symbols(attr)
    if isinstance(attr, tuple):
        return frozenset().union(*(attr_sizes(a) for a in attr if type(a) in (tuple, Poly)))
    return frozenset()


def attr_substitute(attr: Attr, sizes: Mapping[str, Dim]) -> Attr:
    """`attr` with its size symbols replaced."""
    if isinstance(attr, Poly):
        return substitute(attr, sizes)
    if isinstance(attr, tuple):
        return tuple(attr_substitute(a, sizes) for a in attr)
    return attr


class Value:
    """One result of a node, or one input of a graph. Compared by identity."""

    __slots__ = ("name", "type")

    def __init__(self, type_: Type, name: str = "") -> None:
        self.type = type_
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name or 'v'}: {self.type}"


class Node:
    """One operation. `binds` are the size symbols that it defines for all that follows.

    A node handed to `replay`'s `emit` is `stale` where sizes have been substituted: its outputs are
    then only a record of the old types. Without that no type changes, so a node with other inputs
    keeps its outputs, and what reads them is not rebuilt.
    """

    __slots__ = ("attrs", "binds", "inputs", "op", "outputs", "regions", "stale", "where")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        attrs: Attrs,
        outputs: tuple[Value, ...],
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        where: Where | None = None,
        stale: bool = False,
    ) -> None:
        self.stale = stale
        self.op, self.inputs, self.attrs, self.outputs = op, inputs, attrs, outputs
        self.regions, self.binds, self.where = regions, binds, where

    def sizes(self) -> set[str]:
        """The size symbols that the node reads: hidden operands in its attributes."""
        attrs = self.attrs.values()
        return set().union(*(attr_sizes(a) for a in attrs if type(a) in (tuple, Poly)))

    def key(self) -> tuple[object, ...]:
        """Equal for nodes that compute the same from the same inputs (regions by identity)."""
        attrs = tuple((k, attr_key(v)) for k, v in sorted(self.attrs.items()))
        return (self.op.name, self.inputs, attrs, self.regions, tuple(v.type for v in self.outputs))

    def __repr__(self) -> str:
        outs = ", ".join(map(repr, self.outputs))
        return f"{outs} = {self.op.name}({', '.join(v.name for v in self.inputs)})"


@dataclass(frozen=True, eq=False)
class Graph:
    """A closed graph: `sizes` are the symbols that it is given, beside its inputs.

    `results` says of each output what it is in memory: "fresh", "input k" (that very argument),
    "view k" (a view of it) or "same j" (the same object as result j). `size_outputs` are the sizes
    that a loop body hands to its next iteration.
    """

    name: str
    sizes: tuple[str, ...]
    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    results: tuple[str, ...] = ()
    size_outputs: tuple[Dim, ...] = ()

    def __str__(self) -> str:
        text: str = TOOLS["print_graph"](self)
        return text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # IPython in a terminal.
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return shown(self)

    def producers(self) -> dict[Value, Node]:
        """The node that defines each value."""
        return {out: node for node in self.nodes for out in node.outputs}

    def uses(self) -> dict[Value, int]:
        """How often each value is read, outputs included."""
        count: dict[Value, int] = {}
        for v in [*(v for n in self.nodes for v in n.inputs), *self.outputs]:
            count[v] = count.get(v, 0) + 1
        return count


#: Receives (builder, node, mapped inputs); gives the values that stand for the node's outputs.
Emit: TypeAlias = "Callable[[GraphBuilder, Node, tuple[Value, ...]], Sequence[Value]]"


class GraphBuilder:
    """Collects nodes; `emit` runs the op's type rule and gives the new values."""

    def __init__(self, name: str, sizes: Iterable[str] = ()) -> None:
        self.name = name
        self.sizes = list(sizes)
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.size_map: dict[str, Dim] = {}

    def beside(self) -> GraphBuilder:
        """Collects nodes that will be put among those of this builder, or at their end."""
        return GraphBuilder(self.name)

    def input(self, type_: Type, name: str = "") -> Value:
        """A new graph input."""
        value = Value(type_, name)
        self.inputs.append(value)
        return value

    def emit(
        self,
        op: Op,
        inputs: Sequence[Value],
        attrs: Attrs | None = None,
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        where: Where | None = None,
    ) -> tuple[Value, ...]:
        """Append a node. Raises GraphError, from the op's type rule, for inputs that do not fit.

        Raises TraceError where the compile has taken all that it may.
        """
        require()
        attrs = attrs or {}
        types = op.infer(tuple(v.type for v in inputs), attrs, regions, binds)
        outputs = tuple(Value(t) for t in types)
        self.nodes.append(Node(op, tuple(inputs), attrs, outputs, regions, binds, where))
        return outputs

    def one(self, op: Op, inputs: Sequence[Value], **attrs: Attr) -> Value:
        """Append a node with one result and no regions."""
        (out,) = self.emit(op, inputs, attrs)
        return out

    def build(
        self,
        outputs: Sequence[Value],
        results: tuple[str, ...] = (),
        size_outputs: tuple[Dim, ...] = (),
    ) -> Graph:
        """The finished graph."""
        return Graph(
            self.name,
            tuple(self.sizes),
            tuple(self.inputs),
            tuple(self.nodes),
            tuple(outputs),
            results,
            size_outputs,
        )


def replay(
    graph: Graph,
    emit: Emit | None = None,
    *,
    sizes: Mapping[str, Dim] | None = None,
    region: Callable[[Graph], Graph] | None = None,
) -> Graph:
    """Rebuild `graph` node by node through `emit`, keeping names and source lines.

    `emit` gives the replacement values of a node (None: the node as it is). `sizes` substitutes
    size symbols by running the type rules again. `region` is applied to each nested graph first.
    Nodes whose inputs, attributes and regions did not change are kept, and so is the graph.
    """
    builder = GraphBuilder(graph.name, graph.sizes if sizes is None else _left(graph, sizes))
    table: dict[Value, Value] = {}
    for v in graph.inputs:
        if sizes:
            table[v] = builder.input(type_substitute(v.type, sizes), v.name)
        else:
            builder.inputs.append(v)
            table[v] = v
    changed = False
    for node in graph.nodes:
        inputs = tuple(table[v] for v in node.inputs)
        new_regions = tuple(region(r) for r in node.regions) if region else node.regions
        attrs = node.attrs
        if sizes:
            attrs = {k: attr_substitute(a, sizes) for k, a in attrs.items()}
        same = inputs == node.inputs and new_regions == node.regions and not sizes
        template = (
            node
            if same
            else Node(
                node.op,
                inputs,
                attrs,
                node.outputs,
                new_regions,
                node.binds,
                node.where,
                stale=bool(sizes),
            )
        )
        if emit is None:
            outs: Sequence[Value] = keep(builder, template)
        else:
            before = len(builder.nodes)
            outs = emit(builder, template, inputs)
            for new in builder.nodes[before:]:
                if new.where is None:
                    new.where = node.where
        for old, new_value in zip(node.outputs, outs, strict=True):
            if old.type != new_value.type and not sizes:
                raise GraphError(f"{node.op.name}: {old.type} replaced by {new_value.type}")
            if not new_value.name:
                new_value.name = old.name
            table[old] = new_value
        changed = changed or list(outs) != list(node.outputs)
    outputs = tuple(table[v] for v in graph.outputs)
    if (
        not changed
        and not sizes
        and builder.nodes == list(graph.nodes)
        and outputs == graph.outputs
    ):
        return graph
    size_outputs = tuple(attr_substitute(d, sizes or {}) for d in graph.size_outputs)
    return builder.build(outputs, graph.results, size_outputs)


def keep(builder: GraphBuilder, node: Node) -> tuple[Value, ...]:
    """Append `node` itself where nothing about it changed, else a new one like it."""
    if not node.stale:
        builder.nodes.append(node)
        return node.outputs
    return builder.emit(
        node.op, node.inputs, node.attrs, regions=node.regions, binds=node.binds, where=node.where
    )


def _left(graph: Graph, sizes: Mapping[str, Dim]) -> list[str]:
    left = [s for s in graph.sizes if s not in sizes]
    fresh = sorted(set().union(*(attr_sizes(d) for d in sizes.values())) - set(left))
    return left + fresh


def sizes_read(graph: Graph) -> set[str]:
    """Every size symbol that the graph's types and attributes mention."""
    out: set[str] = set()
    for v in [*graph.inputs, *(o for n in graph.nodes for o in n.outputs)]:
        out |= type_sizes(v.type)
    for n in graph.nodes:
        out |= n.sizes()
    for d in graph.size_outputs:
        out |= attr_sizes(d)
    return out


def symbols(names: Iterable[str]) -> tuple[Poly, ...]:
    """Names as dimensions."""
    return tuple(symbol(n) for n in names)

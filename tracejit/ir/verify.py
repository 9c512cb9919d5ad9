"""Checks a graph: the type rules run again, definition before use, and what each stage allows."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TypeAlias

from tracejit.errors import GraphError
from tracejit.ir.dims import Poly, free_symbols
from tracejit.ir.graph import Attr, ConstArray, Graph, Node, Value
from tracejit.ir.text.print import node_lines
from tracejit.ir.types import ArrayType, Type, type_sizes

__all__ = ["Verified", "verify"]


def _unfused(node: Node, in_fusion: bool) -> str:
    return "fusions are made by the pass fuse" if node.op.kind == "fusion" else ""


def _fused(node: Node, in_fusion: bool) -> str:
    if in_fusion and (node.regions or node.binds or not node.op.pure):
        return "a fusion holds no control flow, no effects and no definitions of sizes"
    return ""


#: The reason why a node may not occur after a stage, in a fusion or outside, or "".
Rule: TypeAlias = Callable[[Node, bool], str]

#: The stages that have fusions.
_FUSED = frozenset(("fuse", "early_starts", "fused"))


class Verified:
    """What earlier checks found in order, so that what a pass keeps is not checked again.

    Nodes, values and graphs are immutable: the type rule of a node gives the same as before, and a
    graph, which is closed, is as good as before by the same rule.
    """

    def __init__(self) -> None:
        self.graphs: set[tuple[Graph, Rule, bool]] = set()
        #: The sizes that a node reads, and those of a value's type.
        self.nodes: dict[Node, set[str]] = {}
        self.values: dict[Value, set[str]] = {}


def verify(graph: Graph, stage: str = "fused", known: Verified | None = None) -> None:
    """Check `graph` as it must be after the pass `stage`; "trace" is before all of them.

    What `known` holds is in order already; what else is in order is added to it. Raises GraphError
    with the nodes around the fault and the user's line.
    """
    rule = _fused if stage in _FUSED else _unfused
    _Verifier(graph, rule, known or Verified(), in_fusion=False).run()


class _Verifier:
    """Checks one graph; regions are closed, so each is checked by itself."""

    def __init__(self, graph: Graph, rule: Rule, known: Verified, *, in_fusion: bool) -> None:
        self.graph, self.rule, self.known, self.in_fusion = graph, rule, known, in_fusion
        self.sizes: set[str] = set()
        self.values: set[Value] = set()

    def run(self) -> None:
        graph = self.graph
        if (graph, self.rule, self.in_fusion) in self.known.graphs:
            return
        for size in graph.sizes:
            self.define_size(size, None)
        for value in graph.inputs:
            self.define(value, None)
        for index, node in enumerate(graph.nodes):
            self.node(index, node)
        for value in graph.outputs:
            if value not in self.values:
                self.fail(None, f"the output {value!r} is not defined")
        for dim in graph.size_outputs:
            self.sizes_defined(free_symbols(dim), None, "a returned size")
        self.results()
        self.known.graphs.add((graph, self.rule, self.in_fusion))

    def fail(self, index: int | None, message: str) -> None:
        graph = self.graph
        at = len(graph.nodes) if index is None else index
        lines = [f"graph {graph.name}: {message}"]
        if index is not None and (where := graph.nodes[index].where) is not None:
            lines.append(f'File "{where.file}", line {where.line}, in {where.function or "?"}')
            lines += [f"    {line}" for line in where.excerpt().splitlines()]
        for i, line in node_lines(graph, at - 5, at + 5):
            lines.append(f"{'-->' if i == index else '   '} {line}")
        raise GraphError("\n".join(lines))

    def define(self, value: Value, index: int | None) -> None:
        if value in self.values:
            self.fail(index, f"{value!r} is defined twice")
        self.values.add(value)
        sizes = self.known.values.get(value)
        if sizes is None:
            sizes = self.known.values[value] = self.well_formed(value, index)
        if sizes:
            self.sizes_defined(sizes, index, value)

    def well_formed(self, value: Value, index: int | None) -> set[str]:
        """The sizes in the type of a value."""
        kind = value.type
        if not isinstance(kind, ArrayType):
            return set()
        if any(type(d) is not int and not isinstance(d, Poly) for d in kind.shape):
            self.fail(index, f"{value!r}: a size is an int or a polynomial")
        if any(isinstance(d, int) and d < 0 for d in kind.shape):
            self.fail(index, f"{value!r} has a negative size")
        if sorted(kind.order) != list(range(kind.ndim)):
            self.fail(index, f"{value!r}: {kind.order} does not list the axes")
        return type_sizes(kind)

    def define_size(self, size: str, index: int | None) -> None:
        if size in self.sizes:
            self.fail(index, f"the size {size} is defined twice")
        self.sizes.add(size)

    def sizes_defined(self, sizes: Set[str], index: int | None, reader: Value | str) -> None:
        if not sizes <= self.sizes:
            missing = ", ".join(sorted(sizes - self.sizes))
            self.fail(index, f"{reader!r} reads the size {missing}, which is not defined")

    def node(self, index: int, node: Node) -> None:
        if node.stale:
            self.fail(index, "a node that was only a record of changes is part of the graph")
        for value in node.inputs:
            if value not in self.values:
                self.fail(index, f"{value!r} is read but not defined")
        sizes = self.known.nodes.get(node)
        new = sizes is None
        if sizes is None:
            sizes = node.sizes()
        if sizes:
            self.sizes_defined(sizes, index, node.op.name)
        if new:
            self.attributes(index, node)
        reason = self.rule(node, self.in_fusion)
        if reason:
            self.fail(index, f"{node.op.name} is not allowed here: {reason}")
        for region in node.regions:
            _Verifier(region, self.rule, self.known, in_fusion=node.op.kind == "fusion").run()
        if new:
            self.types(index, node)
            self.known.nodes[node] = sizes
        for size in node.binds:
            self.define_size(size, index)
        for value in node.outputs:
            self.define(value, index)

    def attributes(self, index: int, node: Node) -> None:
        for name, attr in node.attrs.items():
            if not _is_attr(attr):
                self.fail(index, f"the attribute {name} is a {type(attr).__name__}: {attr!r}")

    def types(self, index: int, node: Node) -> None:
        found: tuple[Type, ...] = ()
        try:
            found = node.op.infer(
                tuple(v.type for v in node.inputs), node.attrs, node.regions, node.binds
            )
        except GraphError as error:
            self.fail(index, str(error))
        if found != tuple(v.type for v in node.outputs):
            rule = ", ".join(map(str, found)) or "nothing"
            have = ", ".join(str(v.type) for v in node.outputs) or "nothing"
            self.fail(index, f"{node.op.name}: the type rule gives {rule}, the node has {have}")

    def results(self) -> None:
        graph = self.graph
        if graph.results and len(graph.results) != len(graph.outputs):
            self.fail(None, f"{len(graph.results)} results for {len(graph.outputs)} outputs")
        for k, result in enumerate(graph.results):
            kind, _, number = result.partition(" ")
            limit = dict.fromkeys(("input", "view", "write"), len(graph.inputs)) | {"same": k}
            numbered = number.isdecimal() and int(number) < limit.get(kind, 0)
            if result != "fresh" and not numbered:
                self.fail(None, f"result {k} cannot be {result!r}")
            if (
                kind in ("input", "write")
                and graph.inputs[int(number)].type != graph.outputs[k].type
            ):
                self.fail(None, f"result {k} has another type than input {number}")
            if kind == "same" and graph.outputs[int(number)].type != graph.outputs[k].type:
                self.fail(None, f"result {k} has another type than result {number}")


def _is_attr(attr: Attr) -> bool:
    """Whether an attribute is of exactly one of the kinds that have a text."""
    if type(attr) is tuple:
        return all(map(_is_attr, attr))
    return attr is None or type(attr) in (bool, int, float, complex, str, Poly, ConstArray)

"""The last pass: control regions become switches and merges in sections (`ir/dataflow.py`).

    v = cond(p, x)                      x_else, x_then = switch(x, p)
        then(x): return f(x)        ->  v = merge(f(x_then), g(x_else))
        orelse(x): return g(x)

    k = while_loop(k0, x)               k1 = merge(enter(k0), next); x1 = enter(x, constant)
        cond(k, x): return c(k, x)  ->  p = loop_cond(c(k1, x1))
        body(k, x): return f(k, x)      k2, k3 = switch(k1, p); _, x3 = switch(x1, p)
                                        next = next_iteration(f(k3, x3)); k = exit(k2)

A section reads only values that arrive if and when it runs: what a side of a branch or a loop's
body reads passes a switch, a loop's invariants too. Nodes without inputs wait for a pivot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dataflow import DataflowGraph, Frame, Section
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attr, Graph, Node, Value, attr_substitute
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, type_sizes, type_substitute
from tracejit.ops.control.regions import Cond, WhileLoop

__all__ = ["lower_control_flow"]


def lower_control_flow(graph: Graph) -> DataflowGraph:
    """The flat form of `graph`, whose `cond` and `while_loop` nodes may nest in any way.

    Values keep their names. Size symbols get a number where another one has their name. Raises
    GraphError, from an op's type rule, for a graph that is not well formed.
    """
    return _Lowering(graph).run()


@dataclass(eq=False)
class _Block:
    """A section under construction."""

    id: int
    kind: str
    frame: Frame
    pivot: Value | None
    predecessors: list[_Block]
    predicate: tuple[Value, bool] | None = None
    branch: Value | None = None
    unlikely: int | None = None
    nodes: list[Node] = field(default_factory=list)
    successors: list[_Block] = field(default_factory=list)

    def emit(
        self,
        op: str,
        inputs: Sequence[Value],
        names: Iterable[str],
        binds: tuple[str, ...] = (),
        like: Node | None = None,
        **attrs: Attr,
    ) -> tuple[Value, ...]:
        """Append a node; `like` is what it was made for."""
        rule = OPS[op]
        types = rule.infer(tuple(v.type for v in inputs), attrs, (), binds)
        outputs = tuple(Value(t, name) for t, name in zip(types, names, strict=True))
        where = None if like is None else like.where
        self.nodes.append(Node(rule, tuple(inputs), attrs, outputs, (), binds, where))
        return outputs

    def one(self, op: str, inputs: Sequence[Value], name: str, like: Node, **attrs: Attr) -> Value:
        """Append a node with one output."""
        return self.emit(op, inputs, (name,), like=like, **attrs)[0]

    def switch(self, value: Value, predicate: Value, names: tuple[str, str], like: Node) -> _Sides:
        """The two sides of `value`: where the predicate is false, and where it is true."""
        on_false, on_true = self.emit("switch", (value, predicate), names, like=like)
        return on_false, on_true


_Sides = tuple[Value, Value]
_NUMBERED = re.compile(r"v\d+")
_MOVED = re.compile(r"(_(else|then|last|body|in))+$")


@dataclass
class _Scope:
    """What the values and sizes of one region are called in the flat graph."""

    values: dict[Value, Value]
    sizes: dict[str, Dim]
    outermost: bool = False
    #: Whether a size has another name than in the region.
    renamed: bool = field(init=False)

    def __post_init__(self) -> None:
        self.renamed = any(d != symbol(s) for s, d in self.sizes.items())

    def bind(self, names: Mapping[str, str]) -> None:
        """Sizes that a node of the region binds, by their names there."""
        self.sizes |= {inner: symbol(name) for inner, name in names.items()}
        self.renamed = self.renamed or any(inner != name for inner, name in names.items())

    def name(self, v: Value) -> str:
        """The name of what stands for `v`. Numbers are given anew to what was numbered."""
        return v.name if self.outermost or not _NUMBERED.fullmatch(v.name) else ""


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.blocks: list[_Block] = []
        self.frames = 0
        self.taken = set(graph.sizes)
        self.size_values: dict[str, Value] = {}

    def run(self) -> DataflowGraph:
        graph = self.graph
        scope = _Scope({v: v for v in graph.inputs}, {}, outermost=True)
        self.walk(graph, scope, self.block("entry", Frame(), None, ()))
        return DataflowGraph(
            graph.name,
            graph.sizes,
            graph.inputs,
            tuple(_section(b) for b in self.blocks),
            tuple(scope.values[v] for v in graph.outputs),
            graph.results,
            self.size_values,
        )

    def block(
        self,
        kind: str,
        frame: Frame,
        pivot: Value | None,
        predecessors: Sequence[_Block],
        predicate: tuple[Value, bool] | None = None,
    ) -> _Block:
        block = _Block(len(self.blocks), kind, frame, pivot, [], predicate)
        self.blocks.append(block)
        for p in predecessors:
            _connect(p, block)
        return block

    def size(self, name: str) -> str:
        """A symbol that nothing else has, like `name`."""
        number, found = 0, name
        while found in self.taken:
            number += 1
            found = f"{name}{number}"
        self.taken.add(found)
        return found

    def walk(self, graph: Graph, scope: _Scope, block: _Block) -> _Block:
        """Append the nodes of a region; the section in which it ends."""
        for node in graph.nodes:
            if isinstance(node.op, Cond):
                block = self.cond(node, scope, block)
            elif isinstance(node.op, WhileLoop):
                block = _Loop(self, node, scope, block).lower()
            else:
                self.plain(node, scope, block)
        return block

    def plain(self, node: Node, scope: _Scope, block: _Block) -> None:
        inputs = tuple([scope.values[v] for v in node.inputs])
        binds = tuple([self.size(s) for s in node.binds])
        scope.bind(dict(zip(node.binds, binds, strict=True)))
        attrs = node.attrs
        types = [v.type for v in node.outputs]
        if scope.renamed:
            attrs = {k: attr_substitute(a, scope.sizes) for k, a in attrs.items()}
            given = tuple([v.type for v in inputs])
            types = list(node.op.infer(given, attrs, node.regions, binds))
        outputs = tuple([Value(t, scope.name(v)) for t, v in zip(types, node.outputs, strict=True)])
        scope.values |= dict(zip(node.outputs, outputs, strict=True))
        # By convention an op binds its last operands, or results.
        bound = outputs if node.op.gives_sizes else inputs
        self.size_values |= dict(zip(binds, bound[len(bound) - len(binds) :], strict=True))
        block.nodes.append(Node(node.op, inputs, attrs, outputs, node.regions, binds, node.where))

    def cond(self, node: Node, scope: _Scope, block: _Block) -> _Block:
        predicate, *captures = (scope.values[v] for v in node.inputs)
        sides: dict[Value, _Sides] = {}
        for k, v in enumerate(captures):
            if v not in sides and any(_reads(r, k) for r in node.regions):
                sides[v] = block.switch(v, predicate, _sides(v, "else", "then"), node)
        if not sides:
            names = ("else_pivot", "then_pivot")
            sides[predicate] = block.switch(predicate, predicate, names, node)
        block.branch, block.unlikely = predicate, node.attrs.get("unlikely")
        pivots = next(iter(sides.values()))
        ends: list[tuple[_Block, list[Value]]] = []
        made: list[list[Value]] = []
        for region, sizes, side in zip(node.regions, node.attrs["sizes"], (1, 0), strict=True):
            kind = "then" if side else "else"
            start = self.block(kind, block.frame, pivots[side], (block,), (predicate, bool(side)))
            given = {
                inner: sides[v][side]
                for inner, v in zip(region.inputs, captures, strict=True)
                if v in sides
            }
            inner = _Scope(given, _substituted(region.sizes, sizes, scope.sizes))
            end = self.walk(region, inner, start)
            ends.append((end, [inner.values[v] for v in region.outputs]))
            dims = [attr_substitute(d, inner.sizes) for d in region.size_outputs]
            made.append([end.one("dim_value", (), "", node, dim=d) for d in dims])
        join = self.block("join", block.frame, block.pivot, [end for end, _ in ends])
        binds = tuple([self.size(s) for s in node.binds])
        for name, *sizes_of_sides in zip(binds, *made, strict=True):
            (v,) = join.emit("merge", sizes_of_sides, (f"{name}_value",), (name,), node)
            self.size_values[name] = v
        scope.bind(dict(zip(node.binds, binds, strict=True)))
        for out, *values in zip(node.outputs, *(found for _, found in ends), strict=True):
            attrs: dict[str, Attr] = {}
            if type_sizes(out.type) & set(node.binds):
                assert isinstance(out.type, ArrayType)
                attrs["shape"] = attr_substitute(out.type.shape, scope.sizes)
            scope.values[out] = join.one("merge", values, scope.name(out), node, **attrs)
        return join


class _Loop:
    """Lowers one `while_loop`. What it carries: its sizes, its values, and where it has neither a
    constant, so that something arrives in each iteration.
    """

    def __init__(self, lowering: _Lowering, node: Node, scope: _Scope, block: _Block) -> None:
        self.lowering, self.node, self.scope, self.block = lowering, node, scope, block
        self.test, self.body = node.regions
        self.carried: int = node.attrs["carried"]
        self.count = len(self.body.size_outputs)
        self.symbols = tuple(lowering.size(s) for s in self.body.sizes[: self.count])
        self.finals = tuple(lowering.size(s) for s in node.binds)
        lowering.frames += 1
        self.frame = Frame(f"loop{lowering.frames}", block.frame)

    def lower(self) -> _Block:
        """Append the loop's sections; the one that follows the loop."""
        node, block, lowering = self.node, self.block, self.lowering
        enters = self.enter()
        invariants = self.enter_invariants()
        head = lowering.block("head", self.frame, None, (block,))
        merges = self.merge(head, enters)
        head.pivot = merges[0]
        scope = self.inside(0, merges, invariants)
        test = lowering.walk(self.test, scope, head)
        (decided,) = (scope.values[v] for v in self.test.outputs)
        go = test.one("loop_cond", (decided,), f"{self.frame.name}_go", node)
        sides = [test.switch(v, go, _sides(v, "last", "body"), node) for v in merges]
        held: dict[Value, Value] = {}
        for k, v in invariants.items():
            if _reads(self.body, k) and v not in held:
                held[v] = test.switch(v, go, _sides(v, "last", "body"), node)[1]
        test.branch = go
        body = lowering.block("body", self.frame, sides[0][1], (test,), (go, True))
        inside = {k: held[v] for k, v in invariants.items() if v in held}
        scope = self.inside(1, [s[1] for s in sides], inside)
        end = lowering.walk(self.body, scope, body)
        self.next_iteration(end, scope, head, [s[1] for s in sides])
        _connect(end, head)
        leave = lowering.block("exit", block.frame, block.pivot, (test,))
        self.leave(leave, [s[0] for s in sides])
        return leave

    def enter(self) -> list[Value]:
        """What iteration 0 gets: sizes, values."""
        node, block = self.node, self.block
        values: list[Value] = []
        for dim, inner in zip(node.attrs["sizes"][1][: self.count], self.symbols, strict=True):
            dim = attr_substitute(dim, self.scope.sizes)
            values.append(block.one("dim_value", (), f"{inner}_first", node, dim=dim))
        values += [self.scope.values[v] for v in node.inputs[: self.carried]]
        if not values:
            values.append(block.one("constant", (), "start", node, value=True, type="bool"))
        names = self.carried_names()
        return [
            block.one("enter", (v,), f"{name}_enter", node, frame=self.frame.name, constant=False)
            for v, name in zip(values, names, strict=True)
        ]

    def carried_names(self) -> list[str]:
        names = [f"{s}_value" for s in self.symbols]
        names += [
            v.name if v.name and not _NUMBERED.fullmatch(v.name) else f"carried{k}"
            for k, v in enumerate(self.body.inputs[: self.carried])
        ]
        return names or ["alive"]

    def enter_invariants(self) -> dict[int, Value]:
        """By input of the regions: the captures that they read, in every iteration."""
        entered: dict[Value, Value] = {}
        out: dict[int, Value] = {}
        for k, v in enumerate(self.node.inputs):
            if k < self.carried or not (_reads(self.test, k) or _reads(self.body, k)):
                continue
            value = self.scope.values[v]
            if value not in entered:
                name = _MOVED.sub("", value.name)
                name = f"{name}_in" if name else ""
                entered[value] = self.block.one(
                    "enter", (value,), name, self.node, frame=self.frame.name, constant=True
                )
            out[k] = entered[value]
        return out

    def inner_sizes(self, number: int) -> dict[str, Dim]:
        """The sizes of a region: the carried ones are the head's, the others outer ones."""
        names = self.node.regions[number].sizes
        table = _substituted(names, self.node.attrs["sizes"][number], self.scope.sizes)
        return table | dict(zip(names, map(symbol, self.symbols), strict=False))

    def inside(
        self, number: int, carried: Sequence[Value], invariants: Mapping[int, Value]
    ) -> _Scope:
        given = self.node.regions[number].inputs
        values = dict(zip(given[: self.carried], carried[self.count :], strict=False))
        values |= {given[k]: v for k, v in invariants.items()}
        return _Scope(values, self.inner_sizes(number))

    def merge(self, head: _Block, enters: Sequence[Value]) -> list[Value]:
        """The head's merges. Their second inputs, the next values, do not exist yet."""
        out: list[Value] = []
        sizes = self.inner_sizes(1)
        for k, (first, name) in enumerate(zip(enters, self.carried_names(), strict=True)):
            binds = self.symbols[k : k + 1]
            attrs: dict[str, Attr] = {}
            if self.count <= k < self.count + self.carried:
                kind = type_substitute(self.body.inputs[k - self.count].type, sizes)
                if isinstance(kind, ArrayType) and type_sizes(kind) & set(self.symbols):
                    attrs["shape"] = kind.shape
            (v,) = head.emit("merge", (first, first), (name,), binds, self.node, **attrs)
            self.lowering.size_values |= dict.fromkeys(binds, v)
            out.append(v)
        return out

    def next_iteration(
        self, end: _Block, scope: _Scope, head: _Block, now: Sequence[Value]
    ) -> None:
        values: list[Value] = []
        for dim, inner in zip(self.body.size_outputs, self.symbols, strict=True):
            dim = attr_substitute(dim, scope.sizes)
            values.append(end.one("dim_value", (), f"{inner}_then", self.node, dim=dim))
        values += [scope.values[v] for v in self.body.outputs]
        values = values or list(now)
        for merge, v, name in zip(head.nodes, values, self.carried_names(), strict=False):
            back = end.one("next_iteration", (v,), f"{name}_next", self.node)
            merge.inputs = (merge.inputs[0], back)

    def leave(self, block: _Block, last: Sequence[Value]) -> None:
        node, scope = self.node, self.scope
        final = dict(zip(self.symbols, map(symbol, self.finals), strict=True))
        for k, inner in enumerate(self.finals):
            (v,) = block.emit("exit", (last[k],), (f"{inner}_value",), (inner,), node)
            self.lowering.size_values[inner] = v
        scope.bind(dict(zip(node.binds, self.finals, strict=True)))
        for out, v in zip(node.outputs, last[self.count :], strict=False):
            attrs: dict[str, Attr] = {}
            if isinstance(v.type, ArrayType) and type_sizes(v.type) & set(self.symbols):
                attrs["shape"] = attr_substitute(v.type.shape, final)
            scope.values[out] = block.one("exit", (v,), scope.name(out), node, **attrs)


def _reads(region: Graph, index: int) -> bool:
    """Whether a region reads its input `index`."""
    v = region.inputs[index]
    return v in region.outputs or any(v in n.inputs for n in region.nodes)


def _sides(value: Value, on_false: str, on_true: str) -> tuple[str, str]:
    """Names for the two sides of a value, after what it was before all switches."""
    name = _MOVED.sub("", value.name)
    return (f"{name}_{on_false}", f"{name}_{on_true}") if name else ("", "")


def _substituted(
    names: Sequence[str], given: Sequence[Dim], sizes: Mapping[str, Dim]
) -> dict[str, Dim]:
    return {s: attr_substitute(d, sizes) for s, d in zip(names, given, strict=True)}


def _connect(before: _Block, after: _Block) -> None:
    before.successors.append(after)
    after.predecessors.append(before)


def _section(block: _Block) -> Section:
    return Section(
        block.id,
        block.kind,
        block.frame,
        tuple(block.nodes),
        block.predicate,
        block.branch,
        block.pivot,
        tuple(b.id for b in block.successors),
        tuple(b.id for b in block.predecessors),
        block.unlikely,
    )

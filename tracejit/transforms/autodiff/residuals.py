"""What a backward pass needs of the forward one, and how it is had: recomputed, saved or undone.

A `Block` is a list of nodes as the forward pass runs it: a graph, or a region of one of its nodes.
While the backward pass is written, it notes what the forward pass must save: values pushed on the
stack at the end of the block, and elements pushed just before they are overwritten, from which the
backward pass restores an array to what it was. `rebuilt` gives the block with these pushes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.derivatives import differentiable
from tracejit.ir.dims import symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import TOKEN, ArrayType, Type
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.ops.control.calls import Custom, Remat
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.control.stack import StackPush

__all__ = [
    "Block",
    "Saved",
    "active_in",
    "active_outputs",
    "active_stacks",
    "is_single",
    "loop_flags",
    "overwrites",
    "reader_of",
]


@dataclass(eq=False)
class Saved:
    """A value, or a size, that is pushed at the end of a block."""

    value: Value | None = None
    size: str | None = None


def overwrites(node: Node) -> bool:
    """Whether a node gives its first operand with some elements replaced."""
    return node.op.updates


def is_single(t: Type) -> bool:
    """Whether a type is that of arrays of one element."""
    return isinstance(t, ArrayType) and all(d == 1 for d in t.shape)


def reader_of(node: Node) -> tuple[str, tuple[Value, ...], dict[str, object]]:
    """The op, operands and attributes that read the elements a node replaces."""
    name = node.op.reader
    indices = node.inputs[1:] if name == "slice" else node.inputs[2:]
    attrs = {k: v for k, v in node.attrs.items() if k != "distinct"}
    if name == "slice":
        indices = ()
    if isinstance(node.op, ScatterApply):
        attrs = {}
    return name, (node.inputs[0], *indices), attrs


@dataclass(eq=False)
class Block:
    """Nodes of the forward pass; `inputs` and `outputs` are those of the graph they belong to."""

    inputs: Sequence[Value]
    nodes: Sequence[Node]
    outputs: Sequence[Value]
    #: Values that depend on what is differentiated by.
    active: set[Value] = field(default_factory=set)
    #: What is pushed when the block ends.
    saved: list[Saved] = field(default_factory=list)
    #: Nodes before which the elements that they replace are pushed.
    undone: set[Node] = field(default_factory=set)
    #: The blocks of the regions of nodes that have been gone through backwards.
    inner: dict[Node, list[Block]] = field(default_factory=dict)
    #: Loops that are to count their iterations: the size that the count is bound to.
    counted: dict[Node, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.producers = {v: n for n in self.nodes for v in n.outputs}
        self.places = {n: k for k, n in enumerate(self.nodes)}
        self.bound = {s for n in self.nodes for s in n.binds}

    def spread(self, active: Iterable[Value]) -> None:
        """Find the values that depend on the active ones."""
        self.active = set(active)
        for node in self.nodes:
            self.active |= active_outputs(node, self.active)

    def forget(self) -> None:
        """Drop what was noted."""
        self.saved.clear()
        self.undone.clear()
        self.inner.clear()
        self.counted.clear()

    @property
    def pushes(self) -> bool:
        """Whether the forward pass pushes anything here or in the regions inside."""
        inner = any(b.pushes for blocks in self.inner.values() for b in blocks)
        return bool(self.saved or self.undone) or inner

    def rebuilt(self, token: Value, stack: str) -> tuple[list[Node], Value]:
        """The nodes with the pushes among them, and the token after them."""
        builder = GraphBuilder("")
        for node in self.nodes:
            if node in self.undone:
                name, operands, attrs = reader_of(node)
                (old,) = builder.emit(OPS[name], operands, attrs, where=node.where)
                if is_single(old.type):
                    (old,) = builder.emit(OPS["reshape"], (old,), {"shape": ()})
                    (old,) = builder.emit(OPS["element"], (old,))
                token = _push(builder, token, [old], stack)
            if node in self.inner:
                node, token = _with_pushes(node, self.inner[node], self.counted, token, stack)
            builder.nodes.append(node)
        # Sizes lie on top: what is popped below them has types that mention them.
        if values := [x.value for x in self.saved if x.value is not None]:
            token = _push(builder, token, values, stack)
        sizes: list[Value] = []
        for x in self.saved:
            if x.size is not None:
                sizes += builder.emit(OPS["dim_value"], (), {"dim": symbol(x.size)})
        if sizes:
            token = _push(builder, token, sizes, stack)
        return builder.nodes, token


def _push(builder: GraphBuilder, token: Value, values: Sequence[Value], stack: str) -> Value:
    (out,) = builder.emit(OPS["stack_push"], (token, *values), {"stack": stack})
    return out


def _with_pushes(
    node: Node, blocks: Sequence[Block], counted: dict[Node, str], token: Value, stack: str
) -> tuple[Node, Value]:
    """A node with regions, whose regions push; and the token after it."""
    pushes = any(b.pushes for b in blocks)
    count = counted.get(node)
    if not pushes and count is None:
        return node, token
    loop = isinstance(node.op, WhileLoop)
    carried = node.attrs.get("carried", 0)
    regions = []
    for k, region in enumerate(node.regions):
        block = blocks[0] if loop else blocks[k]
        changes = not loop or k == 1
        first = Value(TOKEN)
        nodes, last = (
            block.rebuilt(first, stack) if pushes and changes else (list(region.nodes), first)
        )
        inputs = list(region.inputs)
        outputs = list(region.outputs)
        if pushes:
            inputs.insert(carried, first)
            outputs += [last] if changes else []
        sizes, size_outputs = region.sizes, region.size_outputs
        if count is not None:
            sizes = (f"{count}_", *sizes)
            if changes:
                size_outputs = (symbol(f"{count}_") + 1, *size_outputs)
        regions.append(
            Graph(
                region.name,
                sizes,
                tuple(inputs),
                tuple(nodes),
                tuple(outputs),
                region.results,
                size_outputs,
            )
        )
    inputs, outputs, attrs, binds = (
        list(node.inputs),
        list(node.outputs),
        dict(node.attrs),
        node.binds,
    )
    if pushes:
        inputs.insert(carried if loop else 1, token)
        token = Value(TOKEN)
        outputs.append(token)
        if loop:
            attrs["carried"] = carried + 1
    if count is not None:
        attrs["sizes"] = tuple((0, *s) for s in attrs["sizes"])
        binds = (count, *binds)
    made = Node(node.op, tuple(inputs), attrs, tuple(outputs), tuple(regions), binds, node.where)
    return made, token


# Activity ----------------------------------------------------------------------------------------


def active_outputs(node: Node, active: set[Value]) -> set[Value]:
    """The results of a node that depend, differentiably, on active values."""
    flags = [v in active for v in node.inputs]
    if not any(flags):
        return set()
    if isinstance(node.op, Cond):
        return set().union(*(_of_region(node, r, flags[1:]) for r in node.regions))
    if isinstance(node.op, WhileLoop):
        return _of_loop(node, flags)
    if isinstance(node.op, Remat):
        return _of_region(node, node.regions[0], flags)
    if node.op.constant:
        return set()
    return {v for v in node.outputs if differentiable(v.type) or _is_stack(node, v)}


def _is_stack(node: Node, v: Value) -> bool:
    return v.type == TOKEN and node.op.kind == "stack"


def _of_region(node: Node, region: Graph, flags: Sequence[bool]) -> set[Value]:
    found = active_in(region, flags)
    pairs = zip(node.outputs, region.outputs, strict=True)
    return {out for out, inner in pairs if inner in found}


def active_in(region: Graph, flags: Sequence[bool]) -> set[Value]:
    """The active values of a region whose inputs are active or not."""
    active = {v for v, flag in zip(region.inputs, flags, strict=True) if flag}
    for node in region.nodes:
        active |= active_outputs(node, active)
    return active


def active_stacks(nodes: Iterable[Node], active: Iterable[Value]) -> set[str]:
    """The names of the stacks on which a value is pushed that depends on the active ones.

    Functions with rules of their own are not looked into: these take no stacks from outside.
    """
    out: set[str] = set()
    active = set(active)
    for node in nodes:
        flags = [v in active for v in node.inputs]
        if not any(flags):
            continue
        if isinstance(node.op, StackPush) and any(flags[1:]):
            out.add(node.attrs["stack"])
        inner = loop_flags(node, flags) if isinstance(node.op, WhileLoop) else flags
        for region in () if isinstance(node.op, Custom) else node.regions:
            given = inner[1:] if isinstance(node.op, Cond) else inner
            pairs = zip(region.inputs, given, strict=True)
            out |= active_stacks(region.nodes, (v for v, flag in pairs if flag))
        active |= active_outputs(node, active)
    return out


def loop_flags(node: Node, flags: Sequence[bool]) -> list[bool]:
    """Which inputs of a loop's body are active in some iteration."""
    body, carried, flags = node.regions[1], node.attrs["carried"], list(flags)
    while True:
        found = active_in(body, flags)
        new = [k for k in range(carried) if body.outputs[k] in found and not flags[k]]
        if not new:
            return flags
        for k in new:
            flags[k] = True


def _of_loop(node: Node, flags: Sequence[bool]) -> set[Value]:
    found = loop_flags(node, flags)
    return {v for v, flag in zip(node.outputs, found, strict=False) if flag}

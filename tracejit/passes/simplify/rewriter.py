"""What the rules of `simplify` share: the nodes so far, constants seen through moves, `make`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.graph import Attr, Graph, GraphBuilder, Node, Value, keep
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, NpScalar
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.elementwise import Cast
from tracejit.ops.array.shape import Element
from tracejit.ops.python.conversion import ToNpScalar, ToPyScalar
from tracejit.passes.simplify.fold import emit_constant, known_constant

__all__ = ["RULES", "Rewriter", "Rule", "rule", "without"]

#: Gives the value that replaces the node's only result, or None where the rule does not apply. One
#: of another type than the result's is dropped, so a rule need not work out axis orders.
Rule: TypeAlias = "Callable[[Rewriter, Node], Value | None]"

#: The rules of each op, tried in order of definition.
RULES: dict[str, list[Rule]] = {}

#: Ops that turn a number into one of another kind.
_CONVERTS = (Cast, Element, ToNpScalar, ToPyScalar)


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Decorator: a rule for these ops."""

    def add(function: Rule) -> Rule:
        for name in ops:
            RULES.setdefault(name, []).append(function)
        return function

    return add


class Rewriter:
    """Applies the rules to each node as it is rebuilt, and to every node that a rule makes."""

    def __init__(self) -> None:
        self.builder: GraphBuilder
        #: Nodes that might raise, whose work others do now.
        self.replaced: set[Node] = set()
        #: Scatters into arrays that stand for one into a part: that one, with what cuts it out.
        self.parts: dict[Value, tuple[Node, list[Node]]] = {}
        self._producers: dict[Value, Node] = {}
        self._numbers: dict[Value, Any] = {}

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The `emit` of a replay."""
        self.builder = builder
        return self._rewrite(node)

    def _rewrite(self, node: Node) -> Sequence[Value]:
        nodes = self.builder.nodes
        for apply in RULES.get(node.op.name, ()):
            mark = len(nodes)
            value = apply(self, node)
            if value is not None:
                if value.type == node.outputs[0].type:
                    return (value,)
                del nodes[mark:]
        outputs = keep(self.builder, node)
        for value in outputs:
            self._producers[value] = nodes[-1]
        return outputs

    def make(self, op: str, inputs: Sequence[Value], **attrs: Attr) -> Value:
        """The one result of a new node, itself simplified."""
        types = OPS[op].infer(tuple(v.type for v in inputs), attrs, (), ())
        node = Node(OPS[op], tuple(inputs), attrs, tuple(Value(t) for t in types))
        return self._rewrite(node)[0]

    def filled(self, number: Any, like: ArrayType | NpScalar) -> Value:
        """A scalar, or an array of the shape of `like` filled with it, of its dtype."""
        scalar = like.dtype.type(number)
        constant = emit_constant(self.builder, scalar, NpScalar(like.dtype))
        self._producers[constant] = self.builder.nodes[-1]
        if not isinstance(like, ArrayType):
            return constant
        memory = tuple(like.shape[a] for a in like.order)
        filled = self.make("broadcast_to", (constant,), shape=memory)
        axes = tuple(like.order.index(a) for a in range(like.ndim))
        return filled if like.is_c else self.make("transpose", (filled,), axes=axes)

    def producer(self, value: Value, op: str) -> Node | None:
        """The node that makes `value`, where it is of this op."""
        node = self._producers.get(value)
        return node if node is not None and node.op.name == op else None

    def number(self, value: Value) -> Any:
        """The number that every element of `value` is known to be, or None."""
        if value not in self._numbers:
            self._numbers[value] = self._find_number(value)
        return self._numbers[value]

    def _find_number(self, value: Value) -> Any:
        node = self._producers.get(value)
        if node is None:
            return None
        if isinstance(node.op, Constant):
            constant = known_constant(node)
            if isinstance(constant, np.ndarray):
                return constant.reshape(())[()] if constant.size == 1 else None
            return constant
        if node.op.moves and not node.attrs.get("assume"):
            return self.number(node.inputs[0])
        if isinstance(node.op, _CONVERTS):
            number = self.number(node.inputs[0])
            if number is None:
                return None
            operand = np.asarray(number) if isinstance(node.inputs[0].type, ArrayType) else number
            try:
                with np.errstate(all="ignore"):
                    (result,) = node.op.evaluate((operand,), dict(node.attrs))
            except Bailout:
                return None
            return result[()] if isinstance(result, np.ndarray) else result
        return None


def without(graph: Graph, nodes: set[Node]) -> Graph:
    """`graph` without those of `nodes` that nothing reads, though they might raise."""
    if not nodes:
        return graph
    read = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node not in nodes or not read.isdisjoint(node.outputs):
            kept.append(node)
            read.update(node.inputs)
    return Graph(
        graph.name,
        graph.sizes,
        graph.inputs,
        tuple(reversed(kept)),
        graph.outputs,
        graph.results,
        graph.size_outputs,
    )

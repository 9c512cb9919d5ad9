"""A builder that evaluates each node as it is recorded: the node list is a tape of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.derivatives import differentiable
from tracejit.ir.evaluate import concrete_attrs, run_node
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value, attr_substitute
from tracejit.ir.op import Op
from tracejit.ir.types import Type, type_substitute
from tracejit.ir.versions import Version

if TYPE_CHECKING:
    from tracejit.errors import Where

__all__ = ["EvaluatingBuilder"]


class EvaluatingBuilder(GraphBuilder):
    """Every value of the graph has a concrete value; every size is an integer.

    `active` are the values that depend, by differentiable operations, on those marked so.
    """

    def __init__(self, name: str, bound: Callable[[str, int], None] = lambda name, size: None):
        super().__init__(name)
        #: The concrete values; of arrays that are stored into, the states.
        self.table: dict[Value, Any] = {}
        self.active: set[Value] = set()
        #: What the size symbols are that nodes have bound; `bound` is told of each.
        self.bindings: dict[str, int] = {}
        self._bound = bound

    def beside(self) -> GraphBuilder:
        """Itself: what is evaluated at once is recorded in that order."""
        return self

    def concrete(self, value: Value) -> Any:
        """What a value is: not to be written to, and an array not to be kept."""
        found = self.table[value]
        return found.read() if isinstance(found, Version) else found

    def given(self, type_: Type, concrete: Any, name: str = "") -> Value:
        """A value that no node computes. `concrete` must not change afterwards."""
        value = Value(type_, name)
        self.table[value] = concrete
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
        """Append a node and evaluate it. Raises GraphError and Bailout.

        NumPy's handling of floating-point errors is left to the caller.
        """
        attrs = attrs or {}
        if self.bindings:
            attrs = {k: attr_substitute(a, self.bindings) for k, a in attrs.items()}
        types = op.infer(tuple(v.type for v in inputs), attrs, regions, binds)
        node = Node(op, tuple(inputs), attrs, tuple(map(Value, types)), regions, binds, where)
        results = self._results(node)
        for name in binds:
            self._bound(name, self.bindings[name])
        is_active = not op.constant and not self.active.isdisjoint(inputs)
        for value, concrete in zip(node.outputs, results, strict=True):
            value.type = type_substitute(value.type, self.bindings)
            self.table[value] = concrete
            if is_active and differentiable(value.type):
                self.active.add(value)
        self.nodes.append(node)
        return node.outputs

    def _results(self, node: Node) -> Sequence[Any]:
        """What a node gives. An array that has been stored into is stored into in place again."""
        known = [self.table[v] for v in node.inputs]
        operands = [x.read() if isinstance(x, Version) else x for x in known]
        if type(node.op).replaced is not Op.replaced:
            if not isinstance(known[0], Version):
                return tuple(map(Version, run_node(node, operands, self.bindings)))
            index = node.op.replaced(operands, concrete_attrs(node, self.bindings))
            return (known[0].replaced(index, operands[1]),)
        results = run_node(node, operands, self.bindings)
        changing = [x for x, found in zip(operands, known, strict=True) if x is not found]
        return [x.copy(order="K") if _is_part(x, changing) else x for x in results]


def _is_part(x: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> bool:
    """Whether `x` is memory of one of the arrays."""
    return isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in arrays)

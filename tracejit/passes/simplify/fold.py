"""Constant folding: a pure op of constants is evaluated, by its own meaning in NumPy.

    op(constant, ...)  ->  constant
    op(broadcast_to(c0), broadcast_to(c1))  ->  broadcast_to(op(c0, c1))    op exact, elementwise

Nothing is folded that would make the program larger (results above 16 elements that have more
bytes than the operands, broadcasts, ranges), and nothing that bails out: the compiled code must do
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.errors import Bailout
from tracejit.ir.graph import ConstArray, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type
from tracejit.ops.array.creation import Constant, Iota
from tracejit.ops.array.shape import BroadcastTo, Concatenate

__all__ = ["emit_constant", "fold", "known_constant"]

_SMALL = 16
#: Ops that are cheaper to run than their results are to read.
_GENERATORS = (BroadcastTo, Iota)


def fold(graph: Graph) -> Graph:
    """`graph` with the ops whose operands are constants evaluated."""
    folder = _Folder()
    return replay(graph, folder.emit, region=fold)


def known_constant(node: Node) -> Any:
    """The concrete value of a `constant` node."""
    return node.op.evaluate((), dict(node.attrs))[0]


def emit_constant(builder: GraphBuilder, value: Any, type_: Type) -> Value:
    """A `constant` node with a value of the kind that `type_` says."""
    attr: Any = value
    if isinstance(type_, ArrayType):
        attr = ConstArray(value)
    elif isinstance(type_, NpScalar):
        attr = value.item()
    return builder.one(OPS["constant"], (), value=attr, type=str(type_))


class _Folder:
    def __init__(self) -> None:
        #: The concrete values of constants.
        self.known: dict[Value, Any] = {}
        #: The one number, as a NumPy scalar, that every element of an array is.
        self.fill: dict[Value, np.generic] = {}

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if isinstance(node.op, Constant):
            outputs = keep(builder, node)
            self.learn(outputs[0], known_constant(node))
            return outputs
        # What a function gives that calls itself is known where all of it is.
        if not node.op.pure or node.regions or node.binds or node.op.kind == "call":
            return keep(builder, node)
        results = self.evaluate(node)
        if results is not None:
            outputs = tuple(
                emit_constant(builder, result, old.type)
                for result, old in zip(results, node.outputs, strict=True)
            )
            for value, result in zip(outputs, results, strict=True):
                self.learn(value, result)
            return outputs
        number = self.uniform(node)
        if number is None:
            return keep(builder, node)
        if isinstance(node.op, BroadcastTo):
            outputs = keep(builder, node)
        else:
            outputs = self.broadcast(builder, number, node) or keep(builder, node)
        self.fill[outputs[0]] = number
        return outputs

    def learn(self, value: Value, concrete: Any) -> None:
        self.known[value] = concrete
        if isinstance(concrete, np.generic):
            self.fill[value] = concrete
        elif isinstance(concrete, np.ndarray) and concrete.size == 1:
            self.fill[value] = concrete.dtype.type(concrete.item())

    def evaluate(self, node: Node) -> tuple[Any, ...] | None:
        """The results of a node of constants, where folding it pays."""
        if isinstance(node.op, _GENERATORS) or not all(v in self.known for v in node.inputs):
            return None
        if node.sizes() or not all(_is_concrete(v.type) for v in node.outputs):
            return None
        operands = [self.known[v] for v in node.inputs]
        size = sum(_elements(v.type) for v in node.outputs)
        if size > _SMALL and _bytes(node.outputs) > _bytes(node.inputs):
            return None
        return _call(node, operands)

    def uniform(self, node: Node) -> np.generic | None:
        """The number that fills the result of a node whose operands each are filled with one."""
        if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ArrayType):
            return None
        if not node.inputs or not all(v in self.fill for v in node.inputs):
            return None
        numbers = [self.fill[v] for v in node.inputs]
        moves = node.op.moves or isinstance(node.op, Concatenate)
        if moves and not node.attrs.get("assume"):
            same = all(n.dtype == numbers[0].dtype for n in numbers)
            bits = {n.tobytes() for n in numbers}
            return numbers[0] if same and len(bits) == 1 else None
        if node.op.kind != "elementwise" or node.sizes():
            return None
        if node.op.parity_of([v.type for v in node.inputs]) != "exact":
            return None
        results = _call(node, [np.full(1, n, n.dtype) for n in numbers])
        if results is None:
            return None
        number = results[0][0]
        assert isinstance(number, np.generic)
        return number

    def broadcast(
        self, builder: GraphBuilder, number: np.generic, node: Node
    ) -> tuple[Value, ...] | None:
        """`broadcast_to(number)` in place of the node, where that has the same axis order."""
        kind = node.outputs[0].type
        assert isinstance(kind, ArrayType)
        op, attrs = OPS["broadcast_to"], {"shape": kind.shape}
        if op.infer((NpScalar(number.dtype),), attrs, (), ()) != (kind,):
            return None
        scalar = emit_constant(builder, number, NpScalar(number.dtype))
        self.learn(scalar, number)
        return builder.emit(op, (scalar,), attrs)


def _call(node: Node, operands: list[Any]) -> tuple[Any, ...] | None:
    try:
        with np.errstate(all="ignore"):
            return node.op.evaluate(operands, dict(node.attrs))
    except Bailout:
        return None


def _is_concrete(t: Type) -> bool:
    """Whether a constant can have the type: sizes known, elements in C order."""
    if isinstance(t, ArrayType):
        return t.is_c and all(isinstance(d, int) for d in t.shape)
    return isinstance(t, (NpScalar, PyScalar))


def _elements(t: Type) -> int:
    size = t.size if isinstance(t, ArrayType) else 1
    assert isinstance(size, int)
    return size


def _bytes(values: Sequence[Value]) -> int:
    total = 0
    for v in values:
        if isinstance(v.type, (ArrayType, NpScalar, PyScalar)):
            total += _elements(v.type) * v.type.dtype.itemsize
    return total

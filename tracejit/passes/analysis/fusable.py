"""What kernels can compute, what they must write to memory, and which results share a loop nest."""

from __future__ import annotations

from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.reduction import Reduction
from tracejit.ops.array.shape import BroadcastTo

__all__ = ["EXPENSIVE", "fusable", "is_literal", "is_root_op", "space"]

#: Work, in additions, above which a value that is read twice is stored rather than computed twice.
EXPENSIVE = 6.0


def fusable(node: Node) -> bool:
    """Whether kernels can compute the node."""
    op = node.op
    if not op.fused or len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ArrayType):
        return False
    native = getattr(op, "native", None)
    if native is None:
        return True
    dtypes = [dtype_name(v.type.dtype) for v in node.inputs if isinstance(v.type, ArrayType)]
    return bool(native(dtypes, node.attrs))


def is_root_op(node: Node) -> bool:
    """Whether the node's result is always materialised."""
    return node.op.fused == "root"


def is_literal(node: Node) -> bool:
    """Whether the node is a scalar constant: kernels hold those as literals."""
    return isinstance(node.op, Constant) and not isinstance(node.outputs[0].type, ArrayType)


def space(node: Node) -> tuple[object, ...]:
    """The iteration space of a root: equal keys may share a kernel."""
    t = node.outputs[0].type
    assert isinstance(t, ArrayType)
    if isinstance(node.op, Reduction):
        source = node.inputs[0].type
        assert isinstance(source, ArrayType)
        axes = node.attrs["axes"]
        if node.op.chained(source.dtype):
            return ("chain", source.shape, axes)
        if axes == (source.ndim - 1,):
            return ("map", source.shape, tuple(range(source.ndim)))
        return ("reduce", source.shape, axes)
    if node.op.fused == "root":
        return ("alone", id(node))
    if isinstance(node.op, BroadcastTo) and not isinstance(node.inputs[0].type, ArrayType):
        # A fill shares no loads, and what comes early stays in memory for long.
        return ("alone", id(node))
    return ("map", t.shape, t.order)

"""What kernels can compute, what they must write to memory, and which results share a loop nest."""

from __future__ import annotations

from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.elementwise import Cast, Elementwise
from tracejit.ops.array.reduction import ArgMax, ArgMin, Reduction
from tracejit.ops.array.scan import CumProd
from tracejit.ops.array.scatter_apply import ScatterApply
from tracejit.ops.array.shape import BroadcastTo

__all__ = ["EXPENSIVE", "INDEX", "ROOTS", "fusable", "is_literal", "is_root_op", "space"]

#: Work, in additions, above which a value that is read twice is stored rather than computed twice.
EXPENSIVE = 6.0
INDEX = frozenset({"broadcast_to", "reshape", "transpose", "slice", "gather", "iota"})
ROOTS = frozenset(
    (
        *("concatenate", "update_slice", "scatter", "scatter_apply"),
        *("argmin", "argmax", "cumsum", "cumprod", "linear_recurrence"),
    )
)


def fusable(node: Node) -> bool:
    """Whether kernels can compute the node."""
    if len(node.outputs) != 1 or not isinstance(node.outputs[0].type, ArrayType):
        return False
    dtypes = [dtype_name(v.type.dtype) for v in node.inputs if isinstance(v.type, ArrayType)]
    op = node.op
    if isinstance(op, Elementwise):
        wide = dtype_name(node.outputs[0].type.dtype)
        if isinstance(op, Cast) and dtypes == ["f64"] and wide == "f16":
            return False
        return op.native(dtypes, node.attrs)
    if isinstance(op, Reduction):
        return op.native(dtypes)
    if isinstance(op, ScatterApply):
        return op.native(dtypes, node.attrs)
    if isinstance(op, Constant):
        return False
    if isinstance(op, (CumProd, ArgMin, ArgMax)) and dtypes[0] in ("c64", "c128"):
        return False
    return op.name in INDEX or op.name in ROOTS


def is_root_op(node: Node) -> bool:
    """Whether the node's result is always materialised."""
    return isinstance(node.op, Reduction) or node.op.name in ROOTS


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
    if node.op.name in ROOTS:
        return ("alone", id(node))
    if isinstance(node.op, BroadcastTo) and not isinstance(node.inputs[0].type, ArrayType):
        # A fill shares no loads, and what comes early stays in memory for long.
        return ("alone", id(node))
    return ("map", t.shape, t.order)

"""Unbuffered updates: `ufunc.at`, one element after another, each seeing those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Node, Value
from tracejit.ir.op import OPS, Op, register, require
from tracejit.ir.types import ArrayType, Type, dtype_name
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import checked_indices, gathered_shape, index_samples
from tracejit.ops.checks import array_of, only_attrs, take
from tracejit.ops.rules.indexing import ScatterApplyRules
from tracejit.ops.rules.indexing_batch import batched_scatter
from tracejit.ops.samples import array

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["ScatterApply", "applied_op"]


def applied_op(attrs: Attrs) -> Elementwise:
    """The elementwise op that a `scatter_apply` applies."""
    op = OPS.get(str(attrs["function"]))
    require(isinstance(op, Elementwise), f"scatter_apply: no function {attrs['function']!r}")
    assert isinstance(op, Elementwise)
    return op


@register
class ScatterApply(ScatterApplyRules, Op):
    """`x` with x[i] = function(x[i], v[i]) at each index into its first axes, one after another.

    The elements of `x` are converted to the dtype of `v` for the function, and its result to
    theirs. An index that occurs twice is updated twice, in C order of the indices. With
    `checked=False` no index is outside its axis: compiled code relies on it.
    """

    name: ClassVar[str] = "scatter_apply"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "root"
    sums: ClassVar[bool] = True
    updates: ClassVar[bool] = True
    reader: ClassVar[str] = "gather"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) >= 3, "scatter_apply takes an array, values and indices")
        only_attrs(self.name, attrs, "function", optional=("checked",))
        x, v = array_of(self.name, inputs[0], 1), array_of(self.name, inputs[1])
        fits = v.shape == gathered_shape(self.name, x, inputs[2:])
        require(fits, f"scatter_apply: {v} does not fit the indices into {x}")
        one = ArrayType(v.dtype, ())
        (out,) = applied_op(attrs).infer((one, one), {}, (), ())
        take(self.name, (out,), 1)
        require(out == one, f"scatter_apply: {attrs['function']} of {v.dtype} gives another dtype")
        return (x,)

    def may_raise(self, node: Node) -> bool:
        return bool(node.attrs.get("checked", True))

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        """Whether a kernel can compute it: `dtypes` are those of `x` and of the values."""
        x, v = dtypes[0], dtypes[1]
        if v in ("c64", "c128") and x != v or (v, x) == ("f64", "f16"):
            return False
        return applied_op(attrs).native([v, v], {})

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, v, *indices = inputs
        out = x.copy(order="K")
        op = applied_op(attrs)
        places = np.broadcast_arrays(*checked_indices(x.shape, indices))
        with np.errstate(all="ignore"):
            for k in np.ndindex(places[0].shape):
                key = tuple(int(p[k]) for p in places)
                old = np.asarray(out[key]).astype(v.dtype)
                (new,) = op.evaluate((old, np.asarray(v[k])), {})
                out[key] = np.asarray(new).astype(x.dtype)
        return (out,)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_scatter(c, at, self.name),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for x, indices in index_samples():
            if not isinstance(indices[0], np.ndarray) or not indices[0].ndim:
                continue
            shape = (*np.shape(indices[0]), *x.shape[len(indices) :])
            v = array("i64", shape, "strided").astype(x.dtype)
            for function in ("add", "multiply", "maximum"):
                out.append(([x, v, *indices], {"function": function}))
            out.append(([x, v, *indices], {"function": "add", "checked": False}))
            if dtype_name(x.dtype) in ("f32", "i32"):
                out.append(([x, v.astype(np.float64), *indices], {"function": "subtract"}))
        return out

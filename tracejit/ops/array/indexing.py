"""Reads and functional writes at computed places: gather, update_slice, scatter.

An index counts from the end where it is negative; an index outside the axis bails out, so that
eager execution raises NumPy's IndexError. With `checked=False` there is none outside: compiled code
relies on it. A write gives a new array in the old one's memory order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, PYINT, ArrayType, NpScalar, Type
from tracejit.ops.array.shape import (
    check_slice,
    of_all_lanes,
    python_slices,
    slice_samples,
    slice_shape,
)
from tracejit.ops.checks import array_of, c_array, only_attrs, take
from tracejit.ops.rules.indexing import GatherRules, ScatterRules, UpdateSliceRules
from tracejit.ops.rules.indexing_batch import batched_gather, batched_scatter
from tracejit.ops.samples import LAYOUTS, array, arrays

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["checked_indices", "gathered_shape", "index_samples"]


def gathered_shape(name: str, x: ArrayType, indices: Sequence[Type]) -> tuple[Dim, ...]:
    """The shape of `x` at `indices`: theirs, then the axes of `x` that have no index."""
    require(1 <= len(indices) <= x.ndim, f"{name}: {len(indices)} indices for {x}")
    first = indices[0]
    if isinstance(first, ArrayType):
        fits = all(
            isinstance(t, ArrayType) and (t.dtype, t.shape) == (DTYPES["i64"], first.shape)
            for t in indices
        )
        shape = first.shape
    else:
        fits = all(t in (PYINT, NpScalar(DTYPES["i64"])) for t in indices)
        shape = ()
    require(fits, f"{name}: {', '.join(map(str, indices))} are not indices of one shape")
    return (*shape, *x.shape[len(indices) :])


def checked_indices(shape: tuple[int, ...], indices: Sequence[Any]) -> tuple[Any, ...]:
    """The indices as arrays. Raises Bailout where one leaves its axis."""
    out = []
    for n, index in zip(shape, indices, strict=False):
        i = np.asarray(index, np.int64)
        if np.any((i < -n) | (i >= n)):
            raise Bailout(f"an index is out of bounds for an axis of {n}")
        out.append(i)
    return tuple(out)


def index_samples() -> list[tuple[Any, list[Any]]]:
    """Arrays with index operands for them, the last ones repeated."""
    out: list[tuple[Any, list[Any]]] = []
    for x in arrays((4,), (3, 2)):
        out.append((x, [np.array([0, -1, 2, 2, -3])]))
    for layout in LAYOUTS:
        x = array("f64", (3, 4, 2), layout)
        i, j = np.array([[0, 1, 2], [-1, 1, 0]], order="F"), np.array([[3, -4, 0], [3, 2, 1]])
        out += [(x, [i]), (x, [i, j]), (x, [i, j, i % 2]), (x, [2, -1]), (x, [np.int64(-3), 1, 1])]
        out += [(x, [1]), (x, [np.array(2)]), (x, [i[:0]]), (x, [i[0], j[1]])]
    out.append((array("f64", (0, 3)), [np.zeros((2, 0), np.int64)]))
    out.append((array("f64", (3, 0)), [np.array([1, 2])]))
    return out


@register
class Gather(GatherRules, Op):
    """Elements, or subarrays, of `x` at indices into its first axes: x[i0, ..., ik-1], a copy.

    With `checked=False` no index is outside its axis, with `inside=True` none is negative, either.
    """

    name: ClassVar[str] = "gather"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "index"
    checks_index: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) >= 2, "gather takes an array and indices")
        only_attrs(self.name, attrs, optional=("checked", "inside"))
        x = array_of(self.name, inputs[0], 1)
        return (ArrayType(x.dtype, gathered_shape(self.name, x, inputs[1:])),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, *indices = inputs
        return (c_array(x[checked_indices(x.shape, indices)]),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_gather(c, at),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [
            ([x, *indices], attrs)
            for x, indices in index_samples()
            for attrs in ({}, {"checked": False})
        ]


@register
class UpdateSlice(UpdateSliceRules, Op):
    """`x` with `v` written to the elements that `slice` with these attributes would read."""

    name: ClassVar[str] = "update_slice"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "root"
    updates: ClassVar[bool] = True
    reader: ClassVar[str] = "slice"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        only_attrs(self.name, attrs, "start", "size", "step")
        x, v = (array_of(self.name, t) for t in inputs)
        check_slice(self.name, x, attrs)
        if v.dtype != x.dtype or v.shape != slice_shape(attrs):
            raise GraphError(f"update_slice: {v} does not fit into the slice of {x}")
        return (x,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, v = inputs
        out = x.copy(order="K")
        out[self.replaced(inputs, attrs)] = v
        return (out,)

    def replaced(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return (*python_slices(inputs[0].shape, attrs), ...)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (c.op(self.name, at.whole(0), at.whole(1), **of_all_lanes(at)),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for x, attrs in slice_samples():
            v = array("f64", attrs["size"], "F").astype(x.dtype)
            out.append(([x, v], attrs))
        return out


@register
class Scatter(ScatterRules, Op):
    """`x` with `v` at indices into its first axes; the later of two writes to a place wins.

    With `distinct` no two are to one place.
    """

    name: ClassVar[str] = "scatter"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "root"
    updates: ClassVar[bool] = True
    checks_index: ClassVar[bool] = True
    reader: ClassVar[str] = "gather"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) >= 3, "scatter takes an array, values and indices")
        only_attrs(self.name, attrs, optional=("checked", "distinct"))
        x, v = array_of(self.name, inputs[0], 1), array_of(self.name, inputs[1])
        fits = v.dtype == x.dtype and v.shape == gathered_shape(self.name, x, inputs[2:])
        require(fits, f"scatter: {v} does not fit the indices into {x}")
        return (x,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, v = inputs[:2]
        out = x.copy(order="K")
        out[self.replaced(inputs, attrs)] = v
        return (out,)

    def replaced(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return checked_indices(inputs[0].shape, inputs[2:])

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_scatter(c, at, self.name),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for x, indices in index_samples():
            shape = (*np.shape(indices[0]), *x.shape[len(indices) :])
            v = array("i64", shape, "strided").astype(x.dtype)
            out += [([x, v, *indices], {}), ([x, v, *indices], {"checked": False})]
        i, j = np.array([2, 0, 1]), np.array([1, 3, 3])
        out.append(([array("f64", (3, 4)), array("f64", (3,)), i, j], {"distinct": True}))
        return out

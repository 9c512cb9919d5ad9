"""Derivative rules of reads and writes at computed places.

The indices stay checked as they were: where nothing else reads the primal result, the derivative is
what finds an index that is out of bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tracejit.errors import Underivable
from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor, Zeroed, differentiable
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.types import DTYPES, ArrayType, Type, dtype_of, shape_of
from tracejit.ops.rules.shape import Linear

__all__ = [
    "GatherRules",
    "ItemInto",
    "ReadItemRules",
    "ScatterApplyRules",
    "ScatterRules",
    "UpdateSliceRules",
    "WriteItemRules",
]


def _indices(at: NodeAdaptor, first: int) -> list[Value]:
    return [at.x(k) for k in range(first, len(at.inputs))]


class GatherRules(Linear):
    """What is read twice has the sum of both cotangents."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        indices, attrs = _indices(at, 1), dict(at.attrs)
        if not shape_of(at.inputs[1]):
            return ItemInto(g, indices, attrs)
        return Into(
            g,
            lambda c, whole, v: c.op("scatter_apply", whole, v, *indices, function="add", **attrs),
        )


class ItemInto(Into):
    """A contribution to the subarray at one number for each of the first axes; None is 0."""

    __slots__ = ("attrs", "indices")

    def __init__(self, value: Value, indices: Sequence[Value | None], attrs: Attrs) -> None:
        super().__init__(value, self._added)
        self.indices, self.attrs = tuple(indices), dict(attrs)

    def _added(self, c: DerivativeBuilder, whole: Value, v: Value) -> Value:
        indices = [c.size(0, DTYPES["i64"]) if i is None else i for i in self.indices]
        there = c.op("gather", whole, *indices, **self.attrs)
        return c.op("scatter", whole, c.add(there, v), *indices, **self.attrs)


class CompressRules(Linear):
    """The cotangents go to where the mask holds."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        places = c.op("true_positions", at.x(1), size=at.attrs["size"])

        def add(c: DerivativeBuilder, whole: Value, v: Value) -> Value:
            return c.op("scatter_apply", whole, v, places, function="add", checked=False)

        return Into(g, add)


class ReadItemRules(Linear):
    """The cotangent is added to one element."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        indices, attrs = _indices(at, 1), dict(at.attrs)

        def add(c: DerivativeBuilder, whole: Value, v: Value) -> Value:
            there = c.op("read_item", whole, *indices, **attrs)
            return c.op("write_item", whole, c.add(there, v), *indices, **attrs)

        return Into(g, add)


class _Writing:
    """An op that gives its first operand with the second one at some places.

    It is linear in both: what was overwritten has no cotangent, what was written has that of its
    place.
    """

    name: ClassVar[str]

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The op itself, of both tangents."""
        pair = tangents[:2]
        if all(t is None for t in pair):
            return (None,)
        whole, v = (c.zeros(at.inputs[k]) if t is None else t for k, t in enumerate(pair))
        return (c.op(self.name, whole, v, *_indices(at, 2), **at.attrs),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | Zeroed | None]:
        """The cotangent with zeros where it was written, and what it has there."""
        (g,) = cotangents
        out: list[Value | Into | Zeroed | None] = [None] * len(at.inputs)
        if g is None:
            return out
        indices = _indices(at, 2)
        # The read comes first, so that the write may be done in place.
        there = None
        if at.wanted[1]:
            out[1] = there = self.read(c, at, g, indices)
        if at.wanted[0]:
            out[0] = self.without(c, at, g, there, indices)
        return out

    def without(
        self,
        c: DerivativeBuilder,
        at: NodeAdaptor,
        g: Value,
        there: Value | None,
        indices: Sequence[Value],
    ) -> Value | Zeroed:
        """The cotangent with zeros where it was written, and `there` before."""
        return c.op(self.name, g, c.zeros(at.inputs[1]), *indices, **at.attrs)

    def read(
        self, c: DerivativeBuilder, at: NodeAdaptor, g: Value, indices: Sequence[Value]
    ) -> Value:
        """The cotangent of what was written."""
        raise NotImplementedError


class UpdateSliceRules(_Writing):
    """Reads the slice."""

    def read(
        self, c: DerivativeBuilder, at: NodeAdaptor, g: Value, indices: Sequence[Value]
    ) -> Value:
        return c.op("slice", g, **at.attrs)

    def without(
        self,
        c: DerivativeBuilder,
        at: NodeAdaptor,
        g: Value,
        there: Value | None,
        indices: Sequence[Value],
    ) -> Value | Zeroed:
        return Zeroed(g, at.attrs, there)


class WriteItemRules(_Writing):
    """Reads the element."""

    def read(
        self, c: DerivativeBuilder, at: NodeAdaptor, g: Value, indices: Sequence[Value]
    ) -> Value:
        return c.op("read_item", g, *indices, **at.attrs)


class ScatterRules(_Writing):
    """Reads at the indices; of several writes to one place the last alone has the cotangent."""

    def read(
        self, c: DerivativeBuilder, at: NodeAdaptor, g: Value, indices: Sequence[Value]
    ) -> Value:
        attrs = {k: v for k, v in at.attrs.items() if k != "distinct"}
        read = c.op("gather", g, *indices, **attrs)
        index = at.inputs[2]
        if not isinstance(index, ArrayType) or not index.ndim or at.attrs.get("distinct"):
            return read
        # Each write leaves its number: the numbers that are still there are of those that remain.
        whole, i64 = shape_of(at.inputs[0]), DTYPES["i64"]
        count = prod(index.shape)
        numbers = c.reshape(c.op("iota", size=count, dtype="i64"), index.shape)
        blank = c.full(ArrayType(i64, whole[: len(indices)]), 0)
        left = c.op("scatter", blank, numbers, *indices, **attrs)
        last = c.compare("equal", c.op("gather", left, *indices, **attrs), numbers)
        return c.where(_spread(c, last, read.type), read, 0)


def _spread(c: DerivativeBuilder, mask: Value, like: Type) -> Value:
    """A mask over the first axes, repeated along the others."""
    shape = shape_of(mask.type)
    assert isinstance(like, ArrayType)
    units: tuple[Dim, ...] = (1,) * (like.ndim - len(shape))
    return c.shaped(c.reshape(mask, (*shape, *units)), like)


class ScatterApplyRules:
    """`np.add.at` and `np.subtract.at`, which are linear. Other functions have no rule."""

    name: ClassVar[str]

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The op itself, of both tangents. Raises Underivable."""
        _require_linear(at)
        pair = tangents[:2]
        if all(t is None for t in pair):
            return (None,)
        whole = c.zeros(at.inputs[0]) if pair[0] is None else pair[0]
        if pair[1] is None:
            return (whole,)
        return (c.op(self.name, whole, pair[1], *_indices(at, 2), **at.attrs),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The cotangent itself, and what it has at the indices. Raises Underivable."""
        _require_linear(at)
        (g,) = cotangents
        out: list[Value | Into | None] = [None] * len(at.inputs)
        if g is None:
            return out
        if at.wanted[1]:
            read = c.cast(c.op("gather", g, *_indices(at, 2)), dtype_of(at.inputs[1]))
            out[1] = c.neg(read) if at.attrs["function"] == "subtract" else read
        out[0] = g if at.wanted[0] else None
        return out


def _require_linear(at: NodeAdaptor) -> None:
    function = at.attrs["function"]
    if function not in ("add", "subtract"):
        raise Underivable(
            f"np.{function}.at (unlike np.add.at and np.subtract.at) has no derivative rule"
        )
    x, v = at.inputs[0], at.inputs[1]
    # Elements pass through the dtype of the values, which must not lose any part of them.
    if not differentiable(v) or (dtype_of(x).kind, dtype_of(v).kind) == ("c", "f"):
        raise Underivable(f"np.{function}.at of {x} with values of {v} has no derivative rule")

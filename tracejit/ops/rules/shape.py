"""Derivative rules of the ops that say where elements come from: all of them are linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.types import ArrayType

__all__ = [
    "BroadcastToRules",
    "ConcatenateRules",
    "ElementRules",
    "Linear",
    "ReshapeRules",
    "SliceInto",
    "SliceRules",
    "TransposeRules",
    "add_slice",
    "slice_of",
]


class Linear:
    """An op that is linear in its first operand, and has no derivative by the others."""

    name: ClassVar[str]

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The op itself, of the tangent."""
        t, *_ = tangents
        if t is None:
            return (None,)
        rest = [at.x(k) for k in range(1, len(at.inputs))]
        return (c.op(self.name, t, *rest, **at.attrs),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The transpose, of the cotangent."""
        (g,) = cotangents
        rest = [None] * (len(at.inputs) - 1)
        return (None if g is None or not at.wanted[0] else self.transposed(c, at, g), *rest)

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        """The cotangent of the first operand for that of the result."""
        raise NotImplementedError


class BroadcastToRules(Linear):
    """The cotangents of all copies of an element add up."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        return c.sum_to(g, at.inputs[0])


class ReshapeRules(Linear):
    """The same elements under the operand's shape."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        t = at.inputs[0]
        assert isinstance(t, ArrayType)
        return c.reshape(g, t.shape)


class TransposeRules(Linear):
    """The axes back where they were."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        axes = at.attrs["axes"]
        return c.transpose(g, [axes.index(k) for k in range(len(axes))])


def slice_of(
    c: DerivativeBuilder,
    v: Value,
    start: tuple[Dim, ...],
    size: tuple[Dim, ...],
    step: tuple[int, ...] = (),
) -> Value:
    """The elements start + k * step of an array; without `step` one after another."""
    return c.op("slice", v, start=start, size=size, step=step or (1,) * len(start))


class SliceInto(Into):
    """A contribution to the slice with the attributes `attrs`."""

    __slots__ = ("attrs",)

    def __init__(self, value: Value, attrs: Attrs) -> None:
        super().__init__(value, lambda c, whole, v: add_slice(attrs, c, whole, v))
        self.attrs = dict(attrs)


def add_slice(attrs: Attrs, c: DerivativeBuilder, whole: Value, v: Value) -> Value:
    """`whole` with `v` added to the slice with these attributes."""
    there = c.op("slice", whole, **attrs)
    if all(n == 1 for n in attrs["size"]):
        # A single element is added as a number, which needs no memory.
        a, b = (c.op("element", c.reshape(x, ())) for x in (there, v))
        return c.op("update_slice", whole, c.shaped(c.add(a, b), there.type), **attrs)
    return c.op("update_slice", whole, c.add(there, v), **attrs)


class SliceRules(Linear):
    """The cotangent is added to the slice of the operand's."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        return SliceInto(g, at.attrs)


class ConcatenateRules:
    """Each operand has its slice of the result."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The tangents joined."""
        parts = [c.zeros(t) if v is None else v for v, t in zip(tangents, at.inputs, strict=True)]
        return (c.op("concatenate", *parts, axis=at.attrs["axis"]),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """Slices of the cotangent."""
        (g,), axis = cotangents, at.attrs["axis"]
        if g is None:
            return [None] * len(at.inputs)
        out: list[Value | Into | None] = []
        start: Dim = 0
        for t, wanted in zip(at.inputs, at.wanted, strict=True):
            assert isinstance(t, ArrayType)
            begin = tuple(start if k == axis else 0 for k in range(t.ndim))
            out.append(slice_of(c, g, begin, t.shape) if wanted else None)
            start = start + t.shape[axis]
        return out


class ElementRules(Linear):
    """A scalar as a 0-d array."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        return c.shaped(g, at.inputs[0])

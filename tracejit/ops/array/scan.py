"""Cumulative sums, products and linear recurrences: from left to right along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.op import OPS, Op, register
from tracejit.ir.types import DTYPES
from tracejit.ops.checks import c_array
from tracejit.ops.rules.reduction import flipped, shifted
from tracejit.ops.rules.shape import Linear
from tracejit.ops.samples import LAYOUTS, array, edges
from tracejit.ops.signature import Signature

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["Scan", "running_sums"]


class Scan(Op):
    """Element k of the result combines elements 0 to k along `axis`; f16 rounds at each step."""

    kind: ClassVar[str] = "scan"
    fused: ClassVar[str] = "root"
    #: The op of one step.
    combine: ClassVar[str]
    ufunc: ClassVar[Any]
    signature: ClassVar[Any] = Signature("x: iufc[.., n]; axis -> x")

    def neutral(self, parts: int) -> float | None:
        """What may stand in front of the first element, of one or two parts, if anything may."""
        return None

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        return (c_array(self.ufunc.accumulate(x, axis=attrs["axis"], dtype=x.dtype)),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (c.op(self.name, *at.values, axis=at.attrs["axis"] + 1),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in DTYPES:
            if dtype == "b1":
                continue
            for axis in range(3):
                layout = LAYOUTS[axis]
                out.append(([array(dtype, (2, 5, 3), layout)], {"axis": axis}))
            values = edges(dtype)
            out += [([values[i:]], {"axis": 0}) for i in range(len(values))]
            out += [([array(dtype, (0, 3))], {"axis": a}) for a in range(2)]
            out.append(([array(dtype, (200,))], {"axis": 0}))
        return out


def running_sums(c: DerivativeBuilder, v: Value, axis: int) -> Value:
    """`np.cumsum(v, axis)`."""
    return c.op("cumsum", v, axis=axis)


def _recurrence(c: DerivativeBuilder, factors: Value, terms: Value, axis: int) -> Value:
    """y[k] = factors[k] * y[k - 1] + terms[k]."""
    return c.op("linear_recurrence", factors, terms, axis=axis)


def _recurrence_backwards(c: DerivativeBuilder, factors: Value, terms: Value, axis: int) -> Value:
    """z[k] = factors[k + 1] * z[k + 1] + terms[k]: the transpose of `_recurrence`, by its terms."""
    turned = shifted(c, flipped(c, factors, axis), axis, 0)
    return flipped(c, _recurrence(c, turned, flipped(c, terms, axis), axis), axis)


@register
class CumSum(Linear, Scan):
    """Running sums along `axis`."""

    name: ClassVar[str] = "cumsum"
    combine: ClassVar[str] = "add"
    ufunc: ClassVar[Any] = np.add
    numpy: ClassVar[Any] = np.cumsum

    def neutral(self, parts: int) -> float | None:
        return -0.0  # +0.0 would lose the sign of -0.0.

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        axis = at.attrs["axis"]
        return flipped(c, running_sums(c, flipped(c, g, axis), axis), axis)


@register
class CumProd(Scan):
    """Running products along `axis`.

    The tangents follow the recurrence with the terms y[k - 1] dx[k].
    """

    name: ClassVar[str] = "cumprod"
    combine: ClassVar[str] = "multiply"
    ufunc: ClassVar[Any] = np.multiply
    numpy: ClassVar[Any] = np.cumprod

    def neutral(self, parts: int) -> float | None:
        # (1 + 0j) * z is not z where z has infinities.
        return 1.0 if parts == 1 else None

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The recurrence."""
        (t,), axis = tangents, at.attrs["axis"]
        if t is None:
            return (None,)
        terms = c.mul_no_nan(t, shifted(c, at.y(), axis, 1))
        return (_recurrence(c, at.x(0), terms, axis),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The recurrence backwards."""
        (g,), axis = cotangents, at.attrs["axis"]
        if g is None or not at.wanted[0]:
            return (None,)
        z = _recurrence_backwards(c, at.x(0), g, axis)
        return (c.mul_no_nan(z, shifted(c, at.y(), axis, 1)),)


@register
class LinearRecurrence(Scan):
    """y[k] = a[k] * y[k - 1] + b[k] along `axis`, with y[-1] = 0, for floats and complex numbers.

    The derivative of a cumulative product follows one, and that of a recurrence another:
    dy[k] = a[k] dy[k - 1] + (da[k] y[k - 1] + db[k]).
    """

    name: ClassVar[str] = "linear_recurrence"
    combine: ClassVar[str] = "add"
    parity: ClassVar[str] = "order"
    signature: ClassVar[Any] = Signature("a: fc[.., n], b: a; axis -> a")

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        a, b = (np.moveaxis(x, attrs["axis"], 0) for x in inputs)
        out = np.array(inputs[1], order="C")
        y = np.moveaxis(out, attrs["axis"], 0)
        with np.errstate(all="ignore"):
            for k in range(1, len(y)):
                y[k] = OPS["multiply"].evaluate((a[k], y[k - 1]), {})[0] + b[k]
        return (out,)

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The recurrence of the tangents."""
        (ta, tb), axis = tangents, at.attrs["axis"]
        if ta is None and tb is None:
            return (None,)
        terms = tb
        if ta is not None:
            moved = c.mul_no_nan(ta, shifted(c, at.y(), axis, 0))
            terms = moved if tb is None else c.add(moved, tb)
        assert terms is not None
        return (_recurrence(c, at.x(0), terms, axis),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The recurrence backwards."""
        (g,), axis = cotangents, at.attrs["axis"]
        if g is None:
            return None, None
        z = _recurrence_backwards(c, at.x(0), g, axis)
        return (c.mul_no_nan(z, shifted(c, at.y(), axis, 0)) if at.wanted[0] else None), z

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (c.op(self.name, at.whole(0), at.whole(1), axis=at.attrs["axis"] + 1),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in ("f16", "f32", "f64", "c64", "c128"):
            for axis in range(3):
                pair = [array(dtype, (2, 5, 3), how) / 8 for how in (LAYOUTS[axis], "C")]
                out.append(([x.astype(DTYPES[dtype]) for x in pair], {"axis": axis}))
            out += [([array(dtype, (0, 3))] * 2, {"axis": a}) for a in range(2)]
        values = edges("f64")
        return [*out, ([values, values[::-1].copy()], {"axis": 0})]

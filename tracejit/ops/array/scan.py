"""Cumulative sums, products and linear recurrences: from left to right along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Graph, Value
from tracejit.ir.op import OPS, Op, register, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.checks import array_of, axis_of, c_array, only_attrs, take
from tracejit.ops.rules.reduction import CumProdRules, CumSumRules, LinearRecurrenceRules
from tracejit.ops.samples import LAYOUTS, array, edges

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["Scan"]


class Scan(Op):
    """Element k of the result combines elements 0 to k along `axis`; f16 rounds at each step."""

    kind: ClassVar[str] = "scan"
    fused: ClassVar[str] = "root"
    #: The kernel function of one step.
    combine: ClassVar[str]
    ufunc: ClassVar[Any]

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "axis")
        x = array_of(self.name, inputs[0], 1)
        axis_of(self.name, attrs, x)
        require(x.dtype.kind != "b", f"{self.name} has no rule for {x.dtype}")
        return (ArrayType(x.dtype, x.shape),)

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


@register
class CumSum(CumSumRules, Scan):
    """Running sums along `axis`."""

    name: ClassVar[str] = "cumsum"
    combine: ClassVar[str] = "add"
    ufunc: ClassVar[Any] = np.add
    numpy: ClassVar[Any] = np.cumsum


@register
class CumProd(CumProdRules, Scan):
    """Running products along `axis`."""

    name: ClassVar[str] = "cumprod"
    combine: ClassVar[str] = "multiply"
    ufunc: ClassVar[Any] = np.multiply
    numpy: ClassVar[Any] = np.cumprod


@register
class LinearRecurrence(LinearRecurrenceRules, Op):
    """y[k] = a[k] * y[k - 1] + b[k] along `axis`, with y[-1] = 0, for floats and complex numbers.

    The derivative of a cumulative product follows one, and that of a recurrence another.
    """

    name: ClassVar[str] = "linear_recurrence"
    kind: ClassVar[str] = "scan"
    fused: ClassVar[str] = "root"
    parity: ClassVar[str] = "order"

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        only_attrs(self.name, attrs, "axis")
        a, b = (array_of(self.name, t, 1) for t in inputs)
        axis_of(self.name, attrs, a)
        require((a.dtype, a.shape) == (b.dtype, b.shape), f"{self.name}: {a} and {b} do not fit")
        require(a.dtype.kind in "fc", f"{self.name} has no rule for {a.dtype}")
        return (ArrayType(a.dtype, a.shape),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        a, b = (np.moveaxis(x, attrs["axis"], 0) for x in inputs)
        out = np.array(inputs[1], order="C")
        y = np.moveaxis(out, attrs["axis"], 0)
        with np.errstate(all="ignore"):
            for k in range(1, len(y)):
                y[k] = OPS["multiply"].evaluate((a[k], y[k - 1]), {})[0] + b[k]
        return (out,)

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

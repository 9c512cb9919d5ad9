"""Reductions: sums and products in the order of `ir/kernel.py`, extremes and their positions.

`axes` are the reduced axes, sorted; the result drops them and is in C order. The sequence that a
sum or product runs over is the reduced axes flattened in C order of the logical axes, whatever the
layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attrs, Node, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.order import ordered_reduce, reduction_order
from tracejit.ir.types import DTYPES, Type, dtype_name, shape_of
from tracejit.ops.checks import array_of, axis_of, c_array, only_attrs, take, without
from tracejit.ops.rules.reduction import ExtremeRules, ReduceProdRules, ReduceSumRules
from tracejit.ops.samples import LAYOUTS, array, arrays, edges

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["ArgExtreme", "Reduction"]


def rows_of(x: np.ndarray[Any, Any], axes: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """`x` as a matrix: kept axes flattened to rows, reduced axes to columns, both in C order."""
    kept = [a for a in range(x.ndim) if a not in axes]
    rows = int(np.prod([x.shape[a] for a in kept], dtype=np.int64))
    columns = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return c_array(x.transpose(*kept, *axes)).reshape(rows, columns)


def has_symbols(t: Type) -> bool:
    """Whether a size is known at a run alone: it may be zero."""
    return any(isinstance(d, Poly) for d in shape_of(t))


class Reduction(Op):
    """A reduction over `axes`.

    `combine` is sum, prod, min, max, any or all; or, with an `identity`, a kernel function of two
    elements that may be taken in any order.
    """

    kind: ClassVar[str] = "reduction"
    fused: ClassVar[str] = "root"
    combine: ClassVar[str]
    #: What combining begins with, where the kernel does not know it.
    identity: ClassVar[float | None] = None
    #: Whether there is a result for no elements.
    of_nothing: ClassVar[bool] = True
    #: The ufunc that it is the `reduce` of, where that begins with the ufunc's identity.
    ufunc: ClassVar[Any] = None
    #: The kinds of dtypes that have it.
    kinds: ClassVar[str]
    #: Attributes that need not be given.
    optional: ClassVar[tuple[str, ...]] = ()

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "axes", optional=self.optional)
        x, axes = array_of(self.name, inputs[0]), attrs["axes"]
        valid = isinstance(axes, tuple) and all(type(a) is int and 0 <= a < x.ndim for a in axes)
        valid = valid and list(axes) == sorted(set(axes))
        require(valid, f"{self.name}: {axes!r} are not sorted axes of {x}")
        require(x.dtype.kind in self.kinds, f"{self.name} has no rule for {x.dtype}")
        empty = not self.of_nothing and any(x.shape[a] == 0 for a in axes)
        require(not empty, f"{self.name} of no elements: {x}")
        return (without(x, axes),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return (c_array(type(self).numpy(inputs[0], axis=attrs["axes"])),)
        except ValueError as e:
            raise Bailout(str(e)) from e

    def chained(self, dtype: np.dtype[Any]) -> bool:
        """Whether a reduction of `dtype` runs strictly from left to right, in no lanes."""
        if dtype.kind == "c":
            return self.combine != "sum"
        return self.combine == "prod" and dtype.kind == "f"

    def accumulator(self, dtype: np.dtype[Any], attrs: Attrs) -> np.dtype[Any]:
        """The dtype in which elements of `dtype` are combined."""
        return DTYPES["f32"] if dtype == DTYPES["f16"] else dtype

    def may_raise(self, node: Node) -> bool:
        return not self.of_nothing and has_symbols(node.inputs[0].type)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        axes = tuple(a + 1 for a in at.attrs["axes"])
        return (c.op(self.name, *at.values, **{**at.attrs, "axes": axes}),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        dtypes = [d for d in DTYPES if DTYPES[d].kind in self.kinds]
        axes: tuple[int, ...]
        for dtype in dtypes:
            for axes in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
                layout = LAYOUTS[len(out) % len(LAYOUTS)]
                out.append(([array(dtype, (2, 5, 3), layout)], {"axes": axes}))
            values = edges(dtype)
            out += [([values[i : i + 1]], {"axes": (0,)}) for i in range(len(values))]
            out += [([values[: i + 2]], {"axes": (0,)}) for i in range(len(values))]
            out.append(([array(dtype, ())], {"axes": ()}))
            out += [([array(dtype, (0, 3))], {"axes": (1,)})]
            if self.of_nothing:
                out += [([array(dtype, (0, 3))], {"axes": a}) for a in ((0,), (0, 1))]
        for dtype in dtypes[-2:]:
            long = array(dtype, (3000,))
            out.append(([(long / 200 + 1).astype(long.dtype)], {"axes": (0,)}))
        return out


class _Accumulating(Reduction):
    """Sum or product."""

    parity: ClassVar[str] = "order"
    kinds: ClassVar[str] = "iufc"

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,), axes = inputs, attrs["axes"]
        rows = rows_of(x, axes)
        shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        wide = self.accumulator(x.dtype, attrs)
        return (self._reduce_rows(rows, wide, *reduction_order(x.ndim, axes)).reshape(shape),)

    def _reduce_rows(
        self, rows: np.ndarray[Any, Any], wide: np.dtype[Any], lanes: int, block: int
    ) -> np.ndarray[Any, Any]:
        ufunc = self.ufunc
        dtype = rows.dtype
        if dtype.kind in "iu":  # wraps, in any order
            return np.asarray(ufunc.reduce(rows, axis=1, dtype=dtype))
        if dtype.kind == "f":
            rows = rows.astype(wide, copy=False)
            return ordered_reduce(rows, lanes, block, ufunc).astype(dtype, copy=False)
        if ufunc is np.multiply:  # from left to right, as for real numbers
            return np.asarray(ufunc.reduce(rows, axis=1, dtype=dtype))
        out = np.empty(rows.shape[:1], dtype)
        rows = rows.astype(wide, copy=False)
        out.real = ordered_reduce(rows.real, lanes, block, ufunc)
        out.imag = ordered_reduce(rows.imag, lanes, block, ufunc)
        return out


@register
class ReduceSum(ReduceSumRules, _Accumulating):
    """The sum over `axes` in the operand's dtype; integers wrap, no sum is -0.0.

    With `wide` false nothing but f16 is widened to be added up.
    """

    name: ClassVar[str] = "reduce_sum"
    sums: ClassVar[bool] = True
    combine: ClassVar[str] = "sum"
    ufunc: ClassVar[Any] = np.add
    numpy: ClassVar[Any] = np.sum
    optional: ClassVar[tuple[str, ...]] = ("wide",)

    def accumulator(self, dtype: np.dtype[Any], attrs: Attrs) -> np.dtype[Any]:
        """f32 and c64 add up in double precision unless `wide` says otherwise, f16 in f32."""
        if not attrs.get("wide", True):
            return super().accumulator(dtype, attrs)
        wide = {"f16": "f32", "f32": "f64", "c64": "c128"}.get(dtype_name(dtype))
        return dtype if wide is None else DTYPES[wide]

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        outputs = super().types(inputs, attrs)
        wide = attrs.get("wide", True)
        require(isinstance(wide, bool), f"reduce_sum: wide is True or False, not {wide!r}")
        return outputs

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        wide = super().samples()
        narrow = [(x, {**attrs, "wide": False}) for x, attrs in wide if x[0].dtype.itemsize < 16]
        return [*wide, *(s for s in narrow if s[0][0].dtype.kind in "fc")]


@register
class ReduceProd(ReduceProdRules, _Accumulating):
    """The product over `axes` in the operand's dtype; integers wrap, an empty product is 1."""

    name: ClassVar[str] = "reduce_prod"
    combine: ClassVar[str] = "prod"
    ufunc: ClassVar[Any] = np.multiply
    numpy: ClassVar[Any] = np.prod


@register
class ReduceMin(ExtremeRules, Reduction):
    """The least element over `axes`; NaN where there is one. Bails out for no element."""

    name: ClassVar[str] = "reduce_min"
    combine: ClassVar[str] = "min"
    of_nothing: ClassVar[bool] = False
    kinds: ClassVar[str] = "biufc"
    numpy: ClassVar[Any] = np.min


@register
class ReduceMax(ExtremeRules, Reduction):
    """The largest element over `axes`; NaN where there is one. Bails out for no element."""

    name: ClassVar[str] = "reduce_max"
    combine: ClassVar[str] = "max"
    of_nothing: ClassVar[bool] = False
    kinds: ClassVar[str] = "biufc"
    numpy: ClassVar[Any] = np.max


@register
class ReduceAny(Reduction):
    """Whether any element over `axes` is True; False for none."""

    name: ClassVar[str] = "reduce_any"
    combine: ClassVar[str] = "any"
    kinds: ClassVar[str] = "b"
    numpy: ClassVar[Any] = np.any
    constant: ClassVar[bool] = True


@register
class ReduceAll(Reduction):
    """Whether all elements over `axes` are True; True for none."""

    name: ClassVar[str] = "reduce_all"
    combine: ClassVar[str] = "all"
    kinds: ClassVar[str] = "b"
    numpy: ClassVar[Any] = np.all
    constant: ClassVar[bool] = True


class ArgExtreme(Op):
    """The i64 position along `axis` of the first extreme; a NaN counts as the extreme."""

    kind: ClassVar[str] = "reduction"
    fused: ClassVar[str] = "root"
    constant: ClassVar[bool] = True
    combine: ClassVar[str]

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "axis")
        x = array_of(self.name, inputs[0], 1)
        axis = axis_of(self.name, attrs, x)
        require(x.shape[axis] != 0, f"{self.name} of no elements: {x}")
        return (without(x, (axis,), DTYPES["i64"]),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return (c_array(type(self).numpy(inputs[0], axis=attrs["axis"])).astype(np.int64),)
        except ValueError as e:
            raise Bailout(str(e)) from e

    def may_raise(self, node: Node) -> bool:
        return has_symbols(node.inputs[0].type)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (c.op(self.name, *at.values, axis=at.attrs["axis"] + 1),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for x in arrays((3, 4), (5,), (2, 0)):
            out += [([x], {"axis": a}) for a in range(x.ndim) if x.shape[a]]
        for dtype in DTYPES:
            values = edges(dtype)
            out += [([values[i:]], {"axis": 0}) for i in range(len(values))]
            out.append(([np.concatenate([values, values])], {"axis": 0}))
        return out


@register
class ArgMin(ArgExtreme):
    """The position of the first least element along `axis`."""

    name: ClassVar[str] = "argmin"
    combine: ClassVar[str] = "argmin"
    numpy: ClassVar[Any] = np.argmin


@register
class ArgMax(ArgExtreme):
    """The position of the first largest element along `axis`."""

    name: ClassVar[str] = "argmax"
    combine: ClassVar[str] = "argmax"
    numpy: ClassVar[Any] = np.argmax

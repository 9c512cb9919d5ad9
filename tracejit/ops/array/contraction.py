"""Products of elements of two arrays, summed over some axes, where places are linear in the axes.

y[n, o, h, w] = sum over c, i, j of x[n, c, h + i, w + j] * k[o, c, i, j]    for example

A matrix product is the simplest case; with overlapping windows it is a convolution, with strides,
dilation and groups as the coefficients say. Passes make it of products of views that BLAS could not
take before they were copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attrs
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.checks import array_of, c_array, only_attrs, sizes_attr, take
from tracejit.ops.samples import array

__all__ = ["Contract", "Places"]

#: For each axis of an operand: what is added to the sum of the loop axes times the coefficients.
Places: TypeAlias = tuple[tuple[Dim, tuple[Dim, ...]], ...]


def _by_package(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    """Both operands as views with the loop axes that they move along, and their product."""
    sizes = (*attrs["shape"], *attrs["summed"])
    ndim = len(attrs["shape"])
    if 0 in sizes:
        return (xp.zeros(attrs["shape"], x[0].dtype),)
    moved = [
        {k for _, steps in attrs[side] for k, c in enumerate(steps) if c != 0}
        for side in ("left", "right")
    ]
    # Along an axis of neither the first stands still.
    own = [
        [k for k in range(len(sizes)) if k in moved[0] or k not in moved[1]],
        sorted(moved[1]),
    ]
    operands: list[Any] = []
    for v, side, axes in zip(x, ("left", "right"), own, strict=True):
        first = v[tuple(slice(offset, None) for offset, _ in attrs[side])]
        steps = [
            sum(c[k] * s for (_, c), s in zip(attrs[side], v.strides, strict=True)) for k in axes
        ]
        view = xp.lib.stride_tricks.as_strided(first, [sizes[k] for k in axes], steps)
        operands += [view, axes]
    if attrs.get("wide"):
        operands[::2] = (v.astype("float64") for v in operands[::2])
    out = xp.einsum(*operands, list(range(ndim)), optimize=True)
    return (out.astype(x[0].dtype, copy=False),)


@register
class Contract(Op):
    """The sums over the axes `summed` of a[left] * b[right], of the sizes `shape`, in C order.

    `left` and `right` hold (offset, coefficients) for each axis of an operand: its index is the
    offset plus each loop axis, those of `shape` and then those of `summed`, times its coefficient.
    All of them lie inside the operand. With `wide` f32 is multiplied and added up in f64.
    """

    name: ClassVar[str] = "contract"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    sums: ClassVar[bool] = True
    by_package = staticmethod(_by_package)

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        only_attrs(self.name, attrs, "shape", "summed", "left", "right", optional=("wide",))
        require(type(attrs.get("wide", False)) is bool, "contract: wide must be a bool")
        a, b = (array_of(self.name, t) for t in inputs)
        require(a.dtype == b.dtype, f"contract: {a} and {b} are of two dtypes")
        require(a.dtype in (DTYPES["f32"], DTYPES["f64"]), f"contract has no rule for {a.dtype}")
        shape = sizes_attr(self.name, attrs, "shape")
        sizes = (*shape, *sizes_attr(self.name, attrs, "summed"))
        for t, places in ((a, attrs["left"]), (b, attrs["right"])):
            require(len(places) == t.ndim, f"contract: {places} are no places in {t}")
            for size, (offset, coefficients) in zip(t.shape, places, strict=True):
                require(len(coefficients) == len(sizes), f"contract: {coefficients} for {sizes}")
                _inside(offset, coefficients, sizes, size)
        return (ArrayType(a.dtype, shape),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        sizes = (*attrs["shape"], *attrs["summed"])
        operands: list[Any] = []
        dtype = np.float64 if attrs.get("wide") else inputs[0].dtype
        for x, places in zip(inputs, (attrs["left"], attrs["right"]), strict=True):
            axes = [k for k in range(len(sizes)) if any(c[k] for _, c in places)]
            grid = np.ogrid[tuple(slice(sizes[k]) for k in axes)]
            index = []
            for offset, coefficients in places:
                terms = (coefficients[k] * g for k, g in zip(axes, grid, strict=True))
                index.append(np.broadcast_to(offset + sum(terms), [sizes[k] for k in axes]))
            operands += [x[tuple(index)].astype(dtype), axes]
        ndim = len(attrs["shape"])
        # einsum knows an axis by an operand's alone: ones have those that neither depends on.
        operands += [np.ones(sizes, dtype), list(range(len(sizes)))]
        with np.errstate(all="ignore"):
            total = np.einsum(*operands, list(range(ndim)))
            return (c_array(np.asarray(total, inputs[0].dtype)),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in ("f32", "f64"):
            a, b = array(dtype, (3, 4)), array(dtype, (4, 5), "F")
            rows, inner, columns = (0, (1, 0, 0)), (0, (0, 0, 1)), (0, (0, 1, 0))
            attrs = {"shape": (3, 5), "summed": (4,)}
            out.append(([a, b], {**attrs, "left": (rows, inner), "right": (inner, columns)}))
            attrs = {"shape": (0, 5), "summed": (4,)}
            empty = {**attrs, "left": (rows, inner), "right": (inner, columns)}
            out.append(([array(dtype, (0, 4)), b], empty))
            attrs = {"shape": (3, 5), "summed": (0,)}
            out.append(([a, b], {**attrs, "left": (rows, inner), "right": (inner, columns)}))
            # Windows of three, two apart, the first of them last; then one of each of two channels.
            x, k = array(dtype, (9,)), array(dtype, (2, 3))
            windows, taps = ((2, (0, 2, -1)),), ((0, (1, 0, 0)), (0, (0, 0, 1)))
            attrs = {"shape": (2, 4), "summed": (3,)}
            out.append(([x, k], {**attrs, "left": windows, "right": taps}))
            channels = ((0, (1, 0, 0)), (0, (0, 1, 1)))
            attrs = {"shape": (2, 7), "summed": (3,)}
            operands = [array(dtype, (2, 9)), k]
            out.append((operands, {**attrs, "left": channels, "right": taps}))
            attrs = {"shape": (3, 5), "summed": (4,)}
            wide = {**attrs, "left": (rows, inner), "right": (inner, columns), "wide": True}
            out.append(([a, b], wide))
        return out


def _inside(offset: Dim, coefficients: Sequence[Dim], sizes: Sequence[Dim], size: Dim) -> None:
    ends = [c * (n - 1) for c, n in zip(coefficients, sizes, strict=True)]
    known = [e for e in ends if isinstance(e, int)]
    if len(known) < len(ends) or not isinstance(offset, int) or 0 in sizes:
        return
    first, last = (offset + sum(f(e, 0) for e in known) for f in (min, max))
    fits = first >= 0 and (not isinstance(size, int) or last < size)
    require(fits, f"contract: {first} to {last} are no places of {size}")

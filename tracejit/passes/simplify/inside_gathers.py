"""Gathers whose indices are certain to be in range, with indices that are sums of loop axes.

    gather(x, table of 0, 1, 2 + 0, 1, ..., n - 3)  ->  gather(x, iota + iota, inside=True)

A kernel then reads at an address that its loop variables tell, as in a view.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.passes.analysis.affine_places import LoopAxes, indexed

__all__ = ["inside_gather"]


def inside_gather(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """The gather as one that needs no checks; None where it is not certain that it is."""
    (source, *indices), out = node.inputs, node.outputs[0].type
    assert isinstance(source.type, ArrayType) and isinstance(out, ArrayType)
    axes = LoopAxes()
    names = [axes.add(n) for n in out.shape]
    found = indexed(indices, source.type, tuple(map(symbol, names)), axes, made)
    if found is None:
        return None
    plain = []
    for v, place in zip(indices, found, strict=False):
        form = axes.form(place)
        if form is None or not form[1].keys() <= set(names) or not isinstance(v.type, ArrayType):
            plain.append(v)
        else:
            plain.append(_sum_of_axes(builder, v.type, *form, names))
    attrs = {"checked": False, "inside": True}
    return builder.emit(node.op, (source, *plain), attrs, where=node.where)


def _sum_of_axes(
    builder: GraphBuilder, t: ArrayType, offset: Dim, factors: dict[str, Dim], names: Sequence[str]
) -> Value:
    """An array of whole numbers: the offset and the axes times their factors."""

    def whole(d: Dim) -> Value:
        if isinstance(d, int):
            attrs = {"value": d, "type": "i64"}
            return builder.emit(OPS["constant"], (), attrs)[0]
        (size,) = builder.emit(OPS["dim_value"], (), {"dim": d})
        return builder.one(OPS["np_scalar"], (size,), dtype="i64")

    total: Value | None = None
    for axis, name in enumerate(names[: t.ndim]):
        factor = factors.get(name, 0)
        if factor == 0:
            continue
        n = t.shape[axis]
        part = builder.one(OPS["iota"], (), size=n, dtype="i64")
        if factor != 1:
            times = builder.one(OPS["broadcast_to"], (whole(factor),), shape=(n,))
            part = builder.one(OPS["multiply"], (part, times))
        shape = tuple(n if k == axis else 1 for k in range(t.ndim))
        part = builder.one(OPS["reshape"], (part,), shape=shape)
        part = builder.one(OPS["broadcast_to"], (part,), shape=t.shape)
        total = part if total is None else builder.one(OPS["add"], (total, part))
    if total is None or offset != 0:
        first = builder.one(OPS["broadcast_to"], (whole(offset),), shape=t.shape)
        total = first if total is None else builder.one(OPS["add"], (total, first))
    return total

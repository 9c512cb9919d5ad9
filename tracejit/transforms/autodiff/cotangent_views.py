"""Contributions to views, as contributions to what they are views of.

    y = x[2:]; z = y[1:3]       z's cotangent is added to dx[3:5], not to a dy that is added to dx

A loop that reads single elements of x through views would else add up the whole of x each time.
"""

from __future__ import annotations

from collections.abc import Mapping

from tracejit.ir.derivatives import DerivativeBuilder, Into
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.rules.indexing import ItemInto
from tracejit.ops.rules.shape import SliceInto

__all__ = ["through_view"]


def through_view(
    c: DerivativeBuilder, name: str, attrs: Mapping[str, Attr], source: Type, out: Type, g: Into
) -> Into:
    """A contribution to the result of a view of something of type `source`, as one to that."""
    assert isinstance(source, ArrayType) and isinstance(out, ArrayType)
    if isinstance(g, SliceInto):
        found = _of_slice(c, name, attrs, source, out, g)
        if found is not None:
            return found
    if isinstance(g, ItemInto):
        item = _of_item(c, name, attrs, source, out, g)
        if item is not None:
            return item

    def add(c: DerivativeBuilder, whole: Value, v: Value) -> Value:
        if name == "reshape":
            return c.reshape(g.add(c, c.reshape(whole, out.shape), v), source.shape)
        if name == "transpose":
            axes = attrs["axes"]
            back = [axes.index(k) for k in range(len(axes))]
            return c.transpose(g.add(c, c.transpose(whole, axes), v), back)
        there = c.op("slice", whole, **attrs)
        return c.op("update_slice", whole, g.add(c, there, v), **attrs)

    return Into(g.value, add)


def _of_slice(
    c: DerivativeBuilder,
    name: str,
    attrs: Mapping[str, Attr],
    source: ArrayType,
    out: ArrayType,
    g: SliceInto,
) -> SliceInto | None:
    """A contribution to a slice of a view as one to a slice of its source, where there is one."""
    parts = list(zip(g.attrs["start"], g.attrs["size"], g.attrs["step"], strict=True))
    if name == "slice":
        outer = zip(attrs["start"], attrs["step"], strict=True)
        pairs = zip(outer, parts, strict=True)
        return _slice(g.value, [(a + b * s, n, s * t) for (a, s), (b, n, t) in pairs])
    if name == "transpose":
        axes = attrs["axes"]
        back = [axes.index(k) for k in range(len(axes))]
        return _slice(c.transpose(g.value, back), [parts[k] for k in back])
    wide = [k for k, n in enumerate(out.shape) if n != 1]
    if [out.shape[k] for k in wide] != [n for n in source.shape if n != 1] or attrs.get("assume"):
        return None
    if any(parts[k][1] != 1 for k, n in enumerate(out.shape) if n == 1):
        return None
    given = iter([parts[k] for k in wide])
    new = [next(given) if n != 1 else (0, 1, 1) for n in source.shape]
    return _slice(c.reshape(g.value, tuple(n for _, n, _ in new)), new)


def _of_item(
    c: DerivativeBuilder,
    name: str,
    attrs: Mapping[str, Attr],
    source: ArrayType,
    out: ArrayType,
    g: ItemInto,
) -> ItemInto | None:
    """A contribution to a subarray of a view as one to its source's, where the view is of whole
    axes but for those that it takes one place of, or drops such an axis.
    """
    if name == "slice":
        indices = list(g.indices)
        parts = zip(attrs["start"], attrs["size"], attrs["step"], source.shape, strict=True)
        for k, (start, size, step, n) in enumerate(parts):
            if (start, size, step) == (0, n, 1):
                continue
            if k >= len(indices) or size != 1 or indices[k] is not None:
                return None
            indices[k] = c.size(start, DTYPES["i64"])
        return ItemInto(g.value, indices, g.attrs)
    if name != "reshape" or attrs.get("assume"):
        return None
    # Axes of the source that are none of the view's have one place.
    left, indices = list(out.shape), []
    taken = 0
    for n in source.shape:
        if left and left[0] == n:
            left.pop(0)
            indices.append(g.indices[taken])
            taken += 1
        elif n == 1:
            indices.append(None)
        else:
            return None
        if taken == len(g.indices):
            break
    else:
        return None
    rest = source.shape[len(indices) :]
    if [n for n in rest if n != 1] != [n for n in left if n != 1]:
        return None
    return ItemInto(c.reshape(g.value, rest), indices, g.attrs)


def _slice(value: Value, parts: list[tuple[Attr, Attr, Attr]]) -> SliceInto:
    start, size, step = (tuple(x) for x in zip(*parts, strict=True)) if parts else ((), (), ())
    return SliceInto(value, {"start": start, "size": size, "step": step})

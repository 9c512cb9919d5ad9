"""Contributions to views, as contributions to what they are views of.

    y = x[2:]; z = y[1:3]       z's cotangent is added to dx[3:5], not to a dy that is added to dx

A loop that reads single elements of x through views would else add up the whole of x each time.
"""

from __future__ import annotations

from collections.abc import Mapping

from tracejit.ir.derivatives import DerivativeBuilder, Into
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import ArrayType, Type
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


def _slice(value: Value, parts: list[tuple[Attr, Attr, Attr]]) -> SliceInto:
    start, size, step = (tuple(x) for x in zip(*parts, strict=True)) if parts else ((), (), ())
    return SliceInto(value, {"start": start, "size": size, "step": step})

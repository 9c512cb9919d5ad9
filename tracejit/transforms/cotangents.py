"""The cotangents of a block's values as they add up.

    z = u[2:] + u[:-2]      pulled back:    du[2:] += dz; du[:-2] += dz

What is added to slices of one array that overlap, shifted along one axis, waits until the sum is
read: then their common part is added in one pass over memory, and what sticks out at both ends of
each by itself.

    du[2:-2] += dz[:-2] + dz[2:]; du[-2:] += dz[-2:]; du[:2] += dz[:2]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.ir.calculus import Calculus, Into, Zeroed
from tracejit.ir.graph import Value
from tracejit.ops.shape_calculus import SliceInto, add_slice, slice_of

__all__ = ["Cotangents"]

#: More contributions than these do not wait for each other.
_MOST = 12


class Cotangents:
    """The cotangents by value; those that have been read or given are complete."""

    def __init__(self, c: Calculus) -> None:
        self.c = c
        self._sums: dict[Value, Value | Zeroed] = {}
        self._waiting: dict[Value, list[SliceInto]] = {}

    def __setitem__(self, v: Value, g: Value) -> None:
        self._waiting.pop(v, None)
        self._sums[v] = g

    def has(self, v: Value) -> bool:
        """Whether anything has been added to the cotangent of a value."""
        return v in self._sums

    def get(self, v: Value, default: Any = None) -> Any:
        """The cotangent of a value, or `default`."""
        self._add_up(v)
        found = self._sums.get(v, default)
        if isinstance(found, Zeroed):
            found = self._sums[v] = found.made(self.c)
        return found

    def pop(self, v: Value, default: Any = None) -> Any:
        """The cotangent of a value, or `default`; it is zero from now on."""
        found = self.get(v, default)
        self._sums.pop(v, None)
        return found

    def add(self, v: Value, g: Value | Into | Zeroed, zero: Value | None) -> None:
        """Add to the cotangent of `v`; `zero` is its zero, where there is no sum so far."""
        if isinstance(g, Zeroed):
            if v not in self._sums:
                self._sums[v] = g
                return
            g = g.made(self.c)
        if isinstance(g, SliceInto) and _may_wait(g):
            if zero is not None:
                self._sums[v] = zero
            waiting = self._waiting.setdefault(v, [])
            waiting.append(g)
            if len(waiting) >= _MOST:
                self._add_up(v)
            return
        self._add_up(v)
        have = self._sums.get(v)
        if isinstance(have, Zeroed) and isinstance(g, SliceInto) and have.attrs == g.attrs:
            self._sums[v] = _put_back(self.c, have, g)
            return
        have = self.get(v, zero)
        if isinstance(g, Into):
            self._sums[v] = g.add(self.c, have, g.value)
        else:
            self._sums[v] = g if have is None else self.c.add(have, g)

    def _add_up(self, v: Value) -> None:
        waiting = self._waiting.pop(v, None)
        if waiting is None:
            return
        whole = self._sums[v]
        if isinstance(whole, Zeroed):
            same = [g for g in waiting if g.attrs == whole.attrs]
            known = [g for g in same if g.value is whole.read]
            for g in (known or same)[:1]:
                waiting.remove(g)
                assert isinstance(whole, Zeroed)
                whole = _put_back(self.c, whole, g)
        for axis, group in _groups(waiting):
            whole = _add_group(self.c, whole, axis, group)
        self._sums[v] = whole


def _put_back(c: Calculus, whole: Zeroed, g: SliceInto) -> Value:
    """What has been set to zero, with what is added there; that may be what was there before, as
    for u in u[1:] += x.
    """
    if g.value is whole.read:
        return whole.whole
    return c.op("update_slice", whole.whole, g.value, **g.attrs)


def _may_wait(g: SliceInto) -> bool:
    """Whether a contribution is to several elements at places that are known, one after another."""
    size, start = g.attrs["size"], g.attrs["start"]
    known = all(type(d) is int for d in (*size, *start))
    return known and max(size, default=1) > 1 and all(k == 1 for k in g.attrs["step"])


def _groups(waiting: list[SliceInto]) -> Iterator[tuple[int, list[SliceInto]]]:
    """Contributions of one size whose slices overlap, shifted along one axis: (axis, group)."""
    rest = list(waiting)
    while rest:
        first = rest[0]
        best: tuple[int, list[SliceInto]] = (0, [first])
        for axis in range(len(first.attrs["size"])):
            group = [g for g in rest if _shifted(first, g, axis)]
            if len(group) > len(best[1]):
                best = axis, group
        rest = [g for g in rest if all(g is not other for other in best[1])]
        yield best


def _shifted(a: SliceInto, b: SliceInto, axis: int) -> bool:
    """Whether two slices differ only by a shift of less than half their size along an axis."""
    if a.attrs["size"] != b.attrs["size"]:
        return False
    pairs = list(zip(a.attrs["start"], b.attrs["start"], strict=True))
    same = all(x == y for k, (x, y) in enumerate(pairs) if k != axis)
    x, y = pairs[axis]
    return same and 2 * abs(x - y) < a.attrs["size"][axis]


def _add_group(c: Calculus, whole: Value | Zeroed, axis: int, group: list[SliceInto]) -> Value:
    if len(group) == 1:
        whole = whole.made(c) if isinstance(whole, Zeroed) else whole
        return add_slice(group[0].attrs, c, whole, group[0].value)
    starts = [g.attrs["start"][axis] for g in group]
    size = group[0].attrs["size"][axis]
    low, high = max(starts), min(starts) + size
    total: Value | None = None
    for g, start in zip(group, starts, strict=True):
        part = _part(c, g.value, axis, low - start, high - start)
        total = part if total is None else c.add(total, part)
    assert total is not None
    whole = _add_common(c, whole, axis, _within(group[0].attrs, axis, low, high), total)
    for g, start in zip(group, starts, strict=True):
        for first, last in ((start, low), (high, start + size)):
            if first < last:
                part = _part(c, g.value, axis, first - start, last - start)
                whole = add_slice(_within(g.attrs, axis, first, last), c, whole, part)
    return whole


def _add_common(
    c: Calculus, whole: Value | Zeroed, axis: int, attrs: dict[str, Any], total: Value
) -> Value:
    """Add `total` to a slice, which need not be set to zero first."""
    if not isinstance(whole, Zeroed):
        return add_slice(attrs, c, whole, total)
    zero = whole.attrs
    (first, last), (a, b) = (
        (x["start"][axis], x["start"][axis] + x["size"][axis]) for x in (zero, attrs)
    )
    known = all(type(d) is int for d in (*zero["start"], *zero["size"]))
    if (
        not known
        or _within(attrs, axis, 0, 0) != _within(zero, axis, 0, 0)
        or a < first
        or b > last
    ):
        return add_slice(attrs, c, whole.made(c), total)
    out = whole.whole
    for start, end in ((first, a), (b, last)):
        if start < end:
            out = Zeroed(out, _within(zero, axis, start, end), None).made(c)
    return c.op("update_slice", out, total, **attrs)


def _part(c: Calculus, v: Value, axis: int, first: int, last: int) -> Value:
    """The elements of an array from `first` to `last`, not included, along an axis."""
    shape = v.type.shape  # type: ignore[union-attr]
    start = [0] * len(shape)
    start[axis], size = first, list(shape)
    size[axis] = last - first
    return slice_of(c, v, tuple(start), tuple(size))


def _within(attrs: dict[str, Any], axis: int, first: int, last: int) -> dict[str, Any]:
    """The attributes of the part of a slice from `first` to `last` along an axis of the whole."""
    start, size = list(attrs["start"]), list(attrs["size"])
    start[axis], size[axis] = first, last - first
    return {"start": tuple(start), "size": tuple(size), "step": attrs["step"]}

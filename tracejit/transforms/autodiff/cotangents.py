"""The cotangents of a block's values as they add up.

    z = u[2:] + u[:-2]      pulled back:    du[2:] += dz; du[:-2] += dz

What is added to slices of one array that overlap, shifted along one axis, waits until the sum is
read: then their common part is added in one pass over memory, and what sticks out at both ends of
each by itself.

    du[2:-2] += dz[:-2] + dz[2:]; du[-2:] += dz[-2:]; du[:2] += dz[:2]

Where arrays are large, so do common parts that overlap, as of shifts along other axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import prod
from typing import Any

from tracejit.ir.derivatives import DerivativeBuilder, Into, Zeroed
from tracejit.ir.graph import Value
from tracejit.ops.rules.shape import SliceInto, add_slice, slice_of

__all__ = ["Cotangents"]

#: Contributions that overlap, shifted along an axis.
_Group = tuple[int, list[SliceInto]]

#: More contributions than these do not wait for each other.
_MOST = 12
#: Elements from which on a pass over memory takes longer than a few more pieces.
_LARGE = 1 << 13

Attrs = dict[str, Any]


class Cotangents:
    """The cotangents by value; those that have been read or given are complete."""

    def __init__(self, c: DerivativeBuilder) -> None:
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
        self.add_up(v)
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
                self.add_up(v)
            return
        self.add_up(v)
        have = self._sums.get(v)
        if isinstance(have, Zeroed) and isinstance(g, SliceInto) and have.attrs == g.attrs:
            self._sums[v] = _put_back(self.c, have, g)
            return
        have = self.get(v, zero)
        if isinstance(g, Into):
            self._sums[v] = g.add(self.c, have, g.value)
        else:
            self._sums[v] = g if have is None else self.c.add(have, g)

    def add_up(self, v: Value) -> None:
        """Add what waits to the cotangent of a value; what is zero may be written later."""
        waiting = self._waiting.pop(v, None)
        if waiting is None:
            return
        whole = self._sums[v]
        groups = list(_groups(waiting))
        if isinstance(whole, Zeroed):
            whole, groups = self._first(whole, waiting, groups)
        for cluster in _clusters(groups):
            whole = _add_cluster(self.c, whole, cluster)
        self._sums[v] = whole

    def _first(
        self, whole: Zeroed, waiting: list[SliceInto], groups: list[_Group]
    ) -> tuple[Value | Zeroed, list[_Group]]:
        """What costs least to begin with, and the groups that are left: what was there before, or a
        group that fills most of the zeros, or a slice that fills them all.
        """
        same = [g for g in waiting if g.attrs == whole.attrs]
        known = [g for g in same if g.value is whole.read]
        if not known:
            wide = [x for x in groups if len(x[1]) > 1 and any(g in x[1] for g in same)]
            if wide:
                return whole, [*wide, *(x for x in groups if x not in wide)]
        for g in (known or same)[:1]:
            waiting.remove(g)
            return _put_back(self.c, whole, g), list(_groups(waiting))
        return whole, groups


def _put_back(c: DerivativeBuilder, whole: Zeroed, g: SliceInto) -> Value:
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


def _add_group(
    c: DerivativeBuilder, whole: Value | Zeroed, axis: int, group: list[SliceInto]
) -> Value:
    if len(group) == 1:
        whole = whole.made(c) if isinstance(whole, Zeroed) else whole
        return add_slice(group[0].attrs, c, whole, group[0].value)
    common = _core(group)
    whole = _add_common(c, whole, common, _total(c, group, common))
    return _add_ends(c, whole, group)


def _add_ends(c: DerivativeBuilder, whole: Value, group: list[SliceInto]) -> Value:
    """Add what sticks out of the common part of a group."""
    common = _core(group)
    for g in group:
        for box in _rest(g.attrs, common):
            whole = add_slice(box, c, whole, _inside(c, g, box))
    return whole


def _add_cluster(c: DerivativeBuilder, whole: Value | Zeroed, cluster: list[_Group]) -> Value:
    """Add groups whose common parts overlap: where all do in one pass, then what sticks out."""
    if len(cluster) == 1:
        return _add_group(c, whole, *cluster[0])
    cores = [_core(group) for _, group in cluster]
    common = reduce(_overlap, cores)
    everything = [g for _, group in cluster for g in group]
    whole = _add_common(c, whole, common, _total(c, everything, common))
    for core, (_, group) in zip(cores, cluster, strict=True):
        for box in _rest(core, common):
            whole = add_slice(box, c, whole, _total(c, group, box))
        whole = _add_ends(c, whole, group)
    return whole


def _clusters(groups: list[_Group]) -> list[list[_Group]]:
    """Groups of which most of each common part, and much, is common to all."""
    found: list[tuple[Attrs, int, list[_Group]]] = []
    for group in groups:
        core = _core(group[1])
        for k, (common, most, members) in enumerate(found):
            both, larger = _overlap(common, core), max(most, _count(core))
            if _LARGE <= _count(both) and larger < 2 * _count(both):
                found[k] = both, larger, [*members, group]
                break
        else:
            found.append((core, _count(core), [group]))
    return [members for _, _, members in found]


def _core(group: list[SliceInto]) -> Attrs:
    """The common part of a group, as the attributes of a slice."""
    return reduce(_overlap, (g.attrs for g in group))


def _overlap(a: Attrs, b: Attrs) -> Attrs:
    """The slice of what lies in two slices of step 1; of size 0 where nothing does."""
    start = [max(x, y) for x, y in zip(a["start"], b["start"], strict=True)]
    ends = (min(x, y) for x, y in zip(_ends(a), _ends(b), strict=True))
    size = [max(end - first, 0) for first, end in zip(start, ends, strict=True)]
    return {"start": tuple(start), "size": tuple(size), "step": a["step"]}


def _ends(attrs: Attrs) -> list[int]:
    return [first + n for first, n in zip(attrs["start"], attrs["size"], strict=True)]


def _count(attrs: Attrs) -> int:
    """The number of elements of a slice."""
    return prod(attrs["size"])


def _rest(attrs: Attrs, common: Attrs) -> Iterator[Attrs]:
    """Disjoint slices of what a slice has beside a part of it, which has elements."""
    for axis, (low, high) in enumerate(zip(common["start"], _ends(common), strict=True)):
        start, end = attrs["start"][axis], _ends(attrs)[axis]
        for first, last in ((start, low), (high, end)):
            if first < last:
                yield _within(attrs, axis, first, last)
        attrs = _within(attrs, axis, low, high)


def _total(c: DerivativeBuilder, group: list[SliceInto], box: Attrs) -> Value:
    """The sum of what is added to a slice that lies in all slices of a group."""
    first, *rest = (_inside(c, g, box) for g in group)
    return reduce(c.add, rest, first)


def _inside(c: DerivativeBuilder, g: SliceInto, box: Attrs) -> Value:
    """What a contribution adds to a slice that lies in its own."""
    start = tuple(x - y for x, y in zip(box["start"], g.attrs["start"], strict=True))
    return slice_of(c, g.value, start, box["size"])


def _add_common(c: DerivativeBuilder, whole: Value | Zeroed, attrs: Attrs, total: Value) -> Value:
    """Add `total` to a slice, which need not be set to zero first."""
    if not isinstance(whole, Zeroed):
        return add_slice(attrs, c, whole, total)
    zero = whole.attrs
    known = all(type(d) is int for d in (*zero["start"], *zero["size"]))
    if not known or any(k != 1 for k in zero["step"]) or _overlap(zero, attrs) != attrs:
        return add_slice(attrs, c, whole.made(c), total)
    out = whole.whole
    for box in _rest(zero, attrs):
        out = Zeroed(out, box, None).made(c)
    return c.op("update_slice", out, total, **attrs)


def _within(attrs: Attrs, axis: int, first: int, last: int) -> Attrs:
    """The attributes of the part of a slice from `first` to `last` along an axis of the whole."""
    start, size = list(attrs["start"]), list(attrs["size"])
    start[axis], size[axis] = first, last - first
    return {"start": tuple(start), "size": tuple(size), "step": attrs["step"]}

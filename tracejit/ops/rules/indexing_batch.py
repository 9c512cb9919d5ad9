"""Batching rules of reads and writes at computed places: the lane is one more index.

gather(x, i) of x f64[b, n, m], i i64[b, k]   ->  gather(x, lane, i), lane[j, :] = j
gather(x, i) of x f64[b, n, m], i i64[k]      ->  gather(x with n in front, i), b in front again
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracejit.ir.batching import lane_numbers, stretched
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import DTYPES, shape_of

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchSite
    from tracejit.ir.calculus import Calculus

__all__ = ["batched_gather", "batched_read", "batched_scatter", "batched_write"]


def _indices(
    c: Calculus, s: BatchSite, indices: Sequence[Value], batched: Sequence[bool]
) -> list[Value]:
    """Index operands as i64[size, *their shape]."""
    pairs = zip(indices, batched, strict=True)
    return [v if flag else stretched(c, v, s.size) for v, flag in pairs]


def _gather(
    c: Calculus,
    s: BatchSite,
    indices: Sequence[Value],
    batched: Sequence[bool],
    attrs: dict[str, Any],
) -> Value:
    """Operand 0 at indices: f[size, *shape of an index, *axes without index]."""
    x = s.values[0]
    if any(batched):
        places = _indices(c, s, indices, batched)
        if s.batched[0]:
            places = [lane_numbers(c, s.size, shape_of(places[0].type)[1:]), *places]
        return c.op("gather", x, *places, **attrs)
    count, ndim = len(indices), len(shape_of(x.type))
    x = c.transpose(x, (*range(1, count + 1), 0, *range(count + 1, ndim)))
    out = c.op("gather", x, *indices, **attrs)
    lead = len(shape_of(indices[0].type))
    rest = range(lead + 1, len(shape_of(out.type)))
    return c.transpose(out, (lead, *range(lead), *rest))


def batched_gather(c: Calculus, s: BatchSite) -> Value:
    """The rule of `gather`."""
    return _gather(c, s, s.values[1:], s.batched[1:], dict(s.attrs))


def batched_scatter(c: Calculus, s: BatchSite, name: str) -> Value:
    """The rule of `scatter` and `scatter_apply`: lane after lane, so the order of writes stays."""
    places = _indices(c, s, s.values[2:], s.batched[2:])
    lane = lane_numbers(c, s.size, shape_of(places[0].type)[1:])
    return c.op(name, s.whole(0), s.whole(1), lane, *places, **s.attrs)


def _places(c: Calculus, s: BatchSite, first: int) -> tuple[list[Value], list[bool]]:
    """For each axis of a lane its index, and whether it has the batch axis.

    The index operands begin with number `first`; `at` has the other places.
    """
    rest = iter(zip(s.values[first:], s.batched[first:], strict=True))
    out: list[Value] = []
    flags: list[bool] = []
    for d in s.attrs["at"]:
        v, flag = next(rest) if d is None else (c.size(d, DTYPES["i64"]), False)
        out.append(v)
        flags.append(flag)
    return out, flags


def _how(s: BatchSite) -> dict[str, Any]:
    return {k: v for k, v in s.attrs.items() if k in ("checked", "distinct")}


def batched_read(c: Calculus, s: BatchSite) -> Value:
    """The rule of `read_item`: the element of each lane, a vector."""
    if not s.attrs["at"]:
        return s.values[0]
    indices, batched = _places(c, s, 1)
    return _gather(c, s, indices, batched, _how(s))


def batched_write(c: Calculus, s: BatchSite) -> Value:
    """The rule of `write_item`."""
    x, v, at = s.whole(0), s.whole(1), s.attrs["at"]
    if None not in at:
        ones: tuple[Dim, ...] = (1,) * len(at)
        v = c.reshape(v, (s.size, *ones))
        attrs = {"start": (0, *at), "size": (s.size, *ones), "step": (1, *ones)}
        return c.op("update_slice", x, v, **attrs)
    indices, batched = _places(c, s, 2)
    places = _indices(c, s, indices, batched)
    return c.op("scatter", x, v, lane_numbers(c, s.size, ()), *places, **_how(s))

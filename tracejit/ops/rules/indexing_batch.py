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
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["batched_gather", "batched_read", "batched_scatter", "batched_write"]


def _indices(
    c: DerivativeBuilder, at: BatchAdaptor, indices: Sequence[Value], batched: Sequence[bool]
) -> list[Value]:
    """Index operands as i64[size, *their shape]."""
    pairs = zip(indices, batched, strict=True)
    return [v if flag else stretched(c, v, at.size) for v, flag in pairs]


def _gather(
    c: DerivativeBuilder,
    at: BatchAdaptor,
    indices: Sequence[Value],
    batched: Sequence[bool],
    attrs: dict[str, Any],
) -> Value:
    """Operand 0 at indices: f[size, *shape of an index, *axes without index]."""
    x = at.values[0]
    if any(batched):
        places = _indices(c, at, indices, batched)
        if at.batched[0]:
            places = [lane_numbers(c, at.size, shape_of(places[0].type)[1:]), *places]
        return c.op("gather", x, *places, **attrs)
    count, ndim = len(indices), len(shape_of(x.type))
    x = c.transpose(x, (*range(1, count + 1), 0, *range(count + 1, ndim)))
    out = c.op("gather", x, *indices, **attrs)
    lead = len(shape_of(indices[0].type))
    rest = range(lead + 1, len(shape_of(out.type)))
    return c.transpose(out, (lead, *range(lead), *rest))


def batched_gather(c: DerivativeBuilder, at: BatchAdaptor) -> Value:
    """The rule of `gather`."""
    return _gather(c, at, at.values[1:], at.batched[1:], dict(at.attrs))


def batched_scatter(c: DerivativeBuilder, at: BatchAdaptor, name: str) -> Value:
    """The rule of `scatter` and `scatter_apply`: lane after lane, so the order of writes stays."""
    places = _indices(c, at, at.values[2:], at.batched[2:])
    lane = lane_numbers(c, at.size, shape_of(places[0].type)[1:])
    return c.op(name, at.whole(0), at.whole(1), lane, *places, **at.attrs)


def _places(c: DerivativeBuilder, at: BatchAdaptor, first: int) -> tuple[list[Value], list[bool]]:
    """For each axis of a lane its index, and whether it has the batch axis.

    The index operands begin with number `first`; `at` has the other places.
    """
    rest = iter(zip(at.values[first:], at.batched[first:], strict=True))
    out: list[Value] = []
    flags: list[bool] = []
    for d in at.attrs["at"]:
        v, flag = next(rest) if d is None else (c.size(d, DTYPES["i64"]), False)
        out.append(v)
        flags.append(flag)
    return out, flags


def _how(at: BatchAdaptor) -> dict[str, Any]:
    return {k: v for k, v in at.attrs.items() if k in ("checked", "distinct")}


def batched_read(c: DerivativeBuilder, at: BatchAdaptor) -> Value:
    """The rule of `read_item`: the element of each lane, a vector."""
    if not at.attrs["at"]:
        return at.values[0]
    indices, batched = _places(c, at, 1)
    return _gather(c, at, indices, batched, _how(at))


def batched_write(c: DerivativeBuilder, at: BatchAdaptor) -> Value:
    """The rule of `write_item`."""
    x, v, chosen = at.whole(0), at.whole(1), at.attrs["at"]
    if None not in chosen:
        ones: tuple[Dim, ...] = (1,) * len(chosen)
        v = c.reshape(v, (at.size, *ones))
        attrs = {"start": (0, *chosen), "size": (at.size, *ones), "step": (1, *ones)}
        return c.op("update_slice", x, v, **attrs)
    indices, batched = _places(c, at, 2)
    places = _indices(c, at, indices, batched)
    return c.op("scatter", x, v, lane_numbers(c, at.size, ()), *places, **_how(at))

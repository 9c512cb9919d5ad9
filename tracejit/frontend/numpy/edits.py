"""Arrays with elements inserted or deleted along an axis: joins of what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.creation import array, filled
from tracejit.frontend.numpy.join import along, concatenate
from tracejit.frontend.numpy.memory_orders import in_order_of
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.shape import moveaxis, ravel
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line
from tracejit.ir.dims import Dim

__all__: list[str] = []

#: In front of so many places at most are elements inserted one by one.
_FEW = 8


@handles(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The array with new elements in front of places along an axis, which are known."""
    x = asarray(arr)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    n = x.type.shape[axis]
    places = [_counted(k, n) for k in _places(obj)]
    if len(places) > 1:
        return _inserted(x, places, values, axis)
    if places[0] is None:
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
    new = array(values, x.dtype, ndmin=x.ndim)
    if not isinstance(obj, (list, tuple)):
        new = moveaxis(new, 0, axis)
    cut = unwrap(places[0], here().env)
    block = _stored(x, new, new.type.shape[axis], axis)
    parts = [along(x, axis, slice(None, cut)), block, along(x, axis, slice(cut, None))]
    return in_order_of(asarray(concatenate(parts, axis)), x)


def _places(obj: Any) -> Sequence[Any]:
    """The places that are given as ints. Raises TraceError for others."""
    places = obj if isinstance(obj, (list, tuple)) else (obj,)
    if not 0 < len(places) <= _FEW or any(not _is_known(k) for k in places):
        raise TraceError("TJ004", "np.insert at places that are not known", user_line())
    return places


def _is_known(k: Any) -> bool:
    if isinstance(k, SymInt):
        return here().env.is_known(k.dim)
    return type(k) is int or isinstance(k, np.signedinteger)


def _counted(k: Any, n: Dim) -> Dim | None:
    """A place counted from the beginning of an axis of `n` elements; None where there is none."""
    env, place = here().env, as_dim(k)
    if not env.is_known(n):
        raise TraceError("TJ004", "np.insert along an axis of unknown size", user_line())
    if env.decide(place, "<", 0):
        place = place + n
    return None if env.decide(place, "<", 0) or env.decide(n, "<", place) else place


def _inserted(x: TracedArray, places: list[Dim | None], values: Any, axis: int) -> Any:
    """`x` with one element of values in front of each place, in their order where places agree."""
    env = here().env
    order: list[tuple[Dim, int]] = []
    for j, place in enumerate(places):
        if place is None:
            raise TraceError("TJ004", "np.insert out of bounds", user_line())
        behind = len(order)
        while behind and env.decide(place, "<", order[behind - 1][0]):
            behind -= 1
        order.insert(behind, (place, j))
    block = _stored(x, values, len(places), axis)
    parts: list[Any] = []
    last: Any = 0
    for place, j in order:
        cut = unwrap(place, env)
        parts += [along(x, axis, slice(last, cut)), along(block, axis, slice(j, j + 1))]
        last = cut
    return in_order_of(asarray(concatenate([*parts, along(x, axis, slice(last, None))], axis)), x)


def _stored(x: TracedArray, values: Any, count: Dim, axis: int) -> TracedArray:
    """An array like `x`, with `count` elements along an axis, into which values are stored."""
    shape = x.type.shape
    block = filled((*shape[:axis], count, *shape[axis + 1 :]), 0, x.dtype)
    block[...] = values
    return block

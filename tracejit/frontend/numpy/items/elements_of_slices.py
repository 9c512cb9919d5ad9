"""Elements of slices of arrays that a loop stores into: they are those of the array itself.

    v = x[2:]; v[i]    ->    x[2 + i], for 0 <= i < len(v)

Otherwise each iteration would read the whole slice anew, and store all of it for one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.numpy.items.keys import int64_constant, int64_of
from tracejit.frontend.tracing.memory.storage import Storage, ViewStep
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, lift, number_of, wrap
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import dtype_of

__all__ = ["of_whole", "proved_place"]

#: Along an axis of the array: where its slice begins, its step, and its length.
_Part = tuple[Dim, int, Dim]


def of_whole(x: TracedArray, key: Any, stores: bool = False) -> tuple[TracedArray, Any]:
    """An array and a key for the same element where `x[key]` is one of a slice; else the same."""
    keys = key if isinstance(key, tuple) else (key,)
    if not x.views or len(keys) != x.ndim or not all(map(_is_number, keys)):
        return x, key
    if not _is_carried(x.storage) or stores and any(not view.writeable for view in x.views):
        return x, key
    t: Any = x.storage.value.type
    parts = _parts(t.shape, x.views)
    if parts is None:
        return x, key
    moved = [_moved(k, part, n) for k, part, n in zip(keys, parts, t.shape, strict=True)]
    return TracedArray(here(), x.storage), tuple(moved)


def _is_number(k: Any) -> bool:
    if isinstance(k, TracedScalar):
        return dtype_of(k.type).kind in "iu" and dtype_of(k.type).name != "uint64"
    return type(k) is int or isinstance(k, (SymInt, np.integer))


def _is_carried(storage: Storage) -> bool:
    """Whether a loop or branch around this place has stored into memory from outside it."""
    trace: Any = here()
    while trace is not None and trace is not storage.trace:
        if storage in trace.stored:
            return True
        trace = trace.parent
    return False


def _parts(shape: tuple[Dim, ...], views: Sequence[ViewStep]) -> list[_Part] | None:
    """What views show of an array of a shape, axis by axis; None for views that are no slices."""
    parts: list[_Part] = [(0, 1, n) for n in shape]
    for view in views:
        attrs: Any = view.attrs
        lengths = tuple(n for _, _, n in parts)
        if view.op == "slice":
            new = zip(parts, attrs["start"], attrs["step"], attrs["size"], strict=True)
            parts = [(s + a * p, p * q, n) for (s, p, _), a, q, n in new]
        elif view.op != "reshape" or attrs["shape"] != lengths:
            return None
    return parts


def _moved(k: Any, part: _Part, whole: Dim) -> Any:
    """The number along an axis of the array of element `k` of its slice.

    One that is not in the slice is not in the array either.
    """
    (start, step, n), env = part, here().env
    if part == (0, 1, whole):
        return k
    if not isinstance(k, TracedScalar):
        known = proved_place(as_dim(k if isinstance(k, SymInt) else int(k)), n, env)
        if known is not None:
            return unwrap(start + known * step, env)
    trace = here()
    i, length = int64_of(lift(k)), int64_of(number_of(trace, n))
    zero, from_end = int64_constant(0), trace.emit("add", (i, length))
    i = trace.emit("select", (trace.emit("less", (i, zero)), from_end, i))
    place = trace.emit("add", (trace.emit("multiply", (i, int64_constant(step))), _at(start)))
    low, high = trace.emit("greater_equal", (i, zero)), trace.emit("less", (i, length))
    there = trace.emit("bitwise_and", (low, high))
    return wrap(trace, trace.emit("select", (there, place, _at(whole))))


def proved_place(i: Dim, n: Dim, env: ShapeEnv) -> Dim | None:
    """A number, counted from the beginning, that is proved to be one of `n` elements; or None."""
    for shift in (0, n):
        if env.proved(0, "<=", i + shift) and env.proved(i + shift, "<", n):
            return i + shift
    return None


def _at(d: Dim) -> Value:
    return int64_of(number_of(here(), d))

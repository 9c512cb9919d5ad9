"""Which server has which parameters: whole arrays, large ones by rows, as many bytes for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.dist.replicas.sharded import owners

__all__ = ["Plan", "Span", "joined", "part", "planned"]

#: Arrays of fewer bytes are not cut.
_SMALLEST = 4096


@dataclass(frozen=True)
class Span:
    """The rows from `start` to `stop` of the leaf of a number; without a `stop`, all of it."""

    leaf: int
    start: int = 0
    stop: int | None = None

    def of(self, x: Any) -> Any:
        """This part of an array, as a view."""
        return x if self.stop is None else x[self.start : self.stop]


#: By server: its spans. All leaves are in them, each number once.
Plan = tuple[tuple[Span, ...], ...]


def planned(arrays: Sequence[Any], count: int, whole: bool = False) -> Plan:
    """The spans of `count` servers, the same wherever shapes and dtypes are.

    What is larger than an eighth of a server's share is cut by rows, into as many parts as there
    are servers, or rows; all goes, the largest first, to who has the least. So no server has more
    than an eighth, and a row of each that is cut, above its share. With `whole` nothing is cut, and
    each server has something, as `owners` says.
    """
    if count == 1:
        return (tuple(Span(k) for k in range(len(arrays))),)
    sizes = [x.nbytes for x in arrays]
    found: list[list[Span]] = [[] for _ in range(count)]
    if whole:
        for k, owner in enumerate(owners(sizes, count)):
            found[owner].append(Span(k))
        return tuple(map(tuple, found))
    least = max(_SMALLEST, sum(sizes) / (8 * count))
    held = [0] * count
    for k in sorted(range(len(arrays)), key=lambda k: (-sizes[k], k)):
        x = arrays[k]
        parts = min(count, len(x)) if sizes[k] > least else 1
        ends = [len(x) * j // parts for j in range(parts + 1)] if parts > 1 else []
        spans = [Span(k, *ends[j : j + 2]) for j in range(parts)]
        # Each part goes to another server.
        for span, owner in zip(spans, sorted(range(count), key=held.__getitem__), strict=False):
            found[owner].append(span)
            held[owner] += max(span.of(x).nbytes, 1)
    return tuple(tuple(sorted(mine, key=lambda s: s.leaf)) for mine in found)


def part(span: Span, gradient: Any) -> Any:
    """What a gradient has for a span: of an array a view, of `[rows, values, shape]` those rows,
    in their order, counted from the span's first.
    """
    if span.stop is None:
        return gradient
    if isinstance(gradient, np.ndarray):
        return span.of(gradient)
    rows, values, shape = gradient
    mine = (rows >= span.start) & (rows < span.stop)
    return [rows[mine] - span.start, values[mine], [span.stop - span.start, *shape[1:]]]


def joined(plan: Plan, found: Sequence[Sequence[Any]], count: int) -> list[Any]:
    """The `count` leaves of what servers have answered, each for its spans: arrays, or rows with
    their values.
    """
    pieces: list[list[Any]] = [[] for _ in range(count)]
    for spans, answers in zip(plan, found, strict=True):
        for span, answer in zip(spans, answers, strict=True):
            pieces[span.leaf].append((span, answer))
    return [_joined(mine) for mine in pieces]


def _joined(pieces: list[tuple[Span, Any]]) -> Any:
    if len(pieces) == 1 and pieces[0][0].stop is None:
        found = pieces[0][1]
        return found if isinstance(found, np.ndarray) else tuple(found)
    pieces.sort(key=lambda piece: piece[0].start)
    if isinstance(pieces[0][1], np.ndarray):
        return np.concatenate([x for _, x in pieces])
    rows = np.concatenate([rows + span.start for span, (rows, _) in pieces])
    return rows, np.concatenate([values for _, (_, values) in pieces])

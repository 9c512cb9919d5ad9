"""The buffers that statements of a kernel read and write."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.kernel import Call, Expr, Load, Stmt, Store, expressions, inner_bodies

__all__ = ["accessed", "buffers_of", "stored"]


def stored(body: Sequence[Stmt]) -> set[str]:
    """The buffers that statements write."""
    return accessed(body)[1]


def accessed(body: Sequence[Stmt]) -> tuple[set[str], set[str]]:
    """The buffers that statements read, and those that they write."""
    loads: set[str] = set()
    stores: set[str] = set()
    seen: dict[int, set[str]] = {}
    for s in body:
        if isinstance(s, Store):
            stores.add(s.buffer)
        for e in expressions(s):
            loads |= buffers_of(e, seen)
        for inner in map(accessed, inner_bodies(s)):
            loads |= inner[0]
            stores |= inner[1]
    return loads, stores


def buffers_of(e: Expr, seen: dict[int, set[str]] | None = None) -> set[str]:
    seen = {} if seen is None else seen
    if isinstance(e, Load):
        return {e.buffer}
    if not isinstance(e, Call):
        return set()
    if id(e) not in seen:
        seen[id(e)] = set[str]().union(*(buffers_of(a, seen) for a in e.args))
    return seen[id(e)]

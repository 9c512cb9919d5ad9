"""Where a kernel may leave before its end: whether it does so before it stores anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.ir.kernel import Call, Expr, For, Let, Reduce, Scan, Stmt, Store

__all__ = ["fails_first"]


def fails_first(body: Sequence[Stmt]) -> bool:
    """Whether all that may fail in a kernel stands in statements before the first that stores."""
    stored = False
    for statement in body:
        stored = stored or _stores(statement)
        if stored and any(map(_fails, _expressions(statement))):
            return False
    return True


def _stores(s: Stmt) -> bool:
    return isinstance(s, Store) or not isinstance(s, Let) and any(map(_stores, s.body))


def _expressions(s: Stmt) -> Iterator[Expr]:
    match s:
        case Let() | Store():
            yield s.expr
        case For() | Reduce() | Scan():
            for inner in s.body:
                yield from _expressions(inner)
    if isinstance(s, Reduce):
        yield from (t.expr for t in s.targets)
    if isinstance(s, Scan):
        for c in s.carries:
            yield from (c.init, c.next)


def _fails(e: Expr) -> bool:
    """Whether an expression checks an index, the one thing that a kernel fails of."""
    return isinstance(e, Call) and (e.fn == "wrap_index" or any(map(_fails, e.args)))

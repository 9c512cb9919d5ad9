"""Where a kernel may leave, or a loop stop, before its end: what it must not leave undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.ir.kernel import Call, Expr, For, Let, Reduce, ScanLoop, Stmt, Store, inner_bodies

__all__ = ["expressions", "fails_first", "may_fail", "only_reads"]


def fails_first(body: Sequence[Stmt]) -> bool:
    """Whether all that may fail in a kernel stands in statements before the first that stores."""
    stored = False
    for statement in body:
        stored = stored or _stores(statement)
        if stored and may_fail((statement,)):
            return False
    return True


def only_reads(body: Sequence[Stmt]) -> bool:
    """Whether statements neither store nor fail: what they compute may stay uncomputed."""
    return not any(map(_stores, body)) and not may_fail(body)


def may_fail(body: Sequence[Stmt]) -> bool:
    """Whether statements check an index, the one thing that a kernel fails of."""
    return any(isinstance(e, Call) and e.fn == "wrap_index" for e in expressions(body))


def expressions(body: Sequence[Stmt]) -> Iterator[Expr]:
    """Every expression in statements and in the loops among them, once."""
    seen: set[int] = set()
    stack = list(_outermost(body))
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            if isinstance(e, Call):
                stack += e.args


def _outermost(body: Sequence[Stmt]) -> Iterator[Expr]:
    for s in body:
        match s:
            case Let() | Store():
                yield s.expr
            case For() | Reduce() | ScanLoop():
                yield from _outermost(s.body)
        if isinstance(s, Reduce):
            yield from (t.expr for t in s.targets)
        if isinstance(s, ScanLoop):
            for c in s.carries:
                yield from (c.init, c.next)


def _stores(s: Stmt) -> bool:
    return isinstance(s, Store) or any(any(map(_stores, body)) for body in inner_bodies(s))

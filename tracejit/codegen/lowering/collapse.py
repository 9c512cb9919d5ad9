"""Perfect loop nests become single loops where memory is walked as if they were one.

    for a in range(n): for b in range(m): out[s + a*m*c + b*c] = ...
    ->  for k in range(n*m): out[s + k*c] = ...

Two loops are one where in every index of the body the outer variable's coefficient is the inner
one's times the inner size, and neither variable occurs anywhere else. An inner loop of one position
is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracejit.codegen.affine import split_linear
from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.kernel import (
    Call,
    Expr,
    For,
    IndexValue,
    Let,
    Load,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
)

__all__ = ["collapse", "map_dims", "visit_dims"]


def collapse(body: Sequence[Stmt]) -> list[Stmt]:
    """The statements with every nest that can be one loop made one."""
    return [_collapse_loop(s) if isinstance(s, For) else s for s in body]


def _collapse_loop(loop: For) -> For:
    if len(loop.body) != 1 or not isinstance(loop.body[0], For):
        return loop
    inner = _collapse_loop(loop.body[0])
    indices: list[Dim] = []
    others: list[Dim] = []
    visit_dims(inner.body, indices.append, others.append)
    names = {loop.var, inner.var}
    if inner.size == 1 and not any(inner.var in free_symbols(d) for d in others):
        # The loop around it may run in lanes instead: positions come in any order.
        body = tuple(_with(s, {inner.var: 0}) for s in inner.body)
        return For(loop.var, loop.size, body, inner.vector or loop.vector)
    if any(names & free_symbols(d) for d in others):
        return replace(loop, body=(inner,))
    if not all(_walks_as_one(d, loop.var, inner.var, inner.size) for d in indices):
        return replace(loop, body=(inner,))
    one: dict[str, Dim] = {loop.var: 0, inner.var: symbol(inner.var)}
    merged = tuple(_with(s, one) for s in inner.body)
    return For(inner.var, loop.size * inner.size, merged, inner.vector or loop.vector)


def _walks_as_one(d: Dim, outer: str, inner: str, size: Dim) -> bool:
    """Whether `d` depends on the two variables only through outer * size + inner."""
    a, b = split_linear(d, outer), split_linear(d, inner)
    if a is None or b is None:
        return False
    if inner in free_symbols(a[0]) or outer in free_symbols(b[0]):
        return False
    return a[0] == b[0] * size


def visit_dims(
    body: Sequence[Stmt], index: Callable[[Dim], None], other: Callable[[Dim], None]
) -> None:
    """Every size expression of some statements: indices of buffers, and all others."""
    seen: set[int] = set()

    def expr(e: Expr) -> None:
        # What several expressions share is visited once: as trees they may be endless.
        if id(e) in seen:
            return
        seen.add(id(e))
        if isinstance(e, Load):
            for d in e.index:
                index(d)
        elif isinstance(e, IndexValue):
            other(e.dim)
        elif isinstance(e, Call):
            for a in e.args:
                expr(a)

    for s in body:
        match s:
            case Let():
                expr(s.expr)
            case Store():
                for d in s.index:
                    index(d)
                expr(s.expr)
            case For() | ScanLoop() | Reduce():
                other(s.size)
                visit_dims(s.body, index, other)
                for _, divisor in s.quotients if isinstance(s, Reduce) else ():
                    other(divisor)
                for t in s.targets if isinstance(s, Reduce) else ():
                    expr(t.expr)
                for c in s.carries if isinstance(s, ScanLoop) else ():
                    expr(c.init)
                    expr(c.next)


def _with(s: Stmt, names: dict[str, Dim]) -> Stmt:
    return map_dims(s, lambda d: substitute(d, names))


def map_dims(
    s: Stmt, of: Callable[[Dim], Dim], at: Callable[[str, Dim], Dim] | None = None
) -> Stmt:
    """A statement with `of` of every size expression; what expressions share stays shared.

    `at` is asked instead for places in buffers, if it is given.
    """
    made: dict[int, Expr] = {}

    def place(buffer: str, index: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(of(d) if at is None else at(buffer, d) for d in index)

    def expr(e: Expr) -> Expr:
        if id(e) not in made:
            made[id(e)] = mapped(e)
        return made[id(e)]

    def mapped(e: Expr) -> Expr:
        if isinstance(e, Load):
            return replace(e, index=place(e.buffer, e.index))
        if isinstance(e, IndexValue):
            return replace(e, dim=of(e.dim))
        if isinstance(e, Call):
            return replace(e, args=tuple(map(expr, e.args)))
        return e

    match s:
        case Let():
            return replace(s, expr=expr(s.expr))
        case Store():
            return replace(s, index=place(s.buffer, s.index), expr=expr(s.expr))
    if not isinstance(s, (For, Reduce, ScanLoop)):
        raise NotImplementedError(f"{type(s).__name__} is made after its sizes are known")
    body = tuple(map_dims(inner, of, at) for inner in s.body)
    if isinstance(s, Reduce):
        targets = tuple(replace(t, expr=expr(t.expr)) for t in s.targets)
        quotients = tuple((name, of(divisor)) for name, divisor in s.quotients)
        return replace(s, size=of(s.size), body=body, targets=targets, quotients=quotients)
    if isinstance(s, ScanLoop):
        carries = tuple(replace(c, init=expr(c.init), next=expr(c.next)) for c in s.carries)
        return replace(s, size=of(s.size), body=body, carries=carries)
    return replace(s, size=of(s.size), body=body)

"""Loops over the positions of several axes become nests where an index divides the position.

    for k in range(n*m): out[k] = x[(k // m)*s + (k - (k // m)*m)*t]
    ->  for a in range(n): for b in range(m): out[a*m + b] = x[a*s + b*t]

A reduction whose order is free becomes one of rows, over what each row comes to; the position of an
extreme is first that of a row. Divisions in lanes take longer than all else that such a loop does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.codegen.lowering.collapse import map_dims, visit_dims
from tracejit.ir.dims import Atom, Dim, Poly, dim_of, floordiv, substitute, symbol
from tracejit.ir.kernel import Call, For, IndexValue, Let, Reduce, Stmt, Var

__all__ = ["split"]

#: Rows of fewer elements are not worth a loop each.
_SHORT = 16


def split(body: Sequence[Stmt]) -> list[Stmt]:
    """The statements with every loop that divides its position made a nest."""
    out: list[Stmt] = []
    for s in body:
        row = _row(s) if isinstance(s, Reduce) and s.vector and s.finds_extreme else None
        if row is None:
            out.append(_split(s))
        else:
            assert isinstance(s, Reduce)
            out += _position_by_rows(s, row)
    return out


def _position_by_rows(s: Reduce, row: Dim) -> list[Stmt]:
    """The first row with the extreme, then the position within that row."""
    (target,) = s.targets
    found, first, column = (f"{target.name}_{part}" for part in ("found", "first", "column"))
    rows = _of_rows(s.without_position(), row, 0)
    assert isinstance(rows, Reduce)
    whole = replace(rows.targets[0], name=found, combine=target.combine, dtype="i64")
    inside = _at(replace(s, size=row), s.var, first, row)
    assert isinstance(inside, Reduce)
    within = replace(inside.targets[0], name=column)
    place = Call("add", (IndexValue(symbol(first) * row), Var(column, "i64")), "i64")
    return [
        replace(rows, targets=(whole,)),
        # Sizes name what a statement binds.
        Let(first, "i64", Var(found, "i64")),
        replace(inside, targets=(within,)),
        Let(target.name, "i64", place),
    ]


def _split(s: Stmt, level: int = 0) -> Stmt:
    if isinstance(s, For):
        row = _row(s)
        if row is None:
            return replace(s, body=tuple(split(s.body)))
        outer = f"{s.var}_row{level}"
        body = tuple(_at(inner, s.var, outer, row) for inner in s.body)
        inner = _split(replace(s, size=row, body=body), level + 1)
        return For(outer, floordiv(s.size, row), (inner,))
    if isinstance(s, Reduce) and s.vector and not s.quotients and _is_free(s):
        row = _row(s)
        if row is not None:
            return _of_rows(s, row, level)
    return s


def _is_free(s: Reduce) -> bool:
    """Whether the terms may be combined in any order."""
    return all(
        t.identity is not None
        or t.combine in ("min", "max", "any", "all")
        or (t.combine in ("sum", "prod") and t.dtype[0] != "f")
        for t in s.targets
    )


def _of_rows(s: Reduce, row: Dim, level: int) -> Stmt:
    outer = f"{s.var}_row{level}"
    partial = _at(replace(s, size=row), s.var, outer, row)
    assert isinstance(partial, Reduce)
    own = tuple(replace(t, name=f"{t.name}_row{level}") for t in partial.targets)
    inner = _split(replace(partial, targets=own), level + 1)
    targets = tuple(
        replace(t, expr=Var(o.name, t.dtype)) for t, o in zip(s.targets, own, strict=True)
    )
    return Reduce(outer, floordiv(s.size, row), (inner,), targets, s.lanes, s.block)


def _row(s: For | Reduce) -> Dim | None:
    """The length of the rows that a loop goes through: what all divisors divide."""
    divisors = {d for d in _divisors(s) if _is_multiple(s.size, d)}
    divisors -= {d for d in divisors if isinstance(d, int) and d < _SHORT}
    found = [d for d in divisors if all(_is_multiple(d, other) for other in divisors)]
    return found[0] if len(found) == 1 else None


def _is_multiple(d: Dim, of: Dim) -> bool:
    return floordiv(d, of) * of == d


def _divisors(s: For | Reduce) -> set[Dim]:
    position = symbol(s.var)
    found: set[Dim] = set()

    def add(d: Dim) -> None:
        for monomial, _ in d.terms if isinstance(d, Poly) else ():
            for a in monomial:
                if isinstance(a, Atom) and a.fn == "floordiv" and a.args[0] == position:
                    found.add(a.args[1])

    visit_dims((s,), add, add)
    return found


def _at(s: Stmt, var: str, outer: str, row: Dim) -> Stmt:
    """A statement at position outer * row + var, where var is less than the row."""
    sizes = {var: symbol(outer) * row + symbol(var)}

    def of(d: Dim) -> Dim:
        total: Dim = 0
        for monomial, coefficient in d.terms if isinstance(d, Poly) else (((), d),):
            term: Dim = coefficient
            for a in monomial:
                term = term * (factor(a) or substitute(dim_of(a), sizes))
            total = total + term
        return total

    def factor(a: str | Atom) -> Dim | None:
        """The quotient of the position and a divisor of the row."""
        if not isinstance(a, Atom) or a.fn != "floordiv" or a.args[0] != symbol(var):
            return None
        divisor = a.args[1]
        if not _is_multiple(row, divisor):
            return None
        rest = 0 if row == divisor else floordiv(symbol(var), divisor)
        return symbol(outer) * floordiv(row, divisor) + rest

    return map_dims(s, of)

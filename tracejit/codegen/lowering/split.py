"""Loops over the positions of several axes become nests where an index divides the position.

    for k in range(n*m): out[k] = x[(k // m)*s + (k - (k // m)*m)*t]
    ->  for a in range(n): for b in range(m): out[a*m + b] = x[a*s + b*t]

A loop that begins or ends inside of a row is one over the rest of that row, one over whole rows,
and one over the beginning of the last row.

A reduction whose order is free becomes one of rows, over what each row comes to; the position of an
extreme is first that of a row. Divisions in lanes take longer than all else that such a loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tracejit.codegen.lowering.collapse import map_dims, visit_dims
from tracejit.ir.dims import Atom, Dim, Poly, dim_of, floordiv, free_symbols, substitute, symbol
from tracejit.ir.kernel import Call, For, IndexValue, Let, Reduce, Stmt, Var

__all__ = ["split"]

#: Rows of fewer elements are not worth a loop each.
_SHORT = 16
#: So many lengths of rows within rows at most are cut where a loop begins or ends inside of them.
_MOST_ROWS = 2


def split(body: Sequence[Stmt]) -> list[Stmt]:
    """The statements with every loop that divides its position made a nest."""
    out: list[Stmt] = []
    for s in body:
        row = _row(s) if isinstance(s, Reduce) and s.vector and s.finds_extreme else None
        if row is None:
            out += _split_parts(s, parts) if (parts := _unaligned(s)) else [_split(s)]
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


def _unaligned(s: Stmt) -> tuple[int, int] | None:
    """(row, place of the first element in its row) of a loop over neighbours in rows of which not
    all are whole.
    """
    if not isinstance(s, For) or not isinstance(s.size, int):
        return None
    firsts: dict[int, int] = {}
    for d, first in _quotients(s):
        if not isinstance(d, int) or d < _SHORT or not isinstance(first, int) or d in firsts:
            return None
        firsts[d] = first
    if not 0 < len(firsts) <= _MOST_ROWS:
        return None
    row = max(firsts)
    first = firsts[row]
    if first < 0 or first == s.size % row == 0:
        return None
    one_place = all(row % d == 0 and (first - own) % d == 0 for d, own in firsts.items())
    return (row, first) if one_place else None


def _split_parts(s: Stmt, parts: tuple[int, int]) -> list[Stmt]:
    """A loop as one over what is left of its first row, one over whole rows, one over the rest."""
    assert isinstance(s, For) and isinstance(s.size, int)
    row, first = parts
    begin = min(-first % row, s.size)
    end = begin + (s.size - begin) // row * row
    out: list[Stmt] = []
    for start, stop in ((0, begin), (begin, end), (end, s.size)):
        if start < stop:
            out += split([_part(s, start, stop - start, first + start, row)])
    return out


def _part(s: For, start: int, size: int, place: int, row: int) -> Stmt:
    """A loop over `size` positions from `start` on, which is the given place in rows: whole rows,
    or less than one.
    """
    quotient = Atom("floordiv", (symbol(s.var) + (place - start), row))
    moved = {s.var: symbol(s.var) + start}

    def factor(a: str | Atom) -> Dim | None:
        return place // row if size < row and a == quotient else None

    body = tuple(map_dims(inner, lambda d: _mapped(d, factor, moved)) for inner in s.body)
    return replace(s, size=size, body=body)


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
    divisors = {d for d, first in _quotients(s) if first == 0 and _is_multiple(s.size, d)}
    divisors -= {d for d in divisors if isinstance(d, int) and d < _SHORT}
    found = [d for d in divisors if all(_is_multiple(d, other) for other in divisors)]
    return found[0] if len(found) == 1 else None


def _is_multiple(d: Dim, of: Dim) -> bool:
    return floordiv(d, of) * of == d


def _quotients(s: For | Reduce) -> set[tuple[Dim, Dim]]:
    """(divisor, what is added) of the quotients of a loop's position and what is added to it."""
    position = symbol(s.var)
    found: set[tuple[Dim, Dim]] = set()

    def add(d: Dim) -> None:
        for monomial, _ in d.terms if isinstance(d, Poly) else ():
            for a in monomial:
                if isinstance(a, Atom) and a.fn == "floordiv":
                    added = a.args[0] - position
                    if s.var not in free_symbols(added):
                        found.add((a.args[1], added))

    visit_dims((s,), add, add)
    return found


def _at(s: Stmt, var: str, outer: str, row: Dim) -> Stmt:
    """A statement at position outer * row + var, where var is less than the row."""
    sizes = {var: symbol(outer) * row + symbol(var)}

    def factor(a: str | Atom) -> Dim | None:
        """The quotient of the position and a divisor of the row."""
        if not isinstance(a, Atom) or a.fn != "floordiv" or a.args[0] != symbol(var):
            return None
        divisor = a.args[1]
        if not _is_multiple(row, divisor):
            return None
        rest = 0 if row == divisor else floordiv(symbol(var), divisor)
        return symbol(outer) * floordiv(row, divisor) + rest

    return map_dims(s, lambda d: _mapped(d, factor, sizes))


def _mapped(d: Dim, factor: Callable[[str | Atom], Dim | None], sizes: Mapping[str, Dim]) -> Dim:
    """A size with some factors of its terms replaced, and then symbols in the others."""
    total: Dim = 0
    for monomial, coefficient in d.terms if isinstance(d, Poly) else (((), d),):
        term: Dim = coefficient
        for a in monomial:
            new = factor(a)
            term = term * (substitute(dim_of(a), sizes) if new is None else new)
        total = total + term
    return total

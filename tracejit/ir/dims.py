"""Sizes: the extremes of two, their values, symbols replaced, bounds, and their text read back.

What a size is stands in `polynomials.py`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from tracejit.ir.polynomials import (
    Atom,
    Bounds,
    Dim,
    Interval,
    Monomial,
    Poly,
    bounds,
    call,
    collect,
    dim_of,
    floordiv,
    free_symbols,
    key_of,
    mod,
    prod,
    symbol,
    terms_of,
    total,
)

__all__ = [
    "ARITHMETIC",
    "Atom",
    "Bounds",
    "Dim",
    "Interval",
    "Poly",
    "bounds",
    "dim_from_ast",
    "dim_of",
    "evaluate",
    "floordiv",
    "free_symbols",
    "magnitude",
    "maximum",
    "minimum",
    "mod",
    "prod",
    "substitute",
    "symbol",
    "total",
]

#: What ops whose `arithmetic` it is do with sizes.
ARITHMETIC: dict[str, Callable[[Dim, Dim], Dim]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def _extreme(fn: str, a: Dim, b: Dim, env: Bounds | None) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if fn == "min" else max(a, b)
    low, high = bounds(a - b, env or {})
    if (low is not None and low >= 0) or (high is not None and high <= 0):
        a_is_larger = low is not None and low >= 0
        return b if a_is_larger == (fn == "min") else a
    first, second = sorted((a, b), key=key_of)
    return call(fn, first, second)


def minimum(a: Dim, b: Dim, env: Bounds | None = None) -> Dim:
    """`min(a, b)`; decided by intervals where `env` allows it."""
    return _extreme("min", a, b, env)


def maximum(a: Dim, b: Dim, env: Bounds | None = None) -> Dim:
    """`max(a, b)`; decided by intervals where `env` allows it."""
    return _extreme("max", a, b, env)


_CALLS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": floordiv,
    "mod": mod,
    "min": minimum,
    "max": maximum,
}


def substitute(d: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """`d` with its symbols replaced; symbols that `sizes` lacks stay."""
    return _substitute(d, sizes, {})


def _substitute(d: Dim, sizes: Mapping[str, Dim], known: dict[str | Atom, Dim]) -> Dim:
    if isinstance(d, int) or d.symbols.isdisjoint(sizes):
        return d
    out: list[tuple[Monomial, int]] = []
    for monomial, coefficient in d.terms:
        term: Dim = coefficient
        for atom in monomial:
            if atom not in known:
                if isinstance(atom, str):
                    known[atom] = sizes.get(atom, symbol(atom))
                else:
                    a, b = (_substitute(x, sizes, known) for x in atom.args)
                    known[atom] = _CALLS[atom.fn](a, b)
            term = known[atom] * term
        out += terms_of(term)
    return collect(out)


def evaluate(d: Dim, sizes: Mapping[str, int], known: dict[Atom, int] | None = None) -> int:
    """The value of `d`. Raises KeyError for a symbol that `sizes` lacks.

    `known` holds, from call to call, the values of atoms.
    """
    if isinstance(d, int):
        return d
    known = {} if known is None else known
    out = 0
    for monomial, coefficient in d.terms:
        term = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                term *= sizes[atom]
                continue
            if atom not in known:
                a, b = (evaluate(x, sizes, known) for x in atom.args)
                value = _CALLS[atom.fn](a, b)
                assert isinstance(value, int)
                known[atom] = value
            term *= known[atom]
        out += term
    return out


def magnitude(d: Dim, limits: Mapping[str, int]) -> tuple[int, int]:
    """(bound of |d|, bound of every number met on the way to it) for symbols within +-limits.

    Divisors are taken to be positive.
    """
    return _magnitude(d, limits, {})


def _magnitude(
    d: Dim, limits: Mapping[str, int], known: dict[Atom, tuple[int, int]]
) -> tuple[int, int]:
    if isinstance(d, int):
        return abs(d), abs(d)
    out = largest = 0
    for monomial, coefficient in d.terms:
        term = abs(coefficient)
        for atom in monomial:
            if isinstance(atom, str):
                term *= limits[atom]
                continue
            if atom not in known:
                (a, a_inner), (b, b_inner) = (_magnitude(x, limits, known) for x in atom.args)
                value = {"floordiv": a + 1, "mod": b}.get(atom.fn, max(a, b))
                known[atom] = value, max(a_inner, b_inner)
            value, inner = known[atom]
            term *= value
            largest = max(largest, inner)
        out += term
    return out, max(out, largest)


def dim_from_ast(node: ast.expr) -> Dim:
    """The dimension written as a Python expression. Raises ValueError for any other syntax."""
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return 0 - dim_from_ast(operand)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = dim_from_ast(left), dim_from_ast(right)
            if isinstance(op, ast.Add):
                return a + b
            if isinstance(op, ast.Sub):
                return a - b
            if isinstance(op, ast.Mult):
                return a * b
        case ast.Call(func=ast.Name(id=fn), args=[x, y]) if fn in _CALLS:
            return _CALLS[fn](dim_from_ast(x), dim_from_ast(y))
    raise ValueError(f"not a dimension: {ast.unparse(node)}")

"""Sizes: integers or polynomials over symbols and uninterpreted atoms.

A dimension is an `int` or a `Poly`. A `Poly` is a sum of integer multiples of monomials; a monomial
is a sorted tuple of atoms; an atom is a size symbol (`str`) or an `Atom`, an uninterpreted call of
floordiv, mod, min or max. The form is canonical: equal polynomials compare equal.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tracejit.locks import once_computed

__all__ = [
    "Atom",
    "Bounds",
    "Dim",
    "Poly",
    "bounds",
    "dim_from_ast",
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
]

Bounds: TypeAlias = Mapping[str, tuple[int | None, int | None]]


@dataclass(frozen=True)
class Atom:
    """An uninterpreted call of `fn` (floordiv, mod, min, max) on two dimensions."""

    fn: str
    args: tuple[Dim, Dim]

    @once_computed
    def text(self) -> str:
        """The atom as a Python call."""
        return f"{self.fn}({', '.join(map(str, self.args))})"

    def __str__(self) -> str:
        return self.text


Monomial: TypeAlias = tuple["str | Atom", ...]


@dataclass(frozen=True)
class Poly:
    """A non-constant polynomial: `terms` are (monomial, coefficient != 0), sorted."""

    terms: tuple[tuple[Monomial, int], ...]

    @once_computed
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        return _collect([*self.terms, *_terms(other)])

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _collect([(m, -c) for m, c in self.terms])

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other

    def __mul__(self, other: Dim) -> Dim:
        return _collect(
            [
                (tuple(sorted(m1 + m2, key=str)), c1 * c2)
                for m1, c1 in self.terms
                for m2, c2 in _terms(other)
            ]
        )

    __rmul__ = __mul__

    @once_computed
    def text(self) -> str:
        """The polynomial as a Python expression."""
        out = ""
        for monomial, coefficient in self.terms:
            factors = [str(a) for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            body = "*".join(factors)
            out = (f"-{body}" if sign == "-" else body) if not out else f"{out} {sign} {body}"
        return out

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


Dim: TypeAlias = int | Poly


def _terms(d: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(d, Poly):
        return d.terms
    return (((), int(d)),) if d else ()


def _collect(terms: list[tuple[Monomial, int]]) -> Dim:
    table: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        table[monomial] = table.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in table.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    # Constants last, larger monomials first: `n*m + 2*n - 1`.
    kept.sort(key=lambda t: (-len(t[0]), [str(a) for a in t[0]]))
    return Poly(tuple(kept))


def symbol(name: str) -> Poly:
    """The size symbol `name` as a dimension."""
    return Poly((((name,), 1),))


def prod(dims: tuple[Dim, ...] | list[Dim]) -> Dim:
    """The product of dimensions: the number of elements of a shape."""
    out: Dim = 1
    for d in dims:
        out = out * d
    return out


def _divide_exact(a: Dim, b: Dim) -> Dim | None:
    """`a / b` where `b` is one monomial that divides every term of `a`, else None."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    monomial, coefficient = divisor[0]
    out: list[tuple[Monomial, int]] = []
    for m, c in _terms(a):
        rest = list(m)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if c % coefficient:
            return None
        out.append((tuple(rest), c // coefficient))
    return _collect(out)


def floordiv(a: Dim, b: Dim) -> Dim:
    """`a // b`; exact polynomial division where it applies, an atom otherwise.

    Raises ZeroDivisionError when `b` is the constant 0. A symbolic divisor is taken to be positive.
    """
    if b == 0:
        raise ZeroDivisionError("division of a size by zero")
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    exact = _divide_exact(a, b)
    if exact is not None:
        return exact
    if isinstance(a, Poly) and isinstance(b, int) and b > 0:
        # (q*b + r) // b == q + r // b for integers.
        whole = [(m, c - c % b) for m, c in a.terms]
        rest = _collect([(m, c % b) for m, c in a.terms])
        quotient = _collect([(m, c // b) for m, c in whole])
        if quotient != 0:
            return quotient + floordiv(rest, b)
    return Poly((((Atom("floordiv", (a, b)),), 1),))


def mod(a: Dim, b: Dim) -> Dim:
    """`a % b` (Python's sign rule), an atom where it cannot be simplified."""
    if b == 0:
        raise ZeroDivisionError("modulo of a size by zero")
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if _divide_exact(a, b) is not None:
        return 0
    if isinstance(a, Poly) and isinstance(b, int) and b > 0:
        rest = _collect([(m, c % b) for m, c in a.terms])
        if rest != a:
            return mod(rest, b)
    return Poly((((Atom("mod", (a, b)),), 1),))


def _extreme(fn: str, a: Dim, b: Dim, env: Bounds | None) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if fn == "min" else max(a, b)
    low, high = bounds(a - b, env or {})
    if (low is not None and low >= 0) or (high is not None and high <= 0):
        a_is_larger = low is not None and low >= 0
        return b if a_is_larger == (fn == "min") else a
    first, second = sorted((a, b), key=str)
    return Poly((((Atom(fn, (first, second)),), 1),))


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


def free_symbols(d: Dim) -> set[str]:
    """The size symbols that `d` mentions."""
    out: set[str] = set()
    for monomial, _ in _terms(d):
        for atom in monomial:
            if isinstance(atom, str):
                out.add(atom)
            else:
                out |= free_symbols(atom.args[0]) | free_symbols(atom.args[1])
    return out


def substitute(d: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """`d` with its symbols replaced; symbols that `sizes` lacks stay."""
    if isinstance(d, int):
        return d
    out: Dim = 0
    for monomial, coefficient in d.terms:
        term: Dim = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                term = term * sizes.get(atom, symbol(atom))
            else:
                a, b = (substitute(x, sizes) for x in atom.args)
                term = term * _CALLS[atom.fn](a, b)
        out = out + term
    return out


def evaluate(d: Dim, sizes: Mapping[str, int]) -> int:
    """The value of `d`. Raises KeyError for a symbol that `sizes` lacks."""
    if isinstance(d, int):
        return d
    total = 0
    for monomial, coefficient in d.terms:
        term = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                term *= sizes[atom]
            else:
                a, b = (evaluate(x, sizes) for x in atom.args)
                value = _CALLS[atom.fn](a, b)
                assert isinstance(value, int)
                term *= value
        total += term
    return total


Interval: TypeAlias = tuple[int | None, int | None]


def bounds(d: Dim, env: Bounds) -> Interval:
    """A lower and an upper bound of `d` (None: unknown), from the intervals of its symbols.

    A symbol that `env` lacks is a size: at least 0.
    """
    if isinstance(d, int):
        return d, d
    total: Interval = (0, 0)
    for monomial, coefficient in d.terms:
        term: Interval = (1, 1)
        for atom in monomial:
            interval = env.get(atom, (0, None)) if isinstance(atom, str) else _bounds(atom, env)
            term = _times(term, interval)
        term = _times(term, (coefficient, coefficient))
        total = _plus(total, term)
    return total


def _plus(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    high = None if a[1] is None or b[1] is None else a[1] + b[1]
    return low, high


def _times(a: Interval, b: Interval) -> Interval:
    inf = float("inf")
    ends = []
    for x in (-inf if a[0] is None else a[0], inf if a[1] is None else a[1]):
        for y in (-inf if b[0] is None else b[0], inf if b[1] is None else b[1]):
            ends.append(0 if x == 0 or y == 0 else x * y)
    low, high = min(ends), max(ends)
    return (None if low == -inf else int(low), None if high == inf else int(high))


def _bounds(atom: Atom, env: Bounds) -> Interval:
    (a_low, a_high), (b_low, b_high) = (bounds(x, env) for x in atom.args)
    if atom.fn == "min":
        low = None if a_low is None or b_low is None else min(a_low, b_low)
        highs = [h for h in (a_high, b_high) if h is not None]
        return low, min(highs) if highs else None
    if atom.fn == "max":
        lows = [x for x in (a_low, b_low) if x is not None]
        high = None if a_high is None or b_high is None else max(a_high, b_high)
        return max(lows) if lows else None, high
    if atom.fn == "mod" and b_low is not None and b_low > 0:
        return 0, None if b_high is None else b_high - 1
    if atom.fn == "floordiv" and b_low is not None and b_low > 0 and b_low == b_high:
        return (
            None if a_low is None else a_low // b_low,
            None if a_high is None else a_high // b_low,
        )
    if atom.fn == "floordiv" and b_low is not None and b_low > 0 and (a_low or -1) >= 0:
        return 0, a_high
    return None, None


def magnitude(d: Dim, limits: Mapping[str, int]) -> tuple[int, int]:
    """(bound of |d|, bound of every number met on the way to it) for symbols within +-limits.

    Divisors are taken to be positive.
    """
    if isinstance(d, int):
        return abs(d), abs(d)
    total = largest = 0
    for monomial, coefficient in d.terms:
        term = abs(coefficient)
        for atom in monomial:
            if isinstance(atom, str):
                value, inner = limits[atom], 0
            else:
                (a, a_inner), (b, b_inner) = (magnitude(x, limits) for x in atom.args)
                value = {"floordiv": a + 1, "mod": b}.get(atom.fn, max(a, b))
                inner = max(a_inner, b_inner)
            term *= value
            largest = max(largest, inner)
        total += term
    return total, max(total, largest)


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

"""Sizes: polynomials over symbols and uninterpreted atoms, their arithmetic and their bounds.

A dimension is an `int` or a `Poly`. A `Poly` is a sum of integer multiples of monomials; a monomial
is a sorted tuple of atoms; an atom is a size symbol (`str`) or an `Atom`, an uninterpreted call of
floordiv, mod, min or max. The form is canonical: equal polynomials compare equal, and mostly are
one object. Sizes of sizes share their parts, many times over: what walks through a polynomial
remembers what it has found for each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias
from weakref import WeakValueDictionary

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import once_computed

__all__ = [
    "Atom",
    "Bounds",
    "Dim",
    "Interval",
    "Monomial",
    "Poly",
    "bounds",
    "call",
    "collect",
    "dim_of",
    "floordiv",
    "free_symbols",
    "key_of",
    "mod",
    "prod",
    "symbol",
    "terms_of",
    "total",
]

#: A lower and an upper bound; None where it is not known.
Interval: TypeAlias = tuple[int | None, int | None]
Bounds: TypeAlias = Mapping[str, Interval]


@dataclass(frozen=True, eq=False)
class Atom:
    """An uninterpreted call of `fn` (floordiv, mod, min, max) on two dimensions."""

    fn: str
    args: tuple[Dim, Dim]

    @once_computed
    def _hash(self) -> int:
        return hash((self.fn, self.args))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Atom, (self.fn, self.args)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Atom) or self._hash != other._hash:
            return self is other
        return self.fn == other.fn and self.args == other.args

    @once_computed
    def symbols(self) -> frozenset[str]:
        """The size symbols in it."""
        return frozenset().union(*map(free_symbols, self.args))

    @once_computed
    def weight(self) -> int:
        """How many symbols its text has: what is shared counts each time."""
        return sum(a.weight for a in self.args if isinstance(a, Poly))

    @once_computed
    def usual_bounds(self) -> Interval:
        """Its bounds where nothing is known of its symbols but that they are sizes."""
        return _bounds(self, {}, {})

    @once_computed
    def text(self) -> str:
        """The atom as a Python call."""
        return f"{self.fn}({', '.join(map(str, self.args))})"

    @once_computed
    def key(self) -> str:
        """What it is sorted by: its text, or a digest of a long one."""
        return _digest(f"{self.fn}({', '.join(map(key_of, self.args))})")

    def __str__(self) -> str:
        return self.text


Monomial: TypeAlias = tuple["str | Atom", ...]


@dataclass(frozen=True, eq=False)
class Poly:
    """A non-constant polynomial: `terms` are (monomial, coefficient != 0), sorted."""

    terms: tuple[tuple[Monomial, int], ...]

    @once_computed
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return _poly, (self.terms,)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Poly) or self._hash != other._hash:
            return self is other
        return self.terms == other.terms

    @once_computed
    def symbols(self) -> frozenset[str]:
        """The size symbols in it."""
        atoms = {a for monomial, _ in self.terms for a in monomial}
        return frozenset().union(*({a} if isinstance(a, str) else a.symbols for a in atoms))

    @once_computed
    def weight(self) -> int:
        """How many symbols its text has: what is shared counts each time."""
        atoms = (a for monomial, _ in self.terms for a in monomial)
        return sum(1 if isinstance(a, str) else a.weight for a in atoms)

    @once_computed
    def usual_bounds(self) -> Interval:
        """Its bounds where nothing is known of its symbols but that they are sizes."""
        return _bounds_of_terms(self, {}, {})

    def __add__(self, other: Dim) -> Dim:
        return collect([*self.terms, *terms_of(other)]) if other else self

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return _poly(tuple([(m, -c) for m, c in self.terms]))

    def __sub__(self, other: Dim) -> Dim:
        return 0 if self is other else self + (-other)

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other

    def __mul__(self, other: Dim) -> Dim:
        if not isinstance(other, Poly):
            if other in (0, 1):
                return self if other else 0
            return _poly(tuple([(m, c * int(other)) for m, c in self.terms]))
        return collect(
            [
                (tuple(sorted(m1 + m2, key=key_of)) if m1 and m2 else m1 + m2, c1 * c2)
                for m1, c1 in self.terms
                for m2, c2 in other.terms
            ]
        )

    __rmul__ = __mul__

    @once_computed
    def text(self) -> str:
        """The polynomial as a Python expression."""
        return self._written(str)

    @once_computed
    def key(self) -> str:
        """What it is sorted by: its text, or a digest of a long one."""
        return _digest(self._written(key_of))

    def _written(self, of: Callable[[str | Atom], str]) -> str:
        out = ""
        for monomial, coefficient in self.terms:
            factors = [of(a) for a in monomial]
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


def key_of(x: Dim | str | Atom) -> str:
    """What a dimension or an atom is sorted by."""
    return x.key if isinstance(x, (Poly, Atom)) else str(x)


def _digest(text: str) -> str:
    if len(text) < 512:
        return text
    from hashlib import blake2b

    return blake2b(text.encode(), digest_size=20).hexdigest()


def terms_of(d: Dim) -> tuple[tuple[Monomial, int], ...]:
    """The terms of a dimension; a constant is one of no atoms."""
    if isinstance(d, Poly):
        return d.terms
    return (((), int(d)),) if d else ()


def collect(terms: list[tuple[Monomial, int]]) -> Dim:
    """The sum of terms, whose monomials are sorted."""
    table: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        table[monomial] = table.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in table.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    # Constants last, larger monomials first: `n*m + 2*n - 1`.
    if len(kept) > 1:
        kept.sort(key=lambda t: (-len(t[0]), [key_of(a) for a in t[0]]))
    return _poly(tuple(kept))


_POLYS: WeakValueDictionary[tuple[tuple[Monomial, int], ...], Poly] = WeakValueDictionary()


def _poly(terms: tuple[tuple[Monomial, int], ...]) -> Poly:
    """The polynomial of sorted terms: the one there is, as a rule."""
    found = _POLYS.get(terms)
    if found is None:
        found = _POLYS[terms] = Poly(terms)
    return found


def call(fn: str, a: Dim, b: Dim) -> Poly:
    """A call that is left uninterpreted."""
    return dim_of(Atom(fn, (a, b)))


def symbol(name: str) -> Poly:
    """The size symbol `name` as a dimension."""
    return dim_of(name)


def dim_of(atom: str | Atom) -> Poly:
    """A symbol or an atom as a dimension."""
    return _poly((((atom,), 1),))


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of dimensions."""
    return collect([term for d in dims for term in terms_of(d)])


def prod(dims: tuple[Dim, ...] | list[Dim]) -> Dim:
    """The product of dimensions: the number of elements of a shape."""
    out: Dim = 1
    for d in dims:
        out = out * d
    return out


def _divide_exact(a: Dim, b: Dim) -> Dim | None:
    """`a / b` where `b` is one monomial that divides every term of `a`, else None."""
    divisor = terms_of(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    monomial, coefficient = divisor[0]
    out: list[tuple[Monomial, int]] = []
    for m, c in terms_of(a):
        rest = list(m)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if c % coefficient:
            return None
        out.append((tuple(rest), c // coefficient))
    return collect(out)


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
        rest = collect([(m, c % b) for m, c in a.terms])
        quotient = collect([(m, c // b) for m, c in whole])
        if quotient != 0:
            return quotient + floordiv(rest, b)
    return call("floordiv", a, b)


def mod(a: Dim, b: Dim) -> Dim:
    """`a % b` (Python's sign rule), an atom where it cannot be simplified."""
    if b == 0:
        raise ZeroDivisionError("modulo of a size by zero")
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if _divide_exact(a, b) is not None:
        return 0
    if isinstance(a, Poly) and isinstance(b, int) and b > 0:
        rest = collect([(m, c % b) for m, c in a.terms])
        if rest != a:
            return mod(rest, b)
    return call("mod", a, b)


def free_symbols(d: Dim) -> frozenset[str]:
    """The size symbols that `d` mentions."""
    return d.symbols if isinstance(d, Poly) else frozenset()


def bounds(d: Dim, env: Bounds, known: dict[Atom, Interval] | None = None) -> Interval:
    """A lower and an upper bound of `d` (None: unknown), from the intervals of its symbols.

    A symbol that `env` lacks is a size: at least 0. `known` holds, from call to call, the bounds of
    atoms.
    """
    if isinstance(d, int):
        return d, d
    if not env:
        return d.usual_bounds
    return _bounds_of_terms(d, env, {} if known is None else known)


def _bounds_of_terms(d: Dim, env: Bounds, known: dict[Atom, Interval]) -> Interval:
    if isinstance(d, int):
        return d, d
    out: Interval = (0, 0)
    for monomial, coefficient in d.terms:
        term: Interval = (coefficient, coefficient)
        for atom in monomial:
            if isinstance(atom, str):
                interval = env.get(atom, (0, None))
            elif not env:
                interval = atom.usual_bounds
            else:
                if atom not in known:
                    known[atom] = _bounds(atom, env, known)
                interval = known[atom]
            term = _times(term, interval)
        out = _plus(out, term)
    return out


def _plus(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    high = None if a[1] is None or b[1] is None else a[1] + b[1]
    return low, high


def _times(a: Interval, b: Interval) -> Interval:
    if a == (1, 1):
        return b
    if a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] >= 0:
        high = None if a[1] is None or b[1] is None else a[1] * b[1]
        return a[0] * b[0], 0 if 0 in (a[1], b[1]) else high
    inf = float("inf")
    ends: list[float] = []
    for x in (-inf if a[0] is None else a[0], inf if a[1] is None else a[1]):
        for y in (-inf if b[0] is None else b[0], inf if b[1] is None else b[1]):
            ends.append(0 if x == 0 or y == 0 else x * y)
    least, most = min(ends), max(ends)
    return (None if least == -inf else int(least), None if most == inf else int(most))


def _bounds(atom: Atom, env: Bounds, known: dict[Atom, Interval]) -> Interval:
    (a_low, a_high), (b_low, b_high) = (_bounds_of_terms(x, env, known) for x in atom.args)
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

"""Sizes while tracing: symbols with the values they have in this call, and the guards that rest on
them.

Every decision that a trace takes about a symbolic size is either proved from intervals or taken
from the size's present value and recorded as a guard, which each later call checks before it uses
the code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracejit.errors import TraceError
from tracejit.ir.dims import (
    Atom,
    Dim,
    Interval,
    Poly,
    bounds,
    dim_of,
    evaluate,
    free_symbols,
    magnitude,
    maximum,
    minimum,
    prod,
    substitute,
    symbol,
)

__all__ = ["Guard", "ShapeEnv"]

#: left, relation, right over the size symbols of a graph.
Guard = tuple[Dim, str, Dim]

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
}
_NEGATED = {"==": "!=", "!=": "=="}
#: No array that fills memory has more elements: an address has 47 bits.
_MEMORY = 2**47
#: Sizes are computed in 64 bits; two of this magnitude still add up in them.
_FITS = 2**62
#: The limits that are tried for symbols whose product is needed, in bits.
_LIMITS = (60, 46, 40, 31, 26, 20, 15, 11, 8)


class ShapeEnv:
    """The size symbols of one trace."""

    def __init__(self) -> None:
        self.hints: dict[str, int] = {}
        self.intervals: dict[str, tuple[int | None, int | None]] = {}
        #: In the order in which they were needed.
        self.guards: dict[Guard, None] = {}
        #: Loop counters, in the order of their loops: the largest value, where it is a size.
        self.counters: dict[str, Dim] = {}
        #: What no symbol exceeds: by guards, or because memory is not larger.
        self.limits: dict[str, int] = {}
        #: What `proved` has found, from the intervals and counters as they are.
        self._proved: dict[Guard, bool | None] = {}
        self._intervals: dict[Atom, Interval] = {}
        self._values: dict[Atom, int] = {}
        #: Turns a size into a traced Python int of the innermost trace; set by the tracer.
        self.lift: Callable[[Dim], Any] = lambda d: NotImplemented
        #: Lets runs bail out where a relation does not hold; set by the tracer.
        self.check: Callable[[Dim, str, Dim], None] = lambda a, relation, b: None

    def declare(
        self, name: str, hint: int | None, low: int | None = 2, *, in_memory: bool = True
    ) -> None:
        """A new symbol with its present value (None: known only at run time) and lower bound.

        One that is not `in_memory`, the length of an axis that is stored as a whole, gets a guard
        that keeps it far from the end of 64 bits. Raises TraceError where it is not.
        """
        if hint is not None:
            self.hints[name] = hint
        self._limit(name, low, _MEMORY if in_memory else 2**63)
        if not self.fits(symbol(name)):
            raise TraceError("TJ015", f"a size of {hint}")

    def count(self, name: str, last: Dim | None) -> None:
        """A loop counter: it runs from 0 to `last` (None: to a traced number)."""
        self.counters.pop(name, None)
        high = _MEMORY
        if last is not None:
            self.counters[name] = last
            high = min(high, max(magnitude(last, self.limits)[0], 1))
        self._limit(name, 0, high)

    def learn(self, name: str, size: int) -> None:
        """A symbol has got its value, or another one."""
        self.hints[name] = size
        self.intervals[name] = (size, size)
        for known in (self._proved, self._intervals, self._values):
            known.clear()

    def _value(self, d: Dim) -> int:
        """The present value of a size. Raises KeyError for one that is known only at run time."""
        return evaluate(d, self.hints, self._values)

    def is_known(self, *sizes: Dim) -> bool:
        """Whether sizes have present values: those that depend on counters have none."""
        return all(s in self.hints for d in sizes for s in free_symbols(d))

    def _limit(self, name: str, low: int | None, high: int) -> None:
        if name in self.intervals:
            self._proved.clear()
            self._intervals.clear()
        self.intervals[name] = (low, high)
        self.limits[name] = high

    def fits(self, d: Dim) -> bool:
        """Whether 64 bits hold `d` and all it is made of, with a bit to spare.

        Where that takes lower limits of its symbols, these become guards.
        """
        if magnitude(d, self.limits)[1] < _FITS:
            return True
        names = [s for s in sorted(free_symbols(d)) if s in self.hints]
        for bits in _LIMITS:
            tried = dict(self.limits)
            for s in names:
                tried[s] = min(tried[s], 1 << max(bits, self.hints[s].bit_length()))
            if magnitude(d, tried)[1] < _FITS:
                for s in names:
                    if tried[s] < self.limits[s]:
                        self.guards[symbol(s), "<=", tried[s]] = None
                        self._limit(s, self.intervals[s][0], tried[s])
                return True
        return False

    def proved(self, a: Dim, relation: str, b: Dim) -> bool | None:
        """Whether `a relation b` holds for all sizes, fails for all (False), or neither (None)."""
        key = a, relation, b
        if key not in self._proved:
            self._proved[key] = self._prove(a, relation, b)
        return self._proved[key]

    def _prove(self, a: Dim, relation: str, b: Dim) -> bool | None:
        low, high = self._bounds(a - b)
        if relation == "==":
            if low == high == 0:
                return True
            return False if (low is not None and low > 0) or (high or 0) < 0 else None
        if relation == "!=":
            equal = self.proved(a, "==", b)
            return None if equal is None else not equal
        limit = 0 if relation == "<=" else -1
        if high is not None and high <= limit:
            return True
        return False if low is not None and low > limit else None

    def _bounds(self, d: Dim) -> tuple[int | None, int | None]:
        """Bounds of a size; a counter's are those of the loops around it."""
        low, high = bounds(d, self.intervals, self._intervals)
        if not self.counters or isinstance(d, int):
            return low, high
        lowest = -self._extreme(-d)
        highest = self._extreme(d)
        more = (
            bounds(lowest, self.intervals, self._intervals)[0],
            bounds(highest, self.intervals, self._intervals)[1],
        )
        low = more[0] if low is None else low if more[0] is None else max(low, more[0])
        high = more[1] if high is None else high if more[1] is None else min(high, more[1])
        return low, high

    def _extreme(self, d: Dim) -> Dim:
        """`d` or more, without counters as far as possible; inner loops first."""
        for name, last in reversed(self.counters.items()):
            if isinstance(d, int) or name not in free_symbols(d):
                continue
            slope = self._slope(d, name)
            if slope is not None:
                d = substitute(d, {name: last if slope > 0 else 0})
        return d

    def _slope(self, d: Poly, name: str) -> int | None:
        """The sign of what a counter is multiplied with in `d`; None where it is not known."""
        slope: Dim = 0
        for monomial, coefficient in d.terms:
            if any(not isinstance(a, str) and name in a.symbols for a in monomial):
                return None
            if name in monomial:
                rest = list(monomial)
                rest.remove(name)
                if name in rest:
                    return None
                slope = slope + coefficient * prod([dim_of(a) for a in rest])
        low, high = bounds(slope, self.intervals, self._intervals)
        if low is not None and low >= 0:
            return 1
        return -1 if high is not None and high <= 0 else None

    def decide(self, a: Dim, relation: str, b: Dim) -> bool:
        """Whether `a relation b`; recorded as a guard where it is not proved.

        Raises TraceError for a size that is known only at run time.
        """
        known = self.proved(a, relation, b)
        if known is not None:
            return known
        if isinstance(a, int) and abs(a) >= 2**63 or isinstance(b, int) and abs(b) >= 2**63:
            raise TraceError("TJ015", "a comparison with an int that is no size")
        try:
            holds = _RELATIONS[relation](self._value(a), self._value(b))
        except KeyError:
            raise TraceError("TJ015", "a comparison of sizes or indices while tracing") from None
        guard: Guard
        if holds:
            guard = (a, relation, b)
        elif relation in _NEGATED:
            guard = (a, _NEGATED[relation], b)
        else:
            guard = (b, "<" if relation == "<=" else "<=", a)
        self.guards[guard] = None
        return holds

    def expect(self, a: Dim, relation: str, b: Dim) -> bool:
        """As `decide`, but sizes that are known only at run time are taken to fulfil the relation:
        a run in which they do not bails out.
        """
        if self.proved(a, relation, b) is None and not self.is_known(a, b):
            self.check(a, relation, b)
            return True
        return self.decide(a, relation, b)

    def is_one(self, d: Dim) -> bool:
        """Whether `d` is 1; a size that is known only at run time is not, unless that is proved.

        What rests on it must hold for 1, too, or be checked.
        """
        known = self.proved(d, "==", 1)
        if known is None and not self.is_known(d):
            return False
        return self.decide(d, "==", 1)

    def maximum(self, a: Dim, b: Dim) -> Dim:
        """The larger of two sizes: decided where a proof or a guard can, else left to run time."""
        if self.proved(b, "<=", a) is None and not self._known(a, b):
            return maximum(a, b, self.intervals)
        return a if self.decide(b, "<=", a) else b

    def minimum(self, a: Dim, b: Dim) -> Dim:
        """The smaller of two sizes: decided where a proof or a guard can, else left to run time."""
        if self.proved(a, "<=", b) is None and not self._known(a, b):
            return minimum(a, b, self.intervals)
        return a if self.decide(a, "<=", b) else b

    def _known(self, *sizes: Dim) -> bool:
        return self.is_known(*sizes)

    def concrete(self, d: Dim) -> int:
        """The present value of `d`, under the guard that it stays so."""
        if isinstance(d, int):
            return d
        try:
            value = self._value(d)
        except KeyError:
            raise TraceError("TJ015", "a size or an index as a Python value") from None
        if not self.decide(d, "==", value):
            raise AssertionError("a size differs from its own value")
        return value

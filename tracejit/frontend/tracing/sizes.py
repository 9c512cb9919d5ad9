"""Sizes while tracing: symbols with the values they have in this call, and the guards that rest on
them.

Every decision that a trace takes about a symbolic size is either proved from intervals or taken
from the size's present value and recorded as a guard, which each later call checks before it uses
the code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tracejit.errors import TraceError
from tracejit.ir.dims import (
    Dim,
    Poly,
    bounds,
    evaluate,
    floordiv,
    free_symbols,
    magnitude,
    maximum,
    minimum,
    mod,
    substitute,
    symbol,
)

__all__ = ["Guard", "ShapeEnv", "SymInt", "as_dim", "unwrap"]

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
        self.guards: list[Guard] = []
        #: Loop counters, in the order of their loops: the largest value, where it is a size.
        self.counters: dict[str, Dim] = {}
        #: What no symbol exceeds: by guards, or because memory is not larger.
        self.limits: dict[str, int] = {}
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

    def is_known(self, *sizes: Dim) -> bool:
        """Whether sizes have present values: those that depend on counters have none."""
        return all(s in self.hints for d in sizes for s in free_symbols(d))

    def _limit(self, name: str, low: int | None, high: int) -> None:
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
                        self.guards.append((symbol(s), "<=", tried[s]))
                        self._limit(s, self.intervals[s][0], tried[s])
                return True
        return False

    def proved(self, a: Dim, relation: str, b: Dim) -> bool | None:
        """Whether `a relation b` holds for all sizes, fails for all (False), or neither (None)."""
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
        low, high = bounds(d, self.intervals)
        if not self.counters or isinstance(d, int):
            return low, high
        lowest = -self._extreme(-d)
        highest = self._extreme(d)
        more = bounds(lowest, self.intervals)[0], bounds(highest, self.intervals)[1]
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
        zero, one = (substitute(d, {name: v}) for v in (0, 1))
        if one - zero != substitute(d, {name: 2}) - one:
            return None
        if any(
            not isinstance(a, str) and name in free_symbols(Poly((((a,), 1),)))
            for monomial, _ in d.terms
            for a in monomial
        ):
            return None
        low, high = bounds(one - zero, self.intervals)
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
            holds = _RELATIONS[relation](evaluate(a, self.hints), evaluate(b, self.hints))
        except KeyError:
            raise TraceError("TJ015", "a comparison of sizes or indices while tracing") from None
        guard: Guard
        if holds:
            guard = (a, relation, b)
        elif relation in _NEGATED:
            guard = (a, _NEGATED[relation], b)
        else:
            guard = (b, "<" if relation == "<=" else "<=", a)
        if guard not in self.guards:
            self.guards.append(guard)
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
            value = evaluate(d, self.hints)
        except KeyError:
            raise TraceError("TJ015", "a size or an index as a Python value") from None
        if not self.decide(d, "==", value):
            raise AssertionError("a size differs from its own value")
        return value


class SymInt:
    """A size as Python sees it: an integer that stays symbolic as long as nobody looks."""

    __slots__ = ("dim", "env")

    def __init__(self, dim: Poly, env: ShapeEnv) -> None:
        self.dim, self.env = dim, env

    def _make(self, dim: Dim) -> int | SymInt:
        return dim if isinstance(dim, int) else SymInt(dim, self.env)

    def _binary(self, other: object, f: Callable[[Dim, Dim], Dim], swap: bool = False) -> Any:
        if type(other) not in (int, bool, SymInt):
            return self._traced(other, getattr(operator, f.__name__), swap)
        o = as_dim(other)
        result = f(o, self.dim) if swap else f(self.dim, o)
        if not self.env.fits(result):
            # A traced int notices where it leaves 64 bits.
            me, they = self.env.lift(self.dim), self.env.lift(o)
            exact = getattr(operator, f.__name__)
            return exact(they, me) if swap else exact(me, they)
        return self._make(result)

    def _traced(self, other: Any, f: Callable[[Any, Any], Any], swap: bool = False) -> Any:
        """The operation on a traced int: for operands that a size cannot absorb."""
        if not isinstance(other, (float, complex, SymInt)):
            return NotImplemented
        me = self.env.lift(self.dim)
        if isinstance(other, SymInt):
            other = self.env.lift(other.dim)
        return f(other, me) if swap else f(me, other)

    def __truediv__(self, other: object) -> Any:
        if type(other) in (int, bool):
            return operator.truediv(self.env.lift(self.dim), other)
        return self._traced(other, operator.truediv)

    def __rtruediv__(self, other: object) -> Any:
        if type(other) in (int, bool):
            return operator.truediv(other, self.env.lift(self.dim))
        return self._traced(other, operator.truediv, swap=True)

    def __add__(self, other: object) -> Any:
        return self._binary(other, operator.add)

    def __radd__(self, other: object) -> Any:
        return self._binary(other, operator.add, swap=True)

    def __sub__(self, other: object) -> Any:
        return self._binary(other, operator.sub)

    def __rsub__(self, other: object) -> Any:
        return self._binary(other, operator.sub, swap=True)

    def __mul__(self, other: object) -> Any:
        return self._binary(other, operator.mul)

    def __rmul__(self, other: object) -> Any:
        return self._binary(other, operator.mul, swap=True)

    def __neg__(self) -> Any:
        return self._make(-self.dim)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        known = self.env.proved(0, "<=", self.dim)
        if known is None and self.counts:
            return abs(self.env.lift(self.dim))
        return self if self >= 0 else -self

    def _positive(self, divisor: object) -> bool:
        d = as_dim(divisor)
        return bool(self.env.proved(0, "<", d)) or (
            self.env.is_known(d) and self.env.decide(0, "<", d)
        )

    def _divided(
        self,
        other: object,
        on_dims: Callable[[Dim, Dim], Dim],
        f: Callable[[Any, Any], Any],
        swap: bool = False,
    ) -> Any:
        """A division: of sizes where the divisor is positive, of their values where it is not."""
        if type(other) not in (int, bool, SymInt):
            return self._traced(other, f, swap)
        if self._positive(self if swap else other):
            return self._binary(other, on_dims, swap)
        return self._by_value(other, f, swap)

    def _by_value(self, other: object, f: Callable[[Any, Any], Any], swap: bool = False) -> Any:
        """The operation on the present values, under the guard that they stay so."""
        if type(other) not in (int, bool, SymInt):
            return NotImplemented
        if self.counts or (isinstance(other, SymInt) and other.counts):
            me, they = self.env.lift(self.dim), self.env.lift(as_dim(other))
            return f(they, me) if swap else f(me, they)
        a, b = int(self), operator.index(other)  # type: ignore[arg-type]
        return f(b, a) if swap else f(a, b)

    def __floordiv__(self, other: object) -> Any:
        return self._divided(other, floordiv, operator.floordiv)

    def __mod__(self, other: object) -> Any:
        return self._divided(other, mod, operator.mod)

    def __rfloordiv__(self, other: object) -> Any:
        return self._divided(other, floordiv, operator.floordiv, swap=True)

    def __rmod__(self, other: object) -> Any:
        return self._divided(other, mod, operator.mod, swap=True)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __rshift__(self, other: object) -> Any:
        if type(other) is int and 0 <= other < 62:
            return self // (1 << other)
        return self._by_value(other, operator.rshift)

    def __lshift__(self, other: object) -> Any:
        if type(other) is int and 0 <= other < 62:
            return self * (1 << other)
        return self._by_value(other, operator.lshift)

    def __and__(self, other: object) -> Any:
        if type(other) is int and other > 0 and not other & (other + 1):
            return self % (other + 1)
        return self._by_value(other, operator.and_)

    def __or__(self, other: object) -> Any:
        return self._by_value(other, operator.or_)

    def __xor__(self, other: object) -> Any:
        return self._by_value(other, operator.xor)

    def __rrshift__(self, other: object) -> Any:
        return self._by_value(other, operator.rshift, swap=True)

    def __rlshift__(self, other: object) -> Any:
        return self._by_value(other, operator.lshift, swap=True)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Any:
        return -self - 1

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else round(int(self), digits)

    def __trunc__(self) -> SymInt:
        return self

    __floor__ = __ceil__ = __trunc__

    def __pow__(self, other: object) -> Any:
        if type(other) is int and 0 <= other <= 8:
            out: Any = 1
            for _ in range(other):
                out = out * self
            return out
        if type(other) in (int, bool, SymInt):
            return self._by_value(other, operator.pow)
        return self._traced(other, operator.pow)

    def __rpow__(self, other: object) -> Any:
        if type(other) in (int, bool):
            return self._by_value(other, operator.pow, swap=True)
        return self._traced(other, operator.pow, swap=True)

    def _compare(self, other: object, relation: str, swap: bool = False) -> Any:
        if isinstance(other, float):
            return self._compare_float(float(other), relation, swap)
        if type(other) not in (int, bool, SymInt):
            return NotImplemented
        sizes: tuple[Dim, Dim] = (self.dim, as_dim(other))
        a, b = reversed(sizes) if swap else sizes
        known = self.env.proved(a, relation, b)
        if known is None and not self.env.is_known(a, b):
            return _RELATIONS[relation](self.env.lift(a), self.env.lift(b))
        return self.env.decide(a, relation, b)

    def _compare_float(self, other: float, relation: str, swap: bool) -> Any:
        """A comparison with a float, which is one with the nearest integer on its side."""
        if not math.isfinite(other):
            return bool(_RELATIONS[relation](other, 0) if swap else _RELATIONS[relation](0, other))
        whole = math.floor(other)
        if whole == other:
            return self._compare(whole, relation, swap)
        if relation in _NEGATED:
            return relation == "!="
        # No size lies between `whole` and `other`.
        return self > whole if swap else self <= whole

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "==")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "!=")

    def __lt__(self, other: object) -> Any:
        return self._compare(other, "<")

    def __le__(self, other: object) -> Any:
        return self._compare(other, "<=")

    def __gt__(self, other: object) -> Any:
        return self._compare(other, "<", swap=True)

    def __ge__(self, other: object) -> Any:
        return self._compare(other, "<=", swap=True)

    def __bool__(self) -> bool:
        return self.env.decide(self.dim, "!=", 0)

    @property
    def counts(self) -> bool:
        """Whether its value changes in a loop of the graph."""
        return not self.env.is_known(self.dim)

    def __index__(self) -> int:
        return self.env.concrete(self.dim)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.env.concrete(self.dim))

    def __hash__(self) -> int:
        return hash(self.env.concrete(self.dim))

    def __repr__(self) -> str:
        return f"SymInt({self.dim})"

    def __str__(self) -> str:
        return str(self.env.concrete(self.dim))

    __format__ = object.__format__


def as_dim(x: Any) -> Dim:
    """An integer of any kind as a dimension. Raises TypeError for anything else."""
    if isinstance(x, SymInt):
        return x.dim
    return operator.index(x)


def unwrap(d: Dim, env: ShapeEnv) -> Any:
    """A dimension as Python sees it: an int, or a SymInt."""
    return d if isinstance(d, int) else SymInt(d, env)

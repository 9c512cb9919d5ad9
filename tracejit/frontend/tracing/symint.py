"""A size as the program sees it: an int whose value a variant may leave open."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tracejit.frontend.tracing.sizes import _NEGATED, _RELATIONS, ShapeEnv
from tracejit.ir.dims import (
    Dim,
    Poly,
    floordiv,
    mod,
)

__all__ = ["SymInt", "as_dim", "unwrap"]


#: The symbols that a size's formula may have, written out: one that is longer is a number of the
#: run, since loops over such double it with each iteration.
_MOST_SYMBOLS = 1_000


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
        heavy = isinstance(result, Poly) and result.weight > _MOST_SYMBOLS
        if heavy or not self.env.fits(result):
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

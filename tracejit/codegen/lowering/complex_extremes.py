"""Positions of complex extremes along an axis: the block that has one, then the place in it.

    for each block:                          until there is a NaN
        extreme of the real parts            and of the imaginary ones, which says if one is NaN
        no less extreme than all before: extreme of the imaginary parts beside it
        more extreme than all before: note the block
    the first position of that block that holds the extreme

Elements compare by the real parts, then by the imaginary ones. Those of few blocks are computed
more than once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.lowering.index_maps import Lowering
from tracejit.ir.dims import Dim, floordiv, symbol
from tracejit.ir.kernel import (
    Call,
    Carry,
    Const,
    Expr,
    IndexValue,
    Let,
    Reduce,
    ScanLoop,
    Target,
    Var,
)

__all__ = ["ExtremePosition"]

#: Elements of a block: few enough to lie in the cache nearest by.
_BLOCK = 512

_Pair: TypeAlias = tuple[Expr, Expr]
#: What is combined, of an element.
_Terms: TypeAlias = Callable[[_Pair], tuple[Expr, ...]]


def _both(name: str, a: Expr, b: Expr) -> Expr:
    return Call(name, (a, b), "b1")


def _either_nan(x: _Pair) -> Expr:
    return _both("logical_or", *(Call("isnan", (part,), "b1") for part in x))


@dataclass
class ExtremePosition:
    """The position of the extreme of `size` elements, each given by its position."""

    low: Lowering
    kind: str
    part: str
    at: Callable[[Dim], _Pair]
    size: Dim

    def __post_init__(self) -> None:
        self.worst = Const(math.inf if self.kind == "min" else -math.inf, self.part)

    def emit(self) -> Expr:
        """Statements at the end of the current body; the position after them."""
        held: tuple[Expr, Expr, Expr] = (self.worst, self.worst, Const(0, "i64"))
        whole = floordiv(self.size, _BLOCK)
        for count, first, length in (
            (whole, 0, _BLOCK),
            (1, whole * _BLOCK, self.size - whole * _BLOCK),
        ):
            if count != 0 and length != 0:
                held = self._blocks(count, first, length, held)
        return self._search(*held)

    def _blocks(
        self, count: Dim, first: Dim, length: Dim, begin: tuple[Expr, Expr, Expr]
    ) -> tuple[Expr, Expr, Expr]:
        """The extreme, and where its block begins, after some blocks of one length."""
        low = self.low
        var = low.loop_var()
        start = symbol(var) * length + first
        re, im, place = (Var(low.name("c"), e.dtype) for e in begin)
        outer = low.nested()
        most = self._reduced(start, length, lambda x: x)
        nan = low.let(_either_nan((most[0], most[1])))
        close = low.let(_both("logical_and", self._in_order(most[0], re), _not(nan)))
        again = low.let(Call("select", (close, IndexValue(length), Const(0, "i64")), "i64"))
        assert isinstance(again, Var)

        def beside(x: _Pair) -> tuple[Expr, ...]:
            same = _both("equal", x[0], most[0])
            return (Call("select", (same, x[1], self.worst), self.part),)

        (best,) = self._reduced(start, symbol(again.name), beside)
        # What is no less extreme and does not equal the other is more extreme.
        more = _both("not_equal", most[0], re)
        more = _both("logical_or", more, _not(self._in_order(im, best)))
        found = _both("logical_and", close, more)
        first_nan = _both("logical_and", nan, _not(Call("isnan", (re,), "b1")))
        better = low.let(_both("logical_or", found, first_nan))
        new_re = Call("select", (nan, Const(math.nan, self.part), most[0]), self.part)
        new = (new_re, best, IndexValue(start))
        carries = tuple(
            Carry(old.name, old.dtype, init, low.let(Call("select", (better, x, old), old.dtype)))
            for old, init, x in zip((re, im, place), begin, new, strict=True)
        )
        body, low.scope = low.scope.body, outer
        low.scope.body.append(ScanLoop(var, count, tuple(body), carries))
        return re, im, place

    def _in_order(self, a: Expr, b: Expr) -> Expr:
        """Whether `a` is no less extreme than `b`; never beside a NaN."""
        return _both("less_equal" if self.kind == "min" else "greater_equal", a, b)

    def _reduced(self, start: Dim, length: Dim, terms: _Terms) -> tuple[Expr, ...]:
        """The extremes of terms of the elements from `start` on."""
        return self._over(start, length, self.kind, self.part, terms)

    def _over(
        self, start: Dim, length: Dim, combine: str, dtype: str, terms: _Terms
    ) -> tuple[Expr, ...]:
        low = self.low
        var = low.loop_var()
        outer = low.nested()
        exprs = terms(self.at(start + symbol(var)))
        body, low.scope = low.scope.body, outer
        targets = tuple(Target(low.name("r"), combine, dtype, e, where=low.where) for e in exprs)
        low.scope.body.append(Reduce(var, length, tuple(body), targets, vector=True))
        return tuple(Var(t.name, dtype) for t in targets)

    def _search(self, re: Expr, im: Expr, place: Expr) -> Expr:
        """The first position of a block with the extreme, or with the first NaN."""
        low = self.low
        begin = low.name("g")
        # Sizes name what a statement binds.
        low.scope.body.append(Let(begin, "i64", place))
        left = IndexValue(self.size - symbol(begin))
        block = Const(_BLOCK, "i64")
        size = low.let(Call("minimum", (left, block), "i64"))
        assert isinstance(size, Var)
        nan = low.let(Call("isnan", (re,), "b1"))

        def is_there(x: _Pair) -> tuple[Expr, ...]:
            same = _both("logical_and", _both("equal", x[0], re), _both("equal", x[1], im))
            return (Call("select", (nan, _either_nan(x), same), "b1"),)

        (inside,) = self._over(symbol(begin), symbol(size.name), "argmax", "i64", is_there)
        return Call("add", (place, inside), "i64")


def _not(x: Expr) -> Expr:
    return Call("logical_not", (x,), "b1")

"""What a reduction accumulates in a thread, how two threads join, and what comes of it in the end.

Sums of floats carry their rounding errors along: the result is that of twice the precision, rounded
(Ogita, Rump and Oishi, Accurate Sum and Dot Product, 2005, algorithm 4.4), whatever the number of
threads; a sum of single precision is not formed in double precision. Products, like sums, depend on
the order in the last place; the order follows from sizes, and from which of them are known.

A product from left to right may leave the range of its type between, where another order does not:
1e200 * 1e200 * 1e-200 * 1e-200 is infinite. See `_Product`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracejit.codegen.cuda.structure import is_ordered
from tracejit.ir.kernel import Reduce, Target

__all__ = ["Combiner", "combiners"]


class Lines(Protocol):
    """What is written to: see `writer.Writer`."""

    types: dict[str, str]

    def line(self, text: str) -> None: ...

    def fresh(self) -> str: ...

    def call(self, fn: str, args: Sequence[str], dtypes: Sequence[str], dtype: str) -> str: ...

    def const(self, value: bool | int | float, dtype: str) -> str: ...


class Combiner:
    """One target. `names` are the variables that accumulate, `dtypes` theirs."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.names: tuple[str, ...] = (target.name,)
        self.dtypes: tuple[str, ...] = (target.dtype,)

    def begin(self, w: Lines) -> None:
        """What there is before any term."""
        start = _identity(self.target)
        w.line(f"{self.names[0]} = {w.const(start, self.target.dtype)}")

    def add(self, w: Lines, term: str, position: str) -> None:
        """Take one more term."""
        self.join(w, (term,))

    def join(self, w: Lines, others: Sequence[str]) -> None:
        """Take what another thread has accumulated."""
        t = self.target
        fn = _FUNCTIONS.get(t.combine, t.combine)
        w.line(f"{t.name} = {w.call(fn, (t.name, others[0]), (t.dtype, t.dtype), t.dtype)}")

    def finish(self, w: Lines) -> None:
        """Bind the target's name to the result."""
        w.types[self.target.name] = self.target.dtype

    def needs_order(self, size: str) -> str | None:
        """The condition under which only the order from left to right is right, if there is one."""
        return None


_FUNCTIONS = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "any": "logical_or",
    "all": "logical_and",
}


class _Sum(Combiner):
    """A sum of floats, with its error."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.names = (target.name, f"{target.name}_e")
        self.dtypes = (target.dtype, target.dtype)

    def begin(self, w: Lines) -> None:
        for name in self.names:
            w.line(f"{name} = {w.const(0.0, self.target.dtype)}")

    def add(self, w: Lines, term: str, position: str) -> None:
        s, c = self.names
        t, z = w.fresh(), w.fresh()
        w.line(f"{t} = {s} + {term}")
        w.line(f"{z} = {t} - {s}")
        w.line(f"{c} = {c} + (({s} - ({t} - {z})) + ({term} - {z}))")
        w.line(f"{s} = {t}")

    def join(self, w: Lines, others: Sequence[str]) -> None:
        self.add(w, others[0], "")
        w.line(f"{self.names[1]} = {self.names[1]} + {others[1]}")

    def finish(self, w: Lines) -> None:
        super().finish(w)
        s, c = self.names
        d = self.target.dtype
        total = w.fresh()
        w.line(f"{total} = {s} + {c}")
        finite = w.call("isfinite", (total,), (d,), "b1")
        w.line(f"{s} = {w.call('select', (finite, total, s), ('b1', d, d), d)}")


class _Product(Combiner):
    """A product of floats, with bounds of the range that it may come to in any order.

    `up` is a sum of bounds of log2|x| of the factors above 1, `down` of -log2|x| of those below;
    zeros, infinities and NaNs add nothing. So what any factors come to, but for these, lies between
    2**-down and 2**up, give or take a rounding for each factor. Where that is within the normal
    range, no product between is 0 or infinite by itself, and none is rounded otherwise than by half
    a unit: zeros, infinities, NaNs and signs are those of any order, and so is the accuracy.

    The bounds of m = 1 + f in [1, 2) are f <= log2(m) <= 1.5 * f. The sums are integers, in parts
    of 2**-12 for double precision and of 2**-15 for single, with room for 2**40 terms; each term is
    rounded up.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.names = (target.name, f"{target.name}_up", f"{target.name}_down")
        self.dtypes = (target.dtype, "i64", "i64")
        double = target.dtype == "f64"
        self._digits, self._bias, self._unit = (52, 1023, 12) if double else (23, 127, 15)

    def begin(self, w: Lines) -> None:
        super().begin(w)
        for name in self.names[1:]:
            w.line(f"{name} = int64(0)")

    def add(self, w: Lines, term: str, position: str) -> None:
        _, up, down = self.names
        digits, bias, unit = self._digits, self._bias, self._unit
        word, e, f = w.fresh(), w.fresh(), w.fresh()
        super().join(w, (term,))
        w.line(f"{word} = int64(fn_bits({term}))")
        w.line(f"{e} = ({word} >> int64({digits})) & int64({2 * bias + 1})")
        w.line(f"{f} = {word} & int64({(1 << digits) - 1})")
        w.line(f"if {e} >= int64({bias}):")
        w.line(f"    if {e} <= int64({2 * bias}):")
        w.line(f"        {f} = ({f} >> int64({digits - unit})) + int64({f} != 0)")
        w.line(f"        {up} = {up} + (({e} - int64({bias})) << int64({unit})) + 2 * {f}")
        w.line(f"        {up} = {up} - ({f} >> int64(1))")
        w.line(f"elif {e} > int64(0):")
        w.line(f"    {down} = {down} + ((int64({bias}) - {e}) << int64({unit}))")
        w.line(f"    {down} = {down} - ({f} >> int64({digits - unit}))")
        # Any subnormal number is below the range.
        w.line(f"elif {f} > int64(0):")
        w.line(f"    {down} = {down} + int64({2 * bias << unit})")

    def join(self, w: Lines, others: Sequence[str]) -> None:
        super().join(w, others[:1])
        for name, other in zip(self.names[1:], others[1:], strict=True):
            w.line(f"{name} = {name} + {other}")

    def needs_order(self, size: str) -> str | None:
        # A rounding is less than 2**-digits of log2.
        rounding = f"(({size}) >> {self._digits - self._unit}) + 1"
        bound = f"max({self.names[1]}, {self.names[2]}) + {rounding}"
        return f"{bound} > int64({(self._bias - 3) << self._unit})"


class _Position(Combiner):
    """argmin or argmax: the extreme, where it was first, and whether there was any."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.kind = target.expr.dtype
        best = "f32" if self.kind == "f16" else self.kind
        self.names = (f"{target.name}_v", target.name)
        self.dtypes = (best, "i64")

    def begin(self, w: Lines) -> None:
        value = False if self.kind == "b1" else 0 if self.kind[0] in "iu" else 0.0
        w.line(f"{self.names[0]} = {w.const(value, self.dtypes[0])}")
        w.line(f"{self.names[1]} = int64(-1)")

    def add(self, w: Lines, term: str, position: str) -> None:
        # The positions of a thread go up: the first of equal terms is there already.
        self._select(w, self._beats(w, term), (term, position))

    def join(self, w: Lines, others: Sequence[str]) -> None:
        (best, at), (value, place) = self.names, others
        same = f"({value} == {best})"
        if self.dtypes[0][0] == "f":
            # Only NaN differs from itself.
            same = f"({same} | (({value} != {value}) & ({best} != {best})))"
        first = f"({same} & ({place} < {at}))"
        self._select(w, f"({place} >= 0) & ({self._beats(w, value)} | {first})", others)

    def _beats(self, w: Lines, value: str) -> str:
        """The condition under which a value comes before what there is."""
        (best, at), d = self.names, self.dtypes[0]
        fn = "less" if self.target.combine == "argmin" else "greater"
        if d == "b1":
            beats = f"({value} & (not {best}))" if fn == "greater" else f"({best} & (not {value}))"
        else:
            beats = w.call(fn, (value, best), (d, d), "b1")
        if d[0] == "f":
            # NaN comes before all numbers.
            beats = f"({beats} | (({value} != {value}) & ({best} == {best})))"
        return f"(({at} < 0) | {beats})"

    def _select(self, w: Lines, condition: str, others: Sequence[str]) -> None:
        # Without a branch: each ends what a compiler looks at as one.
        (best, at), (value, place), taken = self.names, others, w.fresh()
        w.line(f"{taken} = {condition}")
        w.line(f"{best} = fn_select({taken}, {value}, {best})")
        w.line(f"{at} = fn_select({taken}, int64({place}), {at})")


def combiners(s: Reduce, in_order: bool = False) -> list[Combiner]:
    """What accumulates the targets of a reduction; `in_order`: one thread takes all terms."""
    in_order = in_order or is_ordered(s)
    return [_combiner(t, in_order) for t in s.targets]


def _combiner(t: Target, in_order: bool) -> Combiner:
    if t.combine in ("argmin", "argmax"):
        return _Position(t)
    if t.dtype[0] == "f" and t.identity is None:
        if t.combine == "sum":
            return _Sum(t)
        if t.combine == "prod" and not in_order:
            return _Product(t)
    return Combiner(t)


def _identity(t: Target) -> bool | int | float:
    """What a reduction starts from, and what it is over nothing."""
    if t.identity is not None:
        return t.identity
    if t.combine in ("any", "all"):
        return t.combine == "all"
    if t.dtype == "b1":
        return t.combine in ("min", "prod")
    if t.combine in ("sum", "prod"):
        one = t.combine == "prod"
        return int(one) if t.dtype[0] in "iu" else float(one)
    if t.dtype[0] == "f":
        return float("inf") if t.combine == "min" else float("-inf")
    bits = int(t.dtype[1:])
    low, high = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if t.dtype[0] == "i" else (0, (1 << bits) - 1)
    )
    return high if t.combine == "min" else low

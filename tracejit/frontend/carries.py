"""What a loop carries: how an object before the loop, one inside and one after it correspond.

A `Carry` says which values of an object change from one iteration to the next. It begins as `Same`
(nothing changes) and is widened until the body gives back what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tracejit.errors import TraceError
from tracejit.frontend.cells import Cell, laid_out
from tracejit.frontend.choice import Choice
from tracejit.frontend.joins import (
    is_absent,
    is_number,
    parts_of,
    rebuild,
    same_constant,
    same_kind,
    split,
    undefined,
)
from tracejit.frontend.trace import Trace, user_line
from tracejit.frontend.tracer import TracedArray, Tracer, lift
from tracejit.ir.graph import Value
from tracejit.ir.types import PYBOOL, ArrayType, Type

if TYPE_CHECKING:
    from tracejit.frontend.hooks import Hooks

__all__ = ["MISSING", "Carry", "Same", "Unlike", "widened"]


class Unlike(TraceError):
    """What a loop carries has another type after its first iteration."""


class _Missing:
    """In place of a value that there is not yet."""


MISSING = _Missing()


class Carry:
    """How one object is carried. `types` are those of its values."""

    types: tuple[Type, ...] = ()

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        """The values before the first iteration."""
        return []

    def inside(
        self, hooks: Hooks, trace: Trace, values: Iterator[Value], x: Any, ran: Any = None
    ) -> Any:
        """The object from the carried values, where it was `x` before the loop.

        `ran` is None inside the loop; after it, whether there was an iteration.
        """
        return x

    def end(self, region: Trace, x: Any) -> list[Value]:
        """The values after an iteration."""
        return []

    def arrays(self, x: Any) -> list[TracedArray]:
        """The arrays of an object that this carries by value."""
        return []


class Same(Carry):
    """The very object, which no iteration changes."""


class _Number(Carry):
    def __init__(self, t: Type) -> None:
        self.types = (t,)

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        return [undefined(parent, self.types[0]) if x is MISSING else lift(x).value()]

    def inside(
        self, hooks: Hooks, trace: Trace, values: Iterator[Value], x: Any, ran: Any = None
    ) -> Any:
        return trace.wrap(next(values))

    def end(self, region: Trace, x: Any) -> list[Value]:
        return [undefined(region, self.types[0]) if x is MISSING else lift(x).value()]


class _Array(Carry):
    def __init__(self, t: ArrayType, shared: bool) -> None:
        self.types = (t,)
        #: Whether it may be a view of, or the same as, an array that lives outside the loop.
        self.shared = shared

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        return [self._laid_out(parent, x)]

    end = begin

    def _laid_out(self, trace: Trace, x: Any) -> Value:
        (t,) = self.types
        assert isinstance(t, ArrayType)
        if x is MISSING:
            return undefined(trace, t)
        v: Value = x.value()
        return v if v.type == t else laid_out(trace, v, t.order)

    def inside(
        self, hooks: Hooks, trace: Trace, values: Iterator[Value], x: Any, ran: Any = None
    ) -> Any:
        cell = Cell(trace, next(values), -2 if self.shared else None)
        new = TracedArray(trace, cell)
        if x is MISSING or ran is True:
            return new
        # It may still be the array from before the loop.
        if x.cell.input is None and not x.views:
            cell.twin, cell.seen = x.cell, x.cell.version
        elif ran is not None:
            return Choice(ran, new, x, new)
        else:
            cell.input = -1
        return new

    def arrays(self, x: Any) -> list[TracedArray]:
        return [] if x is MISSING else [x]


class _Parts(Carry):
    def __init__(self, cls: type, keys: tuple[Any, ...], children: Sequence[Carry]) -> None:
        self.cls, self.keys, self.children = cls, keys, children
        self.types = tuple(t for c in children for t in c.types)

    def _of(self, x: Any) -> list[Any]:
        found = parts_of(x)
        return [MISSING] * len(self.children) if found is None else found[2]

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [v for child, part in pairs for v in child.begin(parent, part)]

    def inside(
        self, hooks: Hooks, trace: Trace, values: Iterator[Value], x: Any, ran: Any = None
    ) -> Any:
        pairs = zip(self.children, self._of(x), strict=True)
        parts = [child.inside(hooks, trace, values, part, ran) for child, part in pairs]
        return rebuild(hooks, self.cls, self.keys, parts)

    def end(self, region: Trace, x: Any) -> list[Value]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [v for child, part in pairs for v in child.end(region, part)]

    def arrays(self, x: Any) -> list[TracedArray]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [a for child, part in pairs for a in child.arrays(part)]


class _Nullable(Carry):
    """A value that is not always there: a flag, and the value."""

    def __init__(self, value: Carry, absent: Any) -> None:
        self.value, self.absent = value, absent
        self.types = (PYBOOL, *value.types)

    def _split(self, x: Any) -> tuple[Any, Any]:
        has, value, _ = split(x)
        return has, MISSING if has is False else value

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        has, value = self._split(x)
        return [lift(has).value(), *self.value.begin(parent, value)]

    def inside(
        self, hooks: Hooks, trace: Trace, values: Iterator[Value], x: Any, ran: Any = None
    ) -> Any:
        flag = trace.wrap(next(values))
        _, value = self._split(x)
        return Choice(flag, self.value.inside(hooks, trace, values, value, ran), self.absent)  # type: ignore[arg-type]

    def end(self, region: Trace, x: Any) -> list[Value]:
        has, value = self._split(x)
        return [lift(has).value(), *self.value.end(region, value)]

    def arrays(self, x: Any) -> list[TracedArray]:
        return self.value.arrays(self._split(x)[1])


def widened(hooks: Hooks, region: Trace, carry: Carry, start: Any, end: Any) -> Carry:
    """The carry for an object that begins as `start` and is `end` after an iteration.

    Raises Unlike where no carry takes both.
    """
    if isinstance(carry, Same) and same_constant(start, end):
        return carry
    new = _carry(hooks, region, start, end)
    if new is None:
        raise Unlike("TJ011", f"a loop carries {_say(start)}, then {_say(end)}", user_line())
    if new.types == carry.types and type(new) is type(carry):
        return carry
    return new


def _carry(hooks: Hooks, region: Trace, start: Any, end: Any) -> Carry | None:
    if isinstance(start, Choice):
        start = start.known()
    if isinstance(end, Choice):
        with region.reopened():
            end = end.known()
    if start is not MISSING and same_constant(start, end):
        return Same()
    if is_number(end) and (start is MISSING or is_number(start)):
        t = _type(end, region)
        return _Number(t) if start is MISSING or lift(start).type == t else None
    if isinstance(end, TracedArray) and (start is MISSING or isinstance(start, TracedArray)):
        return _array_carry(region, start, end)
    if isinstance(start, Choice) or isinstance(end, Choice) or is_absent(start) != is_absent(end):
        return _nullable_carry(hooks, region, start, end)
    parts, others = parts_of(end), None if start is MISSING else parts_of(start)
    if parts is None or (start is not MISSING and (others is None or others[:2] != parts[:2])):
        return None
    children = [MISSING] * len(parts[2]) if others is None else others[2]
    if len(children) != len(parts[2]) or not _rebuildable(hooks, region, end):
        return None
    carries = [_carry(hooks, region, a, b) for a, b in zip(children, parts[2], strict=True)]
    if any(c is None for c in carries):
        return None
    return _Parts(parts[0], parts[1], [c for c in carries if c is not None])


def _rebuildable(hooks: Hooks, region: Trace, x: Any) -> bool:
    made = hooks.made_in(x)
    return isinstance(x, tuple) or (made is not None and region.encloses(made))


def _type(x: Any, region: Trace) -> Type:
    with region.reopened():
        return lift(x).type


def _array_carry(region: Trace, start: Any, end: TracedArray) -> Carry | None:
    with region.reopened():
        t = end.value().type
    assert isinstance(t, ArrayType)
    shared = not region.encloses(end.cell.trace) or end.cell.input is not None
    if start is not MISSING:
        first = start.type
        if not same_kind(first, t):
            return None
        t = first
    return _Array(t, shared)


def _nullable_carry(hooks: Hooks, region: Trace, start: Any, end: Any) -> Carry | None:
    (has, value, absent), (has_end, value_end, absent_end) = split(start), split(end)
    if has is True and has_end is True:
        return None
    if has is not True and has_end is not True and not same_constant(absent, absent_end):
        return None
    first = MISSING if has is False else value
    last = value if has_end is False else value_end
    if last is MISSING or first is None and last is None:
        return None
    inner = _carry(hooks, region, first, last)
    if inner is None:
        return None
    if isinstance(inner, Same):
        inner = _carry(hooks, region, MISSING, last)
    return None if inner is None else _Nullable(inner, absent if has is not True else absent_end)


def _say(x: Any) -> str:
    if isinstance(x, Tracer):
        return str(x.type)
    return repr(x) if is_absent(x) or is_number(x) else f"a {type(x).__name__}"

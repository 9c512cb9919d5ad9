"""What a loop carries: how an object before the loop, one inside and one after it correspond.

A `LoopCarried` says which values of an object change from one iteration to the next. It begins as
`Same` (nothing changes) and is widened until the body gives back what it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import (
    MISSING,
    as_kind,
    as_machine,
    flags,
    machine,
    of_kind,
    parts_of,
    rebuild,
    same_constant,
    select,
)
from tracejit.frontend.control.merges import undefined
from tracejit.frontend.control.unions import choose
from tracejit.frontend.tracing.aliases import is_told_apart
from tracejit.frontend.tracing.carried_sizes import CarriedSizes
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage, laid_out
from tracejit.frontend.tracing.trace import Trace
from tracejit.frontend.tracing.tracer import TracedArray, lift, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import PYBOOL, ArrayType, Type

__all__ = ["MISSING", "SAME", "LoopCarried", "Same", "Unlike"]


class Unlike(TraceError):
    """What a loop carries has another type after its first iteration."""


class LoopCarried:
    """How one object is carried. `types` are those of its values."""

    types: tuple[Type, ...] = ()

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        """The values before the first iteration."""
        return []

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
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

    def memory(self, x: Any) -> list[set[Storage]]:
        """The memory of each array in an object that this carries by value."""
        found = {a.storage for a in self.arrays(x)}
        return [found] if found else []

    def like(self, before: LoopCarried) -> bool:
        """Whether nothing is new since an earlier trace; what it knew is known from now on."""
        if type(self) is not type(before) or self.types != before.types:
            return False
        pairs = zip(self.parts(), before.parts(), strict=True)
        same = [a.like(b) for a, b in pairs]
        return all(same)

    def parts(self) -> Sequence[LoopCarried]:
        """The carries it is made of."""
        return ()

    def ends_with(
        self, x: Any, inner: dict[Storage, list[Storage]], loop: object, alone: bool
    ) -> None:
        """Note the object after an iteration of a loop.

        `inner` are the arrays carried by value in it, with the memory they begin in; `alone` is
        whether no two carried arrays may be one.
        """


class Same(LoopCarried):
    """The very object, which no iteration changes."""


SAME = Same()


class _Number(LoopCarried):
    def __init__(self, t: Type) -> None:
        self.types = (t,)

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        return [undefined(parent, self.types[0]) if x is MISSING else lift(x).value()]

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        return wrap(trace, next(values))

    def end(self, region: Trace, x: Any) -> list[Value]:
        return [undefined(region, self.types[0]) if x is MISSING else lift(x).value()]


class _Array(LoopCarried):
    """An array by value.

    Where it may still be the caller's array from before the loop, which `start` then is, a flag
    beside it says whether it is another one.
    """

    def __init__(
        self, t: ArrayType, shared: bool, start: TracedArray | None, sizes: CarriedSizes
    ) -> None:
        self.sizes = sizes
        self.types = (t,) if start is None else (t, PYBOOL)
        #: Whether it may be a view of, or the same as, an array that lives outside the loop.
        self.shared = shared
        self.start = start
        #: Whether an iteration may leave it an array that the loop began with, or share it.
        self.passes = False
        #: The memory outside the loop that it may be, or be a view of.
        self.outer: dict[Storage, None] = {}
        #: Whether a list holds a copy of what an iteration leaves.
        self.listed = False
        #: Stands for the loop, where no two of its arrays are ever one.
        self.noalias_set: object = None
        #: The loop, where it may be another array that the loop carries.
        self.loop: object = None

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        value = self._laid_out(parent, x, self.sizes.before)
        return [value] if self.start is None else [value, lift(False).value()]

    def end(self, region: Trace, x: Any) -> list[Value]:
        value = self._laid_out(region, x, self.sizes.after)
        if self.start is None:
            return [value]
        return [value, lift(choose(x, lambda leaf: leaf is not self.start)).value()]

    def _laid_out(
        self, trace: Trace, x: Any, sized: Callable[[tuple[Dim, ...]], tuple[Dim, ...]]
    ) -> Value:
        t = self.types[0]
        assert isinstance(t, ArrayType)
        if x is MISSING:
            return undefined(trace, ArrayType(t.dtype, sized(t.shape), t.order))
        v: Value = merged_of(x).value()
        return v if v.type.order == t.order else laid_out(trace, v, t.order)  # type: ignore[union-attr]

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        stays = x is not MISSING and (self.passes or ran is not True)
        known = dict(self.outer)
        if stays and self.start is None:
            known |= dict.fromkeys(a.storage for a in arrays_in(x))
        callers = any(c.input is not None for outer in self.outer for c in outer.roots())
        shared = self.shared or callers
        storage = Storage(trace, next(values), -2 if shared or self.loop is not None else None)
        storage.shared_by = None if shared else self.loop
        storage.carried, storage.listed = ran is None, self.listed and ran is not None
        storage.may_alias = tuple((c, c.version) for c in known)
        storage.noalias_set = self.noalias_set
        new = TracedArray(trace, storage)
        if self.start is not None:
            return Union(wrap(trace, next(values)), new, self.start, new)  # type: ignore[arg-type]
        if not stays:
            return new
        # It may still be the array from before the loop.
        simple = isinstance(x, TracedArray) and x.storage.input is None and not x.views
        if not simple and ran is None:
            storage.input = min(storage.input or -1, -1)
        elif not simple:
            if self.passes:
                storage.input = min(storage.input or 0, -1 if _is_local(x) else -2)
            storage.may_alias = tuple(
                (c, v) for c, v in storage.may_alias if self.passes or c in self.outer
            )
            return new if ran is True else Union(ran, new, x, new)
        return new

    def arrays(self, x: Any) -> list[TracedArray]:
        return [] if x is MISSING else arrays_in(x)

    def like(self, before: LoopCarried) -> bool:
        if not isinstance(before, _Array) or not super().like(before):
            return False
        known = self.outer.keys() <= before.outer.keys()
        self.outer = before.outer | self.outer
        same = (self.loop is None) is (before.loop is None)
        return known and same and self.shared == before.shared

    def ends_with(
        self, x: Any, inner: dict[Storage, list[Storage]], loop: object, alone: bool
    ) -> None:
        roots = set().union(*(a.storage.roots() for a in self.arrays(x)))
        found = [c for c in inner if c in roots]
        self.passes, self.noalias_set = bool(found), loop if alone else None
        self.listed = any(a.storage.listed for a in self.arrays(x))
        for storage in found:
            self.outer |= dict.fromkeys(inner[storage])
        if not alone and self.arrays(x):
            # Two of the loop's arrays may be one.
            self.loop = loop


class _Parts(LoopCarried):
    """A container by what it holds.

    `labels` and `held` say which other objects it may be, or hold by value, after an iteration: see
    `tracing/aliases.py`.
    """

    def __init__(
        self,
        cls: type,
        keys: tuple[Any, ...],
        children: Sequence[LoopCarried],
        labels: AbstractSet[Hashable] = frozenset(),
        held: AbstractSet[Hashable] = frozenset(),
    ) -> None:
        self.cls, self.keys, self.children = cls, keys, children
        self.types = tuple(t for c in children for t in c.types)
        self.labels, self.held = frozenset(labels), frozenset(held)

    def like(self, before: LoopCarried) -> bool:
        if not isinstance(before, _Parts) or not super().like(before):
            return False
        known = self.labels <= before.labels and self.held <= before.held
        self.labels, self.held = self.labels | before.labels, self.held | before.held
        return known

    def parts(self) -> Sequence[LoopCarried]:
        return self.children

    def memory(self, x: Any) -> list[set[Storage]]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [found for child, part in pairs for found in child.memory(part)]

    def _of(self, x: Any) -> list[Any]:
        found = parts_of(x)
        return [MISSING] * len(self.children) if found is None else found[2]

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [v for child, part in pairs for v in child.begin(parent, part)]

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        pairs = zip(self.children, self._of(x), strict=True)
        parts = [child.inside(interpreter, trace, values, part, ran) for child, part in pairs]
        new = rebuild(interpreter, self.cls, self.keys, parts)
        if not is_told_apart(new):
            return new
        aliases = interpreter.aliases
        aliases.add(new, self.labels)
        aliases.hold(new, self.held)
        if x is MISSING or ran is True:
            return new
        if ran is not None and interpreter.capture.is_outside(x):
            return Union(ran, new, x)
        # It may still be the object from before the loop.
        aliases.follow_one(new, x, "start")
        return new

    def end(self, region: Trace, x: Any) -> list[Value]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [v for child, part in pairs for v in child.end(region, part)]

    def arrays(self, x: Any) -> list[TracedArray]:
        pairs = zip(self.children, self._of(x), strict=True)
        return [a for child, part in pairs for a in child.arrays(part)]

    def ends_with(
        self, x: Any, inner: dict[Storage, list[Storage]], loop: object, alone: bool
    ) -> None:
        for child, part in zip(self.children, self._of(x), strict=True):
            child.ends_with(part, inner, loop, alone)


def _giving(x: Any) -> Callable[[], Any]:
    return lambda: x


class _Fixed(LoopCarried):
    """A constant that an iteration gives, where nothing is known before the first one."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        return self.value

    def like(self, before: LoopCarried) -> bool:
        return isinstance(before, _Fixed) and same_constant(self.value, before.value)


class _Union(LoopCarried):
    """A value of one of several kinds: which one, and the value of each kind."""

    def __init__(
        self, interpreter: Interpreter, kinds: Sequence[Hashable], inner: Sequence[LoopCarried]
    ) -> None:
        self.interpreter, self.kinds = interpreter, kinds
        #: None where a number shares the machine value of an earlier kind.
        self.inner: list[LoopCarried | None] = []
        self.number: dict[Type, int] = {}
        for k, (kind, carry) in enumerate(zip(kinds, inner, strict=True)):
            t = machine(kind)
            self.inner.append(carry if t is None else None)
            if t is not None:
                self.number.setdefault(t, k)
        self.types = tuple(PYBOOL for _ in kinds[1:])
        for k, kind in enumerate(kinds):
            t, carry_k = machine(kind), self.inner[k]
            if carry_k is not None:
                self.types += carry_k.types
            elif t is not None and self.number[t] == k:
                self.types += (t,)

    def parts(self) -> Sequence[LoopCarried]:
        return [carry for carry in self.inner if carry is not None]

    def like(self, before: LoopCarried) -> bool:
        return isinstance(before, _Union) and self.kinds == before.kinds and super().like(before)

    def begin(self, parent: Trace, x: Any) -> list[Value]:
        out = [lift(flag).value() for flag in flags(self.interpreter, x, self.kinds)]
        for k, kind in enumerate(self.kinds):
            t, carry = machine(kind), self.inner[k]
            if carry is not None:
                out += carry.begin(parent, of_kind(self.interpreter, x, kind))
            elif t is not None and self.number[t] == k:
                same = [of_kind(self.interpreter, x, other) for other in self._sharing(t)]
                out.append(self._machine(parent, t, x, same))
        return out

    def end(self, region: Trace, x: Any) -> list[Value]:
        return self.begin(region, x)

    def _sharing(self, t: Type) -> list[Hashable]:
        return [kind for kind in self.kinds if machine(kind) == t]

    def _machine(self, trace: Trace, t: Type, x: Any, same: list[Any]) -> Value:
        """The machine value that several kinds of numbers share."""
        given = [(kind, v) for kind, v in zip(self._sharing(t), same, strict=True)]
        found = [(kind, v) for kind, v in given if v is not MISSING]
        if not found:
            return undefined(trace, t)
        out: Any = as_machine(found[-1][1])
        for kind, v in reversed(found[:-1]):
            flag = flags(self.interpreter, x, [kind, None])[0]
            first, second = wrap(trace, as_machine(v)), wrap(trace, out)
            pair = (first, second)
            out = self.interpreter.ternary(flag, *map(_giving, pair)).value()
        value: Value = out
        return value

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        chosen = [wrap(trace, next(values)) for _ in self.kinds[1:]]
        parts: list[Any] = []
        numbers: dict[Type, Value] = {}
        for k, kind in enumerate(self.kinds):
            t, carry = machine(kind), self.inner[k]
            if t is not None:
                if t not in numbers:
                    numbers[t] = next(values)
                parts.append(as_kind(numbers[t], kind))
            elif carry is not None:
                start = of_kind(interpreter, x, kind)
                parts.append(carry.inside(interpreter, trace, values, start, ran))
        return select(chosen, parts)

    def arrays(self, x: Any) -> list[TracedArray]:
        out: list[TracedArray] = []
        for carry, kind in zip(self.inner, self.kinds, strict=True):
            if carry is not None:
                out += carry.arrays(of_kind(self.interpreter, x, kind))
        return out

    def ends_with(
        self, x: Any, inner: dict[Storage, list[Storage]], loop: object, alone: bool
    ) -> None:
        for carry, kind in zip(self.inner, self.kinds, strict=True):
            if carry is not None:
                carry.ends_with(of_kind(self.interpreter, x, kind), inner, loop, alone)


def merged_of(x: Any) -> Any:
    """The array that `x` is by value; None where it may be anything else."""
    if isinstance(x, Union):
        x = x.known()
    if isinstance(x, Union):
        return x.merged
    return x if isinstance(x, TracedArray) else None


def arrays_in(x: Any) -> list[TracedArray]:
    """The arrays that `x` may be."""
    if isinstance(x, Union):
        found = {id(a): a for side in (x.first, x.second) for a in arrays_in(side)}
        return list(found.values())
    return [x] if isinstance(x, TracedArray) else []


def _is_local(x: Any) -> bool:
    """Whether an array is a view of memory that the caller has not, and that may be stored into."""
    arrays = arrays_in(x)
    return all(c.input is None for a in arrays for c in a.storage.roots()) and all(
        view.writeable for a in arrays for view in a.views
    )

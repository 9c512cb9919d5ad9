"""What a loop that is being rolled carries: names, memory and containers, until it settles.

The body is traced until what it takes is what it gives back, then recorded as a `while_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control import growth
from tracejit.frontend.control.loop_aliases import note_ends
from tracejit.frontend.control.loop_carried import (
    MISSING,
    SAME,
    LoopCarried,
    Same,
    Unlike,
    arrays_in,
)
from tracejit.frontend.control.loop_parts import is_static, keys_in, parts_in, with_parts
from tracejit.frontend.control.loop_recall import (
    carries_too_much,
    fixpoint_of,
    forget,
    kind_at_start,
    recall,
    require_alike,
)
from tracejit.frontend.control.merges import PhiBuilder, undefined
from tracejit.frontend.control.regions import (
    Names,
    Side,
    close_region,
    entered,
)
from tracejit.frontend.control.weak_carried import weakly
from tracejit.frontend.control.widening import widened
from tracejit.frontend.tracing.carried_sizes import CarriedSizes
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage, laid_out
from tracejit.frontend.tracing.raised import Raising
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, lift, wrap
from tracejit.frontend.tracing.union import UNBOUND, Union, Unreachable
from tracejit.frontend.tracing.weak_scalar import WeakScalar
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value, symbols
from tracejit.ir.types import ArrayType, Type, type_substitute

__all__ = ["Loop", "Once", "StaticLoop"]

_ROUNDS = 16


class StaticLoop(Exception):
    """An iteration computes nothing but numbers known while tracing."""


class Once(TraceError):
    """The first iteration never ends: there is no second one."""


class Loop:
    """A loop that is being rolled: what it carries, and how."""

    def __init__(self, interpreter: Interpreter, names: Names, info: Any, peeled: int) -> None:
        self.interpreter, self.names, self.parent = interpreter, names, here()
        #: Sizes of arrays that change from iteration to iteration.
        self.grown = CarriedSizes(self.parent, peeled)
        self.after, self.at_head = {*info[1], *names.foreign}, {*info[2], *names.foreign}
        held = names.all().items()
        self.start = {n: x.known() if isinstance(x, Union) else x for n, x in held}
        names.put(self.start)
        self.carries: dict[str, LoopCarried] = dict.fromkeys(names, SAME)
        self.storages: list[Storage] = []
        #: Memory that was not carried, or no longer, when a name came to be carried by value.
        self.left_out: set[Storage] = set()
        self.objects: dict[int, Any] = {}
        self.parts: dict[int, list[LoopCarried]] = {}
        self.inputs: list[Value] = []
        #: What the loop begins with and stores into under other names.
        self.clobbered: dict[Storage, None] = {}
        #: What a store in an iteration may change under another name: the next one finds it so.
        self.stale: dict[int, Any] = {}
        #: The arrays that the loop carries by value, as they are in the body.
        self.inner: list[TracedArray] = []
        #: Those that are what a name holds.
        self.inner_of: dict[str, list[TracedArray]] = {}
        #: The numbers in its last trace that it begins with as Python's.
        self.weak: list[tuple[str, WeakScalar]] = []
        #: What names and memory are where the body begins, in its last trace.
        self.heads: dict[str, Any] = {}
        self.versions: dict[Storage, int] = {}
        #: The trace of the body, how often it appends to each list by id, and room for that.
        self.region = self.parent
        self.appended: dict[int, Any] = {}
        #: How often it does itself, for lists of unknown length: id -> (list, count).
        self.appending: dict[int, tuple[list[Any], int]] = {}
        #: How many elements an iteration makes room for, in each list of unknown length by id.
        self.headroom: dict[int, tuple[list[Any], int]] = {}
        self.room = growth.Room()
        #: How often it runs (an int, a size or a traced int), where that is known before.
        self.iterations: Any = None
        #: What is known of the loop from an earlier trace of what stands around it.
        self.nested = self.parent.loops.next((names.statement, peeled))

    def by_itself(self, run: Callable[[], Any]) -> Any:
        """An iteration that stands before the loop."""
        trace = here()
        outer, trace.loops = trace.loops, self.nested.peeled
        trace.loops.begin()
        try:
            return run()
        finally:
            trace.loops = outer

    def iteration(self) -> tuple[Any, Any]:
        """Run the body once; gives its outcome, and whether the loop may go on."""
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[str, ...]:
        """The size symbols that it carries: its counter, and sizes of arrays."""
        return (*self.grown.counters, *self.grown.names)

    # What is carried ----------------------------------------------------------------------------

    def first(self, name: str) -> Any:
        """What a name begins with, where an iteration may see it."""
        return self.start[name] if name in self.at_head else MISSING

    def types(self) -> list[Type]:
        """The types of the carried values."""
        out = [t for carry in self.carries.values() for t in carry.types]
        out += [storage.value.type for storage in self.storages]
        return out + [t for carries in self.parts.values() for c in carries for t in c.types]

    def initial(self) -> list[Value]:
        """The carried values before the first iteration."""
        out: list[Value] = []
        for name, carry in self.carries.items():
            out += carry.begin(self.parent, self.first(name))
        out += [storage.read(self.parent) for storage in self.storages]
        for carry, part in self._parts_now():
            out += carry.begin(self.parent, part)
        return out

    def _parts_now(self) -> list[tuple[LoopCarried, Any]]:
        return [
            pair
            for key, x in self.objects.items()
            for pair in zip(self.parts[key], parts_in(contents_of(x)), strict=True)
        ]

    def bind(self, region: Trace, values: Iterator[Value]) -> None:
        """Let names, memory and containers hold the carried values in a region."""
        for name, carry in self.carries.items():
            x = self.first(name)
            inside = carry.inside(self.interpreter, region, values, x)
            if x is MISSING:
                self.names.set(name, UNBOUND)
            elif not isinstance(carry, Same):
                self.names.set(name, inside)
                if isinstance(inside, WeakScalar):
                    self.weak.append((name, inside))
                self.inner_of[name] = carry.arrays(inside)
                self.inner += self.inner_of[name]
        for storage in self.storages:
            region.stored[storage] = storage.value, storage.holder, storage.version
            storage.put(region, next(values))
        for key, x in self.objects.items():
            before = contents_of(x)
            pairs = zip(self.parts[key], parts_in(before), strict=True)
            parts = []
            for carry, part in pairs:
                parts.append(carry.inside(self.interpreter, region, values, part))
                self.inner += carry.arrays(parts[-1])
            region.changed[key] = x, before
            put_contents(x, with_parts(before, parts))

    def final(self, side: Side) -> list[Value]:
        """The carried values after an iteration; its region must be open."""
        region = side.region
        out: list[Value] = []
        for name, carry in self.carries.items():
            out += carry.end(region, side.names[name])
        # Memory of unknown order is carried in that of its first value.
        for storage in self.storages:
            v, first = side.stored[storage], region.stored[storage][0].type
            if isinstance(first, ArrayType) and v.type.order != first.order:  # type: ignore[union-attr]
                v = laid_out(region, v, first.order)
            out.append(v)
        for key in self.objects:
            ends = parts_in(side.changed[key][1])
            for carry, part in zip(self.parts[key], ends, strict=True):
                out += carry.end(region, part)
        return out

    def _note_ends(self, side: Side) -> None:
        pairs = [(carry, side.names[name]) for name, carry in self.carries.items()]
        for key in self.objects:
            pairs += zip(self.parts[key], parts_in(side.changed[key][1]), strict=True)
        inner = {x.storage: [c for c, _ in x.storage.may_alias] for x in self.inner}
        starts = [c for found in self._memory_before() for c in found]
        ends = [c for carry, x in pairs for found in carry.memory(x) for c in found]
        alone = len(set(ends)) == len(ends) and len(set(starts)) == len(starts)
        for carry, x in pairs:
            carry.ends_with(x, inner, self, alone)

    def _memory_before(self) -> list[set[Storage]]:
        pairs = [(c, self.start[n]) for n, c in self.carries.items() if n in self.at_head]
        pairs += self._parts_now()
        return [found for carry, x in pairs for found in carry.memory(x)]

    def after_loop(self, outs: Iterator[Value], ran: Any) -> None:
        """Let names, memory and containers hold what the loop leaves in them."""
        parent, values = self.parent, list(outs)
        count = sum(len(carry.types) for carry in self.carries.values())
        for storage in self.clobbered:
            storage.lose(parent)
        # Memory first: what names hold is what it is then.
        outs = iter(values[count:])
        for storage in self.storages:
            storage.store(parent, next(outs))
        of_names = iter(values[:count])
        for name, carry in self.carries.items():
            x = self.first(name)
            new = carry.inside(self.interpreter, parent, of_names, x, True if ran is False else ran)
            if isinstance(carry, Same):
                continue
            if ran is False:
                # Sizes of this call's form decide that there is no iteration.
                new = self.start[name]
            elif x is MISSING and ran is not True:
                new = Union(ran, new, self.start[name])
            self.names.set(name, new)
        for key, x in self.objects.items():
            before = contents_of(x)
            pairs = zip(self.parts[key], parts_in(before), strict=True)
            known = True if ran is False else ran
            parts = [
                carry.inside(self.interpreter, parent, outs, part, known) for carry, part in pairs
            ]
            if ran is False:
                continue
            self.interpreter.will_mutate(x)
            put_contents(x, with_parts(before, parts))

    # Until it settles ---------------------------------------------------------------------------

    def widen(self, side: Side) -> bool:
        """LoopCarried what the body changes, too. False where nothing more is needed."""
        before = (
            dict(self.carries),
            list(self.storages),
            {k: list(v) for k, v in self.parts.items()},
        )
        self.grown.begin()
        note_ends(self, side)
        for name, carry in self.carries.items():
            start, end = self.first(name), side.names[name]
            if start is MISSING and (name not in self.after or end is UNBOUND):
                continue
            weak = weakly(carry, start, end) if self._may_be_weak(name) else None
            if weak is not None:
                self.carries[name] = weak
                continue
            self.grown.at(name)
            try:
                self.carries[name] = widened(self.interpreter, side, carry, start, end)
            except Unlike as e:
                self.nested.differs(name, kind_at_start(start), e)
                raise
        self._add_cells(
            list(side.stored), [n for n, c in self.carries.items() if c is not before[0][n]]
        )
        for key, (x, contents) in side.changed.items():
            now = contents_of(x)
            if keys_in(now) != keys_in(contents):
                if isinstance(now, list):
                    raise growth.unlike(self.interpreter, x, now, contents)
                raise TraceError("TJ017", f"a {type(x).__name__} grows or shrinks", user_line())
            carries = self.parts.get(key, [])
            carries = [*carries, *(Same() for _ in keys_in(now)[len(carries) :])]
            self.objects[key] = x
            self.grown.at(key)
            self.parts[key] = [
                widened(self.interpreter, side, carry, a, b)
                for carry, a, b in zip(carries, parts_in(now), parts_in(contents), strict=True)
            ]
            if is_grown(now):
                known = growth.stepped(self, side.goes_on, carries[-1], now[1], contents[1])
                self.parts[key][-1] = known or self.parts[key][-1]
        return before != (self.carries, self.storages, self.parts)

    def _may_be_weak(self, name: str) -> bool:
        """Whether no loop has been asked what number the name begins with."""
        return name in self.at_head and id(self.names.cells[name]) not in self.parent.asked

    def _add_cells(self, stored: Sequence[Storage], widened: Iterable[str]) -> None:
        """LoopCarried memory that is stored into.

        Where a name that begins with it has just come to be carried by value, the next trace of the
        body shows whether anything else stores into it.
        """
        begun = {a.storage for n in widened for a in self.carries[n].arrays(self.first(n))}
        for storage in stored:
            if storage in begun - self.left_out:
                self.left_out.add(storage)
                if storage in self.storages:
                    self.storages.remove(storage)
            elif storage not in self.storages:
                self.storages.append(storage)

    def settle(self, probe: bool) -> Side:
        """Trace the body until what it carries repeats; gives the last trace of it.

        Raises StaticLoop where `probe` is set and there is nothing to trace, TraceError where the
        loop cannot be rolled.
        """
        require_alike(self)
        known = recall(self)
        for k in range(_ROUNDS):
            side = self._trace()
            require_alike(self)
            if k == 0 and known and carries_too_much(self, side):
                forget(self)
                continue
            if k == 0 and probe and not known and is_static(side):
                raise StaticLoop
            grown = self.widen(side)
            grown |= growth.needs_more(self)
            clobbered = dict.fromkeys(side.clobbered)
            stale = self._outer_stale(side)
            if not grown and clobbered.keys() <= self.clobbered.keys() and stale <= set(self.stale):
                self._check_aliases(side)
                growth.check_room(self)
                self.nested.fixpoint = fixpoint_of(self)
                return side
            self.clobbered |= clobbered
            self.stale |= {key: side.region.stale[key] for key in stale}
        raise TraceError("TJ011", "what a loop carries does not settle", user_line())

    def _outer_stale(self, side: Side) -> set[int]:
        """What has become stale in an iteration and was made before the loop."""
        owner = self.interpreter.owner_of
        found = set()
        for key, x in side.region.stale.items():
            made = owner(x)
            if made is None or not side.region.encloses(made):
                found.add(key)
        return found

    def _trace(self) -> Side:
        """One trace of the body."""
        region = Trace("body", self.parent.env, self.parent)
        region.carried_sizes, region.loops = self.grown, self.nested.body
        region.stale |= self.stale
        self.region, self.appended, self.appending = region, {}, {}
        region.loops.begin()
        self.inputs = [region.builder.input(t, f"c{k}") for k, t in enumerate(self.types())]
        self.inner, self.inner_of, self.weak = [], {}, []
        with entered(region, self.names) as side:
            side.own_sizes = self.sizes
            self.bind(region, iter(self.inputs))
            for storage in self.clobbered:
                storage.lose(region)
            self.heads = self.names.all()
            self.versions = {storage: storage.version for storage in self.storages}
            growth.begin_iteration(self)
            try:
                side.outcome, side.goes_on = self.iteration()
            except Unreachable:
                raise Once("TJ008", "a loop whose body always raises", user_line()) from None
            except Raising:
                raise TraceError("TJ024", "a loop whose test raises", user_line()) from None
            except (TraceError, StaticLoop):
                raise
            except Exception as e:
                what = f"an iteration raises {type(e).__name__}: {e}"
                raise Once("TJ008", what, user_line()) from e
        return side

    def _started(self) -> dict[str, list[TracedArray]]:
        """The arrays that names begin with which are carried by value."""
        names = [n for n in self.carries if n in self.at_head]
        return {n: self.carries[n].arrays(self.start[n]) for n in names}

    def stored_names(self) -> list[str]:
        """The names that begin an iteration with an array that it stores into.

        An array in a container counts for every name.
        """
        of_names = {x.storage for arrays in self.inner_of.values() for x in arrays}
        if any(x.storage.written for x in self.inner if x.storage not in of_names):
            return list(self.carries)
        return [n for n, arrays in self.inner_of.items() if any(x.storage.written for x in arrays)]

    def _check_aliases(self, side: Side) -> None:
        """Raise TraceError where a carried array that is stored into may be another one, too."""
        inner = {x.storage for x in self.inner}
        if not any(storage.written for storage in inner):
            return
        # What an iteration leaves in a list that holds it by value, the next one may store into.
        names = self.stored_names()
        ended = [side.names[n] for n in names]
        if len(names) == len(self.carries):
            ended += [p for _, contents in side.changed.values() for p in parts_in(contents)]
        for x in ended:
            if any(a.storage.listed for a in arrays_in(x)):
                raise TraceError("TJ005", "a store into an array that a list holds", user_line())
        ends = {n: c.arrays(side.names[n]) for n, c in self.carries.items()}
        for held in (ends, self._started()):
            storages = [x.storage for arrays in held.values() for x in arrays]
            stored = [x.storage for n in self.stored_names() for x in held.get(n, ())]
            if any(storages.count(storage) > 1 for storage in stored):
                raise TraceError("TJ005", "two names of a loop that are one array", user_line())
        for x in (x for arrays in ends.values() for x in arrays):
            fresh = (
                side.region.encloses(x.storage.trace) and x.storage.input is None and not x.views
            )
            if not fresh and x.storage not in inner:
                raise TraceError("TJ005", "a store into memory that may be shared", user_line())

    # The node -----------------------------------------------------------------------------------

    def record(
        self,
        side: Side,
        test: Callable[[Trace, list[Value]], Any],
        flag: Any = True,
        size_starts: tuple[Dim, ...] = (),
        size_ends: tuple[Dim, ...] = (),
    ) -> tuple[Iterator[Value], Any, Any]:
        """Record the loop; gives the carried values after it, the flag and the outcome.

        `test` gives the condition in a region of its own from the carried values, the last of which
        is the flag where the body may leave the loop; `flag` is its first value.
        """
        parent, body, exits = self.parent, side.region, side.goes_on is not True
        size_starts += tuple(self.grown.starts.values())
        size_ends += tuple(self.grown.ends.values())
        phis = PhiBuilder(self.interpreter, parent, None, [side])
        outcome = phis.export(side.outcome, 0)
        first, inputs = self.initial(), list(self.inputs)
        with side.reopened():
            last = self.final(side)
            self._note_ends(side)
            if exits:
                extra = [lift(side.goes_on).value(), *phis.complete()[0]]
                inputs += [body.builder.input(v.type) for v in extra]
                last += extra
        if exits:
            first += [lift(flag).value(), *(undefined(parent, v.type) for v in extra[1:])]
        region = Trace("condition", parent.env, parent)
        region.stale |= self.stale
        tested = [region.builder.input(v.type, v.name) for v in inputs]
        with region.active():
            try:
                holds = lift(test(region, tested[: len(self.inputs) + exits])).value()
            except Raising:
                what = "one that the test of a loop raises"
                raise TraceError("TJ024", what, user_line()) from None
        require_alike(self)
        captures = list(dict.fromkeys((*region.captures, *body.captures)))
        graphs = (
            close_region(region, tested, self.sizes, captures, [holds]),
            close_region(body, inputs, self.sizes, captures, last, size_ends),
        )
        sizes = tuple((*size_starts, *symbols(g.sizes[len(self.sizes) :])) for g in graphs)
        starts = dict(zip(self.sizes, size_starts, strict=False))
        if _are_others(graphs[1].inputs, first, starts):
            raise TraceError(
                "TJ015", "a size that another array had in an earlier trace", user_line()
            )
        ends = dict(zip(graphs[1].sizes, graphs[1].size_outputs, strict=False))
        if _are_others(graphs[1].inputs, graphs[1].outputs, ends):
            raise TraceError("TJ015", "a size that a loop leaves to another array", user_line())
        outs = parent.emit_all(
            "while_loop",
            (*first, *captures),
            {"carried": len(first), "sizes": sizes},
            regions=graphs,
            binds=tuple(parent.fresh_size() for _ in self.sizes),
        )
        count = len(self.inputs)
        if not exits:
            return iter(outs[:count]), None, None
        return iter(outs[:count]), wrap(parent, outs[count]), outcome(outs[count + 1 :])


def _are_others(inputs: Sequence[Value], values: Sequence[Value], sizes: Mapping[str, Dim]) -> bool:
    """Whether an array among the values that an iteration begins with, or leaves, has not the sizes
    that the body takes, of which the carried ones are `sizes` there."""
    for taken, given in zip(inputs, values, strict=False):
        a, b = type_substitute(taken.type, sizes), given.type
        if isinstance(a, ArrayType) and isinstance(b, ArrayType) and a.shape != b.shape:
            return a.ndim == b.ndim
    return False

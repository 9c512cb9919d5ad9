"""Lists that change their length in a loop: before it, they get room for all that it appends.

A loop that finds out, in a trace of its body, that a list from outside grows is traced anew with a
grown list in its place (see `tracing/grown.py`). How much each iteration appends is counted in the
trace; a run that appends more bails out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.columns import columns_of, recast
from tracejit.frontend.control.loop_carried import LoopCarried, Same
from tracejit.frontend.control.regions import close_region
from tracejit.frontend.numpy.creation import filled
from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.grown import (
    Form,
    Grown,
    fits,
    form_of,
    is_grown,
    joined_form,
    leaves_in,
    prefixes,
    release,
    size_of,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedScalar, Tracer, lift, wrap
from tracejit.ir.dims import Dim, free_symbols, substitute
from tracejit.ir.graph import Node, Value, symbols

__all__ = [
    "FEW",
    "Grows",
    "Room",
    "check_room",
    "grows",
    "joined_lists",
    "note_appended",
    "outermost",
    "packed",
    "packed_items",
    "rolled",
    "stepped",
    "unlike",
]

#: Up to this many iterations are unrolled: a list then has Python's own elements.
FEW = 8
#: Up to this many numbers in a list or tuple are taken one by one.
_UNPACKED = 16
#: For how many more elements a list has room at first that grows by an unknown number.
_BEGIN = 16
#: Up to this many elements, a list that only one side of a branch makes larger is one of arrays.
_JOINED = 64


class Grows(TraceError):
    """A list from outside a loop changes its length in it: it needs room there."""

    def __init__(self, loop: Any, x: list[Any], form: Form, count: Any) -> None:
        super().__init__("TJ017", "a list grows or shrinks", user_line())
        self.loop, self.x, self.form, self.count = loop, x, form, count


class Room:
    """The lists that a loop has to find grown, and how much each iteration appends to them."""

    def __init__(self) -> None:
        #: id -> (the list, its form, what one iteration appends).
        self.lists: dict[int, tuple[list[Any], Form, Any]] = {}
        #: What these lists held before.
        self.before: list[tuple[list[Any], list[Any]]] = []

    def add(self, grows: Grows) -> None:
        """Note what a trace of the body has found out."""
        self.lists[id(grows.x)] = grows.x, grows.form, grows.count

    def make(self, interpreter: Interpreter, loop: Any) -> None:
        """Let the lists have room for what the loop appends."""
        for x, form, count in list(self.lists.values()):
            interpreter.will_mutate(x)
            self.before.append((x, contents_of(x)))
            form = widened_form(x, form)
            more = _times(loop.parent, loop.iterations, count)
            self.lists[id(x)] = x, form, None if more is None else count
            _reserve(interpreter, x, form, more)

    def undo(self) -> None:
        """Let the lists be as before the loop."""
        for x, contents in reversed(self.before):
            put_contents(x, contents)
        self.before.clear()


def rolled(interpreter: Interpreter, make: Callable[[], Any], probe: bool) -> Any:
    """The outcome of the loop that `make` begins, recorded; its lists get the room they need.

    Raises what `roll` raises, with everything as it was before.
    """
    room, stack, met = Room(), interpreter.rolling, here().loops.mark()
    while True:
        here().loops.back(met)
        loop = make()
        before = loop.names.all()
        try:
            room.make(interpreter, loop)
            loop.room = room
            stack.append(loop)
            try:
                outcome = loop.roll(probe=probe and not room.lists)
            finally:
                stack.pop()
            _pass_on(stack, loop)
            return outcome
        except Grows as e:
            room.undo()
            loop.names.put(before)
            learned = interpreter.capture.learned
            if e.loop is not loop or _is_short(loop) or learned.plain_lists:
                raise
            learned.grew = True
            room.add(e)
        except BaseException:
            room.undo()
            raise


def _is_short(loop: Any) -> bool:
    return isinstance(loop.iterations, int) and loop.iterations <= FEW


def _pass_on(stack: Sequence[Any], loop: Any) -> None:
    """Add what a loop appends to lists to what the loop around it does."""
    if not stack:
        return
    inside: set[str] | None = None
    for key, each in loop.appended.items():
        outer, count = stack[-1].appended, _above(loop, each)
        if isinstance(count, SymInt):
            if inside is None:
                inside = set(_bound(loop.region.builder.nodes))
            count = None if inside & free_symbols(count.dim) else count
        outer[key] = _sum(outer.get(key, 0), _times(stack[-1].region, loop.iterations, count))


def _bound(nodes: Sequence[Node]) -> Iterator[str]:
    """The sizes that nodes and what is in them bind."""
    for node in nodes:
        yield from node.binds
        for region in node.regions:
            yield from _bound(region.nodes)


# Counting ----------------------------------------------------------------------------------------


def _sum(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b


def _times(trace: Trace, iterations: Any, count: Any) -> Any:
    """What a loop in `trace` appends to a list; None where nobody knows before it runs."""
    if iterations is None or count is None:
        return None
    if isinstance(iterations, Tracer):
        return iterations * count if iterations.trace.encloses(trace) else None
    if isinstance(count, Tracer):
        return iterations * count
    return iterations * count


def _above(loop: Any, count: Any) -> Any:
    """A number of appended elements as one that holds in all iterations, or None."""
    if isinstance(count, Tracer):
        return count if count.trace.encloses(loop.parent) else None
    if not isinstance(count, SymInt):
        return count
    own = set(loop.sizes) & free_symbols(count.dim)
    if not own:
        return count
    k = getattr(loop, "k", None)
    if k is None or own != free_symbols(k) or isinstance(loop.iterations, Tracer):
        return None
    env, (name,) = loop.parent.env, own
    step = substitute(count.dim, {name: k + 1}) - count.dim
    if not (env.proved(0, "<=", step) or env.proved(step, "<=", 0)):
        return None
    # It grows or falls with the counter: either end is the largest.
    last = env.maximum(as_dim(loop.iterations) - 1, 0)
    ends = [substitute(count.dim, {name: d}) for d in (0, last)]
    return unwrap(env.maximum(*ends), env)


def note_appended(interpreter: Interpreter, x: list[Any]) -> None:
    """Note that one element is appended to a grown list where the program is now."""
    if interpreter.rolling:
        innermost = interpreter.rolling[-1]
        innermost.appended[id(x)] = _sum(innermost.appended.get(id(x), 0), 1)
        if any(_is_open(loop, x) for loop in interpreter.rolling):
            count = innermost.appending.get(id(x), (x, 0))[1]
            innermost.appending[id(x)] = x, count + 1


def _is_open(loop: Any, x: list[Any]) -> bool:
    """Whether nobody knows before a loop how much it appends to a list."""
    return id(x) in loop.room.lists and loop.room.lists[id(x)][2] is None


def check_room(loop: Any) -> None:
    """Raise Grows where a loop that has settled appends more than there is room for."""
    for x, form, count in loop.room.lists.values():
        found = _above(loop, loop.appended.get(id(x), 0))
        if count is not None and not _same_number(found, count):
            raise Grows(loop, x, form, found)


def _same_number(a: Any, b: Any) -> bool:
    if isinstance(a, Tracer) or isinstance(b, Tracer) or a is None or b is None:
        return a is b
    return bool(as_dim(a) == as_dim(b))


# Which loop --------------------------------------------------------------------------------------


def outermost(interpreter: Interpreter, x: Any) -> Any:
    """The outermost loop being rolled that something was made outside of; None where there is
    none."""
    made = interpreter.owner_of(x)
    if made is None:
        return None
    return next((loop for loop in interpreter.rolling if made.encloses(loop.parent)), None)


def grows(interpreter: Interpreter, x: list[Any], values: Sequence[Any]) -> Any:
    """Make sure that a list which gets `values` next may, where the program is now.

    Gives whether it is plain, and stays so. Raises Grows where a loop has to begin with a grown
    list in its place.
    """
    loop = outermost(interpreter, x)
    if loop is None:
        return
    if is_grown(x):
        if id(x) not in loop.room.lists:
            raise Grows(loop, x, x[0].form, 1)
        return
    innermost = interpreter.rolling[-1]
    if here() is innermost.region and not any(map(_is_traced, values)):
        return
    raise Grows(loop, x, _common(values), _guess(interpreter, loop))


def unlike(interpreter: Interpreter, x: list[Any], before: list[Any], after: list[Any]) -> Grows:
    """The error of a loop whose iteration makes `after` of what a list held before it."""
    loop = outermost(interpreter, x)
    if is_grown(before) or is_grown(after) or loop is None:
        raise TraceError("TJ017", "a list grows or shrinks", user_line())
    new = after[len(before) :] or before
    return Grows(loop, x, _common(new), _guess(interpreter, loop))


def _is_traced(x: Any) -> bool:
    if type(x) in (list, tuple):
        return is_grown(x) or any(map(_is_traced, x))
    return isinstance(x, Tracer)


def _guess(interpreter: Interpreter, loop: Any) -> Any:
    """How much an iteration of `loop` appends, where each loop inside appends one element."""
    count: Any = 1
    stack = interpreter.rolling
    for inner in reversed(stack[stack.index(loop) + 1 :]):
        count = _above(inner, count)
        count = _times(inner.parent, inner.iterations, count)
    return _above(loop, count)


def _common(values: Sequence[Any]) -> Form:
    form = joined_form(*map(form_of, values)) if values else None
    if form is None:
        what = type(values[0]).__name__ if values else "nothing"
        raise TraceError("TJ017", f"a list of {what} grows or shrinks", user_line())
    return form


def _forms_of(x: list[Any]) -> list[Form | None]:
    """The forms of the elements of a list."""
    return [x[0].form] if is_grown(x) else list(map(form_of, x))


def widened_form(x: list[Any], *more: Form | None) -> Form:
    """The form of a list that holds elements of other forms, too. Raises TraceError."""
    form = joined_form(*_forms_of(x), *more)
    if form is None:
        raise TraceError("TJ017", "a list of elements of several kinds grows", user_line())
    return form


# Room --------------------------------------------------------------------------------------------


def begin_iteration(loop: Any) -> None:
    """Let the lists that grow by an unknown number of elements have room for an iteration.

    What the loops around append themselves after this one has its room then, too.
    """
    stack = loop.interpreter.rolling
    for x, count in loop.headroom.values():
        if is_grown(x):
            loop.interpreter.will_mutate(x)
            held = [outer.headroom.get(id(x), (x, 0))[1] for outer in stack if outer is not loop]
            x[0] = x[0].with_arrays(_enlarged(loop.interpreter, x, count + sum(held)))


def needs_more(loop: Any) -> bool:
    """Whether an iteration itself appends more to such a list than it makes room for."""
    more = False
    for key, (x, count) in loop.appending.items():
        if count > loop.headroom.get(key, (x, 0))[1]:
            loop.headroom[key], more = (x, count), True
    return more


def _enlarged(interpreter: Interpreter, x: list[Any], count: int) -> list[Any]:
    """The arrays of a list, or twice as large ones where `count` elements would not fit."""
    trace, arrays = here(), x[0].arrays
    capacity: Dim = x[0].capacity
    wanted = interpreter.binary("add", size_of(x), count)
    fits = interpreter.truth_of(
        interpreter.compare("ge", lift(unwrap(capacity, trace.env)), wanted)
    )
    given = [array.value() for array in arrays]
    # The side that hands the arrays on comes first: it is that which moves no elements.
    same, larger = (Trace(name, trace.env, trace) for name in ("then", "orelse"))
    with larger.active():
        new = []
        for v, leaf in zip(given, leaves_in(x[0].form), strict=True):
            zero = np.zeros((), leaf.dtype)[()]
            rest = filled((capacity + count, *leaf.shape), zero, leaf.dtype).value()
            new.append(larger.emit("concatenate", (larger.capture(v, trace), rest), axis=0))
    with same.active():
        old = [same.capture(v, trace) for v in given]
    captures = list(dict.fromkeys((*larger.captures, *same.captures)))
    graphs = (
        close_region(same, (), (), captures, old, (capacity,)),
        close_region(larger, (), (), captures, new, (2 * capacity + count,)),
    )
    outs = trace.emit_all(
        "cond",
        (lift(fits).value(), *captures),
        {"sizes": tuple(symbols(g.sizes) for g in graphs)},
        regions=graphs,
        binds=(trace.fresh_size(1),),
    )
    return [wrap(trace, v) for v in outs]


def _reserve(interpreter: Interpreter, x: list[Any], form: Form, more: Any) -> None:
    """Let a list be a grown one with room for `more` elements, or some where that is None."""
    more = _BEGIN if more is None else more
    trace, length = here(), size_of(x) if is_grown(x) else len(x)
    if isinstance(length, Tracer) or isinstance(more, Tracer):
        room = lift(binary_operator(operator.add, lift(length), lift(more)))
        capacity: Dim = trace.bound(room.value())
    else:
        capacity = as_dim(length + more)
    x[:] = packed(interpreter, x, form, capacity)


def packed(
    interpreter: Interpreter, x: list[Any], form: Form, capacity: Dim, owner: Any = None
) -> list[Any]:
    """What a list is as a grown one of a form and capacity, in new memory.

    `owner` is the list itself, where `x` is but what it holds on a side of a branch.
    Raises TraceError for elements of another form.
    """
    shapes = [d for leaf in leaves_in(form) for d in leaf.shape]
    if not here().env.is_known(*shapes):
        raise TraceError("TJ015", "a list of arrays whose size changes", user_line())
    if not all(fits(form, f) for f in _forms_of(x)):
        raise TraceError("TJ017", "a list of elements of several kinds grows", user_line())
    arrays = []
    for leaf in leaves_in(form):
        zero = np.zeros((), leaf.dtype)[()]
        arrays.append(filled((capacity, *leaf.shape), zero, leaf.dtype))
    if is_grown(x):
        length = size_of(x)
        cut = x[0].arrays if isinstance(length, Tracer) else prefixes(x)
        for new, held in zip(arrays, recast(x[0].form, form, cut), strict=True):
            if held is not None:
                new[: held.shape[0]] = held
        return [Grown(interpreter, form, arrays, x[0].owned, x[0].is_row), length]
    interpreter.aliases.list_rows(x if owner is None else owner, *x, is_all=True)
    columns = zip(*(columns_of(interpreter, form, v) for v in x), strict=True)
    for array, column in zip(arrays, columns, strict=bool(x)):
        array[: len(x)] = lift(list(column))
    return [Grown(interpreter, form, arrays, release(tuple(x), None)), len(x)]


def joined_lists(phis: Any, owner: list[Any], a: list[Any], b: list[Any]) -> Any:
    """How the list `owner`, which the sides of a branch leave of unlike lengths, is put together.

    None where its elements have no common form.
    """
    interpreter, learned = phis.interpreter, phis.interpreter.capture.learned
    form = joined_form(*_forms_of(a), *_forms_of(b))
    if form is None or learned.plain_lists:
        return None
    rooms = [x[0].capacity if is_grown(x) else len(x) for x in (a, b)]
    if all(isinstance(room, int) for room in rooms):
        rooms = [max(rooms)] * 2
        if rooms[0] > _JOINED and not (is_grown(a) and is_grown(b)):
            return None
    elif phis.parent.env.is_known(*rooms):
        rooms = [rooms[0] + rooms[1]] * 2
    learned.grew = True
    sides = []
    for x, side, room in zip((a, b), phis.sides, rooms, strict=True):
        with side.reopened():
            sides.append(packed(interpreter, x, form, room, owner))
    (first, before), (second, after) = sides
    pairs = zip(first.arrays, second.arrays, strict=True)
    places = [phis.operand(phis.lifted(p, 0), phis.lifted(q, 1)) for p, q in pairs]
    if rooms[0] != rooms[1]:
        phis.both_sizes(*rooms)
    length, owned = phis.merge(before, after), first.owned and second.owned
    is_row = first.is_row or second.is_row

    def made(outs: Sequence[Value]) -> list[Any]:
        arrays: list[Any] = [wrap(phis.parent, outs[k]) for k in places]
        return [Grown(interpreter, form, arrays, owned, is_row), length(outs)]

    return made


class _Packed(Items):
    """The elements of a long list or tuple of traced numbers, which nothing changes meanwhile."""

    def __init__(self, interpreter: Interpreter, x: Any, form: Form) -> None:
        self.list, self.held, self.length = x, tuple(x), len(x)
        (self.grown, _) = packed(interpreter, list(x), form, len(x))

    def item(self, k: Any) -> Any:
        return self.grown.at(k)

    def check(self) -> None:
        if len(self.list) != len(self.held) or any(map(operator.is_not, self.list, self.held)):
            raise TraceError("TJ029", "a list that changes in a loop over it", user_line())


def packed_items(interpreter: Interpreter, x: Any) -> Items | None:
    """The elements of a list or tuple by number, where it is long and holds traced numbers."""
    learned = interpreter.capture.learned
    if type(x) not in (list, tuple) or len(x) <= _UNPACKED or learned.plain_lists:
        return None
    if not all(isinstance(v, TracedScalar) and v.type == x[0].type for v in x):
        return None
    form = form_of(x[0])
    learned.grew = True
    return None if form is None else _Packed(interpreter, x, form)


# What a loop carries of it -----------------------------------------------------------------------


class _Stepped(LoopCarried):
    """A length that each iteration makes larger by `step`: it follows from the loop's counter."""

    def __init__(self, loop: Any, step: int) -> None:
        self.loop, self.step = loop, step

    def inside(
        self,
        interpreter: Interpreter,
        trace: Trace,
        values: Iterator[Value],
        x: Any,
        ran: Any = None,
    ) -> Any:
        if ran is None:
            return unwrap(as_dim(x) + self.loop.k * self.step, trace.env)
        rounds = self.loop.rounds
        if isinstance(rounds, Tracer):
            rounds = unwrap(trace.bound(rounds.value()), trace.env)
        return x + rounds * self.step

    def like(self, before: LoopCarried) -> bool:
        return isinstance(before, _Stepped) and self.step == before.step


def stepped(loop: Any, goes_on: Any, carry: LoopCarried, start: Any, end: Any) -> Any:
    """The carry for a length that follows from the loop's counter; None for any other."""
    k = getattr(loop, "k", None)
    sizes = (int, SymInt)
    if k is None or isinstance(loop.rounds, Tracer) and loop.from_:
        return None
    if goes_on is not True or type(start) not in sizes or type(end) not in sizes:
        return None
    before = as_dim(start)
    if isinstance(carry, Same):
        step = as_dim(end) - before
        return _Stepped(loop, step) if isinstance(step, int) and step > 0 else None
    if isinstance(carry, _Stepped) and as_dim(end) == before + (k + 1) * carry.step:
        return carry
    return None

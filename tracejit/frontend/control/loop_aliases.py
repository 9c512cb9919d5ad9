"""Which objects that an iteration leaves may be one, said so that it holds in each iteration.

    row = [k, 0]; rows.append(row)    ->    what `row` begins with is held by `rows`, by value

An object that two ways lead to becomes two where the next iteration begins. Both get one label,
named for the first of these ways.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.regions import Side
from tracejit.frontend.tracing.aliases import has_identity, objects_in
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.union import UNBOUND, Union

__all__ = ["end_labels", "note_ends", "note_left"]

#: How many ways to objects are looked at.
_MOST_WAYS = 20_000


def note_ends(loop: Any, side: Side) -> None:
    """Finds the labels of all objects that an iteration has made and leaves in names, containers
    and objects. Raises TraceError for one that holds itself."""
    live = [name for name in loop.carries if name in loop.at_head or name in loop.after]
    begun = [*loop.start.values(), *loop.names.read()]
    left = {name: side.names[name] for name in live}
    note_left(loop.interpreter, side, id(loop.nested), left, begun)


def note_left(
    interpreter: Interpreter,
    side: Side,
    key: Hashable,
    left: dict[str, Any],
    begun: Sequence[Any] = (),
) -> None:
    """Finds the labels of all objects that a region has made and leaves in `left` and in what it
    has changed; `key` tells the region from others, `begun` is what it begins with. Raises
    TraceError for one that holds itself."""
    aliases = interpreter.aliases
    ends: dict[int, list[Any]] = {}
    for way, x in _ways(interpreter, side, left):
        ends.setdefault(id(x), [x, way, 0])[2] += 1
    if any(isinstance(x, tuple) for x, _, _ in ends.values()):
        before = (y for x in begun for y in objects_in(x, lambda x: False, tuples=True))
        side.tuples = {id(x): x for x in before if isinstance(x, tuple)}
    #: label -> the first way to an object that has it, or holds one that has it.
    first: dict[Hashable, Hashable] = {}
    several: set[Hashable] = set()
    for x, way, _ in ends.values():
        for label in aliases.of(x) | aliases.held_by(x):
            if first.setdefault(label, way) is not way:
                several.add(label)
    for number, (x, way, count) in ends.items():
        own, held = _outer(interpreter, side, x)
        for found, labels in ((own, aliases.of(x)), (held, aliases.held_by(x))):
            found |= {("end", key, first[label]) for label in labels & several}
        if count > 1:
            own.add(("end", key, way))
        side.labels[number] = own, held


def end_labels(interpreter: Interpreter, side: Side, x: Any) -> tuple[set[Any], set[Any]]:
    """Returns the labels of an object that an iteration leaves: its own, and what it holds."""
    return side.labels[id(x)] if id(x) in side.labels else _outer(interpreter, side, x)


def _outer(interpreter: Interpreter, side: Side, x: Any) -> tuple[set[Any], set[Any]]:
    """The labels of an object that others from outside the region have, too."""
    aliases = interpreter.aliases

    def stays(label: Hashable) -> bool:
        return any(
            other is not x and not _is_inside(interpreter, side, other)
            for other in aliases.members(label)
        )

    own = set(filter(stays, aliases.of(x)))
    if isinstance(x, tuple) and not _is_inside(interpreter, side, x):
        own.add(("given", id(x)))
        aliases.link(("given", id(x)), x)
    return own, set(filter(stays, aliases.held_by(x)))


def _is_inside(interpreter: Interpreter, side: Side, x: Any) -> bool:
    if isinstance(x, tuple):
        return id(x) not in side.tuples and not interpreter.capture.is_given(x)
    made = interpreter.owner_of(x)
    return made is not None and side.region.encloses(made)


def _ways(
    interpreter: Interpreter, side: Side, left: dict[str, Any]
) -> Iterator[tuple[Hashable, Any]]:
    ways: list[tuple[Hashable, Any]] = [(("name", name), x) for name, x in left.items()]
    ways += [(("object", key), contents) for key, (_, contents) in side.changed.items()]
    count = 0
    for way, x in ways:
        for found in _ways_in(interpreter, side, way, x, ()):
            count += 1
            if count > _MOST_WAYS:
                raise TraceError("TJ034", "too many objects that a loop leaves", user_line())
            yield found


def _ways_in(
    interpreter: Interpreter, side: Side, way: Any, x: Any, around: tuple[int, ...]
) -> Iterator[tuple[Hashable, Any]]:
    if x is UNBOUND:
        return
    if isinstance(x, Union):
        for k, part in enumerate((x.first, x.second)):
            yield from _ways_in(interpreter, side, (way, k), part, around)
        return
    is_contents = not around and way[0] == "object"
    if has_identity(x) and not is_contents:
        if not _is_inside(interpreter, side, x):
            return
        if id(x) in around:
            raise TraceError("TJ034", "an object of a loop that holds itself", user_line())
        yield way, x
        if is_grown(x):
            return
        parts = x if type(x) is list else contents_of(x)
    elif type(x) in (list, dict) or isinstance(x, tuple):
        parts = x
        if is_grown(x):
            return
        if x and isinstance(x, tuple):
            yield way, x
    else:
        return
    pairs = parts.items() if isinstance(parts, dict) else enumerate(parts)
    for k, part in pairs:
        yield from _ways_in(interpreter, side, (way, k), part, (*around, id(x)))

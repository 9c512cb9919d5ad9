"""May-alias sets: which containers and objects of a trace may be one object of the run.

Joins of branches and heads of loops rebuild what a region has made. What is rebuilt may be the same
object as another that the trace still knows under another name. Such objects share a *label*. A
store into one of them makes the others stale: nobody may look at these from then on, since their
contents are those of before the store. A list that grows with data *holds* its rows by value; a
store into a row makes the list stale. Nothing stores into tuples: their labels only tell whether a
result would show which of them are one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from tracejit.errors import TraceError
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.pytree import VIEWS, is_plain_dataclass
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import Trace, current_trace, user_line
from tracejit.frontend.tracing.tracer import Tracer
from tracejit.frontend.tracing.union import Union

__all__ = ["Aliases", "has_identity", "is_told_apart", "objects_in", "viewed"]


def has_identity(x: Any) -> bool:
    """Whether Python can store into `x`, so that it matters which object it is."""
    return type(x) in (list, dict, set) or (
        not isinstance(x, (Tracer, Union, tuple, type)) and is_plain_dataclass(x)
    )


def is_told_apart(x: Any) -> bool:
    """Whether a caller can see which object `x` is: it has identity, or is a tuple."""
    return has_identity(x) or isinstance(x, tuple) and len(x) > 0


def objects_in(x: Any, is_local: Callable[[Any], bool], tuples: bool = False) -> Iterator[Any]:
    """Yields `x` and what it holds, at any depth, as far as it has identity; each object once.

    Other objects are looked into where the trace has made them, as `is_local` says; `tuples` are
    among what is given on demand.
    """
    seen: set[int] = set()
    todo = [x]
    while todo:
        x = todo.pop()
        if isinstance(x, Union):
            todo += (x.first, x.second)
            continue
        if id(x) in seen or isinstance(x, Tracer):
            continue
        if type(x) in VIEWS:
            todo.append(viewed(x))
            continue
        if isinstance(x, tuple):
            seen.add(id(x))
            if tuples and x:
                yield x
            todo += x
        elif has_identity(x):
            seen.add(id(x))
            yield x
            if is_grown(x):
                continue
            if type(x) is dict:
                todo += (*x.values(), *x) if tuples else x.values()
            else:
                todo += x if type(x) in (list, set) else contents_of(x).values()
        elif isinstance(x, StandIn):
            seen.add(id(x))
            held = contents_of(x).values()
            todo += (part for part in held if isinstance(part, (list, dict, StandIn)))
        elif is_instance(x) and is_local(x):
            seen.add(id(x))
            todo += contents_of(x).values()


def viewed(view: Any) -> dict[Any, Any]:
    """The dict that a view shows: its mapping proxy refers to nothing else."""
    (held,) = gc.get_referents(view.mapping)
    return cast("dict[Any, Any]", held)


def _holds_twice(x: Any) -> bool:
    """Whether a tuple holds an object in two places, at any depth of tuples."""
    seen: set[int] = set()
    todo = list(x) if isinstance(x, tuple) else []
    while todo:
        x = todo.pop()
        if not is_told_apart(x):
            continue
        if id(x) in seen:
            return True
        seen.add(id(x))
        todo += x if isinstance(x, tuple) else ()
    return False


def _is_place(label: Hashable) -> bool:
    """Whether a label says but that an object is in a list, or a key of a table."""
    return isinstance(label, tuple) and label[0] in ("row", "key")


class Aliases:
    """The labels of one trace's objects."""

    def __init__(self, is_local: Callable[[Any], bool]) -> None:
        self._is_local = is_local
        #: id -> (the object, its labels, those of what it holds by value).
        self._known: dict[int, tuple[Any, set[Hashable], set[Hashable]]] = {}
        #: label -> the objects that have it, or hold one that has it, by id.
        self._members: dict[Hashable, dict[int, Any]] = {}
        #: Whether any object has become stale, in any region.
        self.any_stale = False
        self._is_permuting = False

    def add(self, x: Any, labels: Iterable[Hashable]) -> None:
        """Gives `x` labels; what nobody tells apart needs none."""
        if is_told_apart(x):
            self._note(x, labels, 1)

    def hold(self, x: Any, labels: Iterable[Hashable]) -> None:
        """Notes that `x` holds copies of objects with these labels."""
        self._note(x, labels, 2)

    def _note(self, x: Any, labels: Iterable[Hashable], k: int) -> None:
        found = set(labels)
        if not found:
            return
        known = self._known.setdefault(id(x), (x, set(), set()))
        known[k].update(found)
        for label in found:
            self._members.setdefault(label, {})[id(x)] = x

    def of(self, x: Any) -> set[Hashable]:
        """The labels of an object."""
        return self._known[id(x)][1] if id(x) in self._known else set()

    def members(self, label: Hashable) -> Iterable[Any]:
        """The objects that have a label, or hold one that has it."""
        return self._members[label].values()

    def held_by(self, x: Any) -> set[Hashable]:
        """The labels of what an object holds by value."""
        return self._known[id(x)][2] if id(x) in self._known else set()

    def follow(self, new: Any, *old: Any) -> None:
        """Gives an object the labels of those that it is put together from."""
        for x in old:
            if id(x) in self._known:
                self.add(new, self.of(x))
                self.hold(new, self.held_by(x))

    def follow_one(self, new: Any, x: Any, what: str) -> None:
        """Notes that an object made anew may be `x`, whose labels it gets; `what` names the way."""
        self.follow(new, x)
        self.link((what, id(x)), new, x)

    def link(self, label: Hashable, *objects: Any) -> None:
        """Notes that these may be one object."""
        for x in objects:
            self.add(x, (label,))

    def may_be_one(self, a: Any, b: Any) -> bool:
        """Whether two objects of the trace may be one of the run."""
        return not self.of(a).isdisjoint(self.of(b))

    # Rows of lists that grow ---------------------------------------------------------------------

    def list_rows(self, owner: Any, *rows: Any, is_all: bool = False) -> None:
        """Notes that the list `owner` holds from now on what these are, by value: `is_all` it has.

        An object that it holds already is there twice: see `require_apart`.
        """
        label = ("row", id(owner))
        seen: set[int] = set()
        links = set() if is_all else set(self.held_by(owner))
        for row in rows:
            if _holds_twice(row):
                self.hold(owner, (("twice", id(owner)),))
            for x in objects_in(row, self._is_local, tuples=True):
                own = {of for of in self.of(x) if not _is_place(of)}
                is_there = id(x) in seen if is_all else label in self.of(x)
                # It may be one that is there.
                is_there |= not links.isdisjoint(own)
                links |= own
                if is_there and not self._is_permuting:
                    self.hold(owner, (("twice", id(owner)),))
                seen.add(id(x))
                self.hold(owner, (label, *self.of(x)))
                self.add(x, (label,))

    @contextmanager
    def permuting(self, does: bool) -> Iterator[None]:
        """Takes what lists are given inside for their own elements, moved, if `does`."""
        before, self._is_permuting = self._is_permuting, does or self._is_permuting
        try:
            yield
        finally:
            self._is_permuting = before

    def row_of(self, owner: Any, row: Any, *, is_key: bool = False) -> None:
        """Notes that `row` is what was read from a list that holds its rows by value.

        `is_key`: from the keys of a table, whose entries that list is.
        """
        if isinstance(row, Union):
            self.row_of(owner, row.first, is_key=is_key)
            self.row_of(owner, row.second, is_key=is_key)
        elif is_told_apart(row):
            self.hold(owner, (("row", id(owner)),))
            # It may be a row of what `owner` has its rows from.
            self.add(row, self._held_as(owner, is_key))

    def rows_from(self, new: Any, *lists: Any, with_keys: bool = False) -> None:
        """Notes that a list holds rows of these, by value, and keys where they are of tables."""
        for x in lists:
            self.hold(x, (("row", id(x)),))
            self.hold(new, self._held_as(x, with_keys))

    def _held_as(self, owner: Any, is_key: bool) -> set[Hashable]:
        return self.held_by(owner) - (set() if is_key else {("key", id(owner))})

    def key_of(self, owner: Any, key: Any) -> None:
        """Notes that a table with these entries has a new key, which is then one of their rows.

        One that is a row of the entries otherwise is there twice.
        """
        label = ("key", id(owner))
        if label in self.of(key):
            return
        if _holds_twice(key):
            self.hold(owner, (("twice", id(owner)),))
        for x in objects_in(key, self._is_local, tuples=True):
            if not self.of(x).isdisjoint((label, ("row", id(owner)))):
                self.hold(owner, (("twice", id(owner)),))
            self.hold(owner, (label,))
            self.add(x, (label,))

    # Stores --------------------------------------------------------------------------------------

    def stored(self, x: Any, trace: Trace) -> None:
        """Notes that `x` changes: what may be the same object, or holds it by value, is stale."""
        if id(x) not in self._known:
            return
        for label in self._known[id(x)][1]:
            for key, other in self._members[label].items():
                if other is not x:
                    trace.stale[key] = other
                    self.any_stale = True

    def is_stale(self, x: Any, trace: Trace | None) -> bool:
        """Whether a store under another name may have changed what `x` holds, in a region."""
        while trace is not None:
            if id(x) in trace.stale:
                return True
            trace = trace.parent
        return False

    def require_current(self, *given: Any, trace: Trace | None = None) -> None:
        """Raises TraceError where an object given, or one that it holds, is stale in a region, the
        present one by default."""
        if self.any_stale:
            trace = current_trace() if trace is None else trace
            for x in objects_in(given, self._is_local):
                if self.is_stale(x, trace):
                    what = f"a {type(x).__name__} that was changed under another name"
                    raise TraceError("TJ034", what, user_line())

    def require_apart(self, *given: Any, outside: Any) -> None:
        """Raises TraceError where what a caller is given shows which objects are one, or where a
        store may have changed an object that the caller has.

        `outside(x)` says whether the caller has an object already.
        """
        if not self._known:
            return
        self.require_current(*given)
        trace = current_trace()
        for x in trace.stale.values() if self.any_stale and trace is not None else ():
            if outside(x):
                what = f"a {type(x).__name__} from outside that was changed under another name"
                raise TraceError("TJ034", what, user_line())
        reached = {id(x): x for x in objects_in(given, self._is_local, tuples=True)}
        for x in reached.values():
            if id(x) not in self._known:
                continue
            _, own, held = self._known[id(x)]
            for label in own | held:
                if label == ("twice", id(x)) or any(
                    other is not x and (key in reached or outside(other))
                    for key, other in self._members[label].items()
                ):
                    what = f"a {type(x).__name__} that may be another one, too, as a result"
                    raise TraceError("TJ034", what, user_line())

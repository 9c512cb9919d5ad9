"""What a traced program changes of objects and containers from outside, and how calls repeat it.

An instance keeps what the program stores into it in a dict of its own, its overlay, which branches
and loops join as any dict; a list, dict or dataclass has a stand-in that is changed itself. At the
end of the trace what differs from the beginning is written back by each call, when it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CellType
from typing import Any, NamedTuple

from tracejit.errors import TraceError
from tracejit.frontend.capture.captured import Source
from tracejit.frontend.capture.paths import MISSING, class_lookup
from tracejit.frontend.capture.values import Capture
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.pytree import is_one_key
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.union import UNBOUND, Union
from tracejit.link.cpython.own_attributes import has_own

__all__ = ["Change", "OutsideState"]


class Change(NamedTuple):
    """One store that a call makes when it returns.

    `kind` is "attribute", "class" (an attribute of a class), "item" (of a dict), "pair" (an item
    whose value is its key and value), "element" (of a list), "tail" (all of a list from `key` on;
    None is its end), "contents" (all of a dict, as pairs), "arrays" (the copy of those in a list,
    without an owner) or "cell". A value of `UNBOUND` deletes. The owner is a stand-in, an instance,
    a class, the source of a list that nobody has read, or a dict of globals or a cell itself.
    """

    owner: Any
    kind: str
    key: Any
    value: Any


def _kind(owner: Any) -> str:
    """How a name is stored into its owner."""
    if isinstance(owner, type):
        return "class"
    return {dict: "item", CellType: "cell"}.get(type(owner), "attribute")


class OutsideState:
    """The changes of one trace."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        #: id -> (the instance, its overlay).
        self._overlays: dict[int, tuple[Any, dict[str, Any]]] = {}
        #: id -> overlay and instance the other way round.
        self._owners: dict[int, Any] = {}
        #: (id of the instance, name) -> what the attribute held before the call.
        self._originals: dict[tuple[int, str], Any] = {}
        #: Attributes that are deleted before they are stored again: (id of the instance, name).
        self._deleted: set[tuple[int, str]] = set()
        #: id -> (the stand-in, what it held before the call).
        self._touched: dict[int, tuple[Any, Any]] = {}
        #: What is appended to lists that nobody has read.
        self._tails: dict[Source, list[Any]] = {}

    @property
    def is_changed(self) -> bool:
        """Whether anything from outside differs from what it was, as far as is known here."""
        return any(True for _ in self.changes())

    @property
    def is_used(self) -> bool:
        """Whether the program changes anything from outside, on any path."""
        return bool(self._overlays or self._touched or self._tails)

    # Instances -----------------------------------------------------------------------------------

    def attribute(self, x: Any, name: str) -> Any:
        """What the program has stored into an instance: a value, UNBOUND (deleted) or MISSING."""
        return self._overlays[id(x)][1].get(name, MISSING) if id(x) in self._overlays else MISSING

    def attribute_names(self, interpreter: Any, x: Any) -> list[str]:
        """The names of all attributes that an instance itself has now.

        Raises TraceError where a branch decides.
        """
        if interpreter.is_local(x):
            return list(contents_of(x))
        source = self._capture.source_of(x)
        if source is None:
            raise TraceError("TJ006", f"a {type(x).__name__}", user_line())
        names = self._capture.own_names(source, x)
        stored = self._overlays[id(x)][1] if id(x) in self._overlays else {}
        if any(isinstance(value, Union) for value in stored.values()):
            what = f"a {type(x).__name__} with an attribute that a branch has stored"
            raise TraceError("TJ022", what, user_line())
        return [n for n in dict.fromkeys((*names, *stored)) if stored.get(n) is not UNBOUND]

    def has_stored(self, x: Any, name: str) -> bool:
        """Whether the program has stored, or may have stored, into an attribute of an instance."""
        return self.attribute(x, name) is not MISSING

    def set_attribute(
        self, interpreter: Any, x: Any, source: Source, name: str, value: Any
    ) -> None:
        """Store into an instance; UNBOUND deletes. Raises TraceError for what cannot be joined."""
        overlay = self._overlay(interpreter, x)
        if name not in overlay and here() is not here().root:
            self._begin(overlay, x, name, self._original(x, source, name))
        interpreter.will_mutate(overlay)
        if overlay.get(name) is UNBOUND and here() is here().root:
            # A deleted attribute comes back behind the others.
            del overlay[name]
            self._deleted.add((id(x), name))
        overlay[name] = value

    def set_class_attribute(
        self, interpreter: Any, cls: type, source: Source, name: str, value: Any
    ) -> None:
        """Store under a name that a class holds already."""
        overlay = self._overlay(interpreter, cls)
        if name not in overlay and here() is not here().root:
            held = self._capture.class_attribute(cls, name)
            assert held is not None
            self._begin(overlay, cls, name, self._capture.reach(held))
        interpreter.will_mutate(overlay)
        overlay[name] = value

    # Names outside -------------------------------------------------------------------------------

    def outer_name(self, owner: Any, name: str) -> Any:
        """What the program has bound a name to, in a dict of globals or in a cell; or MISSING."""
        return self.attribute(owner, name)

    def set_outer_name(self, interpreter: Any, owner: Any, name: str, value: Any) -> None:
        """Bind a name; UNBOUND unbinds it."""
        overlay = self._overlay(interpreter, owner)
        if name not in overlay and here() is not here().root:
            self._begin(overlay, owner, name, self._outer_original(owner, name))
        interpreter.will_mutate(overlay)
        overlay[name] = value

    def _outer_original(self, owner: Any, name: str) -> Any:
        if isinstance(owner, CellType):
            return self._capture.cell_value(owner, name)
        if name in owner:
            return self._capture.global_value(owner, name)
        self._capture.bind_absent(owner, name)
        return UNBOUND

    def _overlay(self, interpreter: Any, x: Any) -> dict[str, Any]:
        if id(x) not in self._overlays:
            overlay: dict[str, Any] = {}
            self._capture.tells_apart = True
            self._capture.created[id(overlay)] = overlay, here().root
            self._overlays[id(x)] = x, overlay
            self._owners[id(overlay)] = x
        return self._overlays[id(x)][1]

    def _begin(self, overlay: dict[str, Any], x: Any, name: str, original: Any) -> None:
        """Let an attribute be part of what branches and loops join: what it held is, too."""
        self._originals[id(x), name] = original
        trace: Trace | None = here()
        while trace is not None:
            if id(overlay) in trace.changed:
                trace.changed[id(overlay)][1].setdefault(name, original)
            trace = trace.parent
        overlay[name] = original

    def _original(self, x: Any, source: Source, name: str) -> Any:
        found = class_lookup(type(x), name)
        if has_own(x, name) or found is not MISSING and hasattr(x, name):
            if not has_own(x, name) and not hasattr(type(found), "__set__"):
                what = f"an attribute of the class, {name}, that a branch or loop stores over"
                raise TraceError("TJ022", what, user_line())
            original = self._capture.attribute(source, name, getattr(x, name))
        else:
            if found is not MISSING:
                self._capture.guard_absent(source, name)
            else:
                self._capture.guard_own_lacks(source, name)
            original = UNBOUND
        return original

    def completed(self, x: Any, contents: dict[str, Any], names: Any) -> dict[str, Any]:
        """The contents of an overlay `x` with what all of `names` held before, where they lack."""
        owner = self._owners.get(id(x))
        if owner is None:
            return contents
        return contents | {n: self._originals[id(owner), n] for n in names if n not in contents}

    def is_overlay(self, x: Any) -> bool:
        """Whether `x` holds what the program has stored into an object from outside."""
        return id(x) in self._owners

    def in_order(self, x: Any, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        """The contents `b` of an overlay in the order of `a`: only new attributes have one."""
        owner = self._owners[id(x)]
        new = [[n for n in c if self._is_new(owner, n)] for c in (a, b)]
        return {n: b[n] for n in a} if a.keys() == b.keys() and new[0] == new[1] else b

    def _is_new(self, owner: Any, name: str) -> bool:
        return self._originals.get((id(owner), name), UNBOUND) is UNBOUND

    # Containers ----------------------------------------------------------------------------------

    def touch(self, x: Any) -> None:
        """Note that the stand-in of a container changes next."""
        if id(x) not in self._touched:
            self._touched[id(x)] = x, contents_of(x)
            self._capture.tell_apart(x)

    def tail(self, source: Source) -> list[Any]:
        """What the program appends to a list that nobody has read."""
        if source not in self._tails:
            tail: list[Any] = []
            self._capture.created[id(tail)] = tail, here().root
            self._capture.tells_apart = True
            self._tails[source] = tail
        return self._tails[source]

    def _made(self, x: Any) -> Any:
        self._capture.created[id(x)] = x, here()
        return x

    def _before(self, x: Any, name: str) -> Any:
        """What an attribute held before the call, if that is known."""
        if (id(x), name) in self._originals:
            return self._originals[id(x), name]
        return self._capture.held(x, name) if is_instance(x) else MISSING

    # At the end ----------------------------------------------------------------------------------

    def changes(self) -> Iterator[Change]:
        """What is different now, in the order of the objects' first changes."""
        for x, overlay in self._overlays.values():
            for name, value in overlay.items():
                if (id(x), name) in self._deleted:
                    yield Change(x, "attribute", name, UNBOUND)
                if value is not self._before(x, name):
                    yield Change(x, _kind(x), name, value)
        for x, before in self._touched.values():
            now = contents_of(x)
            if is_grown(now):
                yield Change(x, "tail", 0, self._made(now))
            elif isinstance(now, list):
                yield from _list_changes(x, before, now)
            elif type(x) is dict:
                yield from _dict_changes(x, before, now)
            else:
                for name in (*before, *(n for n in now if n not in before)):
                    if now.get(name, UNBOUND) is not before.get(name, UNBOUND):
                        yield Change(x, "attribute", name, now.get(name, UNBOUND))
        for source, tail in self._tails.items():
            if is_grown(tail):
                yield Change(source, "tail", None, self._made(tail.copy()))
            elif tail:
                yield Change(source, "tail", None, tuple(tail))


def _list_changes(x: Any, before: list[Any], now: list[Any]) -> Iterator[Change]:
    if len(before) == len(now):
        for k, (a, b) in enumerate(zip(before, now, strict=True)):
            if a is not b:
                yield Change(x, "element", k, b)
        return
    same = 0
    while same < min(len(before), len(now)) and before[same] is now[same]:
        same += 1
    yield Change(x, "tail", same, tuple(now[same:]))


def _dict_changes(x: Any, before: dict[Any, Any], now: dict[Any, Any]) -> Iterator[Change]:
    kept = [k for k in before if k in now]
    again = [k for k in now if k in before]
    moved = kept != again or again != list(now)[: len(again)]
    # A tuple is another one where it has come back as a key.
    moved |= any(a is not b and isinstance(a, tuple) for a, b in zip(kept, again, strict=True))
    if moved or not all(map(is_one_key, kept, again)):
        yield Change(x, "contents", None, tuple(now.items()))
        return
    for k in before:
        if k not in now:
            yield Change(x, "item", k, UNBOUND)
    for k, v in now.items():
        if k not in before or before[k] is not v:
            yield Change(x, "item", k, v)

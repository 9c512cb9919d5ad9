"""Lists from outside that a program only appends to: what they hold is neither read nor checked."""

from __future__ import annotations

from typing import Any

from tracejit.frontend.capture.captured import Source
from tracejit.frontend.capture.paths import MISSING
from tracejit.frontend.python.outer_names import OuterNames
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.link.cpython.own_attributes import has_own

__all__ = ["Growth", "UnreadList", "unread_list"]


class UnreadList:
    """An attribute or a name that is such a list; what the program appends is in `tail`."""

    def __init__(self, source: Source, tail: list[Any]) -> None:
        self.source, self.tail = source, tail

    def attribute(self, name: str) -> Growth:
        """Its method `append` or `extend`."""
        return Growth(self, name)


class Growth:
    """`append` or `extend` of an unread list."""

    def __init__(self, owner: UnreadList, name: str) -> None:
        self.owner, self.name = owner, name

    def call(self, interpreter: Interpreter, *args: Any) -> None:
        """Append, to the list's tail. Raises TypeError as Python does."""
        if len(args) != 1:
            raise TypeError(f"list.{self.name}() takes exactly one argument ({len(args)} given)")
        tail = self.owner.tail
        interpreter.call(getattr(tail, self.name), *args)


def unread_list(interpreter: Interpreter, x: Any, name: str) -> UnreadList | None:
    """`x.name`, where it is a list from outside of which nothing has been read; else None."""
    capture, state = interpreter.capture, interpreter.state
    source = capture.instance_source(x)
    if source is None or not has_own(x, name) or state.has_stored(x, name):
        return None
    found = capture.unread_attribute(source, name, object.__getattribute__(x, name))
    return None if found is None else UnreadList(found, state.tail(found))


def unread_name(interpreter: Interpreter, outer: OuterNames, name: str) -> UnreadList | None:
    """What a name outside a function holds, where it is such a list; else None."""
    capture, state = interpreter.capture, interpreter.state
    owner = outer.owner(name)
    if state.outer_name(owner, name) is not MISSING:
        return None
    found = capture.unread_name(owner, name)
    return None if found is None else UnreadList(found, state.tail(found))

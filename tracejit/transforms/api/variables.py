"""Arguments to be derived by: their floats become values of their own, all else stays as it is.

Containers are made anew around the new values. An object keeps its identity: its arrays are
replaced for the time of the call, so that what the function stores into it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import parts_of, rebuild
from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import has_float_arrays, is_grown
from tracejit.frontend.tracing.instances import buffers_of, is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import build_dataclass, is_namedtuple
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift
from tracejit.frontend.tracing.union import Union
from tracejit.ir.derivatives import differentiable
from tracejit.ir.graph import Value
from tracejit.transforms.api.arguments import require_no_tangent

__all__ = ["Variables", "has_union", "variables"]


@dataclass
class _Carried:
    """A part without derivative."""

    value: Any


@dataclass
class _Leaf:
    """A part to be derived by: its number among these."""

    number: int


@dataclass
class _Container:
    """A container around parts, some of which are derived by; `owner` where it is an instance."""

    cls: type
    keys: tuple[Any, ...]
    parts: list[Any]
    owner: Any = None


@dataclass
class Variables:
    """An argument whose floats are values of their own, so that only what is computed of them
    depends on them.
    """

    interpreter: Interpreter
    #: The argument as the function is given it.
    argument: Any
    #: What the leaves were before, and are now.
    given: list[Tracer]
    tracers: list[Tracer]
    #: Their values; nothing else is the same value.
    values: list[Value]
    root: Any
    #: Where in objects a leaf was replaced: (owner, key, before, now).
    replaced: list[tuple[Any, Any, Any, Any]] = field(default_factory=list)

    def rebuilt(self, interpreter: Interpreter, leaves: Sequence[Any]) -> Any:
        """The argument's containers and objects around other leaves."""
        return _built(interpreter, self.root, leaves, anew=True)

    def below(self, path: str) -> set[int]:
        """The numbers of the leaves of the part to which a path of attributes, keys and numbers
        leads: `layers.0.weight`, or all for an empty one. Raises TypeError where there is none."""
        node = self.root
        for step in path.split(".") if path else ():
            parts = _parts_by_name(node) if isinstance(node, _Container) else {}
            if step not in parts:
                raise TypeError(f"there is no {step!r} on the path {path!r} into an argument")
            node = parts[step]
        return set(_leaves(node, []))

    def directions(self, tangent: Any, what: str) -> list[Any]:
        """For each leaf its part of a tangent, which has None for zeros of all in its place.

        Raises TypeError for one of another structure, and for a part without derivative that has a
        tangent.
        """
        found: list[Any] = [None] * len(self.given)
        self._spread(self.root, narrow(tangent), found, what, set())
        return found

    def _spread(self, node: Any, x: Any, found: list[Any], what: str, seen: set[int]) -> None:
        if x is None or id(node) in seen:
            return
        if isinstance(node, _Leaf):
            found[node.number] = x
            return
        if isinstance(node, _Carried):
            if isinstance(x, (Tracer, int, float, complex)) and x is not node.value:
                require_no_tangent(x, what)
            return
        if node.owner is not None and is_instance(node.owner):
            if type(x) is not node.cls:
                raise TypeError(f"{what} has another structure than what it belongs to")
            seen.add(id(node))
            for name, part in zip(node.keys, node.parts, strict=True):
                self._spread(part, self.interpreter.attribute(x, name), found, what, seen)
            return
        parts = parts_of(x)
        if parts is None or parts[:2] != (node.cls, node.keys) or len(parts[2]) != len(node.parts):
            raise TypeError(f"{what} has another structure than what it belongs to")
        for part, child in zip(node.parts, parts[2], strict=True):
            self._spread(part, child, found, what, seen)

    def restore(self) -> None:
        """Let objects hold their own arrays again, wherever the function has not stored others."""
        interpreter = self.interpreter
        for owner, key, before, now in self.replaced:
            held = contents_of(owner) if interpreter.is_local(owner) else None
            if is_instance(owner):
                current = interpreter.state.attribute(owner, key) if held is None else held.get(key)
                if current is now:
                    interpreter.store_attribute(before, owner, key)
            elif type(owner) is dict:
                if owner.get(key) is now:
                    interpreter.store_item(before, owner, key)
            elif key < len(owner) and owner[key] is now:
                interpreter.store_item(before, owner, key)


def has_union(x: Any) -> bool:
    """Whether a value in containers is of one of several kinds, as the run decides."""
    if isinstance(x, Union):
        return True
    found = parts_of(x)
    return found is not None and any(map(has_union, found[2]))


def variables(
    interpreter: Interpreter, argument: Any, fresh_copy: Callable[[Tracer], Tracer]
) -> Variables:
    """An argument to be derived by, in which there are floats. Raises TraceError."""
    argument = narrow(argument)
    if has_union(argument):
        raise TraceError("TJ031", "an argument that is of one of several kinds", user_line())
    finder = _Finder(interpreter)
    root = finder.node(argument, False)
    given = finder.given
    tracers = [fresh_copy(x) for x in given]
    values = [x.value() for x in tracers]
    made = Variables(interpreter, None, given, tracers, values, root)
    made.argument = _Substitution(made).built(root)
    return made


class _Finder:
    """Finds the leaves. Those of objects are arrays: their numbers are settings."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.given: list[Tracer] = []
        self._numbers: dict[int, _Leaf] = {}
        self._seen: dict[int, Any] = {}

    def node(self, x: Any, in_object: bool) -> Any:
        """The tree of a part."""
        if isinstance(x, Union):
            x = narrow(x)
        if self._is_leaf(x, in_object):
            return self._leaf(x, in_object)
        if is_grown(x):
            if has_float_arrays(x) or not in_object:
                raise TraceError("TJ031", "a list that grows with data", user_line())
            return _Carried(x)
        found = parts_of(x)
        if found is None and is_instance(x) and not isinstance(x, Tracer):
            return self._instance(x)
        if found is None:
            return _Carried(x)
        cls, keys, children = found
        if id(x) in self._seen:
            raise TraceError("TJ031", f"a {cls.__name__} that holds itself", user_line())
        self._seen[id(x)] = x
        parts = [self.node(v, in_object) for v in children]
        del self._seen[id(x)]
        if in_object and all(isinstance(part, _Carried) for part in parts):
            return _Carried(x)
        owner = x if in_object and not isinstance(x, tuple) else None
        return _Container(cls, keys, parts, owner)

    def _is_leaf(self, x: Any, in_object: bool) -> bool:
        if isinstance(x, TracedArray) or not in_object and isinstance(x, Tracer):
            return differentiable(x.type)
        if in_object:
            return False
        return type(x) in (float, complex) or isinstance(x, np.generic) and x.dtype.kind in "fc"

    def _leaf(self, x: Any, in_object: bool) -> _Leaf:
        # One array of two attributes is one leaf; of two entries of a list, it is two.
        known = self._numbers.get(id(x)) if in_object else None
        if known is None:
            known = _Leaf(len(self.given))
            self.given.append(lift(x))
            if in_object:
                self._numbers[id(x)] = known
        return known

    def _instance(self, x: Any) -> Any:
        if id(x) in self._seen:
            return self._seen[id(x)]
        node = self._seen[id(x)] = _Container(type(x), (), [], x)
        names = list(self.interpreter.state.attribute_names(self.interpreter, x))
        node.keys = tuple(names)
        buffers = buffers_of(type(x))
        for name in names:
            part = self.interpreter.attribute(x, name)
            node.parts.append(_Carried(part) if name in buffers else self.node(part, True))
        if not any(True for part in node.parts for _ in _leaves(part, [])):
            return _Carried(x)
        return node


def _parts_by_name(node: _Container) -> dict[str, Any]:
    keys = node.cls._fields if is_namedtuple(node.cls) else node.keys  # type: ignore[attr-defined]
    return dict(zip(map(str, keys or range(len(node.parts))), node.parts, strict=True))


def _leaves(node: Any, inside: list[Any]) -> Iterator[int]:
    """The numbers of the leaves of a part."""
    if isinstance(node, _Leaf):
        yield node.number
    elif isinstance(node, _Container) and not any(node is outer for outer in inside):
        for part in node.parts:
            yield from _leaves(part, [*inside, node])


def _built(interpreter: Interpreter, root: Any, leaves: Sequence[Any], anew: bool) -> Any:
    """Containers and objects around leaves; an object that occurs twice is made once."""
    made: dict[int, Any] = {}

    def build(node: Any) -> Any:
        if isinstance(node, _Leaf):
            return leaves[node.number]
        if isinstance(node, _Carried):
            return node.value
        if node.owner is None or not is_instance(node.owner):
            return rebuild(interpreter, node.cls, node.keys, list(map(build, node.parts)))
        if id(node) not in made:
            new = made[id(node)] = interpreter.allocate(build_dataclass(node.cls, {}))
            for name, part in zip(node.keys, node.parts, strict=True):
                object.__setattr__(new, name, build(part))
        return made[id(node)]

    return build(root)


class _Substitution:
    """Makes the argument that the function is given: the new values in place of the leaves."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self._done: set[int] = set()

    def built(self, node: Any) -> Any:
        """A part as the function is given it."""
        v = self.variables
        if isinstance(node, _Leaf):
            return v.tracers[node.number]
        if isinstance(node, _Carried):
            return node.value
        if node.owner is None:
            return rebuild(v.interpreter, node.cls, node.keys, list(map(self.built, node.parts)))
        if id(node) not in self._done:
            self._done.add(id(node))
            for key, before, part in self._parts(node):
                now = self.built(part)
                if now is not before:
                    self._replace(node.owner, key, before, now)
        return node.owner

    def _parts(self, node: _Container) -> Iterator[tuple[Any, Any, Any]]:
        owner, interpreter = node.owner, self.variables.interpreter
        keys: Sequence[Any] = node.keys if node.keys else range(len(node.parts))
        for key, part in zip(keys, node.parts, strict=True):
            before = interpreter.attribute(owner, key) if is_instance(owner) else owner[key]
            yield key, before, part

    def _replace(self, owner: Any, key: Any, before: Any, now: Any) -> None:
        interpreter = self.variables.interpreter
        if is_instance(owner):
            interpreter.store_attribute(now, owner, key)
        else:
            interpreter.store_item(now, owner, key)
        self.variables.replaced.append((owner, key, before, now))

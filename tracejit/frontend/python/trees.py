"""Trees: containers and objects taken apart into leaves, and put together around others.

Lists, tuples, dicts, namedtuples and dataclasses hold parts; their leaves are arrays and numbers.
An instance holds its attributes, and only its arrays of floats are leaves: its numbers are
settings, and what its class names in `__buffers__` is state. An array that several attributes are
is one leaf, and so is a `RowGradient`: it stands for one. All else is carried along.

The transforms take apart `values`: there, every array of an instance, and every number that NumPy
gave or that is traced, is a leaf too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import parts_of
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.instances import buffers_of, is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import build_dataclass, is_namedtuple
from tracejit.frontend.tracing.raised import Raised, TracedError
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.frontend.tracing.union import Union
from tracejit.ir.derivatives import differentiable
from tracejit.sparse import RowGradient

__all__ = [
    "Branch",
    "Carried",
    "Leaf",
    "Structure",
    "fitted",
    "flattened",
    "mapped",
    "rebuilt",
    "walk",
]

_NUMBERS = (bool, int, float, complex)


class Structure:
    """A tree without its leaves. Two are equal where classes, keys and all that is carried are."""

    __slots__ = ("count", "root")

    def __init__(self, root: Any, count: int) -> None:
        self.root, self.count = root, count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and _alike(self.root, other.root, set())

    def attributes(self) -> set[int]:
        """The numbers of the leaves that instances and dataclasses hold."""
        found: set[int] = set()
        seen: set[int] = set()

        def walk(node: Any, inside: bool) -> None:
            if isinstance(node, Leaf) and inside:
                found.add(node.number)
            if isinstance(node, Branch) and id(node) not in seen:
                seen.add(id(node))
                for part in node.parts:
                    walk(part, inside or not issubclass(node.cls, (list, tuple, dict)))

        walk(self.root, False)
        return found

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Structure({self.count} leaves)"


class Leaf:
    """A part that is a leaf: its number among these, and whether it belongs to an instance."""

    __slots__ = ("in_object", "number")

    def __init__(self, number: int, in_object: bool) -> None:
        self.number, self.in_object = number, in_object


class Carried:
    """A part that is carried along."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Branch:
    """A container, or an instance where it is `whole`; its keys, where it has some, name parts."""

    __slots__ = ("cls", "keys", "owner", "parts", "whole")

    def __init__(
        self, cls: type, keys: Sequence[Any], parts: list[Any], whole: bool, owner: Any
    ) -> None:
        self.cls, self.keys, self.parts, self.whole = cls, tuple(keys), parts, whole
        #: What was taken apart.
        self.owner = owner

    @property
    def fields(self) -> tuple[Any, ...]:
        """The names of the parts; none for lists and tuples."""
        return self.cls._fields if is_namedtuple(self.cls) else self.keys  # type: ignore[attr-defined]


def _alike(a: Any, b: Any, seen: set[tuple[int, int]]) -> bool:
    if (id(a), id(b)) in seen:
        return True
    seen.add((id(a), id(b)))
    if isinstance(a, Branch) and isinstance(b, Branch):
        same = a.cls is b.cls and a.keys == b.keys and len(a.parts) == len(b.parts)
        return same and all(_alike(x, y, seen) for x, y in zip(a.parts, b.parts, strict=True))
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        return a.number == b.number
    if isinstance(a, Carried) and isinstance(b, Carried):
        x, y = a.value, b.value
        return x is y or type(x) is type(y) and type(x) in (*_NUMBERS, str) and x == y
    return False


def walk(node: Any) -> Iterator[Any]:
    """A part and all that it holds, instances once."""
    seen: set[int] = set()
    left = [node]
    while left:
        node = left.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            left += reversed(node.parts) if isinstance(node, Branch) else ()


class _Taker:
    """Takes trees apart; with an interpreter those of a traced program."""

    def __init__(self, interpreter: Interpreter | None, values: bool) -> None:
        self.interpreter, self.values = interpreter, values
        self.leaves: list[Any] = []
        self._numbers: dict[int, Leaf] = {}
        self._instances: dict[int, Branch] = {}
        self._around: set[int] = set()

    def node(self, x: Any, in_object: bool = False) -> Any:
        """The tree of a part. Raises ValueError for a container that holds itself."""
        if isinstance(x, Union) or is_grown(x):
            what = (
                "a list that grows with data" if is_grown(x) else "a part of one of several kinds"
            )
            raise TraceError("TJ031", what, user_line())
        if self._is_leaf(x, in_object):
            return self._leaf(x, in_object)
        opaque = isinstance(x, (Tracer, SymInt, TracedText, TracedError, Raised))
        found = None if opaque else parts_of(x)
        if found is not None:
            return self._container(x, *found, in_object)
        if opaque or not is_instance(x):
            return Carried(x)
        if id(x) not in self._instances:
            names = self._names(x)
            node = self._instances[id(x)] = Branch(type(x), names, [], True, x)
            buffers = frozenset() if self.values else buffers_of(type(x))
            for name in names:
                part = self._attribute(x, name)
                node.parts.append(Carried(part) if name in buffers else self.node(part, True))
        return self._instances[id(x)]

    def _container(
        self, x: Any, cls: type, keys: Sequence[Any], children: list[Any], in_object: bool
    ) -> Branch:
        if id(x) in self._around:
            raise ValueError(f"a {cls.__name__} that holds itself is no tree")
        self._around.add(id(x))
        parts = [self.node(v, in_object) for v in children]
        self._around.remove(id(x))
        return Branch(cls, keys, parts, False, x)

    def _is_leaf(self, x: Any, in_object: bool) -> bool:
        if isinstance(x, RowGradient):
            return not self.values
        if not in_object:
            return isinstance(x, (Tracer, SymInt, np.ndarray, np.generic)) or type(x) in _NUMBERS
        if self.values:
            return isinstance(x, (Tracer, np.ndarray, np.generic))
        if isinstance(x, TracedArray):
            return differentiable(x.type)
        return type(x) is np.ndarray and x.dtype.kind in "fc"

    def _leaf(self, x: Any, in_object: bool) -> Leaf:
        known = self._numbers.get(id(x)) if in_object else None
        if known is None:
            known = Leaf(len(self.leaves), in_object)
            self.leaves.append(x)
            if in_object:
                self._numbers[id(x)] = known
        return known

    def _names(self, x: Any) -> list[str]:
        if self.interpreter is None:
            return list(contents_of(x))
        names: list[str] = self.interpreter.state.attribute_names(self.interpreter, x)
        return names

    def _attribute(self, x: Any, name: str) -> Any:
        return getattr(x, name) if self.interpreter is None else self.interpreter.attribute(x, name)


def flattened(
    tree: Any, interpreter: Interpreter | None = None, values: bool = False
) -> tuple[list[Any], Structure]:
    """The leaves of a tree (with `values`, all that transforms may change), what is around them.

    Raises ValueError for a container that holds itself, TraceError for a part that is no one value.
    """
    taker = _Taker(interpreter, values)
    root = taker.node(tree)
    return taker.leaves, Structure(root, len(taker.leaves))


def fitted(structure: Structure, other: Any, interpreter: Interpreter) -> list[Any] | None:
    """What a tree has in the places of the leaves of another's structure; None if it is unlike.

    What instances carry may differ.
    """
    leaves, given = flattened(other, interpreter, values=True)
    out: list[Any] = [None] * structure.count
    seen: set[int] = set()

    def fits(node: Any, part: Any, in_object: bool) -> bool:
        if isinstance(node, Leaf):
            found = isinstance(part, (Leaf, Carried))
            out[node.number] = leaves[part.number] if isinstance(part, Leaf) else None
            return found and (isinstance(part, Leaf) or in_object)
        if isinstance(node, Carried):
            return in_object or _alike(node, part, set())
        if id(node) in seen:
            return True
        seen.add(id(node))
        same = isinstance(part, Branch) and node.cls is part.cls and node.keys == part.keys
        return (
            same
            and len(node.parts) == len(part.parts)
            and all(
                fits(x, y, in_object or node.whole)
                for x, y in zip(node.parts, part.parts, strict=True)
            )
        )

    return out if fits(structure.root, given.root, False) else None


def rebuilt(
    structure: Structure,
    leaves: Sequence[Any],
    interpreter: Interpreter | None = None,
    replaced: Collection[int] | None = None,
    made: list[Any] | None = None,
) -> Any:
    """A tree of a structure around leaves; instances that have some are made without `__init__`.

    With `replaced`, the numbers of the leaves that are other ones, what holds none of these stays
    itself. `made` gets the lists, dicts and objects that are new. Raises ValueError for another
    number of leaves.
    """
    if len(leaves) != structure.count:
        raise ValueError(f"{len(leaves)} leaves for a tree of {structure.count}")
    builder = _Builder(leaves, interpreter, replaced, [] if made is None else made)
    return builder.build(structure.root)


class _Builder:
    """Puts a tree together."""

    def __init__(
        self,
        leaves: Sequence[Any],
        interpreter: Interpreter | None,
        replaced: Collection[int] | None,
        made: list[Any],
    ) -> None:
        self.leaves, self.replaced, self.made = leaves, replaced, made
        self._allocate: Callable[[Any], Any] = interpreter.allocate if interpreter else lambda x: x
        self._instances: dict[int, Any] = {}

    def build(self, node: Any) -> Any:
        """The value of a part."""
        if isinstance(node, Leaf):
            return self.leaves[node.number]
        if isinstance(node, Carried):
            return node.value
        if id(node) in self._instances:
            return self._instances[id(node)]
        if self._stays(node):
            return node.owner
        if node.whole:
            new = self._instances[id(node)] = self._new(build_dataclass(node.cls, {}))
            for name, part in zip(node.keys, node.parts, strict=True):
                object.__setattr__(new, name, self.build(part))
            return new
        parts = list(map(self.build, node.parts))
        if node.cls is list:
            return self._new(parts)
        if issubclass(node.cls, tuple):
            return tuple.__new__(node.cls, parts)
        pairs = dict(zip(node.keys, parts, strict=True))
        return self._new(pairs if node.cls is dict else build_dataclass(node.cls, pairs))

    def _stays(self, node: Branch) -> bool:
        found = (part.number for part in walk(node) if isinstance(part, Leaf))
        if self.replaced is None:
            return node.whole and not any(True for _ in found)
        return not any(number in self.replaced for number in found)

    def _new(self, x: Any) -> Any:
        self.made.append(x)
        return self._allocate(x)


def mapped(
    f: Callable[..., Any],
    tree: Any,
    others: Sequence[Any],
    interpreter: Interpreter | None = None,
) -> Any:
    """A tree with `f` of each leaf, and of the leaves at its place in others of its shape.

    Raises ValueError for another with more or fewer leaves.
    """
    leaves, structure = flattened(tree, interpreter)
    columns = [leaves]
    for other in others:
        found, _ = flattened(other, interpreter)
        if len(found) != len(leaves):
            raise ValueError(f"a tree of {len(leaves)} leaves, and one of {len(found)}")
        columns.append(found)
    call = interpreter.call if interpreter else lambda f, *args: f(*args)
    return rebuilt(structure, [call(f, *x) for x in zip(*columns, strict=True)], interpreter)

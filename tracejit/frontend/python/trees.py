"""Trees: containers and objects taken apart into leaves, and put together around others.

Lists, tuples, dicts, namedtuples and dataclasses hold parts; their leaves are arrays and numbers.
An instance holds its attributes, and only its arrays of floats are leaves: its numbers are
settings. An array that several attributes are is one leaf. All else is carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.control.kinds import parts_of
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import build_dataclass, is_namedtuple
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.ir.derivatives import differentiable

__all__ = ["Structure", "flattened", "mapped", "named", "rebuilt"]

_NUMBERS = (bool, int, float, complex)


class Structure:
    """A tree without its leaves. Two are equal where classes, keys and all that is carried are."""

    __slots__ = ("count", "root")

    def __init__(self, root: Any, count: int) -> None:
        self.root, self.count = root, count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and _alike(self.root, other.root, set())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Structure({self.count} leaves)"


class _Leaf:
    def __init__(self, number: int) -> None:
        self.number = number


class _Carried:
    def __init__(self, value: Any) -> None:
        self.value = value


class _Node:
    def __init__(self, cls: type, keys: Sequence[Any], parts: list[Any], whole: bool) -> None:
        #: Whether it is an instance.
        self.cls, self.keys, self.parts, self.whole = cls, tuple(keys), parts, whole


def _alike(a: Any, b: Any, seen: set[tuple[int, int]]) -> bool:
    if (id(a), id(b)) in seen:
        return True
    seen.add((id(a), id(b)))
    if isinstance(a, _Node) and isinstance(b, _Node):
        same = a.cls is b.cls and a.keys == b.keys and len(a.parts) == len(b.parts)
        return same and all(_alike(x, y, seen) for x, y in zip(a.parts, b.parts, strict=True))
    if isinstance(a, _Leaf) and isinstance(b, _Leaf):
        return a.number == b.number
    if isinstance(a, _Carried) and isinstance(b, _Carried):
        x, y = a.value, b.value
        return x is y or type(x) is type(y) and type(x) in (*_NUMBERS, str) and x == y
    return False


class _Taker:
    """Takes trees apart; with an interpreter those of a traced program."""

    def __init__(self, interpreter: Interpreter | None) -> None:
        self.interpreter = interpreter
        self.leaves: list[Any] = []
        self._numbers: dict[int, _Leaf] = {}
        self._instances: dict[int, _Node] = {}

    def node(self, x: Any, in_object: bool = False) -> Any:
        """The tree of a part. Raises RecursionError for a container that holds itself."""
        if self._is_leaf(x, in_object):
            return self._leaf(x, in_object)
        found = None if isinstance(x, (Tracer, SymInt)) else parts_of(x)
        if found is not None:
            cls, keys, children = found
            return _Node(cls, keys, [self.node(v, in_object) for v in children], False)
        if isinstance(x, Tracer) or not is_instance(x):
            return _Carried(x)
        if id(x) not in self._instances:
            names = self._names(x)
            node = self._instances[id(x)] = _Node(type(x), names, [], True)
            node.parts += [self.node(self._attribute(x, n), True) for n in names]
        return self._instances[id(x)]

    def _is_leaf(self, x: Any, in_object: bool) -> bool:
        if in_object:
            if isinstance(x, TracedArray):
                return differentiable(x.type)
            return type(x) is np.ndarray and x.dtype.kind in "fc"
        return isinstance(x, (Tracer, SymInt, np.ndarray, np.generic)) or type(x) in _NUMBERS

    def _leaf(self, x: Any, in_object: bool) -> _Leaf:
        known = self._numbers.get(id(x)) if in_object else None
        if known is None:
            known = _Leaf(len(self.leaves))
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


def flattened(tree: Any, interpreter: Interpreter | None = None) -> tuple[list[Any], Structure]:
    """The leaves of a tree, and what is around them."""
    taker = _Taker(interpreter)
    root = taker.node(tree)
    return taker.leaves, Structure(root, len(taker.leaves))


def rebuilt(
    structure: Structure, leaves: Sequence[Any], interpreter: Interpreter | None = None
) -> Any:
    """A tree of a structure around leaves; instances are made without `__init__`.

    Raises ValueError for another number of leaves.
    """
    if len(leaves) != structure.count:
        raise ValueError(f"{len(leaves)} leaves for a tree of {structure.count}")
    allocate: Callable[[Any], Any] = interpreter.allocate if interpreter else lambda x: x
    made: dict[int, Any] = {}

    def build(node: Any) -> Any:
        if isinstance(node, _Leaf):
            return leaves[node.number]
        if isinstance(node, _Carried):
            return node.value
        if node.whole:
            if id(node) not in made:
                new = made[id(node)] = allocate(build_dataclass(node.cls, {}))
                for name, part in zip(node.keys, node.parts, strict=True):
                    object.__setattr__(new, name, build(part))
            return made[id(node)]
        parts = list(map(build, node.parts))
        if node.cls is list:
            return allocate(parts)
        if issubclass(node.cls, tuple):
            return tuple.__new__(node.cls, parts)
        pairs = dict(zip(node.keys, parts, strict=True))
        return allocate(pairs if node.cls is dict else build_dataclass(node.cls, pairs))

    return build(structure.root)


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


def named(tree: Any) -> list[tuple[str, Any]]:
    """The leaves of a tree, each with its first path from there: `.layers[0].w`, `['a']`."""
    leaves, structure = flattened(tree)
    paths: dict[int, str] = {}
    seen: set[int] = set()

    def walk(node: Any, path: str) -> None:
        if isinstance(node, _Leaf):
            paths.setdefault(node.number, path)
        elif isinstance(node, _Node) and id(node) not in seen:
            seen.add(id(node))
            for step, part in zip(_steps(node), node.parts, strict=True):
                walk(part, path + step)

    walk(structure.root, "")
    return [(paths[k], leaf) for k, leaf in enumerate(leaves)]


def _steps(node: _Node) -> Iterator[str]:
    fields = node.cls._fields if is_namedtuple(node.cls) else ()  # type: ignore[attr-defined]
    for k in range(len(node.parts)):
        if fields:
            yield f".{fields[k]}"
        elif not node.keys:
            yield f"[{k}]"
        else:
            yield f"[{node.keys[k]!r}]" if node.cls is dict else f".{node.keys[k]}"

"""The paths of a tree's leaves, and what looks like a part of it but is none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.python.trees import Branch, Carried, Leaf, Structure, flattened
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.instances import buffers_of, is_instance
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray

__all__ = ["entries", "named", "paths"]

_ARRAYS = (np.ndarray, TracedArray)


def entries(tree: Any, buffers: bool) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves of a tree, and with `buffers` these, each with the keys of each path to it.

    Raises TypeError as `named` does.
    """
    leaves, structure = flattened(tree)
    _require_open(structure.root)
    found: list[tuple[tuple[Any, ...], Any]] = []

    def follow(node: Any, keys: tuple[Any, ...], inside: tuple[Any, ...], is_buffer: bool) -> None:
        if isinstance(node, Leaf):
            found.append((keys, leaves[node.number]))
        elif isinstance(node, Carried) and is_buffer and isinstance(node.value, np.ndarray):
            found.append((keys, node.value))
        elif isinstance(node, Branch) and not any(node is outer for outer in inside):
            names = buffers_of(node.cls) if buffers and node.whole else ()
            for key, part in zip(node.fields or range(len(node.parts)), node.parts, strict=True):
                follow(part, (*keys, key), (*inside, node), key in names)

    follow(structure.root, (), (), False)
    return found


def named(tree: Any, interpreter: Interpreter | None = None) -> list[tuple[str, Any]]:
    """The leaves of a tree, each with its first path from there: `.layers[0].w`, `['a']`.

    Raises TypeError for arrays of floats in what is not taken apart: they would be left out.
    """
    leaves, structure = flattened(tree, interpreter)
    _require_open(structure.root)
    return list(zip(paths(structure), leaves, strict=True))


def paths(structure: Structure) -> list[str]:
    """The first path to each leaf of a tree."""
    found: dict[int, str] = {}
    seen: set[int] = set()

    def follow(node: Any, path: str) -> None:
        if isinstance(node, Leaf):
            found.setdefault(node.number, path)
        elif isinstance(node, Branch) and id(node) not in seen:
            seen.add(id(node))
            for step, part in zip(_steps(node), node.parts, strict=True):
                follow(part, path + step)

    follow(structure.root, "")
    return [found[k] for k in range(structure.count)]


def _steps(node: Branch) -> Iterator[str]:
    fields = node.cls._fields if is_namedtuple(node.cls) else ()  # type: ignore[attr-defined]
    for k in range(len(node.parts)):
        if fields:
            yield f".{fields[k]}"
        elif not node.keys:
            yield f"[{k}]"
        else:
            yield f"[{node.keys[k]!r}]" if node.cls is dict else f".{node.keys[k]}"


def _require_open(root: Any) -> None:
    """Raise TypeError for a part that is carried along with arrays of floats, but for buffers."""
    seen: set[int] = set()

    def look(node: Any, path: str) -> None:
        if isinstance(node, Carried) and _hides_arrays(node.value):
            kind = type(node.value).__name__
            instead = (
                "np.asarray of it is an array of the same memory"
                if isinstance(node.value, np.ndarray)
                else "take a list, a tuple, a dict or an object of a class of your own"
            )
            raise TypeError(f"{path or 'it'} is a {kind}, which is no part of a tree: {instead}")
        if isinstance(node, Branch) and id(node) not in seen:
            seen.add(id(node))
            buffers = buffers_of(node.cls) if node.whole else ()
            for key, step, part in zip(
                node.keys or node.parts, _steps(node), node.parts, strict=True
            ):
                if key not in buffers:
                    look(part, path + step)

    look(root, "")


def _hides_arrays(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc" and type(x) is not np.ndarray
    if isinstance(x, (StandIn, GeneratorCall)):
        raise TraceError("TJ002", f"tracejit.tree.paths of a {class_of(x).__name__}", user_line())
    inner = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple, deque)) else ()
    return any(
        isinstance(part, _ARRAYS) and part.dtype.kind in "fc" or bool(entries(part, False))
        for part in inner
        if isinstance(part, _ARRAYS) or is_instance(part) or isinstance(part, (list, dict))
    )

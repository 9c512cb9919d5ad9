"""The constants among the arguments of a function: each value is a kind of calls of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any

from tracejit.frontend.tracing.pytree import Identity, Static, TreeDef
from tracejit.runtime.call.reasons import walk

__all__ = ["MOST_VALUES", "Constants"]

#: Values of one argument, or of one part of it, that calls are compiled for.
MOST_VALUES = 8
#: What constants may have any number of values.
_ENDLESS = (str, bytes, range, slice, tuple)


class Constants:
    """The values that calls of one function have had, by the names of arguments and their parts."""

    def __init__(self) -> None:
        self._seen: dict[str, set[Any]] = {}

    def too_many(self, tree: TreeDef, signature: Callable[[], inspect.Signature]) -> str:
        """Note the constants of a call; the name of one that has had many other values already, for
        which the call is not to be compiled, or ""."""
        found = list(_endless(tree, signature))
        for name, value in found:
            seen = self._seen.get(name, ())
            if len(seen) >= MOST_VALUES and value not in seen:
                return name
        for name, value in found:
            self._seen.setdefault(name, set()).add(value)
        return ""


def _endless(
    tree: TreeDef, signature: Callable[[], inspect.Signature]
) -> Iterator[tuple[str, Any]]:
    if not _has_constant(tree.root):
        return
    for name, node in walk(tree, list(signature().parameters.values())):
        if isinstance(node, Static):
            if isinstance(node.value, _ENDLESS):
                yield name, node
        elif isinstance(node, Identity):
            if not isinstance(node.get(), (type, Enum, ModuleType)) and not callable(node.get()):
                yield name, node
        elif isinstance(node, tuple) and node[0] is dict:
            yield f"the keys of {name}", node[1]


def _has_constant(node: Any) -> bool:
    if isinstance(node, tuple):
        return any(map(_has_constant, (*node[1], *node[2])))
    return isinstance(node, (Static, Identity))

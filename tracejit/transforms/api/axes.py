"""Along which axes the arrays of arguments and results are mapped: specifications over trees.

    0                     all arrays along axis 0, None: none of them
    (0, {"w": 1})         what follows a container or an object: by place, or by name

What has a name (attributes, entries of dicts, fields) and is no array is the same for all elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.python.trees import Branch, Carried, Leaf, walk
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.pytree import dataclass_fields, is_plain_dataclass
from tracejit.frontend.tracing.tracer import TracedArray
from tracejit.transforms.api.arguments import kind_of

__all__ = ["Axes", "frozen"]


def frozen(spec: Any, seen: dict[int, Any] | None = None) -> Any:
    """A specification that later changes of containers and objects in it do not reach."""
    seen = {} if seen is None else seen
    if id(spec) in seen:
        return seen[id(spec)]
    if isinstance(spec, (list, tuple)):
        return tuple(frozen(v, seen) for v in spec)
    found: dict[Any, Any] = {}
    if isinstance(spec, dict):
        found = spec
    elif is_plain_dataclass(spec):
        found = {k: getattr(spec, k) for k in dataclass_fields(spec) or ()}
    elif is_instance(spec):
        found = contents_of(spec)
    else:
        return spec
    new = seen[id(spec)] = {}
    new.update((k, frozen(v, seen)) for k, v in found.items())
    return new


class Axes:
    """The axis of each leaf that a specification gives; `what` is its name."""

    def __init__(self, leaves: Sequence[Any], what: str) -> None:
        self.leaves, self.what = leaves, what
        self.found: list[int | None] = [None] * len(leaves)
        self._set: set[int] = set()
        self._seen: set[int] = set()

    def spread(self, spec: Any, node: Any, named: bool = False) -> None:
        """Note the axes of what is in a part. Raises TypeError for a specification that does not
        fit."""
        if id(node) in self._seen:
            return
        if isinstance(node, Branch):
            self._seen.add(id(node))
        if spec is None or type(spec) is int:
            self._same(spec, node, named)
        elif isinstance(node, Branch):
            fields = bool(node.fields)
            for part, child in zip(self._parts(spec, node), node.parts, strict=True):
                self.spread(part, child, named or fields)
        elif not (
            named and (isinstance(node, Carried) or self._is_number(self.leaves[node.number]))
        ):
            # A map over an object has left its arrays of integers as they are.
            if not (named and isinstance(spec, np.ndarray)):
                raise TypeError(f"vmap: {self.what}={spec!r} does not fit what it is given")

    def _same(self, axis: int | None, node: Any, named: bool) -> None:
        if isinstance(node, Leaf):
            if not (named and self._is_number(self.leaves[node.number])):
                self._put(node.number, axis)
        elif isinstance(node, Carried):
            if axis is not None and node.value is not None and not named:
                self._refuse(axis, node.value)
        elif not named and node.whole and not any(isinstance(x, Leaf) for x in walk(node)):
            if axis is not None:
                self._refuse(axis, node.owner)
        else:
            fields = bool(node.fields)
            for child in node.parts:
                self.spread(axis, child, named or fields)

    def _is_number(self, x: Any) -> bool:
        return self.what == "in_axes" and not isinstance(x, (TracedArray, np.ndarray))

    def _put(self, number: int, axis: int | None) -> None:
        if number in self._set and self.found[number] != axis:
            raise TypeError(f"vmap: {self.what} has two axes for one array")
        self._set.add(number)
        self.found[number] = axis

    def _refuse(self, axis: int, x: Any) -> None:
        verb = "map over" if self.what == "in_axes" else "stack results along"
        raise TypeError(
            f"vmap: {kind_of(x)} has no axis {axis} to {verb}; give {self.what}=None for it"
        )

    def _parts(self, spec: Any, node: Branch) -> list[Any]:
        """The specifications of the parts of a container or an object."""
        if isinstance(spec, dict) and node.fields:
            return [spec.get(k) for k in node.fields]
        if isinstance(spec, tuple) and len(spec) == len(node.parts):
            return list(spec)
        raise TypeError(f"vmap: {self.what}={spec!r} does not fit what it is given")

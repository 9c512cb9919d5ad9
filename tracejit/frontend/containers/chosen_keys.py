"""Keys of several parts, one of which is a union: taken apart, and put together of other parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.frontend.tracing.union import Union

__all__ = ["chosen_parts", "key_of_parts"]


def chosen_parts(key: Any) -> list[Any] | None:
    """The parts of a tuple or slice, and of the slices in it, if one is a union; else None."""
    if type(key) not in (tuple, slice):
        return None
    parts = _parts(key)
    return parts if any(isinstance(part, Union) for part in parts) else None


def _parts(key: Any) -> list[Any]:
    if type(key) is slice:
        return [key.start, key.stop, key.step]
    if type(key) is tuple:
        return [part for inner in key for part in _parts(inner)]
    return [key]


def key_of_parts(key: Any, parts: Sequence[Any]) -> Any:
    """`key` with these parts in place of its own."""
    return _rebuilt(key, list(reversed(parts)))


def _rebuilt(key: Any, left: list[Any]) -> Any:
    if type(key) is slice:
        return slice(left.pop(), left.pop(), left.pop())
    if type(key) is tuple:
        return tuple([_rebuilt(inner, left) for inner in key])
    return left.pop()

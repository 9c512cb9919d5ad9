"""Optimisers of parts of the parameters, on the state that one of all of them has.

A class whose steps are element by element says so by `by_leaf`: the names of its attributes that
have an entry for each leaf (or None or one number for all). Then each number of a step depends on
its own parameter, gradient and entries, and on what all have in common, such as a count of steps;
and of a gradient by rows the step changes no other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.dist.replicas.spans import Span
from tracejit.dist.transport.link import DistError

__all__ = ["by_leaf", "common", "part_of", "take_common"]


def by_leaf(cls: type) -> tuple[str, ...] | None:
    """The names that a class gives; None where it, or one whose `update` it has, gives none.

    A class with an `update` of its own must give them itself: its base's may not be true of it.
    """
    for base in cls.__mro__:
        if "by_leaf" in vars(base):
            found: tuple[str, ...] = vars(base)["by_leaf"]
            return found
        if "update" in vars(base):
            return None
    return None


def part_of(optimizer: Any, spans: Sequence[Span]) -> Any:
    """An optimiser of these spans alone: its arrays are parts of the other one's, where they lie.

    Raises DistError where its class does not say that there can be one.
    """
    cls = type(optimizer)
    names = by_leaf(cls)
    if names is None:
        raise DistError(
            f"several servers need an optimiser whose steps are element by element, and "
            f"{cls.__name__} does not say so: its class has no by_leaf"
        )
    made: Any = object.__new__(cls)
    made.__dict__.update(optimizer.__dict__)
    for name in names:
        column = getattr(optimizer, name)
        if isinstance(column, (list, tuple)):
            parts = [_entry(column[span.leaf], span) for span in spans]
            setattr(made, name, type(column)(parts))
    return made


def _entry(x: Any, span: Span) -> Any:
    return span.of(x) if isinstance(x, np.ndarray) else x


def common(optimizer: Any) -> dict[str, Any]:
    """The numbers that its steps have in common: its attributes that are of no leaf, and numbers or
    tuples of them.

    Those of optimisers in it come with a path.
    """
    found: dict[str, Any] = {}
    names = by_leaf(type(optimizer)) or ()
    for name, value in sorted(getattr(optimizer, "__dict__", {}).items()):
        if name in names:
            continue
        if all(type(x) in (bool, int, float) for x in (value if type(value) is tuple else [value])):
            found[name] = value
        elif callable(getattr(type(value), "update", None)) and hasattr(value, "__dict__"):
            found |= {f"{name}.{inner}": x for inner, x in common(value).items()}
    return found


def take_common(optimizer: Any, numbers: dict[str, Any]) -> None:
    """Store such numbers."""
    for path, value in numbers.items():
        *owners, name = path.split(".")
        at = optimizer
        for owner in owners:
            at = getattr(at, owner)
        setattr(at, name, value)

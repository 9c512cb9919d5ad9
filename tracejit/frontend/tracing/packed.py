"""Lists of numbers, or of tuples or rows of numbers, as arrays: what a call is given of a long one.

The form of such a list is that of its elements: the name of a number's class ("float"), a tuple of
forms for tuples of that many parts, or a `Rows` for lists that all have one length. It says nothing
about how long the lists are, and has one array for each class of numbers in it, in order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "FEW",
    "PackedForm",
    "PackedList",
    "Rows",
    "class_of_name",
    "column_paths",
    "pack",
    "packed_form",
]

#: Up to so many numbers in a list are taken one by one.
FEW = 16

_CLASSES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, complex)},
    **{f"numpy.{name}": getattr(np, name) for name in ("float64", "float32", "int64")},
}
_NAMES = {cls: name for name, cls in _CLASSES.items()}


@dataclass(frozen=True, slots=True)
class Rows:
    """Lists of numbers, of one length."""

    of: str


PackedForm: TypeAlias = str | Rows | tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PackedList:
    """What stands for the class of a list in a tree where its leaves are arrays."""

    form: PackedForm
    __name__ = "list"


def class_of_name(name: str) -> type:
    """The class of the numbers that a form names."""
    return _CLASSES[name]


def packed_form(values: list[Any], few: int = FEW) -> PackedForm | None:
    """The form of a list of more than `few` numbers, if all of its elements may have one."""
    if not values:
        return None
    first = values[0]
    if type(first) is list:
        count = len(values) * len(first)
        return Rows(_NAMES[type(first[0])]) if count > few and type(first[0]) in _NAMES else None
    return _form_of(first, 0) if len(values) > few else None


def _form_of(x: Any, depth: int) -> PackedForm | None:
    if type(x) is not tuple:
        return _NAMES.get(type(x))
    parts = tuple(_form_of(v, depth + 1) for v in x) if depth < 4 else ()
    return None if not parts or None in parts else parts


def pack(values: list[Any], form: PackedForm) -> list[np.ndarray[Any, Any]] | None:
    """The arrays of a list; None where not all of its elements have the form."""
    if isinstance(form, Rows):
        if set(map(type, values)) != {list} or len(set(map(len, values))) != 1:
            return None
        joined = _column(list(itertools.chain.from_iterable(values)), form.of)
        return None if joined is None else [joined.reshape(len(values), -1)]
    if isinstance(form, str):
        column = _column(values, form)
        return None if column is None else [column]
    if set(map(type, values)) != {tuple} or set(map(len, values)) != {len(form)}:
        return None
    out: list[np.ndarray[Any, Any]] = []
    for part, inner in zip(zip(*values, strict=True), form, strict=True):
        found = pack(list(part), inner)
        if found is None:
            return None
        out += found
    return out


def _column(values: list[Any], name: str) -> np.ndarray[Any, Any] | None:
    cls = _CLASSES[name]
    if set(map(type, values)) != {cls}:
        return None
    try:
        return np.array(values, np.dtype(cls))
    except OverflowError:
        return None


def column_paths(form: PackedForm) -> Iterator[tuple[tuple[tuple[int, int], ...], str | Rows]]:
    """For each array, the way from an element to what is in it: (size of a tuple, index), and what
    is there."""
    if not isinstance(form, tuple):
        yield (), form
        return
    for k, part in enumerate(form):
        for path, last in column_paths(part):
            yield ((len(form), k), *path), last

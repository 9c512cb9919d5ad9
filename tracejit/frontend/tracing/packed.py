"""Lists of numbers, or of tuples or rows of numbers, as arrays: what a call is given of a long one.

The form of such a list is that of its elements: the name of a number's class ("float"), a tuple of
forms for tuples of that many parts, a `Rows` for lists that all have one length, or a `Ragged` for
lists of any length. It says nothing about how long the lists are, and has one array for each class
of numbers in it, in order; that of ragged rows has two before, where each row begins in the others
and how long it is. Lists of arrays have the form `Arrays`, and a copy of all that is in these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass

__all__ = [
    "FEW",
    "Arrays",
    "JoinedArrays",
    "PackedForm",
    "PackedList",
    "Ragged",
    "Rows",
    "are_small",
    "class_of_name",
    "column_paths",
    "columns_of",
    "joined_form",
    "pack",
    "packed_form",
]

#: Up to so many numbers in a list are taken one by one.
FEW = 16
#: Arrays are copied into one at once if they have no more elements than that on average.
_SMALL = 4096

_CLASSES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, complex)},
    **{f"numpy.{name}": getattr(np, name) for name in ("float64", "float32", "int64")},
}
_NAMES = {cls: name for name, cls in _CLASSES.items()}


@dataclass(frozen=True, slots=True)
class Rows:
    """Lists of numbers, of one length."""

    of: str


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists whose elements have a form, of any length."""

    of: str | tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Arrays:
    """Arrays whose axes but the first have the same sizes."""

    dtype: np.dtype[Any]
    ndim: int


PackedForm: TypeAlias = str | Rows | Ragged | Arrays | tuple[Any, ...]


class JoinedArrays:
    """What `array` is a view of, which has one array after the other in it."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        self.arrays, self._joined = tuple(arrays), np.concatenate(arrays)
        self._before = self._joined.copy()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._joined.__array_interface__

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements, as an array by which this can be found."""
        return np.asarray(self)

    def write_back(self) -> None:
        """Give the arrays the elements that are others now.

        What is as before stays untouched: another thread may have stored into it in the meantime.
        """
        joined, before = self._joined, self._before
        if joined.itemsize > 8:
            changed = (_words(joined) != _words(before)).any(axis=-1)
        else:
            changed = joined.view(f"u{joined.itemsize}") != before.view(f"u{before.itemsize}")
        ends = np.cumsum([x.size for x in self.arrays])
        found = np.searchsorted(ends, np.flatnonzero(changed), side="right")
        sizes = np.bincount(found, minlength=len(ends))
        first = 0
        for array, some in zip(self.arrays, (sizes > 0).tolist(), strict=True):
            last = first + len(array)
            if some:
                np.copyto(array, joined[first:last], where=changed[first:last])
            first = last


def _words(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of an array in C order as integers of 8 bytes, along one more axis."""
    return x[..., None].view("u8")


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
        return _form_of_rows(values, few)
    return _form_of(first, 0) if len(values) > few else None


def joined_form(values: list[Any], few: int = FEW) -> Arrays | None:
    """The form of a list of more than `few` arrays that can be copied into one."""
    if len(values) <= few or set(map(type, values)) != {np.ndarray}:
        return None
    first = values[0]
    form = Arrays(first.dtype, first.ndim)
    return form if first.dtype.kind in "biufc" and _are_joinable(values, form) else None


def are_small(values: list[Any]) -> bool:
    """Whether arrays are better copied than known one by one."""
    return bool(sum(x.size for x in values) <= _SMALL * len(values))


def _are_joinable(values: list[Any], form: Arrays) -> bool:
    """Whether all of these are arrays of a form, of which some have elements."""
    if form.ndim < 1 or not form.dtype.isnative:
        return False
    rest = getattr(values[0], "shape", ())[1:]
    for x in values:
        if type(x) is not np.ndarray or x.dtype != form.dtype or x.ndim != form.ndim:
            return False
        if x.shape[1:] != rest or not (form.ndim == 1 or x.flags.c_contiguous):
            return False
    return any(x.size for x in values)


def _join(values: list[Any], form: Arrays) -> list[np.ndarray[Any, Any]] | None:
    if not _are_joinable(values, form):
        return None
    sizes = np.array([*map(len, values)], np.int64)
    return [np.cumsum(sizes) - sizes, sizes, JoinedArrays(values).array]


def _form_of_rows(values: list[Any], few: int) -> Rows | Ragged | None:
    if set(map(type, values)) != {list}:
        return None
    sizes = [*map(len, values)]
    row = next(filter(None, values), None)
    of = None if row is None or sum(sizes) <= few else _form_of(row[0], 0)
    if isinstance(of, str) and min(sizes) == max(sizes):
        return Rows(of)
    return None if of is None else Ragged(of)


def _form_of(x: Any, depth: int) -> str | tuple[Any, ...] | None:
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
    if isinstance(form, Arrays):
        return _join(values, form)
    if isinstance(form, Ragged):
        if set(map(type, values)) != {list}:
            return None
        sizes = np.array([*map(len, values)], np.int64)
        held = list(itertools.chain.from_iterable(values))
        columns = pack(held, form.of) if held else None
        return None if columns is None else [np.cumsum(sizes) - sizes, sizes, *columns]
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


def columns_of(values: Any, form: PackedForm) -> tuple[np.ndarray[Any, Any], ...] | None:
    """The arrays of what has to be a list that is not empty; None where they do not fit."""
    arrays = pack(values, form) if type(values) is list and values else None
    return None if arrays is None else tuple(arrays)


def _column(values: list[Any], name: str) -> np.ndarray[Any, Any] | None:
    cls = _CLASSES[name]
    if set(map(type, values)) != {cls}:
        return None
    try:
        return np.array(values, np.dtype(cls))
    except OverflowError:
        return None


def column_paths(
    form: str | Rows | tuple[Any, ...],
) -> Iterator[tuple[tuple[tuple[int, int], ...], str | Rows]]:
    """For each array, the way from an element to what is in it: (size of a tuple, index), and what
    is there."""
    if not isinstance(form, tuple):
        yield (), form
        return
    for k, part in enumerate(form):
        for path, last in column_paths(part):
            yield ((len(form), k), *path), last

"""Samples become a batch: a skeleton of containers with holes, and the arrays that go into them.

Arrays are copied once, from the samples to where the batch is to lie: into new arrays, or into
memory that processes share. The rest of a batch (texts, None, other objects) stays in the skeleton.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = [
    "Allocate",
    "LoaderError",
    "Spec",
    "Stack",
    "collate",
    "fill",
    "holes",
    "new_arrays",
    "rest",
    "take_apart",
]


class LoaderError(RuntimeError):
    """A sample cannot be read, a batch cannot be made, or a worker has died or does not answer.

    `index` is the sample's index where one is known, else None. What the source raised is the
    `__cause__`; the text has the worker's traceback.
    """

    def __init__(self, text: str, index: int | None = None) -> None:
        super().__init__(text)
        self.index = index


class Spec(NamedTuple):
    """An array that is to be made."""

    shape: tuple[int, ...]
    dtype: Any


Allocate: TypeAlias = Callable[[list[Spec]], list[Any]]


class _Hole(NamedTuple):
    """Where an array belongs in a skeleton: its place among the arrays."""

    place: int


class _Rest(NamedTuple):
    """What of a batch is no container and no array."""

    value: Any


def new_arrays(specs: list[Spec]) -> list[Any]:
    """Arrays of their own memory."""
    return [np.empty(*spec) for spec in specs]


def holes(count: int) -> list[Any]:
    """The places of so many arrays in a skeleton."""
    return [_Hole(place) for place in range(count)]


def rest(value: Any) -> Any:
    """What goes into a batch as it is, in a skeleton."""
    return _Rest(value)


def collate(samples: Sequence[Any]) -> Any:
    """The batch of samples of one structure: arrays and numbers stacked along a new first axis.

    Tuples, lists and dicts of samples become such of batches, texts and other objects lists. The
    dtype is the one to which NumPy promotes those of the samples. Raises LoaderError, with the
    place of the sample, where shapes or structures differ.
    """
    stack = Stack(len(samples), new_arrays)
    for place, sample in enumerate(samples):
        stack.add(sample, place)
    return fill(*stack.done())


def fill(skeleton: Any, arrays: Sequence[Any]) -> Any:
    """The batch: a skeleton with its arrays."""
    if isinstance(skeleton, _Hole):
        return arrays[skeleton.place]
    if isinstance(skeleton, _Rest):
        return skeleton.value
    return _rebuilt(skeleton, [fill(x, arrays) for x in _parts(skeleton)])


class Stack:
    """A batch of at most `size` samples: each is copied to its row as soon as it is there."""

    def __init__(self, size: int, allocate: Allocate) -> None:
        self.size, self.allocate = size, allocate
        self.count = 0
        self.skeleton: Any = None
        self.specs: list[Spec] = []
        self.arrays: list[Any] = []
        self.first = 0
        #: Whether an array lies elsewhere, since its dtype has changed.
        self.moved = False

    def add(self, sample: Any, index: int) -> None:
        """Take in the sample of an index. Raises LoaderError where it is unlike the first one."""
        found: list[Any] = []
        if self.count == 0:
            self.first = index
            self.skeleton = _skeleton(sample, itertools.count())
        self._look(self.skeleton, sample, index, found)
        if self.count == 0:
            self.specs = [Spec(x.shape, x.dtype) for x in found]
            self.arrays = self.allocate([Spec((self.size, *x.shape), x.dtype) for x in found])
        for place, (x, (shape, dtype)) in enumerate(zip(found, self.specs, strict=True)):
            if x.shape != shape:
                raise LoaderError(
                    f"sample {index} has an array of the shape {x.shape} where sample {self.first} "
                    f"has {shape}: give them one shape in `transform`, or a `collate` that can "
                    "join them",
                    index,
                )
            if x.dtype is not dtype and x.dtype != dtype:
                self._promote(place, x, index)
            self.arrays[place][self.count] = x
        self.count += 1

    def done(self) -> tuple[Any, list[Any]]:
        """The skeleton and the arrays, of as many samples as were added."""
        arrays = [x if len(x) == self.count else x[: self.count] for x in self.arrays]
        if self.moved:
            kept = [x.copy() for x in arrays]
            arrays = self.allocate([Spec(x.shape, x.dtype) for x in kept])
            for x, y in zip(arrays, kept, strict=True):
                x[...] = y
        return self.skeleton, arrays

    def _promote(self, place: int, x: Any, index: int) -> None:
        """Make place for the numbers of another dtype."""
        if x.dtype.hasobject:
            raise self._unlike(x, index, "an array of numbers")
        rows = self.arrays[place]
        try:
            dtype = np.result_type(rows.dtype, x.dtype)
        except TypeError as error:
            raise LoaderError(f"sample {index} has another dtype: {error}", index) from error
        if dtype != rows.dtype:
            self.specs[place] = Spec(x.shape, dtype)
            self.arrays[place] = np.empty(rows.shape, dtype)
            self.arrays[place][: self.count] = rows[: self.count]
            self.moved = True

    def _look(self, skeleton: Any, x: Any, index: int, found: list[Any]) -> None:
        """Find the arrays of a sample, and put the rest of it into the skeleton."""
        if isinstance(skeleton, _Hole):
            if not _is_array(x):
                raise self._unlike(x, index, "an array or a number")
            found.append(np.asarray(x))
        elif isinstance(skeleton, _Rest):
            skeleton.value.append(x)
        elif isinstance(skeleton, dict):
            if not isinstance(x, dict) or x.keys() != skeleton.keys():
                raise self._unlike(x, index, f"a dict of {list(skeleton)}")
            for key, part in skeleton.items():
                self._look(part, x[key], index, found)
        else:
            kind = list if isinstance(skeleton, list) else tuple
            if not isinstance(x, kind) or len(x) != len(skeleton):
                raise self._unlike(x, index, f"a {type(skeleton).__name__} of {len(skeleton)}")
            for part, y in zip(skeleton, x, strict=True):
                self._look(part, y, index, found)

    def _unlike(self, x: Any, index: int, what: str) -> LoaderError:
        text = f"sample {index} has {_described(x)} where sample {self.first} has {what}"
        return LoaderError(text, index)


def take_apart(batch: Any, allocate: Allocate) -> tuple[Any, Any]:
    """The skeleton of a batch that is made, and copies of its arrays in what `allocate` gives."""
    found: list[Any] = []

    def part(x: Any) -> Any:
        if isinstance(x, (tuple, list, dict)):
            return _rebuilt(x, [part(y) for y in _parts(x)])
        if type(x) in (np.ndarray, np.memmap) and not x.dtype.hasobject:
            found.append(x)
            return _Hole(len(found) - 1)
        return _Rest(x)

    skeleton = part(batch)
    outs = allocate([Spec(x.shape, x.dtype) for x in found])
    for out, x in zip(outs, found, strict=True):
        np.copyto(out, x)
    return skeleton, outs


def _skeleton(x: Any, places: Iterator[int]) -> Any:
    if isinstance(x, (tuple, list, dict)):
        return _rebuilt(x, [_skeleton(part, places) for part in _parts(x)])
    if _is_array(x) and not np.asarray(x).dtype.hasobject:
        return _Hole(next(places))
    return _Rest([])


def _is_array(x: Any) -> bool:
    if type(x) is np.ndarray or isinstance(x, (int, float, complex)):
        return True
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("masked arrays need a `collate` that keeps their masks")
    if isinstance(x, (str, bytes)):
        return False
    return hasattr(x, "__array__") or hasattr(x, "__array_interface__")


def _described(x: Any) -> str:
    if isinstance(x, dict):
        return f"a dict of {list(x)}"
    return f"a {type(x).__name__}" + (f" of {len(x)}" if isinstance(x, (tuple, list)) else "")


def _parts(x: Any) -> list[Any]:
    return list(x.values()) if isinstance(x, dict) else list(x)


def _rebuilt(x: Any, parts: list[Any]) -> Any:
    """A container like another one, with other things in it."""
    if isinstance(x, dict):
        return dict(zip(x, parts, strict=True))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*parts)
    return tuple(parts) if isinstance(x, tuple) else parts

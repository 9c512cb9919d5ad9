"""A source becomes batches: arrays, objects with items, functions of an index, and streams.

A `Reader` is what a worker needs to make batches, and is sent to it. Each epoch is a pass of it:
`batch(k, ...)` makes the k-th batch, whoever asks, so that its content depends on nothing but the
seed, the epoch and k. A pass through a stream has to be asked in order.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.data.batches import Allocate, LoaderError, Spec, Stack, holes, rest, take_apart

__all__ = ["Columns", "IndexedPass", "Items", "Reader", "Stream", "StreamPass", "as_source"]


class Columns:
    """Arrays of one length, in a tuple or a dict or alone: a sample has a row of each."""

    def __init__(self, like: Any) -> None:
        self.like = like
        self.arrays = _columns(like)
        lengths = {len(x) for x in self.arrays}
        if len(lengths) != 1:
            raise ValueError(f"arrays of one length are needed, not {sorted(lengths)}")
        # What a transform changes in place must not be the source.
        self.rows = [x.view() for x in self.arrays]
        for x in self.rows:
            x.flags.writeable = False

    def __reduce__(self) -> Any:
        return Columns, (self.like,)

    def __len__(self) -> int:
        return len(self.arrays[0])

    def joined(self, parts: list[Any]) -> Any:
        """Parts of columns in the container that the columns came in."""
        if isinstance(self.like, dict):
            return dict(zip(self.like, parts, strict=True))
        if isinstance(self.like, tuple):
            named = hasattr(self.like, "_fields")
            return type(self.like)(*parts) if named else tuple(parts)
        return parts[0]

    def __getitem__(self, index: int) -> Any:
        return self.joined([x[index] for x in self.rows])

    def batch(self, indices: Any, allocate: Allocate) -> tuple[Any, Any]:
        """Rows, which a range or an array of indices picks: a skeleton and its arrays."""
        plain = [x for x in self.arrays if not x.dtype.hasobject]
        outs = allocate([Spec((len(indices), *x.shape[1:]), x.dtype) for x in plain])
        for x, out in zip(plain, outs, strict=True):
            if isinstance(indices, range):
                np.copyto(out, x[indices.start : indices.stop])
            elif x.flags.c_contiguous and x.flags.aligned:
                # The indices are known to be right, and NumPy copies once more to raise.
                np.take(x, indices, axis=0, out=out, mode="clip")
            else:
                np.copyto(out, x[indices])
        places = iter(holes(len(outs)))
        parts = [rest(x[indices]) if x.dtype.hasobject else next(places) for x in self.arrays]
        return self.joined(parts), outs


class Items:
    """An object with `__len__` and `__getitem__`, or a function of an index with a length."""

    def __init__(self, get: Any, length: int) -> None:
        self.get, self.length = get, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.get[index] if hasattr(self.get, "__getitem__") else self.get(index)


class Stream:
    """An iterable, or a function that gives one: samples come in its order."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.began = False
        #: Whether a position in it can be stored and found again, without reading up to it.
        self.has_state = hasattr(source, "state_dict") and hasattr(source, "load_state_dict")
        self.first_state: Any = None

    def samples(self, state: Any) -> Iterator[Any]:
        """Its samples from where a state was taken; None: from the start."""
        if self.has_state:
            if not self.began:
                self.first_state = copy.deepcopy(self.source.state_dict())
            if self.began or state is not None:
                self.source.load_state_dict(self.first_state if state is None else state["state"])
        made = self.source if hasattr(self.source, "__iter__") else self.source()
        samples: Iterator[Any] = iter(made)
        if samples is self.source and self.began and not self.has_state:
            raise ValueError("an iterator has one epoch only: give a function that makes one")
        self.began = True
        return samples

    def state(self, ended: bool) -> Any:
        """Where it is, and whether that is the end of an epoch; None where it does not know."""
        if not self.has_state:
            return None
        return {"ended": ended, "state": copy.deepcopy(self.source.state_dict())}


def as_source(source: Any, length: int | None) -> Columns | Items | Stream:
    """What kind of source an object is. Raises TypeError for what is none."""
    if isinstance(source, (np.ndarray, tuple, dict)):
        return Columns(source)
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return Items(source, len(source))
    if hasattr(source, "__iter__"):
        return Stream(source)
    if not callable(source):
        raise TypeError(f"{type(source).__name__} has no items, no iterator, and cannot be called")
    if length is None and hasattr(source, "__len__"):
        length = len(source)
    if length is not None:
        return Items(source, length)
    if any(x.default is x.empty for x in inspect.signature(source).parameters.values()):
        raise TypeError("a function of an index needs `length=`")
    return Stream(source)


def _columns(like: Any) -> list[Any]:
    parts = list(like.values()) if isinstance(like, dict) else list(like)
    parts = parts if isinstance(like, (tuple, dict)) else [like]
    if not parts or not all(type(x) in (np.ndarray, np.memmap) and x.ndim for x in parts):
        raise TypeError(
            "an array, a tuple or a dict as a source is made of plain arrays of one length, one "
            "for each part of a sample; a list holds samples"
        )
    # Views of memory maps are plain arrays, too, from here on.
    return [x.view(np.ndarray) if isinstance(x, np.memmap) else x for x in parts]


@dataclass
class Reader:
    """How batches are made of a source: all that a worker needs to know."""

    source: Columns | Items | Stream
    #: Samples in a batch; None: each sample is a batch already.
    batch: int | None
    drop_last: bool
    seed: int
    transform: Callable[..., Any] | None
    #: Whether the transform takes a generator.
    draws: bool
    collate: Callable[[list[Any]], Any] | None
    #: Samples that a shuffled stream holds; 0: it is not shuffled.
    buffer: int

    def started(self, epoch: int, order: Any, position: int, state: Any) -> Any:
        """One pass: an epoch, from its batch number `position` on."""
        if isinstance(self.source, Stream):
            return StreamPass(self, self.source, epoch, position, state)
        return IndexedPass(self, self.source, epoch, order)

    def transformed(self, sample: Any, epoch: int, index: int) -> Any:
        """A sample as it goes into a batch, drawn from a stream of its own."""
        if self.transform is None:
            return sample
        try:
            if not self.draws:
                return self.transform(sample)
            # Philox (Salmon et al. 2011): keys are streams, and so are distant counters of one.
            key = np.array([self.seed, index], np.uint64)
            rng = np.random.Generator(np.random.Philox(counter=epoch << 192, key=key))
            return self.transform(sample, rng=rng)
        except Exception as error:
            raise LoaderError(f"sample {index}, transform: {described(error)}", index) from error

    def made(
        self, samples: Iterator[tuple[int, Any]], size: int, k: int, allocate: Allocate
    ) -> tuple[Any, Any, int]:
        """The batch of at most so many samples: a skeleton, its arrays; how many they are."""
        if self.batch is not None and self.collate is None:
            stack = Stack(size, allocate)
            index = -1
            try:
                for index, sample in samples:
                    stack.add(sample, index)
            except LoaderError:
                raise
            except Exception as error:
                raise LoaderError(f"sample {index}: {described(error)}", index) from error
            return *stack.done(), stack.count
        held = list(samples)
        try:
            if not held:
                return None, [], 0
            batch = held[0][1] if self.collate is None else self.collate([x for _, x in held])
            return *take_apart(batch, allocate), len(held)
        except Exception as error:
            text = f"batch {k}, samples {held[0][0]} to {held[-1][0]}: {described(error)}"
            raise LoaderError(text) from error


class IndexedPass:
    """An epoch of a source with indices."""

    def __init__(self, reader: Reader, source: Columns | Items, epoch: int, order: Any) -> None:
        self.reader, self.source, self.epoch = reader, source, epoch
        self.order = range(len(source)) if order is None else order

    def batch(self, k: int, allocate: Allocate, progress: Any) -> Any:
        """The skeleton and the arrays of batch k, and no state."""
        reader, source, size = self.reader, self.source, self.reader.batch or 1
        indices = self.order[k * size : (k + 1) * size]
        whole = reader.transform is None and reader.collate is None and reader.batch is not None
        if whole and isinstance(source, Columns):
            return *source.batch(indices, allocate), None
        samples = self._samples(indices, progress)
        return *reader.made(samples, len(indices), k, allocate)[:2], None

    def _samples(self, indices: Any, progress: Any) -> Iterator[tuple[int, Any]]:
        source, transformed = self.source, self.reader.transformed
        for index in map(int, indices):
            progress[0] = index
            try:
                sample = source[index]
            except Exception as error:
                raise LoaderError(f"sample {index}: {described(error)}", index) from error
            yield index, transformed(sample, self.epoch, index)
        progress[0] = -1


class StreamPass:
    """An epoch of a stream, from a batch on: what is before it is read, but not transformed."""

    def __init__(
        self, reader: Reader, source: Stream, epoch: int, position: int, state: Any
    ) -> None:
        self.reader, self.source, self.epoch = reader, source, epoch
        self.keeps_state = source.has_state and not reader.buffer
        self.skipped = position * (reader.batch or 1)
        first = 0
        if self.keeps_state and position and state is not None:
            first, self.skipped = self.skipped, 0
        self.progress: Any = [first]
        self.samples = self._numbered(source.samples(state if self.keeps_state else None), first)
        if first and state["ended"]:
            self.samples = iter([])
        if reader.buffer:
            sequence = np.random.SeedSequence(reader.seed, spawn_key=(epoch,))
            self.samples = _shuffled(self.samples, reader.buffer, np.random.default_rng(sequence))

    def batch(self, k: int, allocate: Allocate, progress: Any) -> Any:
        """The skeleton and the arrays of the next batch, or None at the end; the source's state."""
        reader, size = self.reader, self.reader.batch or 1
        self.progress = progress
        for _ in itertools.islice(self.samples, self.skipped):
            pass
        self.skipped = 0
        samples = itertools.islice(self.samples, size)
        transformed = ((i, reader.transformed(x, self.epoch, i)) for i, x in samples)
        skeleton, arrays, count = reader.made(transformed, size, k, allocate)
        progress[0] = -1
        ended = count < size
        state = self.source.state(ended) if self.keeps_state else None
        if not count or (reader.drop_last and ended):
            return None, [], state
        return skeleton, arrays, state

    def _numbered(self, samples: Iterator[Any], first: int) -> Iterator[tuple[int, Any]]:
        for index in itertools.count(first):
            self.progress[0] = index
            try:
                sample = next(samples)
            except StopIteration:
                return
            except Exception as error:
                raise LoaderError(f"sample {index}: {described(error)}", index) from error
            yield index, sample


def _shuffled(samples: Iterator[Any], size: int, rng: np.random.Generator) -> Iterator[Any]:
    """Samples out of a buffer of so many, each drawn when the next one comes in."""
    held = list(itertools.islice(samples, size))
    for sample in samples:
        place = int(rng.integers(len(held)))
        yield held[place]
        held[place] = sample
    rng.shuffle(held)
    yield from held


def described(error: BaseException) -> str:
    """An exception on one line."""
    return f"{type(error).__name__}: {error}"

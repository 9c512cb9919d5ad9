"""A source becomes epochs of batches, in an order that follows from a seed, and can be resumed."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tracejit.data.processes import Processes
from tracejit.data.sources import Reader, Stream, as_source
from tracejit.data.threads import Inline, Threads

__all__ = ["Loader"]


class Loader:
    """Batches of a source: `for x, y in loader` is one epoch.

    `source` is an array, or a tuple or a dict of arrays of one length (memory maps too): a batch
    has rows of each. Or an object with `__len__` and `__getitem__` (a list, too), or a function of
    an index with `length`: samples, which are stacked. Or an iterable, or a function that gives one
    (a generator function): a stream.

    - `batch`: samples in a batch; None: each sample is a batch already. `drop_last` leaves out a
      last batch that is smaller.
    - `shuffle`: a NumPy generator, of which one number is drawn, as the seed of the orders of all
      epochs; True: the seed is `seed`, or one of the system's. Streams are shuffled in a buffer of
      `buffer` samples.
    - `sampler`: a function of the number of samples and a generator that gives the indices of an
      epoch, in place of `shuffle`'s permutation.
    - `seed`: of what is drawn otherwise.
    - `transform`: a function of a sample. One with a parameter `rng` is given a generator whose
      numbers follow from the seed, the epoch and the sample's index.
    - `collate`: a function of a list of samples that gives the batch.
    - `workers`: processes that make batches ahead, `prefetch` each; `threads`: threads that do. A
      stream is read by one of them. `start_method` is multiprocessing's, by default "forkserver".
    - `timeout`: seconds to wait for a batch of workers or threads.

    Which batches come, and what is in them, depends on neither workers nor threads. Arrays of a
    batch are the consumer's own. Raises LoaderError, with the sample's index, where a sample cannot
    be read and where a worker dies or hangs; TypeError and ValueError for arguments that make no
    sense.
    """

    def __init__(
        self,
        source: Any,
        batch: int | None = 128,
        *,
        shuffle: np.random.Generator | bool | None = None,
        drop_last: bool = False,
        workers: int = 0,
        threads: int = 0,
        prefetch: int = 2,
        collate: Callable[[list[Any]], Any] | None = None,
        transform: Callable[..., Any] | None = None,
        sampler: Callable[[int, np.random.Generator], Any] | None = None,
        seed: int | None = None,
        buffer: int = 1024,
        length: int | None = None,
        timeout: float | None = None,
        start_method: str | None = None,
    ) -> None:
        batch = batch if batch is None else operator.index(batch)
        if batch is not None and batch < 1:
            raise ValueError(f"batch is at least 1, not {batch}")
        if workers < 0 or threads < 0 or (workers and threads):
            raise ValueError(f"either workers or threads, not {workers} and {threads}")
        if prefetch < 1 or buffer < 1:
            raise ValueError(f"prefetch and buffer are at least 1, not {prefetch} and {buffer}")
        if batch is None and collate is not None:
            raise ValueError("collate joins samples: with batch=None there is nothing to join")
        self.source = as_source(source, length)
        stream = isinstance(self.source, Stream)
        if stream and sampler is not None:
            raise ValueError("a stream has no indices that a sampler could give")
        #: Everything that is drawn follows from it.
        self.seed = _seed(shuffle, seed)
        self.shuffle, self.sampler = (
            isinstance(shuffle, np.random.Generator) or bool(shuffle),
            sampler,
        )
        self.batch, self.drop_last = batch, drop_last
        self.workers, self.threads = (min(n, 1) if stream else n for n in (workers, threads))
        self.prefetch, self.timeout, self.start_method = prefetch, timeout, start_method
        #: The epoch that is running, or begins next, and the batches of it that were given out.
        self.epoch, self.position = 0, 0
        self._reader = Reader(
            self.source,
            batch,
            drop_last,
            self.seed,
            transform,
            transform is not None and _has_rng(transform),
            collate,
            buffer if stream and self.shuffle else 0,
        )
        self._maker: Any = None
        self._source_state: Any = None
        #: Whether the next epoch goes on at the position.
        self._resumes = False
        #: The loop that is running.
        self._loop: object = None
        #: The order of an epoch of a seed.
        self._order_of: tuple[Any, Any] = (None, None)

    def __len__(self) -> int:
        """The number of batches of an epoch. Raises TypeError for a stream."""
        if isinstance(self.source, Stream):
            raise TypeError("a stream has no length")
        order = self._order()
        count = len(self.source) if order is None else len(order)
        size = self.batch or 1
        return count // size if self.drop_last else math.ceil(count / size)

    def __iter__(self) -> Iterator[Any]:
        loop = self._loop = object()
        return self._batches(loop)

    def _batches(self, loop: object) -> Iterator[Any]:
        self._check(loop)
        if self.position and not self._resumes:
            # The loop before was left.
            self.epoch, self.position, self._source_state = self.epoch + 1, 0, None
        self._resumes = False
        stop = math.inf if isinstance(self.source, Stream) else len(self)
        maker = self._started()
        asked = self.position
        try:
            while self.position < stop:
                while asked < stop and asked < self.position + max(maker.ahead, 1):
                    maker.ask(asked)
                    asked += 1
                ended, batch, self._source_state = maker.take(self.position)
                if ended:
                    break
                self.position += 1
                yield batch
                del batch
                self._check(loop)
            self.epoch, self.position = self.epoch + 1, 0
        except BaseException as error:
            if self._loop is loop and not isinstance(error, GeneratorExit):
                # Workers may be dead, or in the middle of something.
                self.close()
            raise
        finally:
            if self._loop is loop and isinstance(maker, Threads):
                maker.stop()

    def _check(self, loop: object) -> None:
        if self._loop is not loop:
            raise RuntimeError("another loop over this loader has begun, or its state was loaded")

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: after loading it, the batches come that have not been given out.

        Numbers only, but for the state of a source that has `state_dict` and `load_state_dict` of
        its own. What workers have made ahead does not count.
        """
        return {
            "epoch": self.epoch,
            "position": self.position,
            "seed": self.seed,
            "batch": self.batch,
            "samples": None if isinstance(self.source, Stream) else len(self.source),
            "source": self._source_state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken. A stream is read up to there, or has a state itself.

        Raises ValueError where the state is of a loader with other batches.
        """
        own = self.state_dict()
        for name in ("batch", "samples"):
            if state[name] != own[name]:
                raise ValueError(f"{name}: {state[name]} in the state, {own[name]} in this loader")
        self.epoch, self.position = int(state["epoch"]), int(state["position"])
        self.seed = self._reader.seed = int(state["seed"])
        self._source_state = state["source"]
        self._resumes, self._loop = True, None
        self.close()

    def close(self) -> None:
        """End the workers. The next epoch starts others, with the source as it is then."""
        maker, self._maker = self._maker, None
        if maker is not None:
            maker.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _order(self) -> Any:
        """The indices of this epoch, or None where they are those of the source, in its order."""
        if isinstance(self.source, Stream) or not (self.shuffle or self.sampler):
            return None
        if self._order_of[0] != (self.seed, self.epoch):
            sequence = np.random.SeedSequence(self.seed, spawn_key=(self.epoch,))
            rng, count = np.random.default_rng(sequence), len(self.source)
            if self.sampler is None:
                order = rng.permutation(count)
            else:
                order = np.asarray(self.sampler(count, rng))
                if order.ndim != 1 or order.dtype.kind not in "iu":
                    raise TypeError("a sampler gives a vector of indices")
                if order.size and not -1 < order.min() <= order.max() < count:
                    raise IndexError(f"a sampler gives indices from 0 to {count - 1}")
            self._order_of = (self.seed, self.epoch), order.astype(np.int64, copy=False)
        return self._order_of[1]

    def _started(self) -> Any:
        if self._maker is None:
            if self.workers:
                self._maker = Processes(
                    self._reader, self.workers, self.prefetch, self.timeout, self.start_method
                )
            elif self.threads:
                self._maker = Threads(self._reader, self.threads, self.prefetch, self.timeout)
            else:
                self._maker = Inline(self._reader)
        order, state = self._order(), self._source_state
        self._maker.start(self.epoch, order, self.position, state)
        return self._maker


def _seed(shuffle: Any, seed: int | None) -> int:
    if isinstance(shuffle, np.random.Generator):
        if seed is not None:
            raise ValueError("the seed is drawn of `shuffle`: give one of them")
        return int(shuffle.integers(2**63))
    if not (shuffle is None or isinstance(shuffle, (bool, np.bool_))):
        raise TypeError(f"shuffle is a NumPy generator or a bool, not {type(shuffle).__name__}")
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1) if shuffle else 0
    if not 0 <= operator.index(seed) < 2**64:
        raise ValueError(f"a seed is from 0 to 2**64 - 1, not {seed}")
    return operator.index(seed)


def _has_rng(function: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False  # Written in C.

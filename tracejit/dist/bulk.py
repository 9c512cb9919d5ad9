"""A function over batches of data: by processes of this machine, Dask or Ray."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from tracejit import config
from tracejit.dist.children import die_with_parent
from tracejit.dist.transport.link import DistError

__all__ = ["map_batches"]


def map_batches(
    f: Callable[[Any], Any],
    source: Any,
    *,
    batch: int = 4096,
    workers: int | None = None,
    threads: bool | None = None,
    **options: Any,
) -> Any:
    """`f` of every batch of `source`: results in order, as an iterator that computes them ahead.

    - An array, also one of a file (`np.memmap`, `np.load(..., mmap_mode="r")`), or a tuple or dict
      of arrays with one first axis: batches are views of at most `batch` rows of them. So many
      `workers` (default: the CPUs of this machine; 0: none) have the arrays without a copy, and the
      function as it is, compiled by the first batch. They are threads where the function is
      compiled, and processes where it is not, or as `threads` says.
    - Any other iterable: its items are the batches; processes are sent them by pickles.
    - An array of Dask: one of Dask, computed when it is asked for, by `map_blocks` with `options`.
    - A Dataset of Ray: one of Ray, by its `map_batches` with batches of NumPy's and `options`.

    Exceptions of the function are raised with the number of the batch as a note. Raises DistError
    where a process is killed, ValueError for numbers without meaning, TypeError for options where
    there is nothing that takes them.
    """
    if batch < 1 or (workers is not None and workers < 0):
        raise ValueError(f"batch is at least 1 and workers 0, not {batch} and {workers}")
    package = type(source).__module__.partition(".")[0]
    if package == "dask":
        return source.map_blocks(f, **options)
    if package == "ray":
        options.setdefault("batch_format", "numpy")
        return source.map_batches(f, batch_size=batch, **options)
    if options:
        raise TypeError(f"map_batches does not take {', '.join(options)} here")
    count = (os.cpu_count() or 1) if workers is None else workers
    by_threads = hasattr(f, "__tracejit__") if threads is None else threads
    by_threads = by_threads or sys.platform == "win32"
    rows = _rows(source)
    if rows is None:
        return _mapped(f, source, count, by_threads)
    spans = ((k, min(k + batch, rows)) for k in range(0, rows, batch))
    return _mapped(_OfRows(f, source), spans, count, by_threads)


def _rows(source: Any) -> int | None:
    """The length of the first axis of arrays; None for another iterable. Raises ValueError."""
    if isinstance(source, np.ndarray):
        arrays = [source]
    elif isinstance(source, tuple):
        arrays = list(source)
    elif isinstance(source, dict):
        arrays = list(source.values())
    else:
        return None
    if not arrays or not all(isinstance(x, np.ndarray) and x.ndim for x in arrays):
        if isinstance(source, tuple):
            return None
        raise ValueError("a dict of batches holds arrays with a first axis")
    rows = {len(x) for x in arrays}
    if len(rows) > 1:
        raise ValueError(f"the arrays have {sorted(rows)} rows")
    return rows.pop()


class _OfRows:
    """The function of a batch by its first row and the row behind its last."""

    def __init__(self, f: Callable[[Any], Any], source: Any) -> None:
        self._f, self._source = f, source

    def __call__(self, span: tuple[int, int]) -> Any:
        rows, source = slice(*span), self._source
        # Of an array of a file it is one of the same memory.
        if isinstance(source, np.ndarray):
            return self._f(np.asarray(source[rows]))
        if isinstance(source, tuple):
            return self._f(tuple([np.asarray(x[rows]) for x in source]))
        return self._f({name: np.asarray(x[rows]) for name, x in source.items()})


#: What processes that are forked find: the functions that they are for.
_FUNCTIONS: dict[int, Callable[[Any], Any]] = {}
_NUMBERS = itertools.count()


def _mapped(
    f: Callable[[Any], Any], items: Iterable[Any], workers: int, threads: bool
) -> Iterator[Any]:
    pending = enumerate(items)
    for k, item in itertools.islice(pending, None if workers == 0 else 1):
        # What is compiled now the processes have, too.
        yield _noted(k, f, item)
    number = next(_NUMBERS)
    _FUNCTIONS[number] = f
    waiting: deque[tuple[int, Future[Any]]] = deque()
    pool: Executor | None = None
    try:
        for k, item in pending:
            pool = pool or _pool(workers, threads)
            waiting.append((k, pool.submit(_run, number, item)))
            if len(waiting) > 2 * workers:
                yield _result(*waiting.popleft())
        while waiting:
            yield _result(*waiting.popleft())
    except BrokenProcessPool:
        raise DistError("a process has been lost, and with it results of batches") from None
    finally:
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        del _FUNCTIONS[number]


def _pool(workers: int, threads: bool) -> Executor:
    if threads:
        return ThreadPoolExecutor(workers, "tracejit batches")
    each = max(1, (os.cpu_count() or 1) // workers)
    context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(workers, context, _begin, (each,))


def _begin(threads: int) -> None:
    """In a process that has begun: Ctrl-C is for the one that has started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    config.set_num_threads(threads)
    if sys.platform == "linux":
        die_with_parent()


def _run(number: int, item: Any) -> Any:
    return _FUNCTIONS[number](item)


def _result(k: int, future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as e:
        e.add_note(f"in batch {k}")
        raise


def _noted(k: int, f: Callable[[Any], Any], item: Any) -> Any:
    try:
        return f(item)
    except Exception as e:
        e.add_note(f"in batch {k}")
        raise

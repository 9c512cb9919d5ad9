"""Collectives over a link: what all processes call together, in the same order.

Sums are formed in the order of the ranks, each element by one process: the result is the same to
the bit everywhere, and does not depend on time.
"""

from __future__ import annotations

import itertools

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from tracejit.dist.transport.link import DistError, Link
from tracejit.locks import long_lock

__all__ = ["Group", "Pending", "operand"]

#: How two parts are joined into the first.
_OPS: dict[str, Callable[..., Any]] = {
    "sum": np.add,
    "mean": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
}
#: Arrays of fewer bytes are joined by the first process alone.
_SMALL = 1 << 15


class Pending:
    """The result of an operation that another thread does."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def wait(self) -> Any:
        """The result. Raises what the operation raises."""
        return self._future.result()


class Group:
    """All processes of a link."""

    def __init__(self, link: Link) -> None:
        self.link, self.rank, self.size = link, link.rank, link.size
        self._others = [r for r in range(self.size) if r != self.rank]
        self._numbers = itertools.count()
        self._lock = long_lock()
        self._worker: ThreadPoolExecutor | None = None

    # What users call ------------------------------------------------------------------------------

    def all_reduce(self, x: Any, op: str = "sum") -> Any:
        """The arrays of all processes joined element by element, as a new array.

        "mean" divides the sum; of ints and bools it is float64. Raises DistError where the arrays
        differ in shape or dtype, PeerLost, ValueError for an `op` that there is not.
        """
        return self._reduce(self._key(), operand(x, op), op)

    def all_reduce_list(self, values: Sequence[Any], op: str = "sum") -> list[Any]:
        """The same for several arrays at once: those of one dtype as one."""
        given = [operand(x, op) for x in values]
        out: list[Any] = [None] * len(given)
        for dtype in dict.fromkeys(x.dtype for x in given):
            numbers = [k for k, x in enumerate(given) if x.dtype == dtype]
            whole = np.concatenate([given[k].reshape(-1) for k in numbers])
            found, at = self._reduce(self._key(), whole, op), 0
            for k in numbers:
                out[k] = found[at : at + given[k].size].reshape(given[k].shape)
                at += given[k].size
        return out

    def start_all_reduce(self, x: Any, op: str = "sum") -> Pending:
        """The same, done by another thread: the array must not be changed before it is waited for.
        All processes start and wait in the same order.
        """
        return Pending(self._thread().submit(self._reduce, self._key(), operand(x, op), op))

    def reduce_scatter(self, x: Any, op: str = "sum") -> Any:
        """Part `rank` of `size` equal parts, along the first axis, of what `all_reduce` gives.

        Raises ValueError where the first axis has no equal parts, and as `all_reduce`.
        """
        x = operand(x, op)
        if not x.ndim or len(x) % self.size:
            raise ValueError(f"an array of shape {x.shape} has no {self.size} equal parts")
        key = self._key()
        parts = x.reshape(self.size, len(x) // self.size, *x.shape[1:])
        self._share(key, [op, x.dtype.str, list(x.shape), parts])
        found = [self._from(r, key, op, x)[self.rank] for r in self._others]
        return _joined(_by_rank(self.rank, parts[self.rank], found), op, self.size)

    def all_gather(self, x: Any) -> Any:
        """The arrays of all processes, one after another along a new first axis.

        Raises DistError where they differ in shape or dtype, PeerLost.
        """
        x, key = np.asarray(x), self._key()
        self._share(key, ["gather", x.dtype.str, list(x.shape), x])
        found = [self._from(r, key, "gather", x) for r in self._others]
        return np.stack(_by_rank(self.rank, x, found))

    def broadcast(self, x: Any, root: int = 0) -> Any:
        """What the process `root` gives, on all: a message (see `Link`), such as an array."""
        key = self._key()
        if self.rank != root:
            return self.link.receive(root, key)
        self._share(key, x)
        return np.array(x) if isinstance(x, np.ndarray) else x

    def barrier(self) -> None:
        """Wait until all processes have come here."""
        self.all_reduce(np.zeros(1))

    # How ------------------------------------------------------------------------------------------

    def _key(self) -> str:
        return f"c{next(self._numbers)}"

    def _thread(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._worker is None:
                name = f"tracejit process {self.rank}"
                self._worker = ThreadPoolExecutor(1, thread_name_prefix=name)
            return self._worker

    def _share(self, key: str, value: Any) -> None:
        """Send to all others."""
        send_all = getattr(self.link, "send_all", None)
        if send_all is not None:
            send_all(self._others, key, value)
        else:
            for r in self._others:
                self.link.send(r, key, value)

    def _from(self, rank: int, key: str, op: str, x: Any) -> Any:
        """The array of another process, which must fit this one's."""
        borrow = getattr(self.link, "borrow", self.link.receive)
        theirs, dtype, shape, found = borrow(rank, key)
        if (theirs, dtype, tuple(shape)) != (op, x.dtype.str, x.shape):
            raise DistError(
                f"process {rank} calls for {theirs!r} of {np.dtype(dtype)}{list(shape)} where "
                f"process {self.rank} calls for {op!r} of {x.dtype}{list(x.shape)}"
            )
        return found

    def _reduce(self, key: str, x: Any, op: str) -> Any:
        if self.size == 1:
            return _joined([x], op, 1)
        reduce = getattr(self.link, "reduce", None)
        if reduce is not None:
            found = reduce(np.ascontiguousarray(x).reshape(-1), op)
            if op == "mean":
                found /= self.size
            return found.reshape(x.shape)
        if x.nbytes < _SMALL * self.size or x.size < self.size:
            return self._reduce_small(key, x, op)
        flat = np.ascontiguousarray(x).reshape(-1)
        ends = [len(flat) * k // self.size for k in range(self.size + 1)]
        spans = [slice(a, b) for a, b in zip(ends, ends[1:], strict=False)]
        mine = spans[self.rank]
        self._share(key, [op, x.dtype.str, list(x.shape), flat])
        out = np.empty_like(flat)
        found = [self._from(r, key, op, x)[mine] for r in self._others]
        _joined(_by_rank(self.rank, flat[mine], found), op, self.size, out[mine])
        del found
        self._share(f"{key}r", out[mine])
        borrow = getattr(self.link, "borrow", self.link.receive)
        for r in self._others:
            out[spans[r]] = borrow(r, f"{key}r")
        return out.reshape(x.shape)

    def _reduce_small(self, key: str, x: Any, op: str) -> Any:
        if self.rank:
            self.link.send(0, key, [op, x.dtype.str, list(x.shape), x])
            out, wrong = self.link.receive(0, f"{key}r")
            if wrong:
                raise DistError(wrong)
            return out
        error: DistError | None = None
        found = []
        for r in self._others:
            try:
                found.append(self._from(r, key, op, x))
            except DistError as e:
                error = error or e
        out = None if error else _joined([x, *found], op, self.size)
        self._share(f"{key}r", (out, "" if error is None else str(error)))
        if error is not None:
            raise error
        return out

    def close(self) -> None:
        """End what this end does; the others lose it."""
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
        self.link.close()


def operand(x: Any, op: str) -> Any:
    """An array with the dtype that the result of an operation has. Raises ValueError."""
    if op not in _OPS:
        raise ValueError(f"there are {', '.join(_OPS)}, not {op!r}")
    x = np.asarray(x)
    if op == "mean" and x.dtype.kind in "biu":
        return x.astype(np.float64)
    return x.astype(np.int64) if x.dtype.kind == "b" and op in ("sum", "prod") else x


def _by_rank(rank: int, mine: Any, others: Sequence[Any]) -> list[Any]:
    return [*others[:rank], mine, *others[rank:]]


def _joined(parts: Sequence[Any], op: str, size: int, out: Any = None) -> Any:
    """All parts joined in their order."""
    join = _OPS[op]
    if len(parts) == 1:
        out = np.array(parts[0]) if out is None else out
        out[...] = parts[0]
    else:
        out = join(parts[0], parts[1], out=out)
        for part in parts[2:]:
            out = join(out, part, out=out if isinstance(out, np.ndarray) and out.ndim else None)
    if op == "mean":
        out = np.true_divide(out, size, out=out if isinstance(out, np.ndarray) else None)
    return np.asarray(out)

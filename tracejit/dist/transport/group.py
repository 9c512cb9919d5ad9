"""Collectives over a link: what all processes call together, in the same order.

Sums are formed in the order of the ranks, each element by one process: the result is the same to
the bit everywhere, and does not depend on time.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from tracejit.dist.transport.link import DistError, Link
from tracejit.dist.transport.worker import Pending, Worker
from tracejit.locks import long_lock

__all__ = ["Group", "named", "operand"]

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
#: Elements that are joined at once.
_CHUNK = 1 << 15


class Group:
    """All processes of a link."""

    def __init__(self, link: Link) -> None:
        self.link, self.rank, self.size = link, link.rank, link.size
        self._others = [r for r in range(self.size) if r != self.rank]
        self._numbers = itertools.count()
        self._lock = long_lock()
        self._worker: Worker | None = None
        #: What was started last: what comes behind it is done behind it.
        self._last: Pending | None = None
        #: Memory to write to, by dtype and elements.
        self._rooms: dict[tuple[np.dtype[Any], int], list[Any]] = {}

    # What users call ------------------------------------------------------------------------------

    def all_reduce(self, x: Any, op: str = "sum") -> Any:
        """The arrays of all processes joined element by element, as a new array.

        "mean" divides the sum; of ints and bools it is float64. Raises DistError where the arrays
        differ in shape or dtype, PeerLost, ValueError for an `op` that there is not.
        """
        return self._now(self._reduce, self.key(), operand(x, op), op)

    def all_reduce_list(self, values: Sequence[Any], op: str = "sum") -> list[Any]:
        """The same for several arrays at once: those of one dtype as one."""
        return self._list(values, op, self._now)

    def start_all_reduce(self, x: Any, op: str = "sum") -> Pending:
        """The same, done by another thread: the array must not be changed before it is waited for.
        All processes start and wait in the same order.
        """
        return self.start(self._reduce, self.key(), operand(x, op), op)

    def start_all_reduce_list(self, values: Sequence[Any], op: str = "sum") -> Pending:
        """The same for several arrays of one dtype, which are copied: they may change at once."""
        given = [operand(v, op) for v in values]
        shapes = [x.shape for x in given]
        dtype, size = given[0].dtype, sum(x.size for x in given)
        whole, out = self._room(dtype, size), self._room(dtype, size)
        np.concatenate([x.reshape(-1) for x in given], out=whole)
        key = self.key()

        def do() -> list[Any]:
            return _parts(self._reduce(key, whole, op, named(op, shapes), out), shapes)

        return self.start(do)

    def _room(self, dtype: np.dtype[Any], size: int) -> Any:
        """An array to write to that nobody else has, if there is one that nobody has any more:
        pages of new memory cost more than what is copied there.
        """
        with self._lock:
            rooms = self._rooms.setdefault((dtype, size), [])
            for k in range(len(rooms)):
                # The list has it, and the call. What shows a part of it has it, too.
                if sys.getrefcount(rooms[k]) == 2:
                    return rooms[k]
            rooms.append(np.empty(size, dtype))
            return rooms[-1]

    def reduce_scatter(self, x: Any, op: str = "sum") -> Any:
        """Part `rank` of `size` equal parts, along the first axis, of what `all_reduce` gives.

        Raises ValueError where the first axis has no equal parts, and as `all_reduce`.
        """
        x = operand(x, op)
        if not x.ndim or len(x) % self.size:
            raise ValueError(f"an array of shape {x.shape} has no {self.size} equal parts")
        return self._now(self._reduce_scatter, self.key(), x, op)

    def all_gather(self, x: Any) -> Any:
        """The arrays of all processes, one after another along a new first axis.

        Raises DistError where they differ in shape or dtype, PeerLost.
        """
        x = np.asarray(x)
        return np.stack(self._now(self.gather, self.key(), "gather", x, x))

    def broadcast(self, x: Any, root: int = 0) -> Any:
        """What the process `root` gives, on all: a message (see `Link`), such as an array."""
        return self._now(self._broadcast, self.key(), x, root)

    def barrier(self) -> None:
        """Wait until all processes have come here."""
        self.all_reduce(np.zeros(1))

    # In this thread, or another -------------------------------------------------------------------

    def start(self, do: Callable[..., Any], *args: Any) -> Pending:
        """Have another thread do what it takes, after all that was started before."""
        with self._lock:
            if self._worker is None:
                self._worker = Worker(f"tracejit process {self.rank}")
            self._last = self._worker.submit(lambda: do(*args))
            return self._last

    def _now(self, do: Callable[..., Any], *args: Any) -> Any:
        """Do it behind what was started: links may not tell apart what threads do at once."""
        if self._last is None or self._last.done():
            return do(*args)
        return self.start(do, *args).wait()

    def _list(self, values: Sequence[Any], op: str, do: Callable[..., Any]) -> list[Any]:
        given = [operand(x, op) for x in values]
        out: list[Any] = [None] * len(given)
        for dtype in dict.fromkeys(x.dtype for x in given):
            numbers = [k for k, x in enumerate(given) if x.dtype == dtype]
            shapes = [given[k].shape for k in numbers]
            whole = np.concatenate([given[k].reshape(-1) for k in numbers])
            found = do(self._reduce, self.key(), whole, op, named(op, shapes))
            for k, part in zip(numbers, _parts(found, shapes), strict=True):
                out[k] = part
        return out

    # How ------------------------------------------------------------------------------------------

    def key(self) -> str:
        """What tells an operation from all others: asked for in the order of the program."""
        return f"c{next(self._numbers)}"

    def gather(self, key: str, what: str, x: Any, value: Any) -> list[Any]:
        """The messages of all processes by rank, which may not be written to; `x` is an array that
        must be alike on all. Raises DistError, PeerLost.
        """
        self._share(key, [what, x.dtype.str, list(x.shape), value])
        found = [self._from(r, key, what, x) for r in self._others]
        return _by_rank(self.rank, value, found)

    def _reduce_scatter(self, key: str, x: Any, op: str) -> Any:
        parts = x.reshape(self.size, len(x) // self.size, *x.shape[1:])
        self._share(key, [op, x.dtype.str, list(x.shape), parts])
        found = [self._from(r, key, op, x)[self.rank] for r in self._others]
        return _joined(_by_rank(self.rank, parts[self.rank], found), op, self.size)

    def _broadcast(self, key: str, x: Any, root: int) -> Any:
        if self.rank != root:
            return self.link.receive(root, key)
        self._share(key, x)
        return np.array(x) if isinstance(x, np.ndarray) else x

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

    def _reduce(self, key: str, x: Any, op: str, what: str = "", out: Any = None) -> Any:
        """`what` tells others what is joined: else the operation. `out` may get the result."""
        what = what or op
        if self.size == 1:
            return _joined([x], op, 1)
        reduces = getattr(self.link, "reduces", None)
        if reduces is not None and self._all_call_alike(key, x, what) and reduces(x.dtype, op):
            reduce: Any = cast(Any, self.link).reduce
            found = reduce(np.ascontiguousarray(x).reshape(-1), op)
            if op == "mean":
                found /= self.size
            return found.reshape(x.shape)
        if x.nbytes < _SMALL * self.size or x.size < self.size:
            return self._reduce_small(key, x, op, what)
        flat = np.ascontiguousarray(x).reshape(-1)
        ends = [len(flat) * k // self.size for k in range(self.size + 1)]
        spans = [slice(a, b) for a, b in zip(ends, ends[1:], strict=False)]
        mine = spans[self.rank]
        self._share(key, [what, x.dtype.str, list(x.shape), flat])
        out = np.empty_like(flat) if out is None else out
        found = [self._from(r, key, what, x)[mine] for r in self._others]
        parts = _by_rank(self.rank, flat[mine], found)
        for start in range(0, len(parts[0]), _CHUNK):
            # Sums are divided while they are in the cache.
            chunk = slice(start, start + _CHUNK)
            _joined([part[chunk] for part in parts], op, self.size, out[mine][chunk])
        del found, parts
        self._share(f"{key}r", out[mine])
        borrow = getattr(self.link, "borrow", self.link.receive)
        for r in self._others:
            out[spans[r]] = borrow(r, f"{key}r")
        return out.reshape(x.shape)

    def _all_call_alike(self, key: str, x: Any, what: str) -> bool:
        """True: the link's own operations do not tell when processes call for others."""
        reduce: Any = cast(Any, self.link).reduce
        text = f"{key} {what} {x.dtype.str} {x.shape}".encode()
        number = int.from_bytes(hashlib.sha256(text).digest()[:6], "little")
        most, least = reduce(np.array([number, -number]), "max")
        if most != -least:
            self.gather(key, what, x, None)
            raise DistError(f"process {self.rank} calls for {what!r} where others call otherwise")
        return True

    def _reduce_small(self, key: str, x: Any, op: str, what: str) -> Any:
        if self.rank:
            self.link.send(0, key, [what, x.dtype.str, list(x.shape), x])
            out, wrong = self.link.receive(0, f"{key}r")
            if wrong:
                raise DistError(wrong)
            return out
        error: DistError | None = None
        found = []
        for r in self._others:
            try:
                found.append(self._from(r, key, what, x))
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
            self._worker.close()
        self.link.close()


def operand(x: Any, op: str) -> Any:
    """An array with the dtype that the result of an operation has. Raises ValueError."""
    if op not in _OPS:
        raise ValueError(f"there are {', '.join(_OPS)}, not {op!r}")
    x = np.asarray(x)
    if op == "mean" and x.dtype.kind in "biu":
        return x.astype(np.float64)
    return x.astype(np.int64) if x.dtype.kind == "b" and op in ("sum", "prod") else x


def named(op: str, shapes: Sequence[tuple[int, ...]]) -> str:
    """What processes tell each other that they do with arrays of these shapes."""
    if len(shapes) == 1:
        return op
    text = ", ".join(map(str, shapes))
    if len(text) > 200:
        text = f"{len(shapes)} shapes with the checksum {zlib.crc32(text.encode()):08x}"
    return f"{op} of {text}"


def _parts(flat: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Arrays of these shapes that lie one after another."""
    out, at = [], 0
    for shape in shapes:
        size = math.prod(shape)
        out.append(flat[at : at + size].reshape(shape))
        at += size
    return out


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

"""Collectives over a link: what all processes call together, in the same order.

Each begins with a meeting at the first process, which hears what all of them call: where one calls
for something else, all raise a DistError. Small arrays go there and back with what is said.

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
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import numpy as np

from tracejit.base.locks import long_lock
from tracejit.dist.transport.link import DistError, Link, PeerLost
from tracejit.dist.transport.worker import Pending, Worker

__all__ = ["Group", "described", "operand", "sendable"]

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
        differ in shape or dtype, PeerLost, ValueError for an `op` that there is not, TypeError for
        an array that no message holds.
        """
        x = operand(x, op)
        return self._now(self._reduce, self.key(), x, op)

    def all_reduce_list(self, values: Sequence[Any], op: str = "sum") -> list[Any]:
        """The same for several arrays at once: those of one dtype as one."""
        return self._list(values, op, self._now)

    def start_all_reduce(self, x: Any, op: str = "sum") -> Pending:
        """The same, done by another thread: the array must not be changed before it is waited for.
        All processes start and wait in the same order.
        """
        x = operand(x, op)
        return self.start(self._reduce, self.key(), x, op)

    def start_all_reduce_list(self, values: Sequence[Any], op: str = "sum") -> Pending:
        """The same for several arrays of one dtype, which are copied: they may change at once."""
        given = [operand(v, op) for v in values]
        shapes = [x.shape for x in given]
        dtype, size = given[0].dtype, sum(x.size for x in given)
        whole, out = self._room(dtype, size), self._room(dtype, size)
        np.concatenate([x.reshape(-1) for x in given], out=whole)
        # What runs later keeps none of the arrays, so that the caller may use their memory again.
        key, what = self.key(), described(given)

        def do() -> list[Any]:
            return _parts(self._reduce(key, whole, op, what, out), shapes)

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
        x = sendable(x)
        head = f"all_gather of {described([x])}"
        return np.stack(self._now(self.gather, self.key(), head, x, x.nbytes))

    def all_messages(self, head: str, value: Any) -> list[Any]:
        """The messages of all processes by rank, of any sizes, which may not be written to.

        `head` says what is called, the same on all. Raises DistError, PeerLost.
        """
        return cast("list[Any]", self._now(self.gather, self.key(), head, value, _SMALL))

    def broadcast(self, x: Any, root: int = 0, what: str = "") -> Any:
        """What the process `root` gives, on all: a message (see `Link`), such as an array.

        `what` describes what must be alike on all. Raises DistError, PeerLost.
        """
        return self._now(self._broadcast, self.key(), x, root, what)

    def barrier(self) -> None:
        """Wait until all processes have come here. Raises DistError, PeerLost."""
        self._now(self.meet, self.key(), "barrier")

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
        what = described(given)
        for dtype in dict.fromkeys(x.dtype for x in given):
            numbers = [k for k, x in enumerate(given) if x.dtype == dtype]
            whole = np.concatenate([given[k].reshape(-1) for k in numbers])
            found = do(self._reduce, self.key(), whole, op, what)
            shapes = [given[k].shape for k in numbers]
            for k, part in zip(numbers, _parts(found, shapes), strict=True):
                out[k] = part
        return out

    # How ------------------------------------------------------------------------------------------

    def key(self) -> str:
        """What tells an operation from all others: asked for in the order of the program."""
        return f"c{next(self._numbers)}"

    def meet(
        self,
        key: str,
        head: str,
        value: Any = None,
        answer: Callable[[list[Any]], Any] | None = None,
    ) -> Any:
        """Tell the first process what is called; what `answer` makes there of the values of all.

        `head` says it for people, and must be the same on all. Raises DistError on all processes
        where it is not, or where there is no answer; PeerLost.
        """
        if self.size == 1:
            return answer([value]) if answer else None
        reduce = getattr(self.link, "reduce", None)
        if reduce is not None:
            # The link's own operations do not tell when processes call for others.
            text = hashlib.sha256(f"{key} {head}".encode())
            number = int.from_bytes(text.digest()[:6], "little")
            most, least = reduce(np.array([number, -number]), "max")
            if most == -least and answer is None:
                return None
        if self.rank == 0:
            return self._host(key, head, value, answer)
        try:
            self.link.send(0, key, [head, value])
        except TypeError as e:
            self.link.send(0, key, [f"{head}, which fails: {e}", None])
        found, wrong, lost = self.link.receive(0, f"{key}r")
        if lost is not None:
            raise PeerLost(lost)
        if wrong:
            raise DistError(wrong)
        return found

    def _host(
        self, key: str, head: str, value: Any, answer: Callable[[list[Any]], Any] | None
    ) -> Any:
        """The first process's part of a meeting."""
        heads, values = [head], [value]
        borrow = getattr(self.link, "borrow", self.link.receive)
        error: DistError | None = None
        found = None
        try:
            for r in self._others:
                theirs, given = borrow(r, key)
                heads.append(theirs)
                values.append(given)
            if any(h != head for h in heads):
                error = DistError(_who_calls_what(heads))
            elif answer is not None:
                found = answer(values)
                self._share(f"{key}r", (found, "", None))
                return found
        except PeerLost as e:
            error = e
        except Exception as e:
            error = DistError(f"{head} fails: {type(e).__name__}: {e}")
            error.__cause__ = e
        said = None, str(error or ""), error.rank if isinstance(error, PeerLost) else None
        for r in self._others:
            with suppress(PeerLost):
                self.link.send(r, f"{key}r", said)
        if error is not None:
            raise error
        return found

    def gather(self, key: str, head: str, value: Any, nbytes: int) -> list[Any]:
        """The messages of all processes by rank, which may not be written to; they have about
        `nbytes` bytes, the same on all. Raises DistError, PeerLost.
        """
        if nbytes < _SMALL:
            found: list[Any] = self.meet(key, head, value, list)
            return found
        self.meet(key, head)
        return self._exchanged(f"{key}d", value)

    def _exchanged(self, key: str, value: Any) -> list[Any]:
        """What all send to all, by rank."""
        self._share(key, value)
        borrow = getattr(self.link, "borrow", self.link.receive)
        return _by_rank(self.rank, value, [borrow(r, key) for r in self._others])

    def _reduce_scatter(self, key: str, x: Any, op: str) -> Any:
        head = f"reduce_scatter {op!r} of {described([x])}"
        parts = x.reshape(self.size, len(x) // self.size, *x.shape[1:])
        found = self.gather(key, head, parts, x.nbytes)
        return _joined([each[self.rank] for each in found], op, self.size)

    def _broadcast(self, key: str, x: Any, root: int, what: str) -> Any:
        head = f"broadcast from process {root}{what and ' of '}{what}"
        if root == 0:
            found = self.meet(key, head, None, lambda _: x)
        else:
            self.meet(key, head)
            if self.rank != root:
                return self.link.receive(root, f"{key}d")
            self._share(f"{key}d", x)
            found = x
        return np.array(x) if found is x and isinstance(x, np.ndarray) else found

    def _share(self, key: str, value: Any) -> None:
        """Send to all others."""
        send_all = getattr(self.link, "send_all", None)
        if send_all is not None:
            send_all(self._others, key, value)
        else:
            for r in self._others:
                self.link.send(r, key, value)

    def _reduce(self, key: str, x: Any, op: str, what: str = "", out: Any = None) -> Any:
        """`what` describes what is joined, if not one array. `out` may get the result."""
        if self.size == 1:
            return _joined([x], op, 1)
        head = f"all_reduce {op!r} of {what or described([x])}"
        reduces = getattr(self.link, "reduces", None)
        if reduces is not None and reduces(x.dtype, op):
            self.meet(key, head)
            reduce: Any = cast(Any, self.link).reduce
            found = reduce(np.ascontiguousarray(x).reshape(-1), op)
            if op == "mean":
                found /= self.size
            return found.reshape(x.shape)
        if x.nbytes < _SMALL * self.size or x.size < self.size:
            return self.meet(key, head, x, lambda parts: _joined(parts, op, self.size))
        self.meet(key, head)
        flat = np.ascontiguousarray(x).reshape(-1)
        ends = [len(flat) * k // self.size for k in range(self.size + 1)]
        spans = [slice(a, b) for a, b in zip(ends, ends[1:], strict=False)]
        mine = spans[self.rank]
        out = np.empty_like(flat) if out is None else out
        parts = [each[mine] for each in self._exchanged(f"{key}d", flat)]
        for start in range(0, len(parts[0]), _CHUNK):
            # Sums are divided while they are in the cache.
            chunk = slice(start, start + _CHUNK)
            _joined([part[chunk] for part in parts], op, self.size, out[mine][chunk])
        del parts
        self._share(f"{key}r", out[mine])
        borrow = getattr(self.link, "borrow", self.link.receive)
        for r in self._others:
            out[spans[r]] = borrow(r, f"{key}r")
        return out.reshape(x.shape)

    def close(self) -> None:
        """End what this end does; the others lose it."""
        if self._worker is not None:
            self._worker.close()
        self.link.close()


def sendable(x: Any) -> Any:
    """An array that messages hold. Raises TypeError."""
    x = np.asarray(x)
    if x.dtype.hasobject or x.dtype.names is not None:
        raise TypeError(f"processes do not exchange arrays of {x.dtype}")
    return x


def operand(x: Any, op: str) -> Any:
    """An array with the dtype that the result of an operation has. Raises ValueError, TypeError."""
    if op not in _OPS:
        raise ValueError(f"there are {', '.join(_OPS)}, not {op!r}")
    x = sendable(x)
    if op == "mean" and x.dtype.kind in "biu":
        return x.astype(np.float64)
    return x.astype(np.int64) if x.dtype.kind == "b" and op in ("sum", "prod") else x


#: The text of a dtype, which NumPy makes in Python.
_spelled = lru_cache(maxsize=64)(str)


def described(values: Sequence[Any]) -> str:
    """The dtypes and shapes of arrays, as processes tell each other; many by a checksum."""
    text = ", ".join([f"{_spelled(x.dtype)}{list(x.shape)}" for x in values])
    if len(text) > 200:
        return f"{len(values)} arrays with the checksum {zlib.crc32(text.encode()):08x}"
    return text


def _who_calls_what(heads: Sequence[str]) -> str:
    """What each process calls, those together that call the same; `heads` by rank."""
    said = []
    for head in dict.fromkeys(heads):
        ranks = [str(r) for r, h in enumerate(heads) if h == head]
        if len(ranks) == 1:
            said.append(f"process {ranks[0]} calls {head}")
        else:
            said.append(f"processes {', '.join(ranks)} call {head}")
    return ", ".join(said)


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

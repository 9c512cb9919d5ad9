"""Worker processes, from the consumer's side: batches are asked for, and taken where they lie.

A batch that is given out lies in a slot of memory that its worker shares. The slot is free again
when its arrays, and all views of them, have been collected; so nothing that is kept ever changes.
Who keeps many batches gets copies, so that there are not many slots.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import time
import weakref
from collections import deque
from collections.abc import Iterator
from multiprocessing import get_all_start_methods, get_context
from typing import Any

import numpy as np

from tracejit.data.batches import LoaderError, fill
from tracejit.data.shared import created, mapped, packed, received_file, send_file
from tracejit.data.sources import Reader, described
from tracejit.data.threads import GRACE
from tracejit.data.worker import Answer, Failure, Hello, Make, Start, arrays_in, main

__all__ = ["Processes"]

#: So many batches that the consumer keeps may lie in slots.
_KEPT = 8


class _Worker:
    """One process and its slots."""

    def __init__(self, number: int, process: Any, end: Any) -> None:
        self.number, self.process, self.end = number, process, end
        #: What it has been asked for and not yet answered.
        self.asked = 0
        self.free: list[int] = []
        self.slots = 0
        self.memory: dict[int, Any] = {}
        self.progress: Any = None
        self.log: int | None = None

    def at(self) -> tuple[str, int | None]:
        """The sample that it is at, as text and as a number."""
        index = -1 if self.progress is None else self.progress[0]
        return (f", at sample {index}", index) if index >= 0 else ("", None)

    def trace(self) -> str:
        """What faulthandler has written."""
        if self.log is None:
            return ""
        text = os.pread(self.log, 1 << 16, 0).decode(errors="replace")
        return f"\n\n{text}" if text else ""


class Processes:
    """Workers that live as long as this object, for one pass at a time."""

    def __init__(
        self,
        reader: Reader,
        workers: int,
        prefetch: int,
        timeout: float | None,
        start_method: str | None,
    ) -> None:
        methods = get_all_start_methods()
        # A forked child of a process with threads has whatever they held locked at that moment.
        context: Any = get_context(
            start_method or ("forkserver" if "forkserver" in methods else "spawn")
        )
        forked = context.get_start_method() == "fork"
        self.timeout, self.ahead = timeout, prefetch * workers
        self.workers: list[_Worker] = []
        #: Files that say that a worker has answered, or has ended.
        self.poll, self.sources = select.poll(), dict[int, _Worker]()
        self.answers: dict[int, Answer] = {}
        #: Who makes the batches that were asked for and not yet taken.
        self.makers: dict[int, _Worker] = {}
        #: Slots whose arrays have been collected, by finalizers, in any thread.
        self.released: deque[tuple[int, int]] = deque()
        self.kept = 0
        # A finalizer must not wait: it may be run anywhere, and an interrupt in it is lost.
        self.owner = os.getpid()
        self._finalizer = weakref.finalize(self, _told, self.workers, self.owner)
        job = None if forked else _packed(reader)
        try:
            for number in range(workers):
                ours, theirs = context.Pipe()
                inherited = [*(w.end for w in self.workers), ours] if forked else []
                process = context.Process(
                    target=main,
                    args=(theirs, reader if forked else None, number, inherited),
                    name=f"tracejit.data worker {number}",
                    daemon=True,
                )
                process.start()
                theirs.close()
                worker = _Worker(number, process, ours)
                self.workers.append(worker)
                for file in (ours.fileno(), process.sentinel):
                    self.sources[file] = worker
                    self.poll.register(file, select.POLLIN)
            for worker in self.workers:
                if job is not None:
                    self._send(worker, job[:2], job[2])
        finally:
            if job is not None:
                os.close(job[2])

    def start(self, epoch: int, order: Any, position: int, state: Any) -> None:
        """Begin a pass. What is still being made for the one before is thrown away."""
        # Workers take orders one by one, and could not read a long one while they send.
        for k in list(self.makers):
            worker, answer = self._answered(k)
            worker.free.append(answer.order.slot)
        file = None
        if order is not None:
            file = created(max(order.nbytes, order.itemsize))
            np.frombuffer(mapped(os.dup(file)), np.int64)[: len(order)] = order
        try:
            for worker in self.workers:
                self._send(worker, Start(epoch, position, state, order is not None), file)
        finally:
            if file is not None:
                os.close(file)

    def ask(self, k: int) -> None:
        """Have batch k made."""
        while self.released:
            owner, slot = self.released.popleft()
            self.workers[owner].free.append(slot)
            self.kept -= 1
        worker = min(self.workers, key=lambda w: w.asked)
        if not worker.free:
            worker.free.append(worker.slots)
            worker.slots += 1
        self._send(worker, Make(k, worker.free.pop()))
        worker.asked += 1
        self.makers[k] = worker

    def take(self, k: int) -> tuple[bool, Any, Any]:
        """Whether the epoch has ended, else batch k; the source's state. Waits for it."""
        worker, answer = self._answered(k)
        if answer.layouts:
            return False, self._given(worker, answer), answer.state
        worker.free.append(answer.order.slot)
        if answer.failure is not None:
            raise _error(answer.failure, worker)
        ended = answer.skeleton is None
        return ended, None if ended else fill(answer.skeleton, []), answer.state

    def close(self, grace: float = GRACE) -> None:
        """End the workers, and wait for that. Those that take longer are killed."""
        if self._finalizer.detach() is None:
            return
        _told(self.workers, self.owner)
        if os.getpid() != self.owner:
            return
        until = time.monotonic() + grace
        for worker in self.workers:
            worker.process.join(max(0.0, until - time.monotonic()))
        for worker in self.workers:
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
            worker.process.close()

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """End the workers where something has been sent or received in part, perhaps."""
        try:
            yield
        except BaseException:
            self.close(grace=0.0)
            raise

    def _answered(self, k: int) -> tuple[_Worker, Answer]:
        until = None if self.timeout is None else time.monotonic() + self.timeout
        with self._whole():
            while k not in self.answers:
                self._receive(k, until)
        return self.makers.pop(k), self.answers.pop(k)

    def _given(self, worker: _Worker, answer: Answer) -> Any:
        # All arrays of the batch, and views of them, have this one as their last base.
        root = np.frombuffer(worker.memory[answer.order.slot], np.uint8)
        arrays = arrays_in(root, answer.layouts)
        if self.kept >= _KEPT:
            worker.free.append(answer.order.slot)
            return fill(answer.skeleton, [x.copy() for x in arrays])
        self.kept += 1
        place = worker.number, answer.order.slot
        weakref.finalize(root, self.released.append, place).atexit = False
        return fill(answer.skeleton, arrays)

    def _send(self, worker: _Worker, order: Any, file: int | None = None) -> None:
        # One that has died is found by `take`, which says how.
        with self._whole(), contextlib.suppress(ConnectionError):
            worker.end.send_bytes(pickle.dumps(order))
            if file is not None:
                send_file(worker.end, file)

    def _receive(self, k: int, until: float | None) -> None:
        """Take in what a worker has sent. One that has died may have answered before."""
        left = None if until is None else 1e3 * max(0.0, until - time.monotonic())
        ready = self.poll.poll(left)
        if not ready:
            raise self._hung(k)
        file = ready[0][0]
        worker = self.sources[file]
        try:
            if file != worker.end.fileno() and not worker.end.poll():
                raise EOFError
            self._read(worker)
        except (EOFError, ConnectionError):
            raise self._died(worker) from None

    def _read(self, worker: _Worker) -> None:
        answer = pickle.loads(worker.end.recv_bytes())
        if isinstance(answer, Hello):
            worker.progress = memoryview(mapped(received_file(worker.end))).cast("q")
            worker.log = received_file(worker.end)
            return
        worker.asked -= 1
        if answer.grown:
            worker.memory[answer.order.slot] = mapped(received_file(worker.end))
        self.answers[answer.order.k] = answer

    def _died(self, worker: _Worker) -> LoaderError:
        worker.process.join(GRACE)
        code = worker.process.exitcode
        how = f"was ended by signal {-code}" if code and code < 0 else f"ended with code {code}"
        text, index = worker.at()
        hint = ""
        if worker.log is None:
            hint = (
                " before it began; its standard error says why. Scripts that start workers need "
                '`if __name__ == "__main__":`'
            )
        name = f"worker {worker.number} (process {worker.process.pid})"
        return LoaderError(f"{name} {how}{text}{hint}{worker.trace()}", index)

    def _hung(self, k: int) -> LoaderError:
        worker = self.makers[k]
        if worker.log is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.process.pid, signal.SIGUSR1)
            until = time.monotonic() + 1.0
            # The outermost function is written last.
            while "<module>" not in worker.trace() and time.monotonic() < until:
                time.sleep(0.02)
        text, index = worker.at()
        return LoaderError(
            f"worker {worker.number} (process {worker.process.pid}) has not made batch {k} in "
            f"{self.timeout:g} s{text}{worker.trace()}",
            index,
        )


def _packed(reader: Reader) -> tuple[bytes, list[tuple[int, int]], int]:
    try:
        return packed(reader)
    except Exception as error:
        raise TypeError(
            f"the source, or a function given, cannot be sent to worker processes: "
            f"{described(error)}. Define it in a module, or use `threads=`, or "
            '`start_method="fork"`'
        ) from error


def _error(failure: Failure, worker: _Worker) -> LoaderError:
    where = f"worker {worker.number} (process {worker.process.pid})"
    error = LoaderError(f"{failure.text}\n\nin {where}:\n{failure.trace}", failure.sample)
    with contextlib.suppress(Exception):
        error.__cause__ = pickle.loads(failure.cause)
    return error


def _told(workers: list[_Worker], owner: int) -> None:
    """Tell workers to end, unless this is a fork of their consumer, and close what is of them."""
    for worker in workers:
        # Other forked processes may have our ends as well: closing them alone says nothing.
        with contextlib.suppress(OSError, ValueError):
            if os.getpid() == owner:
                worker.end.send_bytes(pickle.dumps(None))
        worker.end.close()
        if worker.log is not None:
            os.close(worker.log)
            worker.log = None

"""What runs in a worker process: orders come in, batches go out into memory of both processes.

Orders: `Start`, a new pass with the file of its order behind it; `Make`, a batch into a slot; None,
the end.
Answers: first `Hello` with two files behind it, of what the worker is at and of its traceback if it
crashes; then one `Answer` for each `Make`, with the slot's new file behind it if it has grown.
"""

from __future__ import annotations

import faulthandler
import math
import mmap
import os
import pickle
import random
import signal
import threading
import traceback
from multiprocessing import connection, parent_process
from typing import Any, NamedTuple

import numpy as np

from tracejit.data.batches import LoaderError, Spec
from tracejit.data.shared import address, created, mapped, received_file, send_file, unpacked
from tracejit.data.sources import Reader, described

__all__ = ["Answer", "Failure", "Hello", "Layout", "Make", "Start", "arrays_in", "main"]

_ALIGNMENT = 64


class Start(NamedTuple):
    """A pass begins. Its order, where there is one, is a file that follows."""

    epoch: int
    position: int
    state: Any
    ordered: bool


class Make(NamedTuple):
    """Make batch k in a slot, which is made, too, where the worker has none of that number."""

    k: int
    slot: int


class Hello(NamedTuple):
    """The worker runs."""


class Layout(NamedTuple):
    """Where an array of a batch lies in a slot."""

    start: int
    shape: tuple[int, ...]
    dtype: Any


class Failure(NamedTuple):
    """What was raised: its text, the sample's index, the traceback, the cause as a pickle."""

    text: str
    sample: int | None
    trace: str
    cause: bytes


class Answer(NamedTuple):
    """A batch, its arrays in a slot, with the source's state; or a failure; or neither: the end."""

    order: Make
    grown: bool = False
    skeleton: Any = None
    layouts: list[Layout] = []
    state: Any = None
    failure: Failure | None = None


class _Slot:
    """Memory for a batch, which grows to the largest."""

    def __init__(self) -> None:
        self.memory: mmap.mmap | None = None
        #: The file of new memory that the consumer does not have yet.
        self.file: int | None = None

    def allocate(self, specs: list[Spec]) -> list[Any]:
        layouts, end = [], 0
        for spec in specs:
            start = -(-end // _ALIGNMENT) * _ALIGNMENT
            layouts.append(Layout(start, *spec))
            end = start + math.prod(spec.shape) * spec.dtype.itemsize
        if specs and (self.memory is None or len(self.memory) < end):
            self.sent()
            self.file = created(max(end, 1))
            self.memory = mapped(os.dup(self.file))
        return arrays_in(self.memory, layouts)

    def layouts(self, arrays: list[Any]) -> list[Layout]:
        """Where arrays lie."""
        if not arrays:
            return []
        begin = address(np.frombuffer(self.memory or b"", np.uint8))
        return [Layout(address(x) - begin if x.size else 0, x.shape, x.dtype) for x in arrays]

    def sent(self) -> None:
        """The consumer has the file."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


def arrays_in(memory: Any, layouts: list[Layout]) -> list[Any]:
    """The arrays of a slot."""
    return [np.ndarray(x.shape, x.dtype, memory, x.start) for x in layouts]


def main(consumer: Any, reader: Reader | None, number: int, inherited: list[Any]) -> None:
    """Serve until the consumer ends. A reader that was not inherited is sent first."""
    # Ctrl-C is the consumer's: it ends its workers, if it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    files = created(8), created(0)
    faulthandler.enable(files[1], all_threads=False)
    faulthandler.register(signal.SIGUSR1, files[1], all_threads=False)
    try:
        consumer.send_bytes(pickle.dumps(Hello()))
        for file in files:
            send_file(consumer, file)
        _serve(consumer, reader, number, memoryview(mapped(files[0])).cast("q"))
    except (EOFError, ConnectionError):
        pass  # The consumer has closed its end.


def _serve(consumer: Any, reader: Reader | Exception | None, number: int, progress: Any) -> None:
    progress[0] = -1
    slots: dict[int, _Slot] = {}
    made_by: Any = None
    if reader is None:
        (data, places), file = pickle.loads(consumer.recv_bytes()), received_file(consumer)
        try:
            reader = unpacked(data, places, file)
        except Exception as error:
            reader = error
    if isinstance(reader, Reader):
        # Forks begin with one state, and would draw the same numbers.
        random.seed(f"{reader.seed} {number}")
        np.random.seed([reader.seed & 0xFFFFFFFF, reader.seed >> 32, number])
    while (order := pickle.loads(consumer.recv_bytes())) is not None:
        if isinstance(order, Start):
            made_by = _started(reader, order, received_file(consumer) if order.ordered else None)
            continue
        slot = slots.setdefault(order.slot, _Slot())
        try:
            skeleton, arrays, state = made_by.batch(order.k, slot.allocate, progress)
            grown = bool(arrays) and slot.file is not None
            answer = Answer(order, grown, skeleton, slot.layouts(arrays), state)
            data = pickle.dumps(answer)
        except Exception as error:
            answer = Answer(order, failure=_failure(error))
            data = pickle.dumps(answer)
        consumer.send_bytes(data)
        if answer.grown and slot.file is not None:
            send_file(consumer, slot.file)
            slot.sent()


def _started(reader: Any, start: Start, file: int | None) -> Any:
    order = None if file is None else np.frombuffer(mapped(file), np.int64)
    try:
        if isinstance(reader, Exception):
            raise reader
        return reader.started(start.epoch, order, start.position, start.state)
    except Exception as error:
        return _Broken(error)


class _Broken:
    """A pass that cannot begin."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def batch(self, k: int, allocate: Any, progress: Any) -> Any:
        raise self.error


def _failure(error: Exception) -> Failure:
    known = isinstance(error, LoaderError)
    cause = error.__cause__ or error
    trace = "".join(traceback.format_exception(cause))
    try:
        kept = pickle.dumps(cause)
        pickle.loads(kept)
    except Exception:
        kept = b""
    text = str(error) if known else described(error)
    return Failure(text, getattr(error, "index", None) if known else None, trace, kept)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)

"""Worker processes that check and reduce programs, replaced when a program kills or stalls them.

The parent never compiles anything, hence has no threads when it forks.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import multiprocessing
import os
import resource
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.random.plain.check import Verdict
from tests.random.plain.draw import draw

SECONDS_BEFORE_A_HANG = 45.0
_BYTES_OF_A_WORKER = 6 << 30
_SECONDS_REDUCING = 4.0  # of the processor, for the jitted calls of one text
_PROGRAMS_BETWEEN = 25
_PROGRAMS_OF_A_WORKER = 250  # compiled code stays in a process


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where programs and the cache lie, and what is asked of the compiler."""

    folder: Path
    cache: bool = True
    short: bool = True
    seconds: float = 60.0
    without: str = ""


@dataclasses.dataclass(frozen=True)
class Task:
    """A program to check, or to reduce where `kind` says what differs."""

    seed: int
    kind: str = ""


@dataclasses.dataclass
class _Worker:
    process: Any
    pipe: Connection
    task: Task | None = None
    since: float = 0.0
    done: int = 0


def run(tasks: list[Task], jobs: int, settings: Settings) -> Iterator[tuple[Task, Any]]:
    """Each task with its verdict, or with the reduced text and that of it, as they end."""
    waiting = deque(tasks)
    workers = [_start(settings) for _ in range(min(jobs, len(tasks)))]
    try:
        while waiting or any(w.task for w in workers):
            for k, worker in enumerate(workers):
                if worker.task is None and waiting:
                    if worker.done >= _PROGRAMS_OF_A_WORKER:
                        _stop(worker)
                        worker = workers[k] = _start(settings)
                    worker.task, worker.since = waiting.popleft(), time.monotonic()
                    worker.pipe.send(worker.task)
            busy = [w for w in workers if w.task]
            ready = wait([w.pipe for w in busy], timeout=1.0)
            for k, worker in enumerate(workers):
                if worker.task is None:
                    continue
                answer: Any = None
                lost = ""
                limit = SECONDS_BEFORE_A_HANG + (settings.seconds if worker.task.kind else 0)
                if worker.pipe in ready:
                    try:
                        answer = worker.pipe.recv()
                    except (EOFError, ConnectionError):
                        worker.process.join()
                        lost = f"the process died: {worker.process.exitcode}"
                elif time.monotonic() - worker.since > limit:
                    lost = "no answer in time"
                else:
                    continue
                task = worker.task
                worker.task, worker.done = None, worker.done + 1
                if lost:
                    _stop(worker)
                    workers[k] = _start(settings)
                    whole = draw(task.seed, settings.without)
                    answer = (whole, Verdict(lost)) if task.kind else Verdict(lost)
                yield task, answer
    finally:
        for worker in workers:
            _stop(worker)


def _start(settings: Settings) -> _Worker:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, settings), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _stop(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _serve(pipe: Connection, settings: Settings) -> None:
    os.environ["TRACEJIT_CACHE"] = str(settings.folder / "cache") if settings.cache else "off"
    from tests.random.plain.check import compile_short_functions

    # A program that grows without end is no program; it must not take the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES_OF_A_WORKER, _BYTES_OF_A_WORKER))
    if settings.short:
        compile_short_functions()
    for number in itertools.count():
        if number % _PROGRAMS_BETWEEN == 0:
            # What is loaded and compiled stays: later collections of garbage need not look at it.
            gc.collect()
            gc.freeze()
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(task, settings))


def _answer(task: Task, settings: Settings) -> Any:
    from tests.random.plain.check import check, write
    from tests.random.plain.reduce import reduce

    if not task.kind:
        return check(
            write(draw(task.seed, settings.without), settings.folder / f"program_{task.seed}.py")
        )
    tries = 0

    def fails(text: str) -> bool:
        nonlocal tries
        tries += 1
        path = write(text, settings.folder / f"reduced_{task.seed}_{tries}.py")
        try:
            return check(path, seconds=_SECONDS_REDUCING).differs == task.kind
        finally:
            path.unlink()

    small = reduce(draw(task.seed, settings.without), fails, settings.seconds)
    path = write(small, settings.folder / f"reduced_{task.seed}.py")
    return small, check(path)

"""Processes that train together are killed, or stopped for ever, those with servers among them.

    python -m tests.dist.kill 100        # how often

What was said to be saved must be there when all begin anew, with all that it holds; training must
come to its end with the loss that it has without, and nothing may be left running.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.dist.test_launch import start

SCRIPT = str(Path(__file__).with_name("server_scripts.py"))


class Outcome(NamedTuple):
    """What came of it."""

    code: int
    #: How many were killed or stopped.
    signals: int
    #: How often all have begun anew, and a worker alone has come back.
    anew: int
    back: int
    #: The steps of the whole training, and the loss in the end.
    steps: int
    loss: float
    seconds: float


class Run:
    """A training, and what its processes say."""

    def __init__(self, folder: str, steps: int, options: Sequence[str]) -> None:
        self.process = start("survives", folder, str(steps), options=tuple(options), script=SCRIPT)
        #: By rank the process that there is; all that have been there; what was last saved.
        self.pids: dict[int, int] = {}
        self.all: set[int] = set()
        self.saved = 0
        self.wrong: list[str] = []
        self.last: list[Any] = []
        self.err = ""
        self.signals = 0
        self._threads = [threading.Thread(target=f) for f in (self._read, self._read_errors)]
        for t in self._threads:
            t.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            match line.split():
                case [_, "pid", rank, pid]:
                    self.pids[int(rank)] = int(pid)
                    self.all.add(int(pid))
                case ["[0]", "saved", count]:
                    if int(count) <= self.saved:
                        self.wrong.append(f"saved {count} behind {self.saved}")
                    self.saved = int(count)
                case ["[0]", "begins", count]:
                    if int(count) < self.saved:
                        self.wrong.append(f"begins at {count} where {self.saved} was saved")
                case ["[0]", "survived", count, loss]:
                    self.last = [int(count), float(loss)]

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.err += line

    def outcome(self, begun: float) -> Outcome:
        """Wait for the end. Raises AssertionError for what is lost or left."""
        try:
            code = self.process.wait(600)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            raise
        for t in self._threads:
            t.join()
        self.process.stdout.close(), self.process.stderr.close()  # type: ignore[union-attr]
        assert not self.wrong, self.wrong
        assert self.last, self.err
        left = [pid for pid in self.all if _is_there(pid)]
        assert not left, left
        anew, back = (len(re.findall(text, self.err)) for text in ("begin anew", "started again"))
        return Outcome(code, self.signals, anew, back, *self.last, time.monotonic() - begun)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(
    plan: Iterator[tuple[float, int | None, int]], steps: int, options: Sequence[str]
) -> Outcome:
    """Send signals, each to a rank (None: any) after so many seconds, until training ends."""
    rng, begun = random.Random(0), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        training = Run(folder, steps, options)
        for wait, rank, number in plan:
            # One may end by itself before it gets its signal, as when all begin anew.
            while not _signalled(training, wait, rank, number, rng):
                if training.process.poll() is not None:
                    return training.outcome(begun)
        Path(folder, "enough").touch()
        return training.outcome(begun)


def _signalled(
    training: Run, wait: float, rank: int | None, number: int, rng: random.Random
) -> bool:
    """Whether a process has got a signal, which is there, when something has been saved."""
    there = {r: p for r, p in [*training.pids.items()] if _is_there(p)}
    chosen = rng.choice([*there] or [0]) if rank is None else rank
    if not training.saved or chosen not in there:
        time.sleep(0.02)
        return False
    time.sleep(wait)
    try:
        os.kill(there[chosen], number)
    except ProcessLookupError:
        return False
    # The next one is another process.
    training.pids.pop(chosen, None)
    training.signals += 1
    return True


def main(args: list[str]) -> None:
    kills = int(args[0]) if args else 100
    rng = random.Random(1)
    options = ("-n", "4", "--servers", "2", "--mode", "async:8", "--restarts", str(9 * kills + 9))
    steps = max(400, 40 * kills)
    plain = run(iter(()), steps, options)
    print(json.dumps(plain._asdict()), flush=True)

    def plan() -> Iterator[tuple[float, int | None, int]]:
        for k in range(kills):
            # Every tenth is stopped: nobody hears that from its sockets.
            yield rng.uniform(0, 1), None, signal.SIGSTOP if k % 10 == 9 else signal.SIGKILL

    found = run(plan(), steps, (*options, "--silence", "3"))
    print(json.dumps(found._asdict()))
    assert found.code == 0 and found.signals == kills and found.loss < 2 * plain.loss + 0.01


if __name__ == "__main__":
    main(sys.argv[1:])

"""Runs tasks of the GPU's benchmark in processes that may end, each with a limit of time."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

CHILD = "benchmarks._gpu_child"
ROOT = Path(__file__).resolve().parents[1]


class _Process:
    """One child, started again where it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None

    def ask(self, task: dict[str, Any], limit: float) -> dict[str, Any]:
        """The answer, or a failure where the process ends or takes more than `limit` seconds."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(limit, stop)
        timer.start()
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line.endswith("\n"):
            found: dict[str, Any] = json.loads(line)
            return found
        status = process.wait()
        lines = self._last_lines()
        self.end()
        why = f"stopped after {limit:g} s" if late.is_set() else f"the process ended with {status}"
        error = [why, *lines]
        return {"name": task["name"], "outcome": "failed", "error": error, "seconds": limit}

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None:
            self._errors = tempfile.TemporaryFile("w+")
            self._process = subprocess.Popen(
                [sys.executable, "-m", CHILD], cwd=ROOT, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
            )  # fmt: skip
        return self._process

    def _last_lines(self) -> list[str]:
        self._errors.seek(0)
        return [line.rstrip()[:300] for line in self._errors.readlines()[-5:]]

    def end(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError), self._process, self._errors:
                pass  # which closes the pipes
            self._process = None


def run_all(
    tasks: Sequence[dict[str, Any]], jobs: int, limit: float, budget: float
) -> Iterator[dict[str, Any]]:
    """The answers as they come; tasks that have not begun after `budget` seconds are left out."""
    end = time.monotonic() + budget
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def work() -> None:
        process = _Process()
        try:
            while (left := end - time.monotonic()) > 0:
                answers.put(process.ask(waiting.get_nowait(), min(limit, left + 15)))
        except queue.Empty:
            pass
        finally:
            process.end()
            answers.put(None)

    jobs = max(1, min(jobs, len(tasks)))
    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    while jobs:
        found = answers.get()
        if found is None:
            jobs -= 1
        else:
            yield found

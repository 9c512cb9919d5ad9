"""Worker processes: where batches lie, what is left behind, and what happens when one dies."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data import sources
from tests.data.sources import Squares, Who
from tracejit import data

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="counts files in /proc")

ROOT = Path(__file__).resolve().parents[2]


def until(condition: Any) -> None:
    """Wait for something, up to a minute."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come about")


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may still be waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def files() -> list[str]:
    found = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{entry}").split(":")[0])
        except FileNotFoundError:
            pass  # The one that lists them.
    return sorted(found)


def maps() -> int:
    """How much memory is mapped that processes share."""
    return Path("/proc/self/maps").read_text().count("memfd:tracejit")


@pytest.mark.parametrize("method", ["forkserver", "spawn", None])
def test_start_methods(method: str | None, tmp_path: Path) -> None:
    """Arrays and functions reach workers, memory maps by their paths."""
    np.save(tmp_path / "x.npy", np.arange(40.0).reshape(20, 2))
    x, y = np.load(tmp_path / "x.npy", mmap_mode="r"), np.arange(20)
    options: dict[str, Any] = {"shuffle": True, "seed": 1, "transform": sources.noisy}
    expected = list(data.Loader((x[::2], y[:10]), 3, **options))
    with data.Loader((x[::2], y[:10]), 3, workers=1, start_method=method, **options) as loader:
        found = list(loader)
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match="cannot be sent to worker processes.*threads="):
        next(iter(data.Loader(lambda k: k, length=9, workers=1)))


def test_each_worker_has_its_share() -> None:
    with data.Loader(Who(), 4, workers=2, start_method="fork") as loader:
        pids = set(np.concatenate(list(loader)))
        assert len(pids) == 2 and os.getpid() not in pids
        # They stay for the next epoch.
        assert set(np.concatenate(list(loader))) == pids
    assert not any(alive(pid) for pid in pids)


def test_what_is_kept_never_changes() -> None:
    """Batches, and views of them, lie in slots until they are collected; many are copies."""
    with data.Loader(Squares(400), 4, workers=2, start_method="fork") as loader:
        kept: list[Any] = []
        for k, (x, y) in enumerate(loader):
            if k % 2:
                kept.append((k, x[1:, 0].T, memoryview(y[2:])))
        pool = loader._maker
        for _ in loader:
            pass
        for k, x, y in kept:
            np.testing.assert_array_equal(x[0], 4 * k + np.arange(1, 4))
            assert y.tolist() == [(4 * k + 2) ** 2, (4 * k + 3) ** 2]
        assert sum(w.slots for w in pool.workers) <= 8 + 2 * (4 + 2)
        del kept, x, y
        gc.collect()
        list(loader)
        assert pool.kept <= 8
    np.testing.assert_array_equal(loader.source[3][0], np.full((2, 3), 3))


def test_objects_that_fill_the_pipe() -> None:
    """They are no arrays, and go through it; whoever leaves a loop must not wait for ever."""
    options: dict[str, Any] = {"length": 20, "workers": 2, "start_method": "fork"}
    with data.Loader(lambda k: str(k) * 300_000, 1, **options) as loader:
        for _ in range(3):
            assert next(iter(loader)) == ["0" * 300_000]
        assert len(list(loader)) == 20


def test_few_slots_serve_all_batches() -> None:
    """Whose memory grows to the largest batch."""

    def rows(k: int) -> Any:
        return np.full(1 + k % 50 * 100, k)

    opened = []
    with data.Loader(rows, None, length=500, workers=1, start_method="fork") as loader:
        for _ in range(3):
            for k, x in enumerate(loader):
                assert x.shape == (1 + k % 50 * 100,) and (x == k).all()
            slots = [len(memory) for memory in loader._maker.workers[0].memory.values()]
            assert len(slots) <= 5 and max(slots) == 8 * 4901
            opened.append((files(), maps()))
    assert opened[0] == opened[1] == opened[2]


@pytest.mark.parametrize("end", ["all", "break", "error", "no reference", "kept", "worker error"])
def test_nothing_is_left(end: str) -> None:
    # What earlier tests have begun ends first.
    gc.collect()
    until(lambda: not multiprocessing.active_children())
    before = Counter(files()), maps()
    bad = {30: "raise"} if end == "worker error" else {}
    loader = data.Loader(Squares(60, bad), 4, workers=2, start_method="fork")
    pids: set[int] = set()
    kept: Any = None
    try:
        for k, batch in enumerate(loader):
            pids |= {w.process.pid for w in loader._maker.workers}
            kept = batch
            if k == 3 and end == "break":
                break
            if k == 3 and end == "error":
                raise KeyError
    except (KeyError, data.LoaderError):
        pass
    assert maps() > before[1]
    if end != "no reference":
        loader.close()
    del loader, batch
    gc.collect()
    assert len(pids) == 2
    until(lambda: not any(map(alive, pids)))
    # Workers that have ended are waited for when the next ones start, or by this.
    until(lambda: not multiprocessing.active_children())
    gc.collect()
    if end == "kept":
        assert maps() <= before[1] + 1
        np.testing.assert_array_equal(kept[0][:, 0, 0] ** 2, kept[1])
    del kept
    until(lambda: gc.collect() >= 0 and not Counter(files()) - before[0])
    assert maps() <= before[1]


@pytest.mark.parametrize(
    "bad, text",
    [
        ("kill", r"worker 0 \(process \d+\) was ended by signal 9, at sample 5"),
        ("exit", r"worker 0 \(process \d+\) ended with code 3, at sample 5"),
        ("crash", r"(?s)signal 11, at sample 5.*Segmentation fault.*in __getitem__"),
    ],
)
def test_a_worker_that_dies(bad: str, text: str) -> None:
    with data.Loader(Squares(9, {5: bad}), 3, workers=1, start_method="fork") as loader:
        with pytest.raises(data.LoaderError, match=text) as caught:
            list(loader)
        assert caught.value.index == 5
        # Others begin the next epoch.
        assert len(next(iter(loader))[1]) == 3


def test_a_worker_that_hangs() -> None:
    with data.Loader(Squares(9, {4: "hang"}), 3, workers=1, start_method="fork") as loader:
        batches = iter(loader)
        next(batches)
        pool = loader._maker
        worker = pool.workers[0]
        pid = worker.process.pid
        until(lambda: worker.progress[0] == 4)
        pool.timeout = 0.01
        with pytest.raises(data.LoaderError, match="(?s)batch 1 in 0.01 s, at sample 4") as caught:
            next(batches)
        assert caught.value.index == 4 and "in __getitem__" in str(caught.value)
        assert not alive(pid)


def test_a_thread_that_hangs() -> None:
    loader = data.Loader(Squares(9, {4: "hang"}), 3, threads=1)
    batches = iter(loader)
    next(batches)
    until(lambda: loader._maker.threads[0].progress[0] == 4)
    loader._maker.timeout = 0.01
    with pytest.raises(data.LoaderError, match="(?s)batch 1 in 0.01 s, at sample 4.*__getitem__"):
        next(batches)


SCRIPT = """
import os, sys, signal
from tests.data.sources import Squares
from tracejit import data

signal.signal(signal.SIGINT, signal.default_int_handler)
if __name__ == "__main__":
    loader = data.Loader(Squares(10**6, {17: sys.argv[2]}), 8, workers=2, start_method=sys.argv[1])
    other = data.Loader(Squares(10**6), 8, workers=1, start_method=sys.argv[1])
    rest = iter(other)
    next(rest)
    for k, batch in enumerate(loader):
        if k == 1:
            print(*(w.process.pid for x in (loader, other) for w in x._maker.workers), flush=True)
"""


@pytest.mark.parametrize(
    "method, bad, sent",
    [
        ("fork", "hang", signal.SIGKILL),
        ("fork", "", signal.SIGINT),
        ("forkserver", "hang", signal.SIGKILL),
    ],
)
def test_the_consumer_is_killed(method: str, bad: str, sent: int) -> None:
    """Workers end, also those that are in the middle of something."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    script = ROOT / "tests" / "data"
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT, method, bad],
        cwd=script,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        pids = [int(pid) for pid in line.split()]
        assert len(pids) == 3, process.stderr.read()
        process.send_signal(sent)
        process.wait(60)
        until(lambda: not any(map(alive, pids)))
        errors = process.stderr.read()
    assert errors.count("Traceback") == (sent == signal.SIGINT)

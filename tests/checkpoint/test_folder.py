"""Folders of checkpoints: which stay, what is not whole, full disks, threads and processes."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoint import kill
from tracejit import checkpoint
from tracejit.checkpoint import folder, saver


def save(run: Path, step: int, **options: Any) -> None:
    checkpoint.save(run, step=step, x=np.full(100, step), **options)


def restored(run: Path, **options: Any) -> int:
    x = np.zeros(100, int)
    found = checkpoint.restore(run, x=x, **options)
    assert found.step == x[0] == x[-1]
    return found.step


def names(run: Path) -> list[str]:
    return sorted(os.listdir(run))


def test_the_last_and_the_best_stay(tmp_path: Path) -> None:
    for step, loss in enumerate([3.0, 1.0, 2.0, float("nan"), 4.0, 5.0]):
        save(tmp_path, step, keep=2, best=np.float32(loss), metadata={"loss": loss})
    assert checkpoint.steps(tmp_path) == [1, 4, 5]
    assert checkpoint.latest(tmp_path) == 5 and checkpoint.best(tmp_path) == 1
    assert restored(tmp_path) == 5 and restored(tmp_path, step=1) == 1
    assert checkpoint.restore(tmp_path, step=1).metadata == {"loss": 1.0}
    assert checkpoint.restore(tmp_path, step=4).best == 4.0
    with pytest.raises(checkpoint.NoCheckpointError, match="of the step 3"):
        checkpoint.restore(tmp_path, step=3)


def test_going_on_from_an_earlier_step(tmp_path: Path) -> None:
    """What was saved last counts as the latest, and a step is replaced by its next one."""
    for step in (10, 20, 30):
        save(tmp_path, step, keep=3)
    save(tmp_path, 20, keep=3)
    assert checkpoint.latest(tmp_path) == 20 and checkpoint.steps(tmp_path) == [10, 20, 30]
    save(tmp_path, 25, keep=2)
    assert names(tmp_path) == ["LATEST", "step-00000020.4", "step-00000025.5"]
    save(tmp_path, 25)
    assert names(tmp_path) == ["LATEST", "step-00000020.4", "step-00000025.6"]


def test_nothing_there(tmp_path: Path) -> None:
    assert checkpoint.latest(tmp_path / "a") is checkpoint.best(tmp_path / "a") is None
    assert checkpoint.steps(tmp_path / "a") == []
    with pytest.raises(FileNotFoundError, match="a has no checkpoint"):
        restored(tmp_path / "a")


@pytest.mark.parametrize("file", ["arrays.safetensors", "tree.json", "manifest.json"])
def test_what_is_not_whole_is_seen(tmp_path: Path, file: str) -> None:
    """Every bit of a file counts; the checkpoint before is taken, and that is said."""
    for step in (1, 2):
        save(tmp_path, step)
    path = tmp_path / "step-00000002.2" / file
    data = path.read_bytes()
    rng = np.random.default_rng(len(file))
    flips = [bytearray(data) for _ in range(12)]
    for flip in flips:
        flip[rng.integers(len(data))] ^= 1 << rng.integers(8)
    foreign = json.dumps({"files": {}}).encode()
    for broken in (
        *map(bytes, flips),
        data[:-1],
        data[: len(data) // 2],
        b"",
        foreign,
        data + b"0",
    ):
        path.write_bytes(broken)
        with pytest.warns(checkpoint.CheckpointWarning, match=f"step 1 is restored(.|\n)*{file}"):
            assert restored(tmp_path) == 1
        with pytest.raises(checkpoint.CheckpointError, match=f"whole(.|\n)*{file}"):
            restored(tmp_path, step=2)
    path.unlink()
    with pytest.warns(checkpoint.CheckpointWarning, match=file):
        assert restored(tmp_path) == 1
    path.write_bytes(data)
    assert restored(tmp_path) == 2


def test_latest_may_be_gone_or_wrong(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step)
    for text in (b"step-00000009.9\n", b"", b"\xff\xfe", b"step-00000003.3\n"):
        (tmp_path / "LATEST").write_bytes(text)
        assert restored(tmp_path) == 3
    (tmp_path / "LATEST").write_text("step-00000002.2")
    assert checkpoint.latest(tmp_path) == restored(tmp_path) == 2


def test_full_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is full, what was saved before stays, and nothing is left."""
    save(tmp_path, 1)
    before = names(tmp_path)
    calls = 0
    true = os.fsync

    def full(handle: int) -> None:
        nonlocal calls
        calls -= 1
        if calls == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        true(handle)

    monkeypatch.setattr(os, "fsync", full)
    for k in range(1, 5):  # The three files and the folder.
        calls = k
        with pytest.raises(checkpoint.CheckpointError, match="step 2 is not saved.*No space"):
            save(tmp_path, 2)
        assert names(tmp_path) == before and restored(tmp_path) == 1
    calls = 6  # `LATEST`.
    with pytest.raises(checkpoint.CheckpointError):
        save(tmp_path, 2)
    assert checkpoint.latest(tmp_path) == restored(tmp_path) == 1


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    save(tmp_path, 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(checkpoint.CheckpointError, match="step 2 is not saved"):
            checkpoint.save(tmp_path, step=2, x=np.zeros(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert names(tmp_path) == ["LATEST", "step-00000001.1"] and restored(tmp_path) == 1


def test_what_was_left_is_removed_and_what_is_written_is_not(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (tmp_path / ".new-killed").mkdir()
    (tmp_path / ".new-killed" / "arrays.safetensors").write_bytes(b"half")
    (tmp_path / ".old-step-00000000.0").mkdir()
    with folder.new_folder(tmp_path) as path:
        save(tmp_path, 2)
        assert path.exists()
        assert [x for x in names(tmp_path) if x.startswith(".")] == [path.name]
    assert names(tmp_path) == ["LATEST", "step-00000001.1", "step-00000002.2"]


def test_a_thread_writes_what_the_arrays_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, x = threading.Event(), np.ones(3)
    true = saver.write_files

    def slow(*args: Any) -> None:
        goes_on.wait()
        true(*args)

    monkeypatch.setattr(saver, "write_files", slow)
    checkpoint.save(tmp_path, step=1, x=x, background=True)
    x[:] = 2
    assert checkpoint.latest(tmp_path) is None
    goes_on.set()
    assert checkpoint.restore(tmp_path, x=x).step == 1 and x.tolist() == [1, 1, 1]


def test_a_threads_errors_are_raised_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    keeper = checkpoint.Saver(tmp_path, keep=2, background=True)
    with monkeypatch.context() as patch:
        patch.setattr(saver, "write_files", fails)
        keeper.save(1, x=np.zeros(3))
        with pytest.raises(checkpoint.CheckpointError, match="step 1 is not saved"):
            keeper.save(2, x=np.zeros(3))
        keeper.save(3, x=np.zeros(3))
        with pytest.raises(checkpoint.CheckpointError, match="step 3 is not saved"):
            checkpoint.wait(tmp_path)
    with keeper:
        keeper.save(4, x=np.zeros(3))
    assert checkpoint.steps(tmp_path) == [4]


def save_often(run: Path) -> None:
    for step in range(6):
        save(run, step, keep=3)


def test_two_processes_save_into_one_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(kill.PRELOADED)
    others = [context.Process(target=save_often, args=(tmp_path,)) for _ in range(2)]
    for process in others:
        process.start()
    for process in others:
        process.join()
    assert [process.exitcode for process in others] == [0, 0]
    assert restored(tmp_path) == checkpoint.latest(tmp_path)
    for step in checkpoint.steps(tmp_path):
        assert restored(tmp_path, step=step) == step
    assert not [x for x in names(tmp_path) if x.startswith(".")]


def test_killed_processes() -> None:
    """`python -m tests.checkpoint.kill 200` does it more often."""
    assert kill.run(3).same

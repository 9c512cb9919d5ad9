"""The folder of a run: one folder for each checkpoint, whole or not there, and `LATEST`.

    run/step-00000200.7/    the seventh checkpoint that was saved here
    run/LATEST              the name of the one to go on from
    run/.new-*, .old-*      what is being written, or removed

A checkpoint is written under another name, forced to the disk and renamed. Who writes or removes
holds a lock on the folder, which ends with the process: what is not locked was left by one that was
killed, and is removed by the next.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tracejit.checkpoint.errors import NoCheckpointError

try:
    import fcntl
except ImportError:  # Windows: what was left stays.
    fcntl = None  # type: ignore[assignment]

__all__ = ["Saved", "clean", "commit", "find", "new_folder", "remove", "saved", "write_file"]

_NAME = re.compile(r"step-(\d+)\.(\d+)")


class Saved(NamedTuple):
    """A checkpoint of a folder; later ones have greater numbers."""

    number: int
    step: int
    path: Path


def saved(directory: Path) -> list[Saved]:
    """The checkpoints of a folder in the order in which they were saved."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    found = [m for name in names if (m := _NAME.fullmatch(name))]
    return sorted(Saved(int(m[2]), int(m[1]), directory / m[0]) for m in found)


def find(directory: Path, step: int | None = None) -> list[Saved]:
    """The checkpoints to try, the best one first: what `LATEST` names, then those before it, newest
    first, then others; of a step only its own. Raises NoCheckpointError where there are none."""
    found = [x for x in saved(directory)[::-1] if step is None or x.step == step]
    if not found:
        which = "" if step is None else f" of the step {step}"
        raise NoCheckpointError(f"{directory} has no checkpoint{which}")
    latest = _latest_name(directory)
    numbers = [x.number for x in found if x.path.name == latest]
    return sorted(found, key=lambda x: x.number > numbers[0]) if numbers else found


def _latest_name(directory: Path) -> str:
    try:
        return (directory / "LATEST").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


@contextlib.contextmanager
def new_folder(directory: Path) -> Iterator[Path]:
    """A folder to write into, which is gone afterwards unless it was renamed."""
    while True:
        path = directory / f".new-{uuid.uuid4().hex}"
        path.mkdir()
        lock = _locked(path)
        if lock is not None:
            break
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def commit(path: Path, directory: Path, step: int) -> Saved:
    """Let a written folder be the checkpoint of a step, and the latest one."""
    _sync(path)
    number = max((x.number for x in saved(directory)), default=0)
    while True:
        number += 1
        target = directory / f"step-{step:08d}.{number}"
        try:
            os.rename(path, target)
            break
        except OSError:
            if not target.exists():
                raise
    _sync(directory)
    _write_latest(directory, target.name)
    return Saved(number, step, target)


def _write_latest(directory: Path, name: str) -> None:
    with new_folder(directory) as folder:
        write_file(folder / "LATEST", f"{name}\n".encode())
        os.replace(folder / "LATEST", directory / "LATEST")
    _sync(directory)


def write_file(path: Path, data: bytes) -> None:
    """Write a file, and force it to the disk."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def remove(found: Saved) -> None:
    """Remove a checkpoint: under its name it is whole, or not there."""
    old = found.path.with_name(f".old-{found.path.name}")
    with contextlib.suppress(OSError):  # Another process may do so at the same time.
        os.rename(found.path, old)
        shutil.rmtree(old, ignore_errors=True)


def clean(directory: Path) -> None:
    """Remove what was left by processes that were killed, where that can be known."""
    for name in os.listdir(directory):
        if fcntl is not None and name.startswith((".new-", ".old-")):
            path = directory / name
            lock = _locked(path)
            if lock is not None:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
                os.close(lock)


def _locked(path: Path) -> int | None:
    """The handle of a file or folder with a lock on it; None where another has it, or it is gone.

    A lock of a folder that was removed, and of one that has got its name since, is none.
    """
    if fcntl is None:
        return os.open(os.devnull, os.O_RDONLY)
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _sync(path: Path) -> None:
    """Force a folder's entries to the disk."""
    if fcntl is not None:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

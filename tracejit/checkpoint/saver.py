"""Objects become a checkpoint in a folder of checkpoints, at once or by a thread."""

from __future__ import annotations

import atexit
import json
import math
import operator
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.checkpoint import folder
from tracejit.checkpoint.describe import describe
from tracejit.checkpoint.errors import CheckpointError
from tracejit.checkpoint.files import NotWhole, manifest_of, write_files
from tracejit.checkpoint.parts import to_json

__all__ = ["Saver", "save", "wait"]


class Saver:
    """Saves checkpoints in a folder, keeps some of them, and writes by a thread if `background`.

    - `keep`: how many of the last ones stay; None: all.
    - `keep_best`: how many of those with the lowest `best` stay, besides.
    - `background`: `save` copies the arrays and comes back; a thread writes them. The next `save`
      waits for it, and raises what it has raised; so do `wait` and the end of a `with` block.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        keep: int | None = None,
        keep_best: int = 1,
        background: bool = False,
    ) -> None:
        if (keep is not None and keep < 1) or keep_best < 0:
            raise ValueError("keep is at least 1 or None, and keep_best at least 0")
        self.directory, self.keep, self.keep_best = Path(directory), keep, keep_best
        self.background = background
        self._pending = _pending_of(self.directory)

    def save(
        self,
        step: int,
        *,
        best: Any = None,
        metadata: Mapping[str, Any] | None = None,
        **state: Any,
    ) -> None:
        """Save objects by their names; see `checkpoint.save`."""
        self.wait()
        step = operator.index(step)
        if step < 0:
            raise ValueError(f"a step is at least 0, not {step}")
        metric = None if best is None else float(best)
        root, arrays = describe({**state, "metadata": dict(metadata or {})})
        tree = json.dumps(to_json(root), separators=(",", ":")).encode()
        if self.background:
            arrays = {name: np.array(x) for name, x in arrays.items()}
            self._pending.start(lambda: self._write(step, metric, tree, arrays))
        else:
            self._write(step, metric, tree, arrays)

    def _write(self, step: int, best: float | None, tree: bytes, arrays: Mapping[str, Any]) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            folder.clean(self.directory)
            with folder.new_folder(self.directory) as path:
                write_files(path, step, best, tree, arrays)
                saved = folder.commit(path, self.directory, step)
        except OSError as error:
            raise CheckpointError(f"{self.directory}: step {step} is not saved: {error}") from error
        self._remove_others(saved)

    def _remove_others(self, new: folder.Saved) -> None:
        found = folder.saved(self.directory)
        others = [x for x in found if x.step != new.step or x.number >= new.number]
        kept = others if self.keep is None else [*others[-self.keep :], new]
        if self.keep is not None and self.keep_best:
            metrics = [(metric_of(x), -x.number, x) for x in others]
            kept += [x for best, _, x in sorted(metrics)[: self.keep_best] if best < math.inf]
        for x in set(found) - set(kept):
            folder.remove(x)

    def wait(self) -> None:
        """Wait for what is being written. Raises what went wrong with it, once."""
        self._pending.wait()

    def __enter__(self) -> Saver:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait()


def save(
    directory: str | os.PathLike[str],
    *,
    step: int,
    keep: int | None = None,
    best: Any = None,
    background: bool = False,
    metadata: Mapping[str, Any] | None = None,
    **state: Any,
) -> None:
    """Save objects by their names: `save("run", step=k, net=net, opt=opt, loader=loader)`.

    Objects of any class are saved with all of their attributes: arrays of any dtype, numbers,
    texts, lists, tuples, dicts, sets, other objects, streams of random numbers. Those that have
    methods `state_dict` and `load_state_dict` of their own are saved by these. Functions and
    classes are noted by name. What is one array or one object in several places is saved once.

    - `keep`: how many of the last checkpoints stay; None: all.
    - `best`: a number, a loss, say: the checkpoint with the lowest one stays, besides.
    - `background`: the arrays are copied, and written by a thread. The next save in the folder
      waits for it and raises what it has raised; so does `wait`.
    - `metadata`: a dict of such values, which `restore` gives back.

    The checkpoint of a step replaces an earlier one of that step. A checkpoint is there when it is
    whole and on the disk: who is killed at any time loses at most the one that is being saved.
    Raises StorageError, before anything is written, for values that cannot be saved;
    CheckpointError where writing fails, as on a full disk: what was saved before is as it was.
    """
    saver = Saver(directory, keep, background=background)
    saver.save(step, best=best, metadata=metadata, **state)


def wait(directory: str | os.PathLike[str] | None = None) -> None:
    """Wait for saves in the background, of one folder or of all. Raises what went wrong, once."""
    wanted = list(_PENDING.values()) if directory is None else [_pending_of(Path(directory))]
    for pending in wanted:
        pending.wait()


def metric_of(found: folder.Saved) -> float:
    """The `best` of a checkpoint; infinity where it has none, or is not whole."""
    try:
        best = manifest_of(found.path)["best"]
    except NotWhole:
        return math.inf
    return math.inf if best is None or math.isnan(best) else float(best)


class _Pending:
    """What is being written in one folder, and what went wrong with it."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, write: Callable[[], None]) -> None:
        def run() -> None:
            try:
                write()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error


_PENDING: dict[str, _Pending] = {}


def _pending_of(directory: Path) -> _Pending:
    return _PENDING.setdefault(os.path.realpath(directory), _Pending())


@atexit.register
def _tell_errors() -> None:
    """The last save has no next one that would raise its error."""
    for pending in _PENDING.values():
        try:
            pending.wait()
        except BaseException:
            traceback.print_exc()

"""A checkpoint goes back into the objects, where their values lie."""

from __future__ import annotations

import fnmatch
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracejit.base.tensor_files import Renaming, TensorFile
from tracejit.checkpoint import folder
from tracejit.checkpoint.errors import (
    CheckpointError,
    CheckpointWarning,
    MismatchError,
    NoCheckpointError,
)
from tracejit.checkpoint.files import NotWhole, opened
from tracejit.checkpoint.match import Match, rename_parts
from tracejit.checkpoint.parts import Part
from tracejit.checkpoint.saver import metric_of, wait

__all__ = ["Restored", "best", "latest", "restore", "steps"]

#: Some of the paths: one, or what begins with it, a pattern ("net.*.bias"), several, a function.
Paths = str | Iterable[str] | Callable[[str], bool]


@dataclass(frozen=True)
class Restored:
    """What has been restored: the step, its folder, and what was saved with it.

    `values` are the objects by their names, and what was given for a name that is a number or a
    text as it was saved. `missing` are the paths that only the objects have, `unexpected` those
    that only the checkpoint has: without `strict` they are left alone.
    """

    step: int
    path: Path
    metadata: dict[str, Any]
    best: float | None
    values: dict[str, Any] = field(repr=False)
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


def latest(directory: str | os.PathLike[str]) -> int | None:
    """The step of the latest checkpoint in a folder; None where there is none."""
    try:
        return folder.find(Path(directory))[0].step
    except NoCheckpointError:
        return None


def steps(directory: str | os.PathLike[str]) -> list[int]:
    """The steps of which a folder has checkpoints, in increasing order."""
    return sorted({x.step for x in folder.saved(Path(directory))})


def best(directory: str | os.PathLike[str]) -> int | None:
    """The step that was saved with the lowest `best`; None where none was saved with one."""
    found = [(metric_of(x), -x.number, x.step) for x in folder.saved(Path(directory))]
    metric, _, step = min(found, default=(math.inf, 0, 0))
    return step if metric < math.inf else None


def restore(
    directory: str | os.PathLike[str],
    *,
    step: int | None = None,
    strict: bool = True,
    only: Paths | None = None,
    rename: Renaming = None,
    reshape: Paths | bool = False,
    cast: bool = False,
    **state: Any,
) -> Restored:
    """Put a checkpoint into objects: `restore("run", net=net, opt=opt, loader=loader)`.

    The latest one, or that of a step. Arrays are filled where they lie, and streams of random
    numbers go on in place, so that what has been compiled for the objects serves on. Names that
    are not given are not restored. A path is written as in "net.layers.0.weight".

    - `strict`: paths that only one side has are an error; otherwise they are left alone.
    - `only`: the paths to restore: "net.body" with all that is in it, a pattern ("*.bias"), several
      of them, or a function of a path.
    - `rename`: the new path for an old one, by a function or a dict; "net.old" in a dict stands for
      what begins with "net.old.", too.
    - `reshape`: True, or paths as for `only`: arrays of another shape and the same size are taken.
    - `cast`: dtypes that lose precision are taken. Those that lose none always are.

    Every byte is looked at before anything is changed. Where a checkpoint is not whole, the one
    before it is restored, with a CheckpointWarning; of a step that is named, no other. Raises
    NoCheckpointError where there is none, CheckpointError, naming the files, where none is whole,
    MismatchError, with all paths, where it does not fit. Where it raises, nothing has changed,
    unless a `load_state_dict` of the program's has raised.
    """
    wait(directory)
    found, manifest, root, file = _whole(folder.find(Path(directory), step))
    with file:
        match = Match(file, _selected(only), strict, cast, _selected(reshape))
        metadata = Match(file, _any, True, False, _none).created(
            root.parts.pop("metadata"), None, "metadata"
        )
        if rename is not None:
            rename_parts(root, rename)
        values = {}
        for name, target in state.items():
            if name in root.parts:
                values[name] = match.restored(root.parts[name], target, name)
            else:
                match.missing.append(name)
        problems = list(match.problems)
        if strict:
            problems += [f"{path} is not in the checkpoint" for path in match.missing]
            problems += [f"{path} is only in the checkpoint" for path in match.unexpected]
        if problems:
            some = "".join(f"\n    {line}" for line in problems[:30])
            more = f"\n    and {len(problems) - 30} more" if len(problems) > 30 else ""
            raise MismatchError(f"{found.path} does not fit:{some}{more}")
        for act in match.actions:
            act()
    best = manifest["best"]
    return Restored(
        found.step,
        found.path,
        metadata,
        best,
        values,
        tuple(match.missing),
        tuple(match.unexpected),
    )


def _whole(
    found: Iterable[folder.Saved],
) -> tuple[folder.Saved, Mapping[str, Any], Part, TensorFile]:
    """The first of some checkpoints that is whole, opened."""
    errors: list[str] = []
    for x in found:
        try:
            manifest, root, file = opened(x.path)
        except NotWhole as error:
            errors.append(str(error))
            continue
        if errors:
            told = "\n    ".join(errors)
            message = f"step {x.step} is restored, since newer checkpoints are not whole:\n    "
            warnings.warn(CheckpointWarning(message + told), stacklevel=3)
        return x, manifest, root, file
    told = "\n    ".join(errors)
    raise CheckpointError(f"no checkpoint is whole:\n    {told}")


def _any(path: str) -> bool:
    return True


def _none(path: str) -> bool:
    return False


def _selected(paths: Paths | bool | None) -> Callable[[str], bool]:
    if paths is None or isinstance(paths, bool):
        return _none if paths is False else _any
    if callable(paths):
        return paths
    patterns = [paths] if isinstance(paths, str) else list(paths)

    def selected(path: str) -> bool:
        return any(
            path == p or path.startswith(f"{p}.") or fnmatch.fnmatchcase(path, p) for p in patterns
        )

    return selected

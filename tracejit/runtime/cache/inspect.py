"""What lies in the cache, whether it is whole, and why a call is compiled anew."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from tracejit.base.private_files import remove
from tracejit.link.loader import UNSUPPORTED, supported
from tracejit.runtime.cache import environment, files
from tracejit.runtime.cache.guard import failures
from tracejit.runtime.cache.recall import Cached, cached, is_off, recall
from tracejit.runtime.cache.records import ENTRY_SCHEMA, VERDICT_SCHEMA, restored
from tracejit.runtime.cache.settings import bound, layers

__all__ = ["File", "Why", "clear", "entries", "state", "verify", "why"]

#: The endings of files that are for a function, and what is in such files.
_SCHEMAS = {files.ENTRY: ENTRY_SCHEMA, files.VERDICT: VERDICT_SCHEMA}
_ENDINGS = (*_SCHEMAS, files.LIBRARY)


class File(NamedTuple):
    """A file of the cache; `label` and `signature` are empty for what programs share."""

    path: str
    size: int
    #: Seconds since it was used, more or less.
    age: float
    #: Whether it is of this environment: of other versions, or another processor, if not.
    current: bool
    label: str
    signature: str
    #: Why calls of this kind run eagerly; empty for a file of machine code.
    eager: str = ""


class Why(NamedTuple):
    """What became of a call: whether a file answers it, and lines that say why, or why not."""

    warm: bool
    lines: list[str]


def state() -> str:
    """One line: where the cache is, how full, or why there is none."""
    if not supported():
        return f"off: {UNSUPPORTED}"
    found = layers()
    if found.write is None and not found.read:
        return f"off: {found.why_not}"
    sizes = [file.size for file in _files()]
    held = f"{len(sizes)} files, {sum(sizes) / 2**20:.1f} of {bound() >> 20} MB"
    if found.write is None:
        return f"{', '.join(found.read)}, only read: {found.why_not}; {held}"
    return f"{', '.join(found.read)}: {held}"


def entries() -> list[File]:
    """All files of the cache with what they are for, those used last first."""
    found = []
    for file in _files():
        schema = _SCHEMAS.get(os.path.splitext(file.path)[1])
        record = None if schema is None else files.read(file.path, schema)
        if record is not None:
            file = file._replace(label=record["label"], signature=record["signature"])
            if schema is VERDICT_SCHEMA:
                file = file._replace(eager=str(restored(record["fallback"])))
        found.append(file)
    return sorted(found, key=lambda file: file.age)


def _files() -> Iterator[File]:
    now, own = time.time(), environment.folder()
    for layer in layers().read:
        for path, status, unfinished in files.own_files(layer):
            if not unfinished and path.endswith(_ENDINGS):
                current = os.path.relpath(path, layer).partition(os.sep)[0] == own
                yield File(path, status.st_size, now - status.st_mtime, current, "", "")


def clear() -> int:
    """Remove what this package has written for this user; how many files that were.

    What else lies there stays. Raises OSError.
    """
    directory = layers().write
    if directory is None:
        return 0
    # Descriptions mark the folders of the others, and go last.
    found = [file.path for file in files.own_files(directory)]
    for path in sorted(found, key=lambda path: path.endswith(files.DESCRIPTION)):
        with suppress(FileNotFoundError):
            os.unlink(path)
    files.remove_empty_folders({os.path.dirname(path) for path in found})
    return sum(path.endswith(_ENDINGS) for path in found)


def verify() -> tuple[int, list[str]]:
    """How many files are whole, and the paths of those that were damaged, which are removed in the
    layer that is written."""
    whole, damaged, directory = 0, [], layers().write
    for file in _files():
        if not files.is_damaged(file.path):
            whole += 1
            continue
        damaged.append(file.path)
        if directory is not None and file.path.startswith(directory + os.sep):
            remove(file.path)
    return whole, damaged


def why(compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Why:
    """Call a function that has not been called in this process, and say what answered."""
    if not supported() or is_off() or not layers().read:
        return Why(False, [f"the cache is {state()}"])
    known = cached(compiled)
    if known.key is None:
        return Why(False, [f"not cached: {known.why_not}"])
    failures.clear()
    found = recall(compiled, args, kwargs)
    reasons = list(_reasons(known))
    if found:
        before = len(known.files)
        compiled(*args, **kwargs)
        if len(known.files) == before and not known.unwritten:
            lines = [f"answered by {name}" for name in sorted(known.files)]
            lines += [f"runs eagerly: {f}" for f in compiled.report().fallbacks[:1]]
            return Why(True, lines)
    else:
        compiled(*args, **kwargs)
    lines = ["compiled anew", *reasons, *failures]
    lines += [f"not written, for {what}: {reason}" for what, reason in known.unwritten.items()]
    if compiled.report().fallbacks:
        lines.append(f"runs eagerly: {compiled.report().fallbacks[0]}")
    elif not known.unwritten:
        directory = layers().write
        lines.append("written" if directory else f"not written: {layers().why_not}")
    return Why(False, lines)


def _reasons(known: Cached) -> Iterator[str]:
    """Why files that are there were of no use."""
    assert known.key is not None
    for path, reason in known.refused.items():
        yield f"{os.path.basename(path)} is not for this program: {reason}"
    own = environment.folder()
    for layer in layers().read:
        by_folder: dict[str, list[str]] = {}
        for path, _, unfinished in files.own_files(layer):
            folder, name = os.path.split(path)
            if not unfinished and os.path.basename(folder) == known.key.folder:
                by_folder.setdefault(os.path.dirname(folder), []).append(name)
        for folder, records in by_folder.items():
            if os.path.basename(folder) != own:
                yield from _other_environment(folder, len(records))
                continue
            other = [x for x in records if not x.startswith(known.key.prefix)]
            if other:
                yield f"{_files_are(len(other))} for other code of it, or other options of jit"
            same = len(records) - len(other) - len(known.refused)
            if same > 0 and not known.refused:
                yield f"{_files_are(same)} for other arguments"


def _other_environment(folder: str, count: int) -> Iterator[str]:
    there = files.read(os.path.join(folder, files.DESCRIPTION)) or {}
    here = environment.description()
    changed = [name for name in here if here[name] != there.get(name)]
    if changed:
        yield f"{_files_are(count)} of another environment: {', '.join(changed)}"


def _files_are(count: int) -> str:
    return "1 file is" if count == 1 else f"{count} files are"

"""Records in files: written whole or not at all, read only if nothing has happened to them.

    <layer>/cpython-311-<digest>/environment/description      what the folder is for: marks it
                                /<function>-<digest>/<digests>.entry
                                                    /<digests>.eager
                                /libraries/<digest>.library

A file is `MAGIC`, a digest of where it lies in the cache and of what follows, and a record as
`marshal` writes it. What is truncated, damaged, foreign or in another file's place has another
digest, and is taken for nothing.

Files are removed only under names as they are here, in folders that are marked: the layer may be a
folder that holds other things of its user.
"""

from __future__ import annotations

import itertools
import marshal
import os
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from tracejit.base.private_files import (
    UNFINISHED,
    make_private,
    read_private,
    remove,
    write_private,
)
from tracejit.link.digests import digest
from tracejit.runtime.cache.records import FORM, Schema, is_valid
from tracejit.runtime.cache.settings import bound

__all__ = [
    "DESCRIPTION",
    "ENTRY",
    "LIBRARY",
    "VERDICT",
    "File",
    "is_damaged",
    "own_files",
    "read",
    "remove_empty_folders",
    "remove_least_used",
    "write",
]

#: The endings of files: an entry of a function, what says that calls of one run eagerly, and a
#: library that programs share.
ENTRY, VERDICT, LIBRARY = ".entry", ".eager", ".library"
#: The file that marks a folder of an environment, and says what that is.
DESCRIPTION = os.path.join("environment", "description")
_ENVIRONMENT = re.compile(r"[\w.-]+-[0-9a-f]{16}")
#: Folders and files in it.
_NAMES = (
    (re.compile(r"libraries"), re.compile(rf"[0-9a-f]{{20}}\{LIBRARY}")),
    (re.compile(r"environment"), re.compile(r"description")),
    (
        re.compile(r"[A-Za-z0-9_.-]*-[0-9a-f]{10}"),
        re.compile(rf"[0-9a-f]{{20}}-[0-9a-f]{{12}}-[0-9a-f]{{12}}(\{ENTRY}|\{VERDICT})"),
    ),
)
#: How files of this package begin, whatever the form of their records.
_FIRST = b"tracejit machine code "
_MAGIC = _FIRST + b"%d\n" % FORM
_DIGEST = 32
#: Files that are used are touched, once in so many seconds.
_TOUCHED = 3600.0
#: Every so many files that are written, what lies there is counted.
_COUNTED = 64
#: Seconds after which an unfinished file is left over.
_LEFT_OVER = 600.0
_written = itertools.count()


class File(NamedTuple):
    """A file that this package wrote: under a name of its own, or unfinished."""

    path: str
    status: os.stat_result
    unfinished: bool


def write(path: str, record: Any) -> int:
    """Write a record into a file, in whose folder nobody else may; its size.

    Raises ValueError for what `marshal` does not write, OSError where the system refuses.
    """
    data = marshal.dumps(record)
    folder = os.path.dirname(path)
    above = os.path.dirname(folder)
    for made in (os.path.dirname(above), above, folder):
        make_private(made)
    write_private(path, (_MAGIC, _digest(path, data), data))
    return len(_MAGIC) + _DIGEST + len(data)


def _digest(path: str, data: bytes) -> bytes:
    """The digest of a file: of the environment's folder, its own one, its name, and the record."""
    place = path.split(os.sep)[-3:]
    return bytes.fromhex(digest(repr(place).encode() + data))


def read(path: str, schema: Schema | None = None) -> Any:
    """The record in a file; None where there is none, it is not as it was written, or it is of
    another form.
    """
    try:
        found, data = read_private(path, folders=2)
    except OSError:
        return None
    if not _is_whole(path, data):
        return None
    if time.time() - found.st_mtime > _TOUCHED:
        try:
            os.utime(path)
        except OSError:
            pass  # a layer that is only read
    record = marshal.loads(data[len(_MAGIC) + _DIGEST :])
    return record if schema is None or is_valid(record, schema) else None


def _is_whole(path: str, data: bytes) -> bool:
    start = len(_MAGIC) + _DIGEST
    return data[:start] == _MAGIC + _digest(path, data[start:])


def is_damaged(path: str) -> bool:
    """Returns True if a file under a name of this package is of no form of it, or not whole.

    A file of another form cannot be checked, nor one that is not there any more.
    """
    try:
        data = read_private(path, folders=2)[1]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    other = re.match(re.escape(_FIRST) + rb"\d+\n", data)
    return not _is_whole(path, data) and (other is None or other[0] == _MAGIC)


def own_files(layer: str) -> Iterator[File]:
    """The files that this package wrote in a layer: those in marked folders, of known names."""
    for environment in _folders(layer):
        if not _ENVIRONMENT.fullmatch(environment.name) or not _is_marked(environment.path):
            continue
        for folder in _folders(environment.path):
            names = [name for of, name in _NAMES if of.fullmatch(folder.name)]
            for entry in _entries(folder.path):
                unfinished = UNFINISHED.fullmatch(entry.name)
                finished = unfinished[1] if unfinished else entry.name
                if names and names[0].fullmatch(finished):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue  # removed meanwhile
                    yield File(entry.path, status, unfinished is not None)


def _is_marked(folder: str) -> bool:
    try:
        return read_private(os.path.join(folder, DESCRIPTION), folders=2)[1].startswith(_FIRST)
    except OSError:
        return False


def _folders(path: str) -> list[os.DirEntry[str]]:
    return [entry for entry in _entries(path) if entry.is_dir(follow_symlinks=False)]


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def remove_least_used(directory: str, at_once: bool = False) -> None:
    """Remove what has not been used for longest, where the layer holds more than it may.

    It is counted every so many calls, or `at_once`.
    """
    if not at_once and (next(_written) + os.getpid()) % _COUNTED:
        return
    found: list[tuple[float, int, str]] = []
    now = time.time()
    for path, status, unfinished in own_files(directory):
        if unfinished:
            if now - status.st_mtime > _LEFT_OVER:
                remove(path)
        elif path.endswith((ENTRY, VERDICT, LIBRARY)):
            found.append((status.st_mtime, status.st_size, path))
    most, total = bound(), sum(size for _, size, _ in found)
    if total <= most:
        return
    for _, size, path in sorted(found):
        remove(path)
        total -= size
        if total <= 0.8 * most:
            break


def remove_empty_folders(paths: set[str]) -> None:
    """Remove folders in which nothing is left, with those of environments above them."""
    for path in [*sorted(paths), *sorted({os.path.dirname(path) for path in paths})]:
        try:
            os.rmdir(path)
        except OSError:
            pass  # it holds something else

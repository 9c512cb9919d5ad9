"""Records in files: written whole or not at all, read only if nothing has happened to them.

A file is `MAGIC`, a digest of what follows, and a record as `marshal` writes it. It is written
under another name and then renamed: readers of any process see all of it or nothing, whoever is
killed.
What is truncated, damaged or foreign has another digest, and is taken for nothing.
"""

from __future__ import annotations

import itertools
import marshal
import os
import stat
import time
from typing import Any

from tracejit.link.digests import digest
from tracejit.runtime.cache.settings import bound

__all__ = ["ENTRY", "LIBRARY", "read", "remove_least_used", "write"]

#: The endings of files: an entry of a function, and a library that programs share.
ENTRY, LIBRARY = ".entry", ".library"
_MAGIC = b"tracejit machine code 1\n"
_DIGEST = 32
#: Files that are used are touched, once in so many seconds.
_TOUCHED = 3600.0
#: Every so many files that are written, what lies there is counted.
_COUNTED = 64
#: Seconds after which an unfinished file is left over.
_LEFT_OVER = 600.0
_names = itertools.count()


def write(path: str, record: Any) -> int:
    """Write a record into a file, in whose folder nobody else may; its size.

    Raises ValueError for what `marshal` does not write, OSError where the system refuses.
    """
    data = marshal.dumps(record)
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    unfinished = os.path.join(folder, f".{name}.{os.getpid()}.{next(_names)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC)
            file.write(bytes.fromhex(digest(data)))
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise
    return len(_MAGIC) + _DIGEST + len(data)


def read(path: str) -> Any:
    """The record in a file; None where there is none, or it is not as it was written."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not _is_ours(found):
            return None
        data = file.read()
    start = len(_MAGIC) + _DIGEST
    whole = data[:start] == _MAGIC + bytes.fromhex(digest(data[start:]))
    if not whole:
        _remove(path)
        return None
    if time.time() - found.st_mtime > _TOUCHED:
        try:
            os.utime(path)
        except OSError:
            pass  # a layer that is only read
    return marshal.loads(data[start:])


def _is_ours(found: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return stat.S_ISREG(found.st_mode)
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid()) and not others


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def remove_least_used(directory: str, at_once: bool = False) -> None:
    """Remove what has not been used for longest, where the folder holds more than it may.

    It is counted every so many calls, or `at_once`.
    """
    written = next(_names)
    if not at_once and (written + os.getpid()) % _COUNTED:
        return
    found: list[tuple[float, int, str]] = []
    now = time.time()
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.stat(path)
            except OSError:
                continue
            if name.startswith(".") and now - status.st_mtime > _LEFT_OVER:
                _remove(path)
            elif name.endswith((ENTRY, LIBRARY)):
                found.append((status.st_mtime, status.st_size, path))
    most, total = bound(), sum(size for _, size, _ in found)
    if total <= most:
        return
    for _, size, path in sorted(found):
        _remove(path)
        total -= size
        if total <= 0.8 * most:
            break

"""Records in files: written whole or not at all, read only if nothing has happened to them.

A file is `MAGIC`, a digest of where it lies in the cache and of what follows, and a record as
`marshal` writes it. It is written under another name and then renamed: readers of any process see
all of it or nothing, whoever is killed.
What is truncated, damaged, foreign or in another file's place has another digest, and is taken for
nothing.
"""

from __future__ import annotations

import errno
import itertools
import marshal
import os
import stat
import time
from typing import Any

from tracejit.link.digests import digest
from tracejit.runtime.cache.records import FORM, Schema, is_valid
from tracejit.runtime.cache.settings import bound, is_ours

__all__ = ["ENTRY", "LIBRARY", "read", "remove_least_used", "write"]

#: The endings of files: an entry of a function, and a library that programs share.
ENTRY, LIBRARY = ".entry", ".library"
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


def write(path: str, record: Any) -> int:
    """Write a record into a file, in whose folder nobody else may; its size.

    Raises ValueError for what `marshal` does not write, OSError where the system refuses.
    """
    data = marshal.dumps(record)
    folder, name = os.path.split(path)
    above = os.path.dirname(folder)
    for made in (os.path.dirname(above), above, folder):
        os.makedirs(made, mode=0o700, exist_ok=True)
        if not is_ours(made):
            raise PermissionError(errno.EPERM, "others may write there", made)
    # A process of the same number may have been killed, in another container, too.
    unfinished = os.path.join(folder, f".{name}.{os.urandom(8).hex()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC)
            file.write(_digest(path, data))
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        _remove(unfinished)
        raise
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
        found, data = _contents(path)
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    whole = data[:start] == _MAGIC + _digest(path, data[start:])
    if not whole:
        _remove(path)
        return None
    if time.time() - found.st_mtime > _TOUCHED:
        try:
            os.utime(path)
        except OSError:
            pass  # a layer that is only read
    record = marshal.loads(data[start:])
    return record if schema is None or is_valid(record, schema) else None


def _contents(path: str) -> tuple[os.stat_result, bytes]:
    """What a file holds that nobody else could have put there. Raises OSError."""
    folder = os.path.dirname(path)
    # Nothing is waited for: what is there may be a pipe.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        found = os.fstat(descriptor)
        if not _is_ours(found) or not is_ours(folder) or not is_ours(os.path.dirname(folder)):
            raise PermissionError(errno.EPERM, "others may write there", path)
        with open(descriptor, "rb", closefd=False) as file:
            return found, file.read()
    finally:
        os.close(descriptor)


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
    if not at_once and (next(_written) + os.getpid()) % _COUNTED:
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

"""Files that code is loaded from: nobody but the user, or root, can have written what is read.

A file is written under another name and then renamed: readers of any process see all of it or
nothing, whoever is killed. No symbolic link is followed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable

__all__ = [
    "UNFINISHED",
    "is_private",
    "make_private",
    "open_own",
    "read_private",
    "remove",
    "write_private",
]

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
#: Nothing is waited for: what is there may be a pipe.
_RAW = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
#: The names of files that are being written, and of what they will be.
UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{16}")


def is_private(path: str) -> bool:
    """Returns True if nobody but the user and root can write to a file or into a folder."""
    try:
        return _is_private(os.stat(path))
    except OSError:
        return False


def _is_private(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    owned = status.st_uid in (0, os.geteuid())
    return owned and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_private(folder: str) -> None:
    """Makes a folder, and those above it that are not there, with the mode 0700.

    Raises OSError where that cannot be done, or others may write into a folder that is there.
    """
    lacking = []
    above = os.path.abspath(folder)
    while not os.path.isdir(above) and above not in lacking:
        lacking.append(above)
        above = os.path.dirname(above)
    for made in reversed(lacking):
        try:
            os.mkdir(made, 0o700)
            # The umask may have taken what the user needs.
            os.chmod(made, 0o700)
        except FileExistsError:
            # Another process was faster, or it is a file.
            if not os.path.isdir(made):
                raise
    if not is_private(folder):
        raise PermissionError(errno.EPERM, "others may write there", folder)


def read_private(path: str, folders: int = 1) -> tuple[os.stat_result, bytes]:
    """The contents of a regular file that is private, as are so many folders above it.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_LINK | _RAW)
    try:
        found = os.fstat(descriptor)
        private = stat.S_ISREG(found.st_mode) and _is_private(found)
        above = path
        for _ in range(folders):
            above = os.path.dirname(above)
            private = private and is_private(above)
        if not private:
            raise PermissionError(errno.EPERM, "others may write there", path)
        with open(descriptor, "rb", closefd=False) as file:
            return found, file.read()
    finally:
        os.close(descriptor)


def write_private(path: str, chunks: Iterable[bytes]) -> None:
    """Writes a file with the mode 0600 in place of what has its name. Raises OSError."""
    folder, name = os.path.split(path)
    # A process of the same number may have been killed, in another container, too.
    unfinished = os.path.join(folder, f".{name}.{os.urandom(8).hex()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _RAW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunks)
        os.replace(unfinished, path)
    except BaseException:
        remove(unfinished)
        raise


def open_own(path: str, flags: int) -> int:
    """A descriptor of a regular file of this user alone, made with the mode 0600 if it is lacking.

    The file may lie in a folder that others can write into, such as /tmp. Raises OSError.
    """
    descriptor = os.open(path, flags | os.O_CREAT | _NO_LINK | _RAW, 0o600)
    found = os.fstat(descriptor)
    mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid() and found.st_nlink == 1
    if not mine or not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "the file is another one's", path)
    return descriptor


def remove(path: str) -> None:
    """Removes a file, if it is there and can be removed."""
    try:
        os.unlink(path)
    except OSError:
        pass

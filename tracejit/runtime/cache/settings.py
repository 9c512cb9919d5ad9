"""Where the cache lies: TRACEJIT_CACHE, TRACEJIT_CACHE_BASE and TRACEJIT_CACHE_SIZE.

- TRACEJIT_CACHE=<dir>: there; `off`: nowhere. Without it, `tracejit` in XDG_CACHE_HOME or ~/.cache.
- TRACEJIT_CACHE_BASE=<dir>, or several with the system's separator of paths between them: layers
  that are only read, such as one that an image of a container brings along.
- TRACEJIT_CACHE_SIZE=<MB>: what it may hold, 1024 without it.

Code is loaded from no place that somebody else than the user, or root, could have written to.
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from tracejit.base.locks import once
from tracejit.base.private_files import is_private, make_private
from tracejit.config import SettingError

__all__ = ["Layers", "bound", "checked_directory", "is_wanted", "layers"]

_DEFAULT_MB = 1024


class Layers(NamedTuple):
    """The folders to read from, and that to write into, if there is one; why there is none."""

    read: tuple[str, ...]
    write: str | None
    why_not: str


def is_wanted() -> bool:
    """Whether code is looked for in files at all."""
    return os.environ.get("TRACEJIT_CACHE", "").lower() not in ("off", "0")


def bound() -> int:
    """How many bytes the cache may take. Raises ValueError."""
    given = os.environ.get("TRACEJIT_CACHE_SIZE")
    if given and not given.isdecimal():
        raise SettingError(f"TRACEJIT_CACHE_SIZE is a number of megabytes, not {given!r}")
    return (int(given) if given else _DEFAULT_MB) << 20


def layers() -> Layers:
    """The folders of this process, made where they are lacking. Raises ValueError."""
    variables = (
        "TRACEJIT_CACHE",
        "TRACEJIT_CACHE_BASE",
        "TRACEJIT_CACHE_SIZE",
        "XDG_CACHE_HOME",
        "HOME",
    )
    return _layers(tuple(os.environ.get(name) for name in variables))


@once
def _layers(_: tuple[str | None, ...]) -> Layers:
    if not is_wanted():
        return Layers((), None, "TRACEJIT_CACHE=off")
    # What is wrong is said at the first call, not when something is removed.
    bound()
    below = os.environ.get("TRACEJIT_CACHE_BASE", "").split(os.pathsep)
    base = tuple(os.path.abspath(path) for path in below if path and is_private(path))
    own = os.environ.get("TRACEJIT_CACHE") or _usual()
    if own is None:
        return Layers(base, None, "there is no home directory")
    own = os.path.abspath(own)
    why_not = checked_directory(own)
    if why_not:
        readable = os.path.isdir(own) and is_private(own)
        return Layers((own, *base) if readable else base, None, why_not)
    return Layers((own, *base), own, "")


def _usual() -> str | None:
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME")
    if not caches or not os.path.isabs(caches):
        if not os.path.isabs(home) or not os.path.isdir(home):
            return None
        caches = os.path.join(home, ".cache")
    return os.path.join(caches, "tracejit")


def checked_directory(path: str) -> str:
    """Make a folder that only the user may look into; why it cannot be written into, or ""."""
    try:
        make_private(path)
    except PermissionError as e:
        if e.errno == errno.EPERM:
            return f"{path} belongs to somebody else, or others may write into it"
        return f"{path}: {e.strerror}"
    except OSError as e:
        return f"{path}: {e.strerror}"
    if not os.access(path, os.W_OK | os.X_OK):
        return f"{path} is read-only"
    return ""

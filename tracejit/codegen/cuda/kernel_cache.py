"""Compiled kernels that are kept: by what they were compiled from, in memory and in files.

A file holds its length and its digest ahead of the kernel, and what does not agree with them is
not loaded. Where the folder cannot be written, or others can, there is memory alone. What else lies
in the folder stays there.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import time
from collections import OrderedDict
from pathlib import Path

from tracejit.base.locks import once, short_lock
from tracejit.base.private_files import (
    UNFINISHED,
    make_private,
    read_private,
    remove,
    write_private,
)

__all__ = ["KernelCache", "cache_folder", "kernel_cache"]

_HEAD = struct.Struct("<8sQ32s")
_MAGIC = b"TJCUDA1\n"
#: The names of files: keys.
_NAME = re.compile("[0-9a-f]{64}")
#: Bytes of all files, kernels in memory, and seconds after which a file half written is nobody's.
_MOST_BYTES, _MOST_IN_MEMORY, _ABANDONED = 256 << 20, 2048, 3600


class KernelCache:
    """Kernels by keys, which are digests in hexadecimal; `folder` is None for memory alone.

    It never raises.
    """

    def __init__(self, folder: Path | None, most_bytes: int = _MOST_BYTES) -> None:
        self._folder, self._most = folder, most_bytes
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._lock = short_lock()
        #: Bytes in files, as far as this process knows; None before it has looked.
        self._bytes: int | None = None

    def get(self, key: str) -> bytes | None:
        """The kernel of a key, or None."""
        with self._lock:
            found = self._memory.get(key)
        if found is None and (found := self._read(key)) is not None:
            self._remember(key, found)
        return found

    def put(self, key: str, kernel: bytes) -> None:
        """Keep a kernel."""
        self._remember(key, kernel)
        folder = self._folder
        if folder is None:
            return
        try:
            make_private(str(folder))
            head = _HEAD.pack(_MAGIC, len(kernel), hashlib.sha256(kernel).digest())
            write_private(str(folder / key), (head, kernel))
            self._bound(folder, _HEAD.size + len(kernel))
        except OSError:
            return

    def _remember(self, key: str, kernel: bytes) -> None:
        with self._lock:
            self._memory[key] = kernel
            while len(self._memory) > _MOST_IN_MEMORY:
                self._memory.popitem(last=False)

    def _read(self, key: str) -> bytes | None:
        if self._folder is None:
            return None
        path = self._folder / key
        try:
            _, raw = read_private(str(path))
        except OSError:
            return None
        if len(raw) >= _HEAD.size:
            magic, length, digest = _HEAD.unpack_from(raw)
            kernel = raw[_HEAD.size :]
            sound = (magic, length) == (_MAGIC, len(kernel))
            if sound and hashlib.sha256(kernel).digest() == digest:
                try:
                    os.utime(path)
                except OSError:
                    pass  # it is only read
                return kernel
        return None

    def _bound(self, folder: Path, added: int) -> None:
        """Drop the files that have not been used for longest, if all are too many bytes."""
        with self._lock:
            if self._bytes is not None and self._bytes + added <= self._most:
                self._bytes += added
                return
        files, now = [], time.time()
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                unfinished = UNFINISHED.fullmatch(entry.name)
                if not _NAME.fullmatch(unfinished[1] if unfinished else entry.name):
                    continue
                if not unfinished:
                    files.append((status.st_mtime_ns, status.st_size, entry.path))
                elif now - status.st_mtime > _ABANDONED:
                    remove(entry.path)
        total = sum(size for _, size, _ in files)
        if total > self._most:
            for _, size, path in sorted(files):
                remove(path)
                total -= size
                # Some room is left, so that the next file does not lead here again.
                if total <= self._most * 3 // 4:
                    break
        with self._lock:
            self._bytes = total


def cache_folder() -> Path | None:
    """Where files are kept: in TRACEJIT_CACHE_DIR, or the user's folder for such files."""
    named = os.environ.get("TRACEJIT_CACHE_DIR")
    if named:
        return Path(named).absolute() / "cuda"
    # A name that is not absolute is to be ignored.
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = os.path.expanduser("~")
    if not os.path.isabs(base):
        base = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    return Path(base, "tracejit", "cuda") if base else None


@once
def kernel_cache() -> KernelCache:
    """The one of this process."""
    return KernelCache(cache_folder())

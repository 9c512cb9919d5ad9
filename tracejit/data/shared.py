"""Memory that processes share, without a name: nothing is left of it when they have ended.

Objects are sent through it: their arrays lie in it once for all processes, and of memory maps only
the paths are sent.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import tempfile
from typing import Any

import numpy as np

__all__ = ["address", "created", "mapped", "packed", "received_file", "send_file", "unpacked"]

_ALIGNMENT = 64


def created(size: int) -> int:
    """The descriptor of a new file of zeros, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("tracejit")
    else:
        with tempfile.TemporaryFile() as nameless:
            file = os.dup(nameless.fileno())
    os.ftruncate(file, size)
    return file


def mapped(file: int, private: bool = False) -> mmap.mmap:
    """The memory of a file, whose descriptor is closed. Stores into `private` memory stay there."""
    try:
        kind = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        return mmap.mmap(file, os.fstat(file).st_size, kind)
    finally:
        os.close(file)


def send_file(connection: Any, file: int) -> None:
    """Give the process at the other end a descriptor of an open file."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        socket.send_fds(end, [b"f"], [file])


def received_file(connection: Any) -> int:
    """The descriptor that the process at the other end sends. Raises EOFError if it has ended."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        _, files, _, _ = socket.recv_fds(end, 1, 1)
    if not files:
        raise EOFError
    os.set_inheritable(files[0], False)
    return files[0]


def packed(value: Any) -> tuple[bytes, list[tuple[int, int]], int]:
    """A pickle, and a file with the arrays that belong to it: where in it they begin and end."""
    stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    _Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(value)
    places, end = [], 0
    for buffer in buffers:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = start + buffer.raw().nbytes
        places.append((start, end))
    file = created(max(end, 1))
    if end:
        with mmap.mmap(file, end) as memory:
            for buffer, (start, stop) in zip(buffers, places, strict=True):
                memory[start:stop] = buffer.raw()
    return stream.getvalue(), places, file


def unpacked(data: bytes, places: list[tuple[int, int]], file: int) -> Any:
    """What was packed. Stores into its arrays are this process's own."""
    memory = memoryview(mapped(file, private=True))
    return pickle.loads(data, buffers=[memory[start:end] for start, end in places])


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        root = _memory_map(value) if isinstance(value, np.ndarray) and value.size else None
        if root is None or root.filename is None or root.mode == "c":
            return NotImplemented
        mode = "r" if root.mode == "r" else "r+"
        file = (str(root.filename), mode, root.offset, root.nbytes)
        return _reopened, (
            file,
            address(value) - address(root),
            value.shape,
            value.strides,
            value.dtype,
        )


def _memory_map(array: Any) -> Any:
    """The memory map that an array is a view of, or None."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):
            return array
        array = array.base
    return None


def address(array: Any) -> int:
    """Where an array's first element lies."""
    return int(array.__array_interface__["data"][0])


def _reopened(
    file: tuple[str, Any, int, int],
    start: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: Any,
) -> Any:
    path, mode, offset, size = file
    root = np.memmap(path, np.uint8, mode, offset, (size,))
    return np.ndarray(shape, dtype, root, start, strides)

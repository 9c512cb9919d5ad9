"""Arrays by name become a safetensors file, and the other way round.

    8 bytes: the length of the header | the header: JSON | the arrays, one after the other

The header says of each array its dtype, shape and place. Arrays are written from where they lie and
read to where they are to lie. What the format has no dtype for is written as bytes or as pairs of
floats: see `stored_form`.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

__all__ = [
    "Entry",
    "NotSafetensors",
    "Renaming",
    "TensorFile",
    "checksum",
    "renamed",
    "stored_form",
    "write",
]

#: What an array is called here, by its name in a file.
Renaming = Mapping[str, str] | Callable[[str], str] | None


_DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "C64": np.dtype("<c8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
#: The upper half of a float32.
_BFLOAT16 = "BF16"
#: Longer headers are refused by the format.
_LONGEST = 100_000_000
_CHUNK = 1 << 22


class NotSafetensors(ValueError):
    """A file is not what the format says."""


class Entry(NamedTuple):
    """An array of a file: its dtype as the format calls it, its shape, its first and last byte."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def stored_form(array: Any) -> Any:
    """The array that is written for one: of a dtype that the format has, in the order of C.

    complex128 becomes float64 with a last axis of two; other dtypes without a name in the format
    bytes, in a last axis. Raises TypeError for objects, and for dtypes that hold some.
    """
    if array.dtype.hasobject:
        raise TypeError(f"an array of the dtype {array.dtype}")
    little = array.dtype.newbyteorder("<")
    plain = np.ascontiguousarray(array, little).reshape(array.shape)
    if little in _NAMES:
        return plain
    if little == np.dtype("<c16"):
        return plain.reshape(-1).view("<f8").reshape(*array.shape, 2)
    size = little.itemsize
    return np.frombuffer(plain.tobytes(), np.uint8).reshape(*array.shape, size)


def write(
    file: BinaryIO, arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> tuple[int, int]:
    """Write arrays that have their stored form; the bytes and the checksum of the file."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    start = 0
    # Wide elements first: all of them are aligned then.
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    for name in order:
        array = arrays[name]
        stop = start + array.nbytes
        found = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": (start, stop)}
        header[name], start = found, stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    parts: list[Any] = [len(text).to_bytes(8, "little"), text]
    parts += [memoryview(arrays[name].reshape(-1).view(np.uint8)) for name in order]
    size = sum = 0
    for part in parts:
        for k in range(0, len(part), _CHUNK):
            chunk = part[k : k + _CHUNK]
            sum = zlib.crc32(chunk, sum)
            file.write(chunk)
        size += len(part)
    return size, sum


def checksum(path: Path) -> tuple[int, int]:
    """The bytes of a file, and the CRC-32 of them."""
    size = sum = 0
    buffer = memoryview(bytearray(_CHUNK))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            sum = zlib.crc32(buffer[:count], sum)
            size += count
    return size, sum


class TensorFile:
    """A safetensors file that is open for reading.

    Raises NotSafetensors, naming the file, for one that is cut off or no such file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = open(path, "rb")
        try:
            self.entries, self.metadata, self._start = self._header()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._file.close()
            raise NotSafetensors(f"{path} is no whole safetensors file: {error}") from None

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def _header(self) -> tuple[dict[str, Entry], dict[str, str], int]:
        size = os.fstat(self._file.fileno()).st_size
        length = int.from_bytes(self._file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST):
            raise ValueError(f"{size} bytes, of which the header would be {length}")
        header = json.loads(self._file.read(length))
        metadata = header.pop("__metadata__", {})
        entries = {}
        for name, x in header.items():
            entry = Entry(x["dtype"], tuple(x["shape"]), *x["data_offsets"])
            if not all(type(n) is int and n >= 0 for n in (*entry.shape, entry.start, entry.stop)):
                raise ValueError(f"{name} has no shape and place")
            dtype = _DTYPES.get(entry.dtype)
            itemsize = 2 if entry.dtype == _BFLOAT16 else dtype and dtype.itemsize
            if itemsize and entry.stop - entry.start != itemsize * math.prod(entry.shape):
                raise ValueError(f"{name} has another size than its shape")
            entries[name] = entry
        place = 0
        for entry in sorted(entries.values(), key=lambda e: (e.start, e.stop)):
            if entry.start != place:
                raise ValueError("its arrays do not lie one after the other")
            place = entry.stop
        if place != size - 8 - length:
            raise ValueError(f"{size} bytes, not {8 + length + place}")
        return entries, metadata, 8 + length

    def read(self, name: str) -> Any:
        """A new array with an array of the file; bfloat16 becomes float32, without loss.

        Raises TypeError for a dtype that NumPy does not have.
        """
        entry = self.entries[name]
        bfloat16 = entry.dtype == _BFLOAT16
        dtype = np.dtype("<u2") if bfloat16 else _DTYPES.get(entry.dtype)
        if dtype is None:
            raise TypeError(f"{self.path}: {name} has the dtype {entry.dtype}, which NumPy has not")
        out = np.empty(entry.shape, dtype)
        self._fill(out, entry)
        if bfloat16:
            wide = out.astype(np.uint32)
            np.left_shift(wide, 16, out=wide)
            return wide.view(np.float32)
        return out

    def _fill(self, out: Any, entry: Entry) -> None:
        self._file.seek(self._start + entry.start)
        view = memoryview(out.reshape(-1).view(np.uint8))
        if self._file.readinto(view) != len(view):
            raise NotSafetensors(f"{self.path} is cut off")

    def read_as(self, name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
        """A new array of a dtype and shape with what `stored_form` has made of one."""
        out = self.read(name)
        return out if out.dtype == dtype else _joined(out, np.dtype(dtype), shape)


def _joined(stored: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    little = dtype.newbyteorder("<")
    if little in _NAMES and little == stored.dtype:
        return stored.astype(dtype)
    whole = np.frombuffer(stored.tobytes(), little).reshape(shape)
    return whole.astype(dtype)


def renamed(name: str, rename: Renaming) -> str:
    """A name after renaming: by a function, or a dict, in which "a" is also the start of "a.b"."""
    if rename is None or callable(rename):
        return name if rename is None else rename(name)
    for old, new in rename.items():
        if name == old or name.startswith(f"{old}."):
            return new + name[len(old) :]
    return name

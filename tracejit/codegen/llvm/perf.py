"""Linked machine code becomes known to Linux's `perf`: perf maps and jitdump files.

A perf map has a line `address size name` for each function (linux/tools/perf/Documentation/
jit-interface.txt). A jitdump file has the code as well, so that it can be annotated: records of the
form that linux/tools/perf/Documentation/jitdump-specification.txt gives. `perf record -k 1` sees
that the file is mapped as code, `perf inject --jit` makes objects of it, `perf report` reads them.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.base.locks import in_child, short_lock
from tracejit.base.private_files import open_own

__all__ = ["note_code"]

_LOCK = short_lock()
#: Where `perf` looks for maps.
_MAPS = "/tmp"
#: The process's jitdump file, once there is one, and its mapping, which has to stay.
_DUMP: list[Any] = []
_INDEX = itertools.count()


class _Function(NamedTuple):
    name: str
    address: int
    size: int


def note_code(
    how: str,
    objects: Sequence[bytes],
    addresses: Mapping[str, int],
    shown: Callable[[str], str] = str,
) -> None:
    """Write what was linked to a perf map (`how` is "map"), a jitdump file ("dump") or both ("1").

    `addresses` are those of exported symbols, by which the others of their section are found;
    `shown` is what a symbol is to be called. Elsewhere than on Linux nothing is written, nor where
    a file of another user, or a link, has the name: a RuntimeWarning says so.
    """
    if sys.platform != "linux":
        return
    for code in objects:
        found = [f._replace(name=shown(f.name)) for f in _functions(code, addresses)]
        try:
            with _LOCK:
                if found and how in ("map", "1"):
                    _add_to_map(found)
                if found and how in ("dump", "1"):
                    _add_to_dump(found, code)
        except OSError as error:
            warnings.warn(f"TRACEJIT_PERF: {error}", RuntimeWarning, stacklevel=2)
            return


def _functions(code: bytes, addresses: Mapping[str, int]) -> Iterator[_Function]:
    """The functions of an ELF file of 64 bits whose section has an exported symbol."""
    if code[:5] != b"\x7fELF\x02":
        return
    at, size, count = *struct.unpack_from("<Q", code, 40), *struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, at + k * size) for k in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 2:  # the table of symbols
            continue
        names = sections[link][4]
        symbols = []
        for k in range(length // entry):
            given = struct.unpack_from("<IBBHQQ", code, offset + k * entry)
            end = code.index(b"\0", names + given[0])
            symbols.append((code[names + given[0] : end].decode(), *given[1:]))
        bases = {s[3]: addresses[s[0]] - s[4] for s in symbols if s[3] and s[0] in addresses}
        for name, info, _, section, value, extent in symbols:
            if info & 15 == 2 and extent and section in bases:  # a function
                yield _Function(name, bases[section] + value, extent)


def _add_to_map(functions: Sequence[_Function]) -> None:
    lines = "".join(f"{f.address:x} {f.size:x} {f.name}\n" for f in functions)
    path = f"{_MAPS}/perf-{os.getpid()}.map"
    with open(open_own(path, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8") as file:
        file.write(lines)


def _add_to_dump(functions: Sequence[_Function], code: bytes) -> None:
    if not _DUMP:
        file = open(open_own(f"jit-{os.getpid()}.dump", os.O_RDWR), "w+b")
        (machine,) = struct.unpack_from("<H", code, 18)
        header = 0x4A695444, 1, 40, machine, 0, os.getpid(), time.monotonic_ns(), 0
        file.write(struct.pack("<IIIIIIQQ", *header))
        file.flush()
        # `perf` sees this as it sees a library that is loaded.
        mapping = mmap.mmap(file.fileno(), 40, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        _DUMP.extend((file, mapping))
    file = _DUMP[0]
    for f in functions:
        name = f.name.encode() + b"\0"
        number = threading.get_native_id(), f.address, f.address, f.size, next(_INDEX)
        body = struct.pack("<IIQQQQ", os.getpid(), *number) + name
        body += ctypes.string_at(f.address, f.size)
        file.write(struct.pack("<IIQ", 0, 16 + len(body), time.monotonic_ns()) + body)
    file.flush()


@in_child
def _forget() -> None:
    """A child of `fork` writes files of its own."""
    _DUMP.clear()

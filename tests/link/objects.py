"""Writes object files for x86-64 in ELF, as a test wants them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "ABS32",
    "COMMON",
    "GOTPCREL",
    "GOTPCRELX",
    "PC32",
    "PC64",
    "PLT32",
    "R64",
    "REX_GOTPCRELX",
    "UNDEFINED",
    "Relocation",
    "Section",
    "Symbol",
    "written",
]

R64, PC32, PLT32, GOTPCREL, ABS32, PC64, GOTPCRELX, REX_GOTPCRELX = 1, 2, 4, 9, 10, 24, 41, 42
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
PROGBITS, NOBITS = 1, 8
WRITE, ALLOC, EXECUTE, TLS = 1, 2, 4, 0x400
LOCAL, GLOBAL, WEAK = 0, 1, 2


class Relocation(NamedTuple):
    at: int
    type: int
    symbol: str
    addend: int = 0


class Section(NamedTuple):
    name: str
    contents: bytes = b""
    flags: int = ALLOC | EXECUTE
    relocations: Sequence[Relocation] = ()
    align: int = 16
    type: int = PROGBITS
    #: How many bytes it is said to have, where it has none.
    size: int = 0


class Symbol(NamedTuple):
    name: str
    #: A section's number in the list from 1, or one of the special ones.
    section: int
    value: int = 0
    binding: int = GLOBAL
    type: int = 0


def written(sections: Sequence[Section], symbols: Sequence[Symbol]) -> bytes:
    """An object file: its own sections are numbered from 1."""
    symbols = sorted(symbols, key=lambda s: s.binding != LOCAL)
    numbers = {s.name: k + 1 for k, s in enumerate(symbols)}
    texts, entries = bytearray(b"\0"), bytearray(24)
    for s in symbols:
        entries += struct.pack(
            "<IBBHQQ", len(texts), s.binding << 4 | s.type, 0, s.section, s.value, 0
        )
        texts += s.name.encode() + b"\0"
    body, headers, names = bytearray(64), [bytes(64)], bytearray(b"\0")

    def put(name: str, kind: int, data: bytes, *rest: int, size: int = 0, flags: int = 0) -> None:
        link, info, align, entry = rest
        body.extend(bytes(-len(body) % 8))
        fields = (
            len(names),
            kind,
            flags,
            0,
            len(body),
            size or len(data),
            link,
            info,
            align,
            entry,
        )
        headers.append(struct.pack("<IIQQQQIIQQ", *fields))
        names.extend(name.encode() + b"\0")
        body.extend(data)

    for section in sections:
        given = section.contents
        put(section.name, section.type, given, 0, 0, section.align, 0, size=section.size,
            flags=section.flags)  # fmt: skip
    table = len(sections) + 1
    put(".symtab", 2, bytes(entries), table + 1, 1, 8, 24)
    put(".strtab", 3, bytes(texts), 0, 0, 1, 0)
    for k, section in enumerate(sections):
        if section.relocations:
            packed = b"".join(
                struct.pack("<QQq", r.at, numbers[r.symbol] << 32 | r.type, r.addend)
                for r in section.relocations
            )
            put(f".rela{section.name}", 4, packed, table, k + 1, 8, 24)
    at_names = len(headers)
    put(".shstrtab", 3, b"", 0, 0, 1, 0)
    # Its own name is in it.
    fields = list(struct.unpack("<IIQQQQIIQQ", headers[-1]))
    fields[5] = len(names)
    headers[-1] = struct.pack("<IIQQQQIIQQ", *fields)
    body.extend(names)
    body.extend(bytes(-len(body) % 8))
    at = len(body)
    head = (b"\x7fELF\x02\x01\x01" + bytes(9), 1, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, len(headers),
            at_names)  # fmt: skip
    body[:64] = struct.pack("<16sHHIQQQIHHHHHH", *head)
    return bytes(body) + b"".join(headers)

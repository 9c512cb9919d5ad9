"""Messages become records of a file, and back: a length, a message, and checksums of both.

A record is the length (8 bytes, little-endian), its masked CRC-32C (4 bytes), the message, and its
masked CRC-32C: TensorFlow's TFRecord. The checksum is Castagnoli's (IEEE Transactions on
Communications 41, 1993): polynomial 0x1EDC6F41, bits reversed, begun with ones and inverted.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["crc32c", "framed", "messages"]

#: Below so many bytes one after another is quicker.
_SHORT = 512


def crc32c(data: bytes) -> int:
    """The CRC-32C of `data`."""
    if len(data) < _SHORT:
        crc, table = 0xFFFFFFFF, _byte_table()
        for byte in data:
            crc = table[(crc ^ byte) & 255] ^ crc >> 8
        return crc ^ 0xFFFFFFFF
    # The checksum is linear, zeros in front do not change one that begins with 0, and beginning
    # with ones is inverting four bytes. Words are joined in pairs, each level at once: what is on
    # the left is followed by as many bytes as what is on its right has.
    padded = np.zeros(-(-len(data) // 4) * 4, np.uint8)
    first = len(padded) - len(data)
    padded[first:] = np.frombuffer(data, np.uint8)
    padded[first : first + 4] ^= 255
    words, level = padded.view("<u4"), 2
    while len(words) > 1:
        if len(words) % 2:
            words = np.concatenate([np.zeros(1, "<u4"), words])
        words = _followed(words[::2], level) ^ words[1::2]
        level += 1
    return int(_followed(words, 2)[0]) ^ 0xFFFFFFFF


def _followed(crcs: Any, level: int) -> Any:
    """Checksums after 2**level further bytes of zero."""
    tables = _zeros(level)
    parts = np.ascontiguousarray(crcs, "<u4").view(np.uint8).reshape(-1, 4)
    out = tables[0][parts[:, 0]]
    for k in (1, 2, 3):
        out ^= tables[k][parts[:, k]]
    return out


@functools.cache
def _zeros(level: int) -> Any:
    """What each byte of a checksum becomes by 2**level bytes of zero: uint32 [4, 256]."""
    if level:
        half = _zeros(level - 1)
        return _followed(half.ravel(), level - 1).reshape(4, 256)
    crcs = np.arange(256, dtype="<u4") << np.array([[0], [8], [16], [24]], "<u4")
    for _ in range(8):
        crcs = crcs >> 1 ^ (crcs & 1) * np.uint32(0x82F63B78)
    return crcs


@functools.cache
def _byte_table() -> list[int]:
    return [int(crc) for crc in _zeros(0)[0]]


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(message: bytes) -> bytes:
    """The record of a message."""
    length = struct.pack("<Q", len(message))
    return length + _masked(length) + message + _masked(message)


def messages(data: bytes) -> Iterator[bytes]:
    """The messages of a file's records. One that is cut off at the end is left out.

    Raises ValueError for a record whose checksums are not those of what it holds.
    """
    at = 0
    while at + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if data[at + 8 : at + 12] != _masked(data[at : at + 8]):
            raise ValueError(f"the length at byte {at} does not have its checksum")
        end = at + 12 + size
        if end + 4 > len(data):
            return
        message = data[at + 12 : end]
        if data[end : end + 4] != _masked(message):
            raise ValueError(f"the record at byte {at} does not have its checksum")
        yield message
        at = end + 4

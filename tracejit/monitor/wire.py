"""The wire format of protocol buffers: fields of a message become bytes, and back.

A message is its fields, one after another: a key, `number << 3 | kind`, and the value. Kinds: 0 is
a varint (seven bits a byte, the lowest first), 1 eight bytes, 2 a length and so many bytes (texts,
messages, packed numbers), 5 four bytes. The order of fields has no meaning; one that is given
again is a further element of a repeated field. (protobuf.dev, "Encoding".)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["bytes_field", "double_field", "doubles_field", "fields", "float_field", "int_field"]


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def int_field(number: int, value: int) -> bytes:
    """A field of type int32, int64, bool or enum; negative numbers in two's complement."""
    return _varint(number << 3) + _varint(int(value) & (1 << 64) - 1)


def double_field(number: int, value: float) -> bytes:
    """A field of type double."""
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def float_field(number: int, value: float) -> bytes:
    """A field of type float: `value` rounded to single precision, infinite beyond its range."""
    with np.errstate(over="ignore"):
        return _varint(number << 3 | 5) + struct.pack("<f", np.float32(value))


def bytes_field(number: int, value: bytes | str) -> bytes:
    """A field of type string, bytes, or a message that is encoded already."""
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def doubles_field(number: int, values: Any) -> bytes:
    """A packed field of repeated doubles."""
    return bytes_field(number, np.asarray(values, "<f8").tobytes())


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message, as pairs of a number and a value.

    Varints are ints without a sign, numbers of eight and four bytes are read as double and float,
    all else is bytes. Raises ValueError for what is no message.
    """
    at = 0

    def varint() -> int:
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    try:
        while at < len(data):
            key = varint()
            match key & 7:
                case 0:
                    yield key >> 3, varint()
                case 1 | 5 as kind:
                    form = "<d" if kind == 1 else "<f"
                    yield key >> 3, struct.unpack_from(form, data, at)[0]
                    at += struct.calcsize(form)
                case 2:
                    size = varint()
                    if at + size > len(data):
                        raise ValueError("a field ends behind its message")
                    yield key >> 3, data[at : at + size]
                    at += size
                case kind:
                    raise ValueError(f"fields of kind {kind} are not known")
    except (IndexError, struct.error):
        raise ValueError("a message ends within a field") from None

"""Records, segments and checksums of arrays."""

import struct

import numpy as np

from .parsers import data
from .program import Family

PROGRAMS = Family()


def coo_to_csr(rows, cols, vals, n_rows):
    order = np.argsort(rows, kind="stable")
    rows, cols, vals = rows[order], cols[order], vals[order]
    indptr = np.zeros(n_rows + 1, dtype=int)
    for r in rows:
        indptr[r + 1] += 1
    for i in range(n_rows):
        indptr[i + 1] += indptr[i]
    return indptr, cols, vals


def csr_matvec(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


def coo(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(n, size=m), rng.integers(n, size=m), rng.normal(size=m)


PROGRAMS.add(coo_to_csr, lambda: (*coo(8, 20), 8), lambda: (*coo(5, 12, 1), 5))


PROGRAMS.add(
    csr_matvec,
    lambda: (*coo_to_csr(*coo(8, 20), 8), np.arange(8.0)),
    lambda: (*coo_to_csr(*coo(5, 12, 1), 5), np.arange(5)),
)


def merge_intervals(intervals):
    intervals = intervals[np.argsort(intervals[:, 0])]
    merged = [intervals[0]]
    for current in intervals[1:]:
        last = merged[-1]
        if current[0] <= last[1]:
            last[1] = max(last[1], current[1])
        else:
            merged.append(current)
    return np.array(merged)


def intervals(n, seed=0):
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, 50, size=n)
    return np.column_stack([lo, lo + rng.integers(1, 8, size=n)])


PROGRAMS.add(merge_intervals, lambda: (intervals(10),), lambda: (intervals(20, 1),))


def segments_above(signal, threshold, min_length=1):
    """[(start, stop)] of the runs above a threshold."""
    segments = []
    start = None
    for i, value in enumerate(signal):
        if value > threshold and start is None:
            start = i
        elif value <= threshold and start is not None:
            if i - start >= min_length:
                segments.append((start, i))
            start = None
    if start is not None:
        segments.append((start, len(signal)))
    return segments


PROGRAMS.add(
    segments_above,
    lambda: (np.sin(np.arange(60) / 3), 0.5),
    lambda: (np.cos(np.arange(40) / 2), 0.0, 4),
)


def parse_wav_header(raw):
    if bytes(raw[:4]) != b"RIFF":
        raise ValueError("not a RIFF file")
    channels, rate = struct.unpack("<HI", bytes(raw[22:28]))
    return {"channels": channels, "rate": rate, "samples": raw[44:].view(np.int16)}


WAV = data(b"RIFF" + bytes(18) + struct.pack("<HI", 2, 44100) + bytes(16) + b"\x01\x00\x02\x00")


PROGRAMS.add(parse_wav_header, lambda: (WAV.copy(),), lambda: (WAV[::-1].copy(),))


def unpack_bits(buffer, widths):
    """Fields of given widths, most significant bit first."""
    fields = []
    pos = 0
    for width in widths:
        value = 0
        for _ in range(width):
            byte, bit = divmod(pos, 8)
            value = (value << 1) | ((buffer[byte] >> (7 - bit)) & 1)
            pos += 1
        fields.append(value)
    return fields


PROGRAMS.add(
    unpack_bits,
    lambda: (data(b"\xa5\x3c\x0f"), [3, 5, 4, 12]),
    lambda: (data(b"\x01\x02\x03\x04"), (8, 1, 7)),
)


def crc32(buffer, crc=0xFFFFFFFF):
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = i
        for _ in range(8):
            c = (c >> 1) ^ 0xEDB88320 if c & 1 else c >> 1
        table[i] = c
    for b in buffer:
        crc = int(table[(crc ^ int(b)) & 0xFF]) ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


PROGRAMS.add(crc32, lambda: (data(b"123456789"),), lambda: (data(b"tracing"),))

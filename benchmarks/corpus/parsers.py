"""Parsers of arrays: bytes, runs, records, segments."""

import numpy as np

from .program import Family

PROGRAMS = Family()


def data(text):
    return np.frombuffer(text, np.uint8).copy()


def run_length_encode(x):
    values, lengths = [], []
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            j += 1
        values.append(x[i])
        lengths.append(j - i)
        i = j
    return np.array(values), np.array(lengths)


PROGRAMS.add(
    run_length_encode,
    lambda: (np.array([1, 1, 2, 3, 3, 3]),),
    lambda: (data(b"aaabccdddd"),),
)


def run_length_decode(starts, lengths, values):
    starts, lengths, values = map(np.asarray, (starts, lengths, values))
    ends = starts + lengths
    n = ends[-1]
    x = np.full(n, np.nan)
    for lo, hi, val in zip(starts, ends, values):
        x[lo:hi] = val
    return x


PROGRAMS.add(
    run_length_decode,
    lambda: ([0, 3, 5], [3, 2, 4], [1.0, 2.0, 3.0]),
    lambda: (np.array([1, 4]), np.array([2, 3]), np.array([7.0, 8.0])),
)


def decode_varints(buffer):
    values = []
    pos = 0
    while pos < len(buffer):
        result, shift = 0, 0
        while True:
            if pos >= len(buffer):
                raise ValueError(f"truncated varint at offset {pos}")
            byte = int(buffer[pos])
            pos += 1
            result |= (byte & 0x7F) << shift
            if not byte & 0x80:
                break
            shift += 7
        values.append(result)
    return values


PROGRAMS.add(
    decode_varints,
    lambda: (data(b"\x01\xac\x02\x96\x01\x00"),),
    lambda: (data(b"\x05\xff\xff\x03"),),
    lambda: (data(b"\x01\xac"),),
)


def encode_varints(values):
    out = bytearray()
    for v in values:
        while v > 0x7F:
            out.append((v & 0x7F) | 0x80)
            v >>= 7
        out.append(v)
    return bytes(out)


PROGRAMS.add(encode_varints, lambda: ([1, 300, 70000],), lambda: ([0, 127, 128],))


def parse_packets(stream):
    """Packets of 0xAA, a length, the payload and a checksum; others are skipped."""
    packets = []
    i = 0
    errors = 0
    while i < len(stream) - 2:
        if stream[i] != 0xAA:
            i += 1
            continue
        length = stream[i + 1]
        if i + 2 + length >= len(stream):
            break
        payload = stream[i + 2 : i + 2 + length]
        checksum = 0
        for b in payload:
            checksum ^= b
        if checksum == stream[i + 2 + length]:
            packets.append(payload)
            i += 3 + int(length)
        else:
            errors += 1
            i += 1
    return packets, errors


PROGRAMS.add(
    parse_packets,
    lambda: (data(b"\x00\xaa\x02\x01\x03\x02\xaa\x01\x07\x07\x00"),),
    lambda: (data(b"\xaa\x01\x05\x06\xaa\x03\x01\x02\x04\x07\x01\x01"),),
)


def png_unfilter(raw, height, stride, bpp):
    out = np.zeros((height, stride), dtype=np.uint8)
    pos = 0
    for y in range(height):
        kind = raw[pos]
        pos += 1
        for x in range(stride):
            filt = int(raw[pos])
            pos += 1
            a = int(out[y, x - bpp]) if x >= bpp else 0
            b = int(out[y - 1, x]) if y > 0 else 0
            c = int(out[y - 1, x - bpp]) if x >= bpp and y > 0 else 0
            if kind == 0:
                value = filt
            elif kind == 1:
                value = filt + a
            elif kind == 2:
                value = filt + b
            elif kind == 3:
                value = filt + (a + b) // 2
            elif kind == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                if pa <= pb and pa <= pc:
                    value = filt + a
                elif pb <= pc:
                    value = filt + b
                else:
                    value = filt + c
            else:
                raise ValueError(f"unknown filter type: {kind}")
            out[y, x] = value & 0xFF
    return out


def filtered(height, stride, seed=0):
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, size=(height, stride + 1)).astype(np.uint8)
    raw[:, 0] %= 5
    return raw.ravel()


PROGRAMS.add(
    png_unfilter,
    lambda: (filtered(8, 9), 8, 9, 3),
    lambda: (filtered(5, 12, 1), 5, 12, 4),
)


def base64_decode(codes):
    table = np.full(256, -1)
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for i, c in enumerate(alphabet):
        table[c] = i
    out = []
    bits, n = 0, 0
    for c in codes:
        if c == ord("="):
            break
        v = table[c]
        if v < 0:
            continue
        bits = (bits << 6) | int(v)
        n += 6
        if n >= 8:
            n -= 8
            out.append((bits >> n) & 0xFF)
            bits &= (1 << n) - 1
    return np.array(out, dtype=np.uint8)


PROGRAMS.add(base64_decode, lambda: (data(b"aGVsbG8gd29ybGQ="),), lambda: (data(b"TnVt\nUHk=\n"),))


def lz77_decompress(tokens):
    out = []
    for offset, length, literal in tokens:
        if length > 0:
            start = len(out) - offset
            for i in range(length):
                out.append(out[start + i])
        out.append(literal)
    return np.array(out)


PROGRAMS.add(
    lz77_decompress,
    lambda: ([(0, 0, 97), (1, 3, 98), (5, 2, 99)],),
    lambda: (np.array([[0, 0, 1], [0, 0, 2], [2, 5, 3], [4, 2, 9]]),),
)


def parse_numbers(codes, sep=44):
    """Decimal numbers in a text of bytes, such as b"1.5,-2,30"."""
    numbers = []
    value, scale, sign = 0.0, 0.0, 1
    for c in codes:
        if c == sep:
            numbers.append(sign * value)
            value, scale, sign = 0.0, 0.0, 1
        elif c == ord("-"):
            sign = -1
        elif c == ord("."):
            scale = 0.1
        elif ord("0") <= c <= ord("9"):
            digit = int(c) - ord("0")
            if scale:
                value += digit * scale
                scale /= 10
            else:
                value = value * 10 + digit
        else:
            raise ValueError(f"unexpected character code {c}")
    numbers.append(sign * value)
    return np.array(numbers)


PROGRAMS.add(
    parse_numbers,
    lambda: (data(b"1.5,-2,30.25"),),
    lambda: (data(b"7"),),
    lambda: (data(b"7,x"),),
)


def evaluate_rpn(tokens):
    stack = []
    for token in tokens:
        if token in ("+", "-", "*", "/"):
            b, a = stack.pop(), stack.pop()
            if token == "+":
                stack.append(a + b)
            elif token == "-":
                stack.append(a - b)
            elif token == "*":
                stack.append(a * b)
            else:
                stack.append(a / b)
        else:
            stack.append(float(token))
    if len(stack) != 1:
        raise ValueError("malformed expression")
    return stack[0]


PROGRAMS.add(
    evaluate_rpn,
    lambda: (["3", "4", "+", "2", "*"],),
    lambda: ("15 7 1 1 + - / 3 *".split(),),
    lambda: (["1", "2"],),
)


class Instruction:
    PUSH, ADD, MUL, SUB, JNZ, DUP, POP = range(7)


def run_bytecode(code, max_steps=500):
    stack = np.zeros(32)
    sp, pc, steps = 0, 0, 0
    while pc < len(code) and steps < max_steps:
        op = code[pc]
        steps += 1
        if op == Instruction.PUSH:
            stack[sp] = code[pc + 1]
            sp += 1
            pc += 2
            continue
        if op == Instruction.JNZ:
            pc = code[pc + 1] if stack[sp - 1] != 0 else pc + 2
            continue
        if op == Instruction.ADD:
            stack[sp - 2] += stack[sp - 1]
            sp -= 1
        elif op == Instruction.MUL:
            stack[sp - 2] *= stack[sp - 1]
            sp -= 1
        elif op == Instruction.SUB:
            stack[sp - 2] -= stack[sp - 1]
            sp -= 1
        elif op == Instruction.DUP:
            stack[sp] = stack[sp - 1]
            sp += 1
        elif op == Instruction.POP:
            sp -= 1
        else:
            raise ValueError(f"bad opcode {op} at {pc}")
        pc += 1
    return stack[:sp].copy(), steps


PROGRAMS.add(
    run_bytecode,
    lambda: (np.array([0, 5, 0, 1, 3, 4, 2]),),
    lambda: (np.array([0, 2, 0, 3, 2, 5, 1]),),
    lambda: (np.array([0, 2, 9]),),
)

"""The innermost loops of x86-64 assembly: registers, bytes and operations of one iteration.

A loop is what lies between a label and a jump back to it without another such pair inside. What a
line does is told by its mnemonic and operands (AT&T syntax): Intel 64 and IA-32 Architectures
Software Developer's Manual, volume 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Loop", "find_loops"]

_LABEL = re.compile(r"^([.\w$]+):")
_JUMP = re.compile(r"^\tj(?!mp\b)\w+\t([.\w$]+)")
_MEMORY = re.compile(r"-?\w*\([^)]*\)(?:\{[^}]*\})?")
_STACK = re.compile(r"-?\w*\(%r[sb]p\)")
_REGISTER = {"zmm": 512, "ymm": 256, "xmm": 128}
_ARITHMETIC = re.compile(
    r"v?(add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d*|rndscale|round)(s|p)([sdh])\b"
)
_SCALAR_SIZES = {"b": 1, "w": 2, "l": 4, "q": 8}


@dataclass(frozen=True)
class Loop:
    """An innermost loop: lines `first` to `last` of the assembly, counted from 0.

    `bits` is the width of the widest vector register that arithmetic works on, 0 where it works on
    single numbers. Of one iteration: `loaded` and `stored` bytes, floating-point `operations` (a
    fused multiply-add is two, and each lane counts), `spills` to and from the stack, `calls`.
    """

    function: str
    first: int
    last: int
    bits: int
    loaded: int
    stored: int
    operations: int
    spills: int
    calls: int

    def __str__(self) -> str:
        how = f"{self.bits}-bit vectors" if self.bits else "one number at a time"
        parts = [how, f"{self.loaded} bytes read", f"{self.stored} written"]
        parts.append(f"{self.operations} operations an iteration")
        if self.spills:
            parts.append(f"{self.spills} spills")
        if self.calls:
            parts.append(f"{self.calls} calls")
        return ", ".join(parts)


def find_loops(lines: Sequence[str]) -> list[Loop]:
    """The innermost loops of the assembly of an x86-64 machine; none of any other's."""
    if not any("%r" in line for line in lines):
        return []
    labels: dict[str, int] = {}
    function, found = "", []
    functions: dict[int, str] = {}
    spans: list[tuple[int, int]] = []
    for k, line in enumerate(lines):
        label = _LABEL.match(line)
        if label:
            labels[label[1]] = k
            function = function if label[1].startswith(".L") else label[1]
        jump = _JUMP.match(line)
        if jump and jump[1] in labels:
            spans.append((labels[jump[1]], k))
            functions[k] = function
    for first, last in spans:
        inside = any((a, b) != (first, last) and first <= a and b <= last for a, b in spans)
        if not inside:
            found.append(_loop(functions[last], first, last, lines[first : last + 1]))
    return found


def _loop(function: str, first: int, last: int, lines: Sequence[str]) -> Loop:
    bits = loaded = stored = operations = spills = calls = 0
    for line in lines:
        if not line.startswith("\t") or line.startswith(("\t.", "\t#")):
            continue
        mnemonic, _, rest = line.strip().partition("\t")
        operands = rest.partition("#")[0].strip()
        width = next((w for name, w in _REGISTER.items() if f"%{name}" in operands), 0)
        if mnemonic.startswith("call"):
            calls += 1
        arithmetic = _ARITHMETIC.match(mnemonic)
        if arithmetic:
            name, form, kind = arithmetic.groups()
            lanes = width // {"s": 32, "d": 64, "h": 16}[kind] if form == "p" else 1
            bits = max(bits, width if form == "p" else 0)
            operations += lanes * (2 if name.startswith("f") else 1)
        memory = _MEMORY.search(operands)
        if memory is None or mnemonic.startswith(("lea", "prefetch", "nop", "call")):
            continue
        size = _bytes(mnemonic, operands, width)
        if _STACK.match(memory[0]):
            spills += 1
        elif operands.endswith(memory[0]) and not mnemonic.startswith(("cmp", "test", "vucomi")):
            stored += size
            # Other than a move, it reads what it changes.
            loaded += 0 if "mov" in mnemonic or "extract" in mnemonic else size
        else:
            loaded += size
    return Loop(function, first, last, bits, loaded, stored, operations, spills, calls)


def _bytes(mnemonic: str, operands: str, width: int) -> int:
    """How many bytes of memory an instruction touches."""
    scalar = re.search(r"s([sdh])$|(?:mov|broadcasts|cvt\w*2)(?:s([sd])|([dq]))$", mnemonic)
    if "broadcast" in mnemonic or "{1to" in operands:
        kind = re.search(r"([sd])(?:2|$)", mnemonic)
        return 8 if "q" in mnemonic[-2:] or (kind and kind[1] == "d") else 4
    if scalar and "p" not in mnemonic[-2:-1]:
        return {"s": 4, "d": 8, "h": 2, "q": 8}[next(g for g in scalar.groups() if g)]
    if width:
        return width // 8
    return _SCALAR_SIZES.get(mnemonic[-1], 8)

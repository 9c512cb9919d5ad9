"""Arrays that a library holds become assembly beside a file of their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_data"]

#: Bytes at multiples of which arrays begin, as LLVM's vectors may want it.
_ALIGN = 64


def write_data(data: Mapping[str, bytes], folder: Path) -> Path:
    """Write arrays, by the symbols where they lie, and the assembly that places them: its file."""
    binary = folder / "data.bin"
    lines = [".section .rodata", f".balign {_ALIGN}"]
    with binary.open("wb") as out:
        for name, held in data.items():
            padded = held.ljust(-(-max(len(held), 1) // _ALIGN) * _ALIGN, b"\0")
            lines += [f'.globl "{name}"', f'.hidden "{name}"', f'"{name}":']
            lines.append(f'.incbin "{binary}", {out.tell()}, {len(padded)}')
            out.write(padded)
    lines += ['.section .note.GNU-stack,"",%progbits', ""]
    source = folder / "data.s"
    source.write_text("\n".join(lines), encoding="utf-8")
    return source

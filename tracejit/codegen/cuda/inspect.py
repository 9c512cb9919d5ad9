"""Kernels as text: their source, what Numba-CUDA makes of it, and machine code by CUDA's tools."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tracejit.codegen.cuda.compile import compile_ptx
from tracejit.codegen.cuda.launches import Launch
from tracejit.codegen.cuda.numba_target import numba_namespace
from tracejit.errors import DeviceError

__all__ = ["print_ptx", "print_sass", "print_source", "sass_tool"]


def print_source(launches: Sequence[Launch]) -> str:
    """The launches of a program as Python source for Numba-CUDA, with how threads divide them."""
    out = []
    for launch in launches:
        shape = launch.shape
        over = f"{shape.x}" if shape.y == 1 else f"{shape.x} by {shape.y}"
        if shape.each != 1:
            over = f"{over}, {shape.each} at once"
        head = f"# {shape.kind} over {over}; {', '.join(launch.signature)}"
        out.append(f"{head}\n{launch.source}")
    return "\n".join(out)


def print_ptx(launches: Sequence[Launch], capability: tuple[int, int]) -> str:
    """The PTX of each kernel. Raises DeviceError where numba-cuda is not installed."""
    return "\n".join(_ptx(launch, capability) for launch in launches)


def _ptx(launch: Launch, capability: tuple[int, int]) -> str:
    try:
        space = numba_namespace()
    except ImportError as e:
        raise DeviceError(
            f"PTX is made by numba-cuda ({e}): pip install 'tracejit[cuda]'"
        ) from None
    return compile_ptx(launch.source, launch.name, launch.signature, capability, space)


def sass_tool() -> bool:
    """Whether CUDA's assembler and disassembler are there."""
    return shutil.which("ptxas") is not None and shutil.which("cuobjdump") is not None


def print_sass(launches: Sequence[Launch], capability: tuple[int, int]) -> str:
    """The machine code of each kernel, by ptxas and cuobjdump. Raises DeviceError without them."""
    if not sass_tool():
        raise DeviceError("machine code is shown by CUDA's ptxas and cuobjdump, which are not here")
    out = []
    arch = f"sm_{capability[0]}{capability[1]}"
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        for launch in launches:
            text.write_text(_ptx(launch, capability))
            for command in (
                ["ptxas", f"-arch={arch}", "-o", str(binary), str(text)],
                ["cuobjdump", "-sass", str(binary)],
            ):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise DeviceError(f"{command[0]}: {done.stderr.strip()}")
            out.append(done.stdout)
    return "\n".join(out)

"""Numba's library of a kernel, for what it gives besides PTX: the LLVM code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.codegen.cuda.numba_target import numba_parts

__all__ = ["kernel_library"]


def kernel_library(
    text: str, name: str, signature: Sequence[str], capability: tuple[int, int]
) -> Any:
    """Numba's library of the kernel, for what it gives besides PTX."""
    n = numba_parts()
    space = dict(n.space)
    exec(compile(text, f"<kernel {name}>", "exec"), space)
    kinds = []
    for dtype in signature:
        kind = n.type_of[{"b1*": "u8", "f16*": "half", "f16": "f32"}.get(dtype, dtype.strip("*"))]
        kinds.append(n.types.CPointer(kind) if dtype.endswith("*") else kind)
    library, _ = n.compiler._compile_pyfunc_with_fixup(
        space[name], tuple(kinds), device=False, cc=capability, abi="numba", opt=True
    )
    # Numba has no parameter for this; the default is to contract.
    library._nvvm_options["fma"] = False
    return library

"""A function is compiled ahead of time: a folder with a shared library and what goes with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tracejit.export.exported import Exported

__all__ = ["compile"]


def compile(
    function: Any,
    *signatures: str,
    out: str | os.PathLike[str] = ".",
    name: str | None = None,
    target: str = "native",
    sizes: Mapping[str, int] | None = None,
    cc: str | None = None,
) -> Exported:
    """Compile a function ahead of time, for each of the signatures, into a folder.

    A signature is text such as `"f64[n, n], f64[n], axis=0"`: types, sizes by name from 2 on, and
    literals, which are constants of the library. `target` is "native" or a level of x86-64 such as
    "x86-64-v3". `sizes` are those that are traced with. `cc` is the compiler of C.

    Raises ValueError for a signature, a target or a name that cannot be, and for a function that
    needs Python while it runs; TraceError for one that cannot be compiled; OSError without a
    compiler of C, or where it fails.
    """
    from tracejit.export.library.build import build

    return build(function, *signatures, out=out, name=name, target=target, sizes=sizes, cc=cc)

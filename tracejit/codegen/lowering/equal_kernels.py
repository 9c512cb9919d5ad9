"""Kernels that do the same to other buffers are one function: layers of one shape share theirs.

k0(p_0, g_0, s): p_0[i] -= s * g_0[i]    k1(p_1, g_1, s): p_1[i] -= s * g_1[i]
->  k0(p_0, g_0, s); k0(p_1, g_1, s)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from tracejit.codegen.lowering.join import renamed
from tracejit.ir.kernel import Kernel

__all__ = ["kernel_form"]


def kernel_form(kernel: Kernel) -> Hashable:
    """Equal for kernels that differ in names of their own, of their buffers and scalars alone."""
    names = [p.name for p in kernel.params] + [v.name for v in kernel.scalars]
    table = {name: f"{k}." for k, name in enumerate(names)}
    scalars = tuple(replace(v, name=table[v.name]) for v in kernel.scalars)
    other = replace(renamed(kernel, table), name="", scalars=scalars)
    return tuple(_tokens(other))


def _tokens(kernel: Kernel) -> Iterator[Hashable]:
    """All that is in a kernel, in order; an expression that occurs again, by its number."""
    met: dict[int, int] = {}
    stack: list[Any] = [kernel]
    while stack:
        x = stack.pop()
        if isinstance(x, tuple):
            yield len(x)
            stack += reversed(x)
        elif is_dataclass(x) and not isinstance(x, type):
            if id(x) in met:
                yield "again", met[id(x)]
                continue
            met[id(x)] = len(met)
            yield type(x)
            stack += (getattr(x, f.name) for f in reversed(fields(x)))
        else:
            # Zeros are told apart by their signs, truths from numbers.
            yield type(x), repr(x) if isinstance(x, (float, np.generic)) else x

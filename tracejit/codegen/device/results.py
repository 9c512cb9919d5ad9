"""Where results lie on a device that something else than a kernel of the program writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.codegen.analysis.buffer_plan import byte_count
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.program.copies import copy_elements
from tracejit.ir.graph import Value

__all__ = ["dense_room", "place"]


def place(e: DeviceContext, v: Value) -> None:
    """Have a result lie as the plan says."""
    allocation = e.plan.of(v)
    if allocation is not None and allocation.strides is not None:
        e.strides[v] = allocation.strides


@contextmanager
def dense_room(e: DeviceContext, v: Value, target: str) -> Iterator[str]:
    """Memory to write a result to in its own order; it goes to its target afterwards."""
    strides = e.strides.get(v)
    if strides is None:
        yield target
        return
    block = e.allocate("", e.dim(byte_count(v)))
    yield block
    copy_elements(e, v, block, target, None, strides)
    e.release("", block)

"""Arrays that compiled code writes to -> whether their memory is theirs alone, and if not, why.

Compiled code stores into such an array while it reads and writes others, in an order of its own. So
each must be writeable, every element of it must have a place of its own, and the bytes between its
first and its last element must hold no element of another array. Empty arrays have no elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.runtime.call.entry_spec import ArrayLeaf, Leaf

__all__ = ["byte_range", "collision", "overlaps_itself", "why_not_written"]


def byte_range(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The address of an array's first byte in memory, and that behind its last one."""
    if not array.size:
        return 0, 0
    spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = array.ctypes.data + sum(span for span in spans if span < 0)
    return low, low + sum(map(abs, spans)) + array.itemsize


def overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Whether two elements may share memory: from an axis of small steps to one of larger steps,
    each step must leave behind all that the axes before it reach."""
    if not array.size:
        return False
    reached = array.itemsize
    axes = [(abs(s), n) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    for step, size in sorted(axes):
        if step < reached:
            return True
        reached += (size - 1) * step
    return False


def collision(
    arrays: Sequence[np.ndarray[Any, Any]], written: Sequence[bool]
) -> tuple[int, int] | None:
    """Two arrays of which one is written to and that may share memory; twice the same for one that
    overlaps itself."""
    ranges = list(map(byte_range, arrays))
    for i, (low, high) in enumerate(ranges):
        if not written[i] or low == high:
            continue
        if overlaps_itself(arrays[i]):
            return i, i
        for j, (other_low, other_high) in enumerate(ranges):
            if i != j and low < other_high and other_low < high:
                return i, j
    return None


def why_not_written(
    leaves: Sequence[Leaf], objects: Sequence[Any], names: Sequence[str]
) -> tuple[str, str] | None:
    """Why compiled code must not write to these objects: an error's code and the objects' names.

    None where it may. `leaves` say which of them it writes to; objects of other classes than the
    leaves' do not count.
    """
    found = [
        (x, name, leaf.writeable)
        for leaf, x, name in zip(leaves, objects, names, strict=True)
        if isinstance(leaf, ArrayLeaf) and type(x) is np.ndarray
    ]
    for x, name, written in found:
        if written and not x.flags.writeable:
            return "TJ030", f"{name} is read-only"
    pair = collision([x for x, _, _ in found], [written for _, _, written in found])
    if pair is None:
        return None
    first, second = (found[k][1] for k in pair)
    if first == second:
        return "TJ030", f"elements of {first} may share memory"
    return "TJ019", f"{first} may share memory with {second}"

"""Arrays that compiled code writes to -> whether their memory is theirs alone, and if not, why.

Compiled code stores into such an array while it reads and writes others, in an order of its own. So
each must be writeable, every element of it must have a place of its own, and the bytes between its
first and its last element must hold no element of another array. Empty arrays have no elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.tracing.packed import JoinedArrays
from tracejit.runtime.call.entry_spec import ArrayLeaf, Leaf

__all__ = ["are_apart", "byte_range", "collision", "overlaps_itself", "why_not_written"]


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
    if any(isinstance(x.base, JoinedArrays) for x in arrays):
        return _collision_of_joined(arrays, written)
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


def are_apart(*given: Any) -> bool:
    """Whether arrays do not collide; behind each stands whether it is written to."""
    return collision(given[::2], given[1::2]) is None


def _collision_of_joined(
    arrays: Sequence[np.ndarray[Any, Any]], written: Sequence[bool]
) -> tuple[int, int] | None:
    """As `collision`, where arrays may be copies of several, in whose place these count."""
    if not any(written) or _own_their_memory(arrays):
        return None
    parts: list[tuple[int, int, int]] = []
    for i, x in enumerate(arrays):
        for part in x.base.arrays if isinstance(x.base, JoinedArrays) else (x,):
            if written[i] and (overlaps_itself(part) or not part.flags.writeable):
                return i, i
            parts.append((*byte_range(part), i))
    reached, reached_by = {False: 0, True: 0}, {False: 0, True: 0}
    for low, high, i in sorted(parts):
        for other in (False, True):
            # Two of which none is written to may share memory.
            if (written[i] or other) and low < min(high, reached[other]):
                return i, reached_by[other]
        if high > reached[written[i]]:
            reached[written[i]], reached_by[written[i]] = high, i
    return None


def _own_their_memory(arrays: Sequence[np.ndarray[Any, Any]]) -> bool:
    """Whether all of these, or those that they are copies of, are seen to have memory of their own
    that can be written to."""
    seen: set[int] = set()
    count = 0
    for x in arrays:
        for part in x.base.arrays if isinstance(x.base, JoinedArrays) else (x,):
            flags = part.flags
            if part.base is not None or not (flags.owndata and flags.carray):
                return False
            seen.add(id(part))
            count += 1
    return len(seen) == count


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

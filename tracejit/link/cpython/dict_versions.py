"""Where a dict keeps the number that changes with each of its changes."""

from __future__ import annotations

import ctypes

from tracejit.base.locks import once

__all__ = ["version_offset"]


@once
def version_offset() -> int | None:
    """Where a dict keeps its version; None where that cannot be told."""
    found = [at for at in (16, 24, 32) if all(_is_version(at, kind) for kind in range(3))]
    return found[0] if len(found) == 1 else None


def _is_version(at: int, kind: int) -> bool:
    d = {"a": 1, "b": 2}
    word = ctypes.c_uint64.from_address(id(d) + at)
    seen = []
    for k in range(4):
        seen.append(word.value)
        if d["a"] and word.value != seen[-1]:
            return False
        if kind == 0:
            d["a"] = k + 2
        elif kind == 1:
            d[f"c{k}"] = 1
        else:
            d.pop("b", None)
            d["b"] = k
    return len({*seen}) == 4
